/** A reply may take so many times as long as the slowest recent one. */
const SLOWEST_TIMES = 8;
/** However slow Redis is, a request gets its refusal after so many times the least timeout. */
const LEAST_TIMES_MAX = 10;
/** The slowest reply counts for one to two of these. */
const RECENT_MS = 10_000;

/**
 * How long a reply of Redis is waited for: at least the configured time, longer while Redis and the network are slow but
 * do reply. A loaded machine delays replies by turns, and a request that is refused then would have been admitted.
 */
export class AdaptiveTimeout {
  readonly #leastMs: number;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #slowestMs = 0;
  #slowestBeforeMs = 0;

  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  /** A reply, also one that was too late. Both are times of the monotonic clock. */
  noteReply(sentAtMs: number, nowMs: number): void {
    this.#forget(nowMs);
    this.#slowestMs = Math.max(this.#slowestMs, nowMs - sentAtMs);
  }

  at(nowMs: number): number {
    this.#forget(nowMs);
    const slowestMs = Math.max(this.#slowestMs, this.#slowestBeforeMs);
    return Math.min(Math.max(this.#leastMs, SLOWEST_TIMES * slowestMs), LEAST_TIMES_MAX * this.#leastMs);
  }

  #forget(nowMs: number): void {
    const ageMs = nowMs - this.#sinceMs;
    if (ageMs < RECENT_MS) return;
    this.#slowestBeforeMs = ageMs < 2 * RECENT_MS ? this.#slowestMs : 0;
    this.#slowestMs = 0;
    this.#sinceMs = nowMs;
  }
}
