/** Injected, so that tests and simulations control time. */
export type Clock = {
  /** Milliseconds since the Unix epoch: for records and expiry. */
  nowMs(): number;
  /** Milliseconds of the monotonic clock: for durations and deadlines. */
  monotonicMs(): number;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
