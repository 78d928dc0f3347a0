import { Worker } from "node:worker_threads";
import { RecordRejectedError, type RecordSink } from "../../../domain/record/record-batch.ts";
import type { Mutex } from "../../../kit/mutex.ts";
import { StoreError } from "./store-error.ts";
import type {
  PostgresWorkerData,
  SqliteWorkerData,
  StoreWorkerCall,
  StoreWorkerReply,
  StoreWorkerRequest,
} from "./store-worker-protocol.ts";

type PendingStoreCall = { resolve(reply: Extract<StoreWorkerReply, { is: "done" }>): void; reject(error: Error): void };

const EXIT_TIMEOUT_MS = 2_000;

type IngestBatch = RecordSink["ingestBatch"];

/** A constraint violation is permanent; only other failures are retried. */
export function rejectingIngest(ingest: IngestBatch): IngestBatch {
  return async (batch) => {
    try {
      if (batch.bounds.length > 0) await ingest(batch);
    } catch (error) {
      if (error instanceof StoreError && error.failure !== "unavailable") throw new RecordRejectedError(error.message);
      throw error;
    }
  };
}

/**
 * Through the mutex like every query, so that a batch does not join an open transaction. The worker commits early when others
 * wait, and the rest of the batch follows them.
 */
export function serializedIngest(client: StoreWorkerClient, mutex: Mutex): IngestBatch {
  return async ({ bytes, bounds }) => {
    for (let rest = bounds; rest.length > 0; ) {
      const batch = { bytes, bounds: rest };
      const { changes: committed } = await mutex.pass(() => client.call({ is: "ingest", batch }));
      rest = rest.slice(2 * Number(committed));
    }
  };
}

/** The main thread's side of an engine's worker thread. */
export class StoreWorkerClient {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingStoreCall>();
  readonly #exited: Promise<void>;
  #nextId = 1;
  #failure: StoreError | undefined;
  #isClosing = false;

  /** `onExit` is called when the thread ends without `close`; later calls fail. */
  constructor(script: URL, data: SqliteWorkerData | PostgresWorkerData, onExit: (reason: StoreError) => void) {
    // Flags of the main thread, such as those of a test runner, do not apply to the worker.
    this.#worker = new Worker(script, { workerData: data, execArgv: [] });
    this.#worker.on("message", (reply: StoreWorkerReply) => this.#settle(reply));
    this.#worker.on("error", (error) => this.#failAll(`the store worker exited: ${String(error)}`, onExit));
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        resolve();
        this.#failAll(this.#isClosing ? "the store is closed" : `the store worker exited with code ${code}`, onExit);
      });
    });
  }

  call(request: StoreWorkerRequest): Promise<Extract<StoreWorkerReply, { is: "done" }>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const call: StoreWorkerCall = { id: this.#nextId++, request };
    return new Promise((resolve, reject) => {
      this.#pending.set(call.id, { resolve, reject });
      this.#worker.postMessage(call);
    });
  }

  /** Closes the database and waits for the thread to exit. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#failure === undefined) await this.call({ is: "close" });
    // Connections to an unresponsive server would keep the thread alive; its work is done.
    const timer = setTimeout(() => void this.#worker.terminate(), EXIT_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #settle(reply: StoreWorkerReply): void {
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.is === "done") pending?.resolve(reply);
    else pending?.reject(new StoreError(reply.failure, reply.message));
  }

  #failAll(reason: string, onExit: (reason: StoreError) => void): void {
    if (this.#failure !== undefined) return;
    this.#failure = new StoreError("unavailable", reason);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
    if (!this.#isClosing) onExit(this.#failure);
  }
}
