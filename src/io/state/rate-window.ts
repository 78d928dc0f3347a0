import type { RateWindowVerdict } from "../../domain/admission/shared-state.ts";
import type { Clock } from "../../kit/clock.ts";

export const WINDOW_MS = 60_000;

const FIRST_CAPACITY = 16;

/**
 * The moments of the calls counted in the last 60 seconds, oldest first: a ring that doubles when it is full, so that
 * counting a call costs the same however many there are. The window is half open: a call at 0 has left at 60,000.
 */
export class RateWindow {
  #timestamps = new Float64Array(FIRST_CAPACITY);
  #first = 0;
  #count = 0;

  /** Forgets what has left the window and answers how many calls are still in it. */
  countAt(nowMs: number): number {
    const leftMs = nowMs - WINDOW_MS;
    while (this.#count > 0 && this.#at(0) <= leftMs) {
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

  /** When the call at this place, counted from the oldest, leaves the window. */
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

/** Below this many windows it is not worth looking for idle ones. */
const IDLE_CHECK_FROM = 1024;

/** One window for each key that called lately. */
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

  count(keyId: string, limit: number): RateWindowVerdict {
    const elapsedMs = this.#clock.monotonicMs();
    const window = this.#windows.get(keyId) ?? this.#open(keyId);
    const counted = window.countAt(elapsedMs);
    if (counted >= limit) {
      // With a limit that was lowered meanwhile, more than the oldest call has to leave before one fits.
      return this.#verdict(false, limit, 0, window.expiresAtMs(counted - limit) - elapsedMs);
    }
    window.add(elapsedMs);
    return this.#verdict(true, limit, limit - counted - 1, window.expiresAtMs(0) - elapsedMs);
  }

  /** As `count`, for a call that does not count: with an empty window the reset is now. */
  peek(keyId: string, limit: number): RateWindowVerdict {
    const elapsedMs = this.#clock.monotonicMs();
    const window = this.#windows.get(keyId);
    const counted = window?.countAt(elapsedMs) ?? 0;
    const place = Math.max(0, counted - limit);
    const leavesAtMs = window === undefined || counted === 0 ? elapsedMs : window.expiresAtMs(place);
    const remaining = Math.max(0, limit - counted);
    return this.#verdict(counted < limit, limit, remaining, leavesAtMs - elapsedMs);
  }

  /** Durations come from the clock that never jumps; only the answer is told in calendar time. */
  #verdict(isAllowed: boolean, limit: number, remaining: number, waitMs: number): RateWindowVerdict {
    return { isAllowed, limit, remaining, resetAtMs: Math.ceil(this.#clock.nowMs() + waitMs), waitMs };
  }

  /** Only keys that called within the last minute keep a window, so the map is bounded by them. */
  dropIdle(): void {
    const elapsedMs = this.#clock.monotonicMs();
    for (const [keyId, window] of this.#windows) if (window.countAt(elapsedMs) === 0) this.#windows.delete(keyId);
    this.#idleCheckAt = Math.max(IDLE_CHECK_FROM, this.#windows.size * 2);
  }

  #open(keyId: string): RateWindow {
    if (this.#windows.size >= this.#idleCheckAt) this.dropIdle();
    const window = new RateWindow();
    this.#windows.set(keyId, window);
    return window;
  }
}
