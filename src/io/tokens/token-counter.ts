import { Worker } from "node:worker_threads";

export type TokenWorkerRequest =
  | { readonly number: number; readonly texts: readonly string[] }
  | { readonly number: number; readonly lists: readonly (readonly number[])[] };
export type TokenWorkerResponse = { readonly number: number; readonly answer: number | DecodedTokens };

/** The texts of token ids. `unknown`: this id in that list is no token. */
export type DecodedTokens =
  | { readonly is: "decoded"; readonly texts: readonly string[] }
  | { readonly is: "unknown"; readonly list: number; readonly token: number };

export type TokenCounter = {
  /** Undefined when it takes too long: the caller estimates. */
  count(texts: readonly string[]): Promise<number | undefined>;
  /** Token ids of cl100k_base. */
  decode(lists: readonly (readonly number[])[]): Promise<DecodedTokens | { readonly is: "busy" }>;
  close(): Promise<void>;
};

export type TokenCounterLimits = {
  /** Counted per request; the rest is extrapolated. */
  readonly charsMax: number;
  readonly pendingMax: number;
  readonly timeoutMs: number;
  /** The worker exits after this idle time, because the tables of the tokenizer are large. */
  readonly idleMs: number;
};

const LIMITS: TokenCounterLimits = { charsMax: 1_000_000, pendingMax: 32, timeoutMs: 10_000, idleMs: 120_000 };

/** Counts in a worker thread, which is started on first use. */
export function tokenCounter(limits: TokenCounterLimits = LIMITS): TokenCounter {
  return new WorkerTokenCounter(limits);
}

class WorkerTokenCounter implements TokenCounter {
  readonly #limits: TokenCounterLimits;
  readonly #pending = new Map<number, (answer: TokenWorkerResponse["answer"] | undefined) => void>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #nextNumber = 1;

  constructor(limits: TokenCounterLimits) {
    this.#limits = limits;
  }

  async count(texts: readonly string[]): Promise<number | undefined> {
    const { charsMax, pendingMax } = this.#limits;
    const total = texts.reduce((sum, { length }) => sum + length, 0);
    if (total === 0) return 0;
    if (this.#pending.size >= pendingMax) return undefined;
    const tokens = await this.#call((number) => ({
      number,
      texts: total > charsMax ? truncate(texts, charsMax) : texts,
    }));
    if (typeof tokens !== "number") return undefined;
    return total <= charsMax ? tokens : Math.ceil((tokens * total) / charsMax);
  }

  async decode(lists: readonly (readonly number[])[]): Promise<DecodedTokens | { readonly is: "busy" }> {
    const busy = { is: "busy" } as const;
    if (this.#pending.size >= this.#limits.pendingMax) return busy;
    const decoded = await this.#call((number) => ({ number, lists }));
    return decoded === undefined || typeof decoded === "number" ? busy : decoded;
  }

  #call(buildRequest: (number: number) => TokenWorkerRequest): Promise<TokenWorkerResponse["answer"] | undefined> {
    const number = this.#nextNumber++;
    const worker = this.#startedWorker();
    return new Promise((resolve) => {
      const timeout = setTimeout(() => this.#resolve(number, undefined), this.#limits.timeoutMs);
      this.#pending.set(number, (answer) => {
        clearTimeout(timeout);
        resolve(answer);
      });
      worker.postMessage(buildRequest(number));
    });
  }

  #startedWorker(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker !== undefined) return this.#worker;
    // Flags of the main thread (test runners set some) must not reach the worker.
    const worker = new Worker(new URL("./tokens-worker.ts", import.meta.url), { execArgv: [] });
    worker.unref();
    worker.on("message", ({ number, answer }: TokenWorkerResponse) => this.#resolve(number, answer));
    worker.on("error", () => this.#workerExited(worker));
    worker.on("exit", () => this.#workerExited(worker));
    this.#worker = worker;
    return worker;
  }

  #resolve(number: number, answer: TokenWorkerResponse["answer"] | undefined): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    pending?.(answer);
    if (this.#pending.size === 0) this.#idle = setTimeout(() => void this.close(), this.#limits.idleMs).unref();
  }

  #workerExited(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const number of [...this.#pending.keys()]) this.#resolve(number, undefined);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#workerExited(worker);
    clearTimeout(this.#idle);
    await worker.terminate();
  }
}

function truncate(texts: readonly string[], charsMax: number): string[] {
  const truncated: string[] = [];
  let remaining = charsMax;
  for (const text of texts) {
    if (remaining <= 0) break;
    truncated.push(text.slice(0, remaining));
    remaining -= text.length;
  }
  return truncated;
}
