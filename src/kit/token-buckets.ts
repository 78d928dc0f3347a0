import type { Clock } from "./clock.ts";
import { LruMap } from "./lru-map.ts";

/** Beyond this number the least recently used bucket is evicted. */
const BUCKETS_MAX = 50_000;

type Bucket = { tokens: number; refilledAtMs: number };

/** Token buckets by key: each allows a burst of its capacity and refills evenly within `windowMs`. */
export class TokenBuckets {
  readonly #windowMs: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #buckets = new LruMap<string, Bucket>(BUCKETS_MAX);

  constructor(windowMs: number, clock: Pick<Clock, "monotonicMs">) {
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** Takes a token; from an empty bucket none, and the time until the next one is returned. */
  take(key: string, capacity: number): number | undefined {
    const bucket = this.#refilled(key, capacity);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) * (this.#windowMs / capacity));
    bucket.tokens -= 1;
    return undefined;
  }

  /** Returns a token that was taken. */
  putBack(key: string, capacity: number): void {
    const bucket = this.#refilled(key, capacity);
    bucket.tokens = Math.min(capacity, bucket.tokens + 1);
  }

  #refilled(key: string, capacity: number): Bucket {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(key) ?? { tokens: capacity, refilledAtMs: nowMs };
    const refill = ((nowMs - bucket.refilledAtMs) / this.#windowMs) * capacity;
    bucket.tokens = Math.min(capacity, bucket.tokens + refill);
    bucket.refilledAtMs = nowMs;
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
