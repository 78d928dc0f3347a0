import type { KeyRef, RateWindowVerdict } from "../../domain/admission/shared-state.ts";
import type { Clock } from "../../kit/clock.ts";

export const WINDOW_MS = 60_000;

const INITIAL_CAPACITY = 16;

/**
 * Times of the calls in the last 60 seconds, oldest first, in a ring buffer that doubles when it is full: counting is O(1)
 * amortized. The window is half open: a call at 0 has left it at 60,000.
 */
export class RateWindow {
  #timestamps = new Float64Array(INITIAL_CAPACITY);
  #first = 0;
  #count = 0;

  /** Drops calls that left the window; returns how many remain. */
  countAt(nowMs: number): number {
    const expiredMs = nowMs - WINDOW_MS;
    while (this.#count > 0 && this.#at(0) <= expiredMs) {
      this.#first = (this.#first + 1) % this.#timestamps.length;
      this.#count -= 1;
    }
    return this.#count;
  }

  add(nowMs: number): void {
    if (this.#count === this.#timestamps.length) this.#grow();
    this.#timestamps[(this.#first + this.#count) % this.#timestamps.length] = nowMs;
    this.#count += 1;
  }

  /** `index`: from the oldest. */
  expiresAtMs(index: number): number {
    return this.#at(index) + WINDOW_MS;
  }

  #at(index: number): number {
    return this.#timestamps[(this.#first + index) % this.#timestamps.length] ?? 0;
  }

  #grow(): void {
    const larger = new Float64Array(this.#timestamps.length * 2);
    const untilEnd = this.#timestamps.subarray(this.#first);
    larger.set(untilEnd);
    larger.set(this.#timestamps.subarray(0, this.#first), untilEnd.length);
    this.#timestamps = larger;
    this.#first = 0;
  }
}

/** Fewer windows are not checked for idle ones. */
const IDLE_CHECK_FROM = 1024;

/** One window for each recently used key. */
export class RateWindows {
  readonly #clock: Clock;
  readonly #windows = new Map<string, RateWindow>();
  #idleCheckAt = IDLE_CHECK_FROM;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#windows.size;
  }

  consume({ id }: Pick<KeyRef, "id">, limit: number): RateWindowVerdict {
    const monotonicMs = this.#clock.monotonicMs();
    const window = this.#windows.get(id) ?? this.#open(id);
    const counted = window.countAt(monotonicMs);
    if (counted >= limit) {
      // After the limit was lowered, several calls must leave before one fits.
      return this.#verdict(false, limit, 0, window.expiresAtMs(counted - limit) - monotonicMs);
    }
    window.add(monotonicMs);
    return this.#verdict(true, limit, limit - counted - 1, window.expiresAtMs(0) - monotonicMs);
  }

  /** As `consume` without counting; the reset of an empty window is now. */
  peek({ id }: Pick<KeyRef, "id">, limit: number): RateWindowVerdict {
    const monotonicMs = this.#clock.monotonicMs();
    const window = this.#windows.get(id);
    const counted = window?.countAt(monotonicMs) ?? 0;
    const index = Math.max(0, counted - limit);
    const expiresAtMs = window === undefined || counted === 0 ? monotonicMs : window.expiresAtMs(index);
    const remaining = Math.max(0, limit - counted);
    return this.#verdict(counted < limit, limit, remaining, expiresAtMs - monotonicMs);
  }

  /** Durations use the monotonic clock; only the result is in calendar time. */
  #verdict(isAllowed: boolean, limit: number, remaining: number, waitMs: number): RateWindowVerdict {
    return { isAllowed, limit, remaining, resetAtMs: Math.ceil(this.#clock.nowMs() + waitMs), waitMs };
  }

  /** Bounds the map by the keys used within the last minute. */
  dropIdle(): void {
    const monotonicMs = this.#clock.monotonicMs();
    for (const [keyId, window] of this.#windows) if (window.countAt(monotonicMs) === 0) this.#windows.delete(keyId);
    this.#idleCheckAt = Math.max(IDLE_CHECK_FROM, this.#windows.size * 2);
  }

  #open(keyId: string): RateWindow {
    if (this.#windows.size >= this.#idleCheckAt) this.dropIdle();
    const window = new RateWindow();
    this.#windows.set(keyId, window);
    return window;
  }
}
