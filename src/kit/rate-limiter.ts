import type { Clock } from "./clock.ts";
import { LruMap } from "./lru-map.ts";

const WINDOW_MS = 60_000;
/** Beyond this number the least recently seen caller is evicted. */
const CALLERS_MAX = 100_000;

type WindowCount = { windowStartMs: number; current: number; previous: number };

/** Approximate sliding window of one minute per caller, from two counters; API keys have an exact one in the shared state. */
export class RateLimiter {
  readonly perMinute: number;
  readonly #clock: Clock;
  readonly #counts = new LruMap<string, WindowCount>(CALLERS_MAX);

  /** 0: no limit. */
  constructor(perMinute: number, clock: Clock) {
    this.perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts the call; returns the seconds to wait when it is over the limit. */
  consume(caller: string): number | undefined {
    if (this.perMinute === 0) return undefined;
    const now = this.#clock.monotonicMs();
    const count = this.#counts.get(caller) ?? { windowStartMs: now, current: 0, previous: 0 };
    const passed = now - count.windowStartMs;
    if (passed >= WINDOW_MS) {
      count.previous = passed < 2 * WINDOW_MS ? count.current : 0;
      count.current = 0;
      count.windowStartMs = passed < 2 * WINDOW_MS ? count.windowStartMs + WINDOW_MS : now;
    }
    const previousShare = 1 - (now - count.windowStartMs) / WINDOW_MS;
    const weighted = count.current + count.previous * previousShare;
    this.#counts.set(caller, count);
    if (weighted >= this.perMinute) return Math.max(1, Math.ceil((count.windowStartMs + WINDOW_MS - now) / 1000));
    count.current += 1;
    return undefined;
  }
}
