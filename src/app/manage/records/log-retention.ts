import type { LogStore } from "../../../domain/record/record.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { Timers } from "../../../kit/timers.ts";

const BATCH_ROWS = 500;

/** Between two batches others have their turn at the store. */
const PAUSE_MS = 50;

export type LogRetentionDeps = {
  readonly log: Pick<LogStore, "prepare" | "sweep">;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Null: requests are kept for ever. */
  readonly keepMs: number | null;
  readonly warn: Log["warn"];
};

/**
 * Takes requests that are too old out of the log, a few at a time, and makes context for those of the next days. Roll-ups and
 * ledger stay as they are.
 */
export class LogRetention {
  readonly #deps: LogRetentionDeps;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: LogRetentionDeps) {
    this.#deps = deps;
  }

  /** Resolves when nothing is too old any more; one run at a time. */
  run(): Promise<void> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #sweep(): Promise<void> {
    const { log, clock, keepMs, warn } = this.#deps;
    try {
      await log.prepare(clock.nowMs());
    } catch (error) {
      // No request is refused for it: those without a place of their own are kept together until there is one.
      warn({ err: error }, "the log has no context of its own for the next days yet");
    }
    if (keepMs === null) return;
    try {
      while (!this.#stopped) {
        const removed = await log.sweep(clock.nowMs() - keepMs, BATCH_ROWS);
        if (removed < BATCH_ROWS) return;
        await this.#pause();
      }
    } catch (error) {
      warn({ err: error }, "old requests could not be removed from the log yet");
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.timers.after(PAUSE_MS, resolve);
    });
  }
}
