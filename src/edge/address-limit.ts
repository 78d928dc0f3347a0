import { rateLimitBucket } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import { MinuteLimit } from "./rate-limiter.ts";

/** Per-address limiter that runs before anything is parsed. */
export class IpLimit {
  readonly #limit: MinuteLimit;

  constructor(perMinute: number, clock: Clock) {
    this.#limit = new MinuteLimit(perMinute, clock);
  }

  /** Counts the call; seconds to wait when it is over the limit, undefined when it fits. */
  take(address: string): number | undefined {
    return this.#limit.perMinute === 0 ? undefined : this.#limit.take(rateLimitBucket(address));
  }
}
