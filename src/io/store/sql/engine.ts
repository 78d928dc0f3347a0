import type { Kysely } from "kysely";
import type { Database } from "./schema.ts";

/** Words in which engines define tables differently. */
export type Ddl = {
  /** A whole number of 64 bits. */
  readonly integer: string;
  /** Ends the definition of a table whose rows are small and found by their primary key. */
  readonly keyed: string;
  /** Ends the definition of any other table. */
  readonly plain: string;
  /** Statements that make the engine refuse every change and removal of rows. */
  appendOnly(table: string): readonly string[];
};

/** What an engine brings along; everything else is written once, against `db`. */
export type Engine = {
  readonly db: Kysely<Database>;
  readonly ddl: Ddl;
  /** Writes finished requests (JSON of their records) in one transaction; see `RecordSink`. */
  ingest(records: readonly string[]): Promise<void>;
  close(): Promise<void>;
};
