import { stop, type Timer, type Timers } from "./timers.ts";

type TickerParts = {
  readonly everyMs: number;
  readonly timers: Timers;
  work(): Promise<void>;
  failed(error: unknown): void;
};

/** Does a piece of work again and again, one at a time. */
export class Ticker {
  readonly #parts: TickerParts;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  constructor(parts: TickerParts) {
    this.#parts = parts;
  }

  /** Now; and once more right after, where it is being done already. */
  run(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    stop(this.#timer);
    const { work, failed, timers, everyMs } = this.#parts;
    this.#running = work()
      .catch(failed)
      .then(() => {
        this.#running = undefined;
        if (this.#stopped) return;
        if (this.#again) {
          this.#again = false;
          this.run();
        } else this.#timer = timers.after(everyMs, () => this.run());
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    stop(this.#timer);
    await this.#running;
  }
}
