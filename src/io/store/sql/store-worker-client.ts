import { Worker } from "node:worker_threads";
import { StoreError } from "./store-error.ts";
import type { Answer, Ask, PostgresWorkerData, Question, SqliteWorkerData } from "./store-worker-protocol.ts";

type Waiting = { resolve(answer: Extract<Answer, { is: "done" }>): void; reject(error: Error): void };

const EXIT_MS = 2_000;

/** The main thread's side of the worker of an engine: questions out, answers back. */
export class WorkerClient {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #next = 1;
  #gone: StoreError | undefined;
  #isClosing = false;

  /** `ended` is told when the thread ends although nobody closes it; nothing is asked of it after that. */
  constructor(script: URL, data: SqliteWorkerData | PostgresWorkerData, ended: (why: StoreError) => void) {
    // The flags of the main thread (test runners set some) are not meant for the worker.
    this.#worker = new Worker(script, { workerData: data, execArgv: [] });
    this.#worker.on("message", (answer: Answer) => this.#take(answer));
    this.#worker.on("error", (error) => this.#fail(`the worker of the store ended: ${String(error)}`, ended));
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        resolve();
        this.#fail(this.#isClosing ? "the store is closed" : `the worker of the store ended with code ${code}`, ended);
      });
    });
  }

  ask(ask: Ask): Promise<Extract<Answer, { is: "done" }>> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const question: Question = { number: this.#next++, ask };
    return new Promise((resolve, reject) => {
      this.#waiting.set(question.number, { resolve, reject });
      this.#worker.postMessage(question);
    });
  }

  /** Closes the database and waits until the thread has ended. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#gone === undefined) await this.ask({ is: "close" });
    // Connections to a server that says nothing would keep the thread for ever: it has done all it had to.
    const timer = setTimeout(() => void this.#worker.terminate(), EXIT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if (answer.is === "done") waiting?.resolve(answer);
    else waiting?.reject(new StoreError(answer.failure, answer.message));
  }

  #fail(why: string, ended: (why: StoreError) => void): void {
    if (this.#gone !== undefined) return;
    this.#gone = new StoreError("unavailable", why);
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
    if (!this.#isClosing) ended(this.#gone);
  }
}
