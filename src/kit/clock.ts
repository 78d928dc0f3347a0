/** Time is handed in, so that a run can be replayed from a seed. */
export type Clock = {
  /** Milliseconds since the Unix epoch: for records and expiry. */
  nowMs(): number;
  /** Milliseconds that never jump: for durations. */
  monotonicMs(): number;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
