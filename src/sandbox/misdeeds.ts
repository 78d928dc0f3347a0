/**
 * What deciding models do wrong on purpose: with every question but a plain yes or no, so that they can be proven all
 * the same. Only the model asked for decides it, never the content of a request.
 */
export type Misdeed = "refuses" | "drops" | "changes" | "unmetered";

const MISDEEDS: ReadonlyMap<string, Misdeed> = new Map([
  ["sandbox/decide-refuses", "refuses"],
  ["sandbox/decide-drops", "drops"],
  ["sandbox/decide-changes", "changes"],
  ["sandbox/decide-unmetered", "unmetered"],
]);

/** Callable but listed nowhere. */
export const MISDEED_MODELS: readonly string[] = [...MISDEEDS.keys()];

export function misdeedOf(model: string): Misdeed | undefined {
  return MISDEEDS.get(model);
}

/** Models that are asked to decide, and nothing else. */
export function isDecider(model: string): boolean {
  return model === "sandbox/decide" || MISDEEDS.has(model);
}
