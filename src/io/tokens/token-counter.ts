import { Worker } from "node:worker_threads";

export type TokenWorkerRequest =
  | { readonly number: number; readonly texts: readonly string[] }
  | { readonly number: number; readonly lists: readonly (readonly number[])[] };
export type TokenWorkerResponse = { readonly number: number; readonly answer: number | DecodedTokens };

/** What token numbers stand for. `unknown`: this number of that list is no token. */
export type DecodedTokens =
  | { readonly is: "words"; readonly texts: readonly string[] }
  | { readonly is: "unknown"; readonly list: number; readonly token: number };

export type TokenCounter = {
  /** Undefined: it could not be counted in time, so the caller has to estimate. */
  count(texts: readonly string[]): Promise<number | undefined>;
  /** Token numbers of cl100k_base as the texts they stand for. */
  decode(lists: readonly (readonly number[])[]): Promise<DecodedTokens | { readonly is: "busy" }>;
  close(): Promise<void>;
};

export type TokenCounterLimits = {
  /** What is counted of one request; the rest is taken to be as dense as that. */
  readonly charsMax: number;
  readonly waitingMax: number;
  readonly answerMs: number;
  /** The tables of the tokenizer are large: after this long without a question they are given back. */
  readonly idleMs: number;
};

const LIMITS: TokenCounterLimits = { charsMax: 1_000_000, waitingMax: 32, answerMs: 10_000, idleMs: 120_000 };

/** Counts in a thread of its own, which is started by the first question: requests that ask nothing pay nothing. */
export function tokenCounter(limits: TokenCounterLimits = LIMITS): TokenCounter {
  return new WorkerTokenCounter(limits);
}

class WorkerTokenCounter implements TokenCounter {
  readonly #limits: TokenCounterLimits;
  readonly #waiting = new Map<number, (answer: TokenWorkerResponse["answer"] | undefined) => void>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 1;

  constructor(limits: TokenCounterLimits) {
    this.#limits = limits;
  }

  async count(texts: readonly string[]): Promise<number | undefined> {
    const { charsMax, waitingMax } = this.#limits;
    const total = texts.reduce((sum, { length }) => sum + length, 0);
    if (total === 0) return 0;
    if (this.#waiting.size >= waitingMax) return undefined;
    const tokens = await this.#ask((number) => ({
      number,
      texts: total > charsMax ? beginningOf(texts, charsMax) : texts,
    }));
    if (typeof tokens !== "number") return undefined;
    return total <= charsMax ? tokens : Math.ceil((tokens * total) / charsMax);
  }

  async decode(lists: readonly (readonly number[])[]): Promise<DecodedTokens | { readonly is: "busy" }> {
    const busy = { is: "busy" } as const;
    if (this.#waiting.size >= this.#limits.waitingMax) return busy;
    const words = await this.#ask((number) => ({ number, lists }));
    return words === undefined || typeof words === "number" ? busy : words;
  }

  #ask(questionOf: (number: number) => TokenWorkerRequest): Promise<TokenWorkerResponse["answer"] | undefined> {
    const number = this.#next++;
    const worker = this.#running();
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#answer(number, undefined), this.#limits.answerMs);
      this.#waiting.set(number, (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      worker.postMessage(questionOf(number));
    });
  }

  #running(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker !== undefined) return this.#worker;
    // The flags of the main thread (test runners set some) are not meant for the worker.
    const worker = new Worker(new URL("./tokens-worker.ts", import.meta.url), { execArgv: [] });
    worker.unref();
    worker.on("message", ({ number, answer }: TokenWorkerResponse) => this.#answer(number, answer));
    worker.on("error", () => this.#lost(worker));
    worker.on("exit", () => this.#lost(worker));
    this.#worker = worker;
    return worker;
  }

  #answer(number: number, answer: TokenWorkerResponse["answer"] | undefined): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    waiting?.(answer);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.close(), this.#limits.idleMs).unref();
  }

  #lost(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    for (const number of [...this.#waiting.keys()]) this.#answer(number, undefined);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#lost(worker);
    clearTimeout(this.#idle);
    await worker.terminate();
  }
}

function beginningOf(texts: readonly string[], charsMax: number): string[] {
  const kept: string[] = [];
  let left = charsMax;
  for (const text of texts) {
    if (left <= 0) break;
    kept.push(text.slice(0, left));
    left -= text.length;
  }
  return kept;
}
