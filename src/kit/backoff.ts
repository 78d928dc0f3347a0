/** How often, how long and after what waits a delivery is tried. */
export type Patience = {
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
  readonly attemptsMax: number;
  readonly ageMsMax: number;
};

/** More is beyond every most there is. */
const TIMES_MAX = 30;

/** Twice as long as the first for each time, up to a most. */
export function doubled(times: number, firstMs: number, mostMs: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(times, TIMES_MAX));
}

/** The wait after so many tries: doubled each time, up to a most, and spread over its second half. */
export function waitAfter(
  attempts: number,
  { firstWaitMs, waitMsMax }: Pick<Patience, "firstWaitMs" | "waitMsMax">,
  random: () => number,
): number {
  const wholeMs = doubled(attempts - 1, firstWaitMs, waitMsMax);
  return Math.ceil(wholeMs / 2 + (random() * wholeMs) / 2);
}
