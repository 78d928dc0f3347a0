import type { RecordBatch } from "../../../domain/record/record-batch.ts";
import type { DatabaseAddress } from "./postgres/address.ts";
import type { StoreFailure } from "./store-error.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** What the main thread asks of the worker of an engine. */
export type StoreWorkerRequest =
  | { readonly is: "query"; readonly sql: string; readonly parameters: readonly SqlValue[] }
  /** Bytes in shared memory are not copied on their way to the worker, others are. */
  | { readonly is: "ingest"; readonly batch: RecordBatch }
  | { readonly is: "close" };

export type StoreWorkerCall = { readonly id: number; readonly request: StoreWorkerRequest };

export type StoreWorkerReply =
  // The rows are typed by the query that asked for them.
  | { readonly number: number; readonly is: "done"; readonly rows: never[]; readonly changes: bigint }
  | { readonly number: number; readonly is: "failed"; readonly failure: StoreFailure; readonly message: string };

/** What a worker is told at its start. */
export type SqliteWorkerData = { readonly file: string };
export type PostgresWorkerData = {
  readonly address: DatabaseAddress;
  /** How long the server may say nothing; undefined: as long as a statement may take. */
  readonly silenceMs: number | undefined;
};
