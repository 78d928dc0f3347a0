import type { Kysely, RawBuilder } from "kysely";
import type { RequestRecord } from "../../../domain/record/record.ts";
import type { RecordBatch } from "../../../domain/record/record-batch.ts";
import type { Database } from "./schema.ts";

/** Words in which engines define tables differently. */
export type Ddl = {
  /** A whole number of 64 bits. */
  readonly integer: string;
  /** Text, compared byte by byte on every engine: what sorts by a language can change with the system below it. */
  readonly text: string;
  /** Bytes as they are. */
  readonly bytes: string;
  /** A primary key that counts up by itself. */
  readonly identity: string;
  /** Ends the definition of a table whose rows are small and found by their primary key. */
  readonly keyedTable: string;
  /** Ends the definition of any other table. */
  readonly plainTable: string;
  /** A field of the JSON text in a column, as text. */
  fromJson(column: string, path: readonly string[]): string;
  /** The day of UTC that a column of milliseconds is in, as roll-ups name it. */
  dayOf(column: string): string;
  /** Statements that make the engine refuse every change and removal of rows. */
  appendOnly(table: string): readonly string[];
  /** Statements that make an index before a migration does, where that would keep writers out; each on its own. */
  indexAhead(name: string, on: string): readonly string[];
  /**
   * Statements that a migration begins with, so that it gives up soon where it waits for others: whoever comes after it
   * waits behind it.
   */
  readonly shortLockTimeout: readonly string[];
  /** Statements that cut the request log into partitions by time, on an engine that has such; `ahead` is done before. */
  readonly logPartitioning: { readonly ahead: readonly string[]; readonly change: readonly string[] };
  /** Statements that say what a role may do that does not own the tables, on an engine that has such. */
  readonly roles: readonly string[];
};

/** The partitions of the request log. */
export type LogPartitions = {
  /** Those that requests of the next days go to; at no cost while they are there. */
  prepare(nowMs: number): Promise<void>;
  /**
   * Removes those that hold nothing newer. Requests from before `restBeforeMs` may be left, and go one by one; they are
   * in partitions that end by `lookBeforeMs`.
   */
  dropBefore(beforeMs: number): Promise<{ readonly restBeforeMs: number; readonly lookBeforeMs: number }>;
};

/** What an engine brings along; everything else is written once, against `db`. */
export type Engine = {
  readonly db: Kysely<Database>;
  readonly ddl: Ddl;
  /** The text of a record as it is to be sent to `ingest`. */
  encodeRecord(record: RequestRecord): string;
  /** A text that may have been made for another engine, as this one keeps it. */
  normalizeRecordText(text: string): string;
  /** Writes finished requests in one transaction; see `RecordSink`. */
  ingest(batch: RecordBatch): Promise<void>;
  /** Where the request log is in partitions by time. */
  readonly logPartitions?: LogPartitions;
  /** Work that reads all there is: beside everything else, and with time for it. Absent where there is one connection. */
  withoutStatementTimeout?<T>(work: (session: Kysely<Database>) => Promise<T>): Promise<T>;
  /** Ends a query whose rows stay as they are until the transaction ends; absent where transactions wait for each other. */
  readonly lockRows?: RawBuilder<unknown>;
  /** Until the transaction ends no other one numbers a change; absent where transactions wait for each other anyway. */
  lockChangeSequence?(session: Kysely<Database>): Promise<void>;
  close(): Promise<void>;
};
