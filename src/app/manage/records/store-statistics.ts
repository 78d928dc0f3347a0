import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import { DAY_MS } from "../../../kit/time.ts";

/** Statistics of a log that lost this many rows are out of date. */
const REMOVED_ROWS_MAX = 100_000;

export type StoreStatisticsDeps = {
  readonly store: { refreshStatistics(): Promise<void> };
  /** Rows that retention has removed since the start. */
  readonly removedRows: () => number;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly warn: Log["warn"];
};

/** Keeps the statistics by which the store chooses indexes: after the start, daily, and after a large removal. */
export class StoreStatistics {
  readonly #deps: StoreStatisticsDeps;
  #running: Promise<void> | undefined;
  #refreshed: { readonly atMs: number; readonly removedRows: number } | undefined;

  constructor(deps: StoreStatisticsDeps) {
    this.#deps = deps;
  }

  /** Cheap while nothing is due; called every minute. */
  run(): Promise<void> {
    if (this.#isDue())
      this.#running ??= this.#refresh().finally(() => {
        this.#running = undefined;
      });
    return this.stop();
  }

  async stop(): Promise<void> {
    await this.#running;
  }

  #isDue(): boolean {
    const { clock, removedRows } = this.#deps;
    if (this.#refreshed === undefined) return true;
    const { atMs, removedRows: before } = this.#refreshed;
    return clock.monotonicMs() - atMs >= DAY_MS || removedRows() - before >= REMOVED_ROWS_MAX;
  }

  async #refresh(): Promise<void> {
    const { store, clock, removedRows, warn } = this.#deps;
    try {
      await store.refreshStatistics();
      this.#refreshed = { atMs: clock.monotonicMs(), removedRows: removedRows() };
    } catch (error) {
      warn({ err: error }, "store: statistics not refreshed, will be retried");
    }
  }
}
