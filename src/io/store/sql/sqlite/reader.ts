import { StoreError } from "../store-error.ts";
import { StoreWorkerClient } from "../store-worker-client.ts";
import type { StoreWorkerRequest } from "../store-worker-protocol.ts";
import type { SqliteConnection } from "./dialect.ts";

/** A read-only connection in a thread of its own, which starts with the first query. */
export class SqliteReader implements SqliteConnection {
  readonly #script: URL;
  readonly #file: string;
  #client: StoreWorkerClient | undefined;
  #users = 0;
  #isClosed = false;

  constructor(script: URL, file: string) {
    this.#script = script;
    this.#file = file;
  }

  async call(request: StoreWorkerRequest): ReturnType<StoreWorkerClient["call"]> {
    if (this.#isClosed) throw new StoreError("unavailable", "the store is closed");
    this.#client ??= this.#start();
    return this.#client.call(request);
  }

  /** Ends the thread when the last of these works has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      this.#users -= 1;
      if (this.#users === 0) await this.#stop();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stop();
  }

  /** A thread that fails loses only its pending reads: the next one starts another. */
  #start(): StoreWorkerClient {
    const client = new StoreWorkerClient(this.#script, { file: this.#file, access: "read" }, () => {
      if (this.#client === client) this.#client = undefined;
    });
    return client;
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.close();
  }
}
