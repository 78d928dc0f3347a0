/** Time is handed in, so that a run can be replayed from a seed. */
export type Clock = {
  /** Milliseconds since the Unix epoch: for records and expiry. */
  nowMs(): number;
  /** Milliseconds that never jump: for durations. */
  elapsedMs(): number;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
};
