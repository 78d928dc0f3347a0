import { cancelTimer, type Timer, type Timers } from "./timers.ts";

type TickerOptions = {
  readonly intervalMs: number;
  readonly timers: Timers;
  task(): Promise<void>;
  onError(error: unknown): void;
};

/** Does a piece of work again and again, one at a time. */
export class Ticker {
  readonly #options: TickerOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #rerunRequested = false;
  #stopped = false;

  constructor(parts: TickerOptions) {
    this.#options = parts;
  }

  /** Now; and once more right after, where it is being done already. */
  run(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#rerunRequested = true;
      return;
    }
    cancelTimer(this.#timer);
    const { task, onError, timers, intervalMs } = this.#options;
    this.#running = task()
      .catch(onError)
      .then(() => {
        this.#running = undefined;
        if (this.#stopped) return;
        if (this.#rerunRequested) {
          this.#rerunRequested = false;
          this.run();
        } else this.#timer = timers.after(intervalMs, () => this.run());
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    cancelTimer(this.#timer);
    await this.#running;
  }
}
