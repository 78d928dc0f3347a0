import type { Log } from "../../../kit/log.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import type { RedisSettings } from "./redis-state.ts";

/** Idempotent. `retry`, or a rejection: it runs again later. */
export type RetryStep = () => Promise<"done" | "retry">;

const STEPS_MAX = 100_000;
const RETRY_MS = 500;
const WALLET_CHANGE_PREFIX = "money ";

/** The name of a step that changes a balance outside a request: a credit, or the undo of a withdrawal. */
export const walletChangeStep = (id: string) => `${WALLET_CHANGE_PREFIX}${id}`;

/**
 * Steps that must happen eventually although Redis does not answer now: the end of a hold, the record of a charge. The
 * queue is bounded by the requests in flight, because no request is admitted while Redis does not answer.
 */
export class RetryQueue {
  readonly #log: Log;
  readonly #timers: Timers;
  readonly #steps = new Map<string, RetryStep>();
  #draining: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor({ log, timers }: Pick<RedisSettings, "log" | "timers">) {
    this.#log = log;
    this.#timers = timers;
  }

  /** Runs everything once more. `left`: some steps did not succeed and are lost with this process. */
  async close(): Promise<"done" | "left"> {
    this.#isClosed = true;
    cancelTimer(this.#timer);
    await this.drain();
    return this.size === 0 ? "done" : "left";
  }

  get size(): number {
    return this.#steps.size;
  }

  get hasWalletChange(): boolean {
    return [...this.#steps.keys()].some((name) => name.startsWith(WALLET_CHANGE_PREFIX));
  }

  has(name: string): boolean {
    return this.#steps.has(name);
  }

  /** Runs the step at once; resolves when it succeeded or is queued. A step of the same name is replaced. */
  async add(name: string, step: RetryStep): Promise<void> {
    this.#steps.set(name, step);
    if (this.#steps.size > STEPS_MAX) this.#dropOldest();
    if ((await outcomeOf(step)) === "retry") this.#scheduleDrain();
    else this.#remove(name, step);
  }

  /** Runs every queued step, oldest first. */
  drain(): Promise<void> {
    this.#draining ??= this.#runAll().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #runAll(): Promise<void> {
    for (const [name, step] of [...this.#steps]) if ((await outcomeOf(step)) === "done") this.#remove(name, step);
    if (this.#steps.size > 0) this.#scheduleDrain();
  }

  #scheduleDrain(): void {
    if (this.#isClosed) return;
    this.#timer ??= this.#timers.after(RETRY_MS, () => {
      this.#timer = undefined;
      void this.drain();
    });
  }

  /** A newer step of the same name stays. */
  #remove(name: string, step: RetryStep): void {
    if (this.#steps.get(name) === step) this.#steps.delete(name);
  }

  /** The journal still has what the dropped step stood for. */
  #dropOldest(): void {
    for (const name of this.#steps.keys()) {
      this.#steps.delete(name);
      this.#log.error({ step: name }, "retry-queue: full, oldest step dropped");
      return;
    }
  }
}

async function outcomeOf(step: RetryStep): Promise<"done" | "retry"> {
  try {
    return await step();
  } catch {
    return "retry";
  }
}
