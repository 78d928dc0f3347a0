import type { Kysely, RawBuilder } from "kysely";
import type { RecordBatch } from "../../../domain/record/record-batch.ts";
import type { Database } from "./schema.ts";

/** The DDL fragments in which the engines differ. */
export type Ddl = {
  /** A 64-bit integer. */
  readonly integer: string;
  /** Text with bytewise collation: a locale collation may change with the operating system. */
  readonly text: string;
  readonly bytes: string;
  /** An auto-incrementing primary key. */
  readonly identity: string;
  /** Table options for small rows that are read by primary key. */
  readonly keyedTable: string;
  /** Table options for all other tables. */
  readonly plainTable: string;
  /** Extracts a JSON field of a column as text. */
  fromJson(column: string, path: readonly string[]): string;
  /** The UTC day of a column of milliseconds, as an ISO date. */
  dayOf(column: string): string;
  /** Statements that make the engine reject updates and deletes. */
  appendOnly(table: string): readonly string[];
  /** Statements that build an index without blocking writers, each outside a transaction. */
  indexAhead(name: string, on: string): readonly string[];
  /** Limits lock waits of a migration, because every later statement on the table queues behind it. */
  readonly shortLockTimeout: readonly string[];
  /** Statements that partition the request log by time; empty on an engine without partitions. `ahead` runs first. */
  readonly logPartitioning: { readonly ahead: readonly string[]; readonly change: readonly string[] };
  /** Statements that define grants for a role without ownership; empty on an engine without roles. */
  readonly roles: readonly string[];
};

export type LogPartitions = {
  /** Creates the partitions of the next days; cheap when they exist. */
  prepare(nowMs: number): Promise<void>;
  /**
   * Drops partitions that are entirely older. Rows from before `restBeforeMs` that remain are deleted one by one; they are in
   * partitions that end by `lookBeforeMs`.
   */
  dropBefore(beforeMs: number): Promise<{ readonly restBeforeMs: number; readonly lookBeforeMs: number }>;
};

/** How each engine reads a list that is merged from several ranges of an index, and sketches of several rows. */
export type PlanHints = {
  /** An aggregate of the column `sketches`: encoded sketches, each with its length before it. */
  readonly sketches: RawBuilder<Uint8Array | null>;
  /** `lateral`: one select that runs for each range, because planning many takes longer than running them. */
  readonly ranges: "union" | "lateral";
  /** Follows a table's name and fixes its index. */
  indexedBy(index: string): RawBuilder<unknown>;
  /** One of the selects of a `union all` that ends with this order and limit. */
  arm(select: RawBuilder<unknown>, orderAndLimit: RawBuilder<unknown>): RawBuilder<unknown>;
};

/** What an engine provides; everything else is written once, against `db`. */
export type Engine = {
  readonly db: Kysely<Database>;
  /** For reads that may take long, so that writes do not wait for them. Absent on an engine whose `db` has several connections. */
  readonly reads?: Kysely<Database>;
  readonly ddl: Ddl;
  readonly hints: PlanHints;
  /** One transaction per batch; see `RecordSink`. */
  ingest(batch: RecordBatch): Promise<void>;
  /** Absent on an engine without partitions. */
  readonly logPartitions?: LogPartitions;
  /** For full scans: a separate connection with a long statement timeout. Absent on an engine with one connection. */
  withoutStatementTimeout?<T>(work: (session: Kysely<Database>) => Promise<T>): Promise<T>;
  /** Brings the statistics of tables that grow with requests up to date, by which the engine chooses indexes. */
  refreshStatistics(): Promise<void>;
  /** A row-lock clause such as `for share`. Absent on an engine that serializes transactions. */
  readonly lockRows?: RawBuilder<unknown>;
  /** Serializes numbering of the change feed until the transaction ends. Absent on an engine that serializes transactions. */
  lockChangeSequence?(session: Kysely<Database>): Promise<void>;
  close(): Promise<void>;
};
