import type { Clock } from "../kit/clock.ts";
import { LruMap } from "../kit/lru-map.ts";

const WINDOW_MS = 60_000;
/** Callers remembered at once; beyond it the one seen longest ago is forgotten. */
const CALLERS_MAX = 100_000;

type Count = { windowStartMs: number; current: number; previous: number };

/**
 * So many calls a minute of one caller. Two counters weigh the last minute, which is cheap and bounded; the exact
 * window is the per-key one.
 */
export class MinuteLimit {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #counts = new LruMap<string, Count>(CALLERS_MAX);

  /** 0: no limit. */
  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  get perMinute(): number {
    return this.#perMinute;
  }

  /** Counts the call; seconds to wait when it is over the limit, undefined when it fits. */
  take(caller: string): number | undefined {
    if (this.#perMinute === 0) return undefined;
    const now = this.#clock.monotonicMs();
    const count = this.#counts.get(caller) ?? { windowStartMs: now, current: 0, previous: 0 };
    const passed = now - count.windowStartMs;
    if (passed >= WINDOW_MS) {
      count.previous = passed < 2 * WINDOW_MS ? count.current : 0;
      count.current = 0;
      count.windowStartMs = passed < 2 * WINDOW_MS ? count.windowStartMs + WINDOW_MS : now;
    }
    const share = 1 - (now - count.windowStartMs) / WINDOW_MS;
    const weighed = count.current + count.previous * share;
    this.#counts.set(caller, count);
    if (weighed >= this.#perMinute) return Math.max(1, Math.ceil((count.windowStartMs + WINDOW_MS - now) / 1000));
    count.current += 1;
    return undefined;
  }
}
