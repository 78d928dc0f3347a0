import type { Log } from "../../../kit/log.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import type { RedisSettings } from "./redis-state.ts";

/** `done`, or `later`: it is tried again when Redis answers again. */
export type Step = () => Promise<"done" | "later">;

const OWED_MAX = 100_000;
const AGAIN_MS = 500;
const MONEY = "money ";

/** The name of a step that changes a balance for what is not a request. */
export const moneyStep = (id: string) => `${MONEY}${id}`;

/**
 * Steps that must be carried out in the end, whatever Redis does meanwhile: the end of a hold, the memory of a charge.
 * Each is harmless when it is carried out twice. There are as many as requests run, because while steps wait here no
 * new request is admitted.
 */
export class Owed {
  readonly #log: Log;
  readonly #timers: Timers;
  readonly #steps = new Map<string, Step>();
  #settling: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor({ log, timers }: Pick<RedisSettings, "log" | "timers">) {
    this.#log = log;
    this.#timers = timers;
  }

  /** Tries everything once more. `left`: some of it is not done, and nobody here does it any more. */
  async close(): Promise<"done" | "left"> {
    this.#isClosed = true;
    cancelTimer(this.#timer);
    await this.settle();
    return this.size === 0 ? "done" : "left";
  }

  get size(): number {
    return this.#steps.size;
  }

  /** What `moneyStep` names is not done yet. */
  get owesMoney(): boolean {
    return [...this.#steps.keys()].some((name) => name.startsWith(MONEY));
  }

  has(name: string): boolean {
    return this.#steps.has(name);
  }

  /** Tries at once; resolves when it is done or has to wait. */
  async add(name: string, step: Step): Promise<void> {
    this.#steps.set(name, step);
    if (this.#steps.size > OWED_MAX) this.#dropOldest();
    if ((await attempted(step)) === "later") this.#tryLater();
    else this.#done(name, step);
  }

  /** Everything that waits, in the order in which it came. */
  settle(): Promise<void> {
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = undefined;
    });
    return this.#settling;
  }

  async #settleAll(): Promise<void> {
    for (const [name, step] of [...this.#steps]) if ((await attempted(step)) === "done") this.#done(name, step);
    if (this.#steps.size > 0) this.#tryLater();
  }

  #tryLater(): void {
    if (this.#isClosed) return;
    this.#timer ??= this.#timers.after(AGAIN_MS, () => {
      this.#timer = undefined;
      void this.settle();
    });
  }

  /** Another may have taken its name meanwhile. */
  #done(name: string, step: Step): void {
    if (this.#steps.get(name) === step) this.#steps.delete(name);
  }

  #dropOldest(): void {
    for (const name of this.#steps.keys()) {
      this.#steps.delete(name);
      this.#log.error({ step: name }, "too many steps wait for Redis: one is left to the journal");
      return;
    }
  }
}

async function attempted(step: Step): Promise<"done" | "later"> {
  try {
    return await step();
  } catch {
    return "later";
  }
}
