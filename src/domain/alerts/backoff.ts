/** How often, how long and after what waits a delivery is tried. */
export type Patience = {
  readonly firstWaitMs: number;
  readonly waitMsMax: number;
  readonly attemptsMax: number;
  readonly ageMsMax: number;
};

/** The wait after so many tries: doubled each time, up to a most, and spread over its second half. */
export function waitAfter(
  attempts: number,
  { firstWaitMs, waitMsMax }: Pick<Patience, "firstWaitMs" | "waitMsMax">,
  random: () => number,
): number {
  const doubled = Math.min(waitMsMax, firstWaitMs * 2 ** Math.min(attempts - 1, 30));
  return Math.ceil(doubled / 2 + (random() * doubled) / 2);
}
