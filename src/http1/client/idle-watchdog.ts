import { systemClock } from "../../kit/clock.ts";
import { cancelTimer, systemTimers, type Timer } from "../../kit/timers.ts";

export type IdleCheckable = { checkIdle(nowMs: number): void };

/** How often is looked, by the shortest time that something may take. */
const INTERVAL_SHARE = 0.25;
const INTERVAL_MS_MIN = 5;
const INTERVAL_MS_MAX = 1_000;

/**
 * Looks now and then at every connection, which knows itself how long it may be silent. A timer for each would be started
 * over with every piece that comes. Where this process stood still, what has come meanwhile is read before the look.
 */
export class IdleWatchdog {
  readonly #watched = new Set<IdleCheckable>();
  readonly #everyMs: number;
  #timer: Timer | undefined;

  constructor(shortestMs: number) {
    this.#everyMs = Math.min(INTERVAL_MS_MAX, Math.max(INTERVAL_MS_MIN, shortestMs * INTERVAL_SHARE));
  }

  /** By the clock that the looks go by. */
  get nowMs(): number {
    return systemClock.monotonicMs();
  }

  watch(one: IdleCheckable): void {
    this.#watched.add(one);
    this.#schedule();
  }

  unwatch(one: IdleCheckable): void {
    this.#watched.delete(one);
    if (this.#watched.size > 0) return;
    cancelTimer(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    // What is found late may lead to another connection in the middle of a look.
    if (this.#timer !== undefined) return;
    this.#timer = systemTimers.after(this.#everyMs, () => this.#checkAll());
    // Whoever waits for an answer keeps the process up by its connection.
    this.#timer.unref?.();
  }

  #checkAll(): void {
    this.#timer = undefined;
    const { nowMs } = this;
    for (const one of this.#watched) one.checkIdle(nowMs);
    if (this.#watched.size > 0) this.#schedule();
  }
}
