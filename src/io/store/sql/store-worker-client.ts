import { Worker } from "node:worker_threads";
import { StoreError } from "./store-error.ts";
import type {
  PostgresWorkerData,
  SqliteWorkerData,
  StoreWorkerCall,
  StoreWorkerReply,
  StoreWorkerRequest,
} from "./store-worker-protocol.ts";

type PendingCall = { resolve(answer: Extract<StoreWorkerReply, { is: "done" }>): void; reject(error: Error): void };

const EXIT_TIMEOUT_MS = 2_000;

/** The main thread's side of the worker of an engine: questions out, answers back. */
export class StoreWorkerClient {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  readonly #exited: Promise<void>;
  #nextId = 1;
  #failure: StoreError | undefined;
  #isClosing = false;

  /** `ended` is told when the thread ends although nobody closes it; nothing is asked of it after that. */
  constructor(script: URL, data: SqliteWorkerData | PostgresWorkerData, ended: (why: StoreError) => void) {
    // The flags of the main thread (test runners set some) are not meant for the worker.
    this.#worker = new Worker(script, { workerData: data, execArgv: [] });
    this.#worker.on("message", (answer: StoreWorkerReply) => this.#settle(answer));
    this.#worker.on("error", (error) => this.#failAll(`the worker of the store ended: ${String(error)}`, ended));
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        resolve();
        this.#failAll(
          this.#isClosing ? "the store is closed" : `the worker of the store ended with code ${code}`,
          ended,
        );
      });
    });
  }

  ask(request: StoreWorkerRequest): Promise<Extract<StoreWorkerReply, { is: "done" }>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const question: StoreWorkerCall = { id: this.#nextId++, request };
    return new Promise((resolve, reject) => {
      this.#pending.set(question.id, { resolve, reject });
      this.#worker.postMessage(question);
    });
  }

  /** Closes the database and waits until the thread has ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#failure === undefined) await this.ask({ is: "close" });
    // Connections to a server that says nothing would keep the thread for ever: it has done all it had to.
    const timer = setTimeout(() => void this.#worker.terminate(), EXIT_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #settle(answer: StoreWorkerReply): void {
    const waiting = this.#pending.get(answer.number);
    this.#pending.delete(answer.number);
    if (answer.is === "done") waiting?.resolve(answer);
    else waiting?.reject(new StoreError(answer.failure, answer.message));
  }

  #failAll(why: string, ended: (why: StoreError) => void): void {
    if (this.#failure !== undefined) return;
    this.#failure = new StoreError("unavailable", why);
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
    if (!this.#isClosing) ended(this.#failure);
  }
}
