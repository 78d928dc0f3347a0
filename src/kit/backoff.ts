export type RetryPolicy = {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly attemptsMax: number;
  readonly ageMsMax: number;
};

/** Keeps the power finite; every maximum is reached before. */
const EXPONENT_MAX = 30;

/** The base delay, doubled with every retry. */
export function exponentialBackoffMs(retries: number, baseMs: number, maxMs: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(retries, EXPONENT_MAX));
}

/** Exponential backoff after a number of attempts, with equal jitter: half of the delay is random. */
export function jitteredBackoffMs(
  attempts: number,
  { baseDelayMs, maxDelayMs }: Pick<RetryPolicy, "baseDelayMs" | "maxDelayMs">,
  random: () => number,
): number {
  const delayMs = exponentialBackoffMs(attempts - 1, baseDelayMs, maxDelayMs);
  return Math.ceil(delayMs / 2 + (random() * delayMs) / 2);
}
