/** How often, how long and after what waits a delivery is tried. */
export type RetryPolicy = {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly attemptsMax: number;
  readonly ageMsMax: number;
};

/** More is beyond every most there is. */
const EXPONENT_MAX = 30;

/** Twice as long as the first for each time, up to a most. */
export function exponentialBackoffMs(times: number, firstMs: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(times, EXPONENT_MAX));
}

/** The wait after so many tries: doubled each time, up to a most, and spread over its second half. */
export function jitteredBackoffMs(
  attempts: number,
  { baseDelayMs, maxDelayMs }: Pick<RetryPolicy, "baseDelayMs" | "maxDelayMs">,
  random: () => number,
): number {
  const wholeMs = exponentialBackoffMs(attempts - 1, baseDelayMs, maxDelayMs);
  return Math.ceil(wholeMs / 2 + (random() * wholeMs) / 2);
}
