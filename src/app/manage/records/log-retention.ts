import type { LogStore } from "../../../domain/record/record.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { Timers } from "../../../kit/timers.ts";

const BATCH_ROWS = 500;

/** Between batches others use the store for as long as a batch took, and at least this long. */
const PAUSE_MIN_MS = 5;

export type LogRetentionDeps = {
  readonly log: Pick<LogStore, "prepare" | "sweep">;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Null: unlimited. */
  readonly keepMs: number | null;
  readonly warn: Log["warn"];
};

/** Deletes expired requests from the log in batches and creates the next partitions. Roll-ups and ledger are unaffected. */
export class LogRetention {
  readonly #deps: LogRetentionDeps;
  #running: Promise<void> | undefined;
  #stopped = false;
  #removedRows = 0;

  constructor(deps: LogRetentionDeps) {
    this.#deps = deps;
  }

  /** Since the start of this process. */
  get removedRows(): number {
    return this.#removedRows;
  }

  /** Resolves when no expired request is left; one run at a time. */
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
      // Requests are not affected: rows without a partition go to the default one.
      warn({ err: error }, "log-retention: partition creation failed");
    }
    if (keepMs === null) return;
    try {
      while (!this.#stopped) {
        const startedMs = clock.monotonicMs();
        const removed = await log.sweep(clock.nowMs() - keepMs, BATCH_ROWS);
        this.#removedRows += removed;
        if (removed < BATCH_ROWS) return;
        await this.#pause(Math.max(PAUSE_MIN_MS, clock.monotonicMs() - startedMs));
      }
    } catch (error) {
      warn({ err: error }, "log-retention: deletion failed, will be retried");
    }
  }

  #pause(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#deps.timers.after(durationMs, resolve);
    });
  }
}
