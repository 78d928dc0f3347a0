import type { RecordBatch } from "../../../domain/record/record-batch.ts";
import type { DatabaseAddress } from "./postgres/address.ts";
import type { StoreFailure } from "./store-error.ts";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** From the main thread to the worker thread of an engine. */
export type StoreWorkerRequest =
  | { readonly is: "query"; readonly sql: string; readonly parameters: readonly SqlValue[] }
  /** Bytes in a SharedArrayBuffer are not copied. The reply has the number of records that were committed. */
  | { readonly is: "ingest"; readonly batch: RecordBatch }
  | { readonly is: "close" };

export type StoreWorkerCall = { readonly id: number; readonly request: StoreWorkerRequest };

export type StoreWorkerReply =
  // The caller's query determines the row type.
  | { readonly id: number; readonly is: "done"; readonly rows: never[]; readonly changes: bigint }
  | { readonly id: number; readonly is: "failed"; readonly failure: StoreFailure; readonly message: string };

export type SqliteWorkerData =
  | {
      readonly file: string;
      readonly access: "write" /** How many wait for the connection. */;
      readonly waiting: Int32Array;
    }
  | { readonly file: string; readonly access: "read" };
export type PostgresWorkerData = {
  readonly address: DatabaseAddress;
  /** How long the server may be unresponsive; undefined: as long as the statement timeout. */
  readonly unresponsiveMs: number | undefined;
};
