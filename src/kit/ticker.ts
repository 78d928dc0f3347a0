import { cancelTimer, type Timer, type Timers } from "./timers.ts";

type TickerOptions = {
  readonly intervalMs: number;
  readonly timers: Timers;
  task(): Promise<void>;
  onError(error: unknown): void;
};

/** Runs a task periodically; runs never overlap. */
export class Ticker {
  readonly #options: TickerOptions;
  #timer: Timer | undefined;
  #currentRun: Promise<void> | undefined;
  #rerunRequested = false;
  #isStopped = false;

  constructor(parts: TickerOptions) {
    this.#options = parts;
  }

  /** Runs the task now; during a run, once more after it. */
  run(): void {
    if (this.#isStopped) return;
    if (this.#currentRun !== undefined) {
      this.#rerunRequested = true;
      return;
    }
    cancelTimer(this.#timer);
    const { task, onError, timers, intervalMs } = this.#options;
    this.#currentRun = task()
      .catch(onError)
      .then(() => {
        this.#currentRun = undefined;
        if (this.#isStopped) return;
        if (this.#rerunRequested) {
          this.#rerunRequested = false;
          this.run();
        } else this.#timer = timers.after(intervalMs, () => this.run());
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    await this.#currentRun;
  }
}
