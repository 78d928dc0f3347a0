import { systemClock } from "../../kit/clock.ts";
import { cancelTimer, systemTimers, type Timer } from "../../kit/timers.ts";

export type IdleCheckable = { checkIdle(nowMs: number): void };

const INTERVAL_SHARE = 0.25;
const INTERVAL_MS_MIN = 5;
const INTERVAL_MS_MAX = 1_000;

/**
 * Checks all connections with one timer; each connection knows its own timeouts. A timer per connection would restart
 * with every chunk. After an event-loop stall, pending bytes are read before the check runs.
 */
export class IdleWatchdog {
  readonly #watched = new Set<IdleCheckable>();
  readonly #everyMs: number;
  #timer: Timer | undefined;

  constructor(shortestTimeoutMs: number) {
    this.#everyMs = Math.min(INTERVAL_MS_MAX, Math.max(INTERVAL_MS_MIN, shortestTimeoutMs * INTERVAL_SHARE));
  }

  watch(connection: IdleCheckable): void {
    this.#watched.add(connection);
    this.#schedule();
  }

  unwatch(connection: IdleCheckable): void {
    this.#watched.delete(connection);
    if (this.#watched.size > 0) return;
    cancelTimer(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = systemTimers.after(this.#everyMs, () => this.#checkAll());
    // An open connection keeps the process alive; the watchdog need not.
    this.#timer.unref?.();
  }

  #checkAll(): void {
    this.#timer = undefined;
    const nowMs = systemClock.monotonicMs();
    for (const connection of this.#watched) connection.checkIdle(nowMs);
    if (this.#watched.size > 0) this.#schedule();
  }
}
