/**
 * What deciding models do wrong on purpose: with every question but a plain yes or no, so that they can be proven all
 * the same. Only the model asked for decides it, never the content of a request.
 */
export type DecisionFault = "refuses" | "drops" | "changes" | "unmetered";

const DECISION_FAULTS: ReadonlyMap<string, DecisionFault> = new Map([
  ["sandbox/decide-refuses", "refuses"],
  ["sandbox/decide-drops", "drops"],
  ["sandbox/decide-changes", "changes"],
  ["sandbox/decide-unmetered", "unmetered"],
]);

/** Callable but listed nowhere. */
export const DECISION_FAULT_MODELS: readonly string[] = [...DECISION_FAULTS.keys()];

export function decisionFaultOf(model: string): DecisionFault | undefined {
  return DECISION_FAULTS.get(model);
}

/** Models that are asked to decide, and nothing else. */
export function isDecisionModel(model: string): boolean {
  return model === "sandbox/decide" || DECISION_FAULTS.has(model);
}
