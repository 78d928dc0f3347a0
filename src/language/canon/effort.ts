import type { Effort } from "./call.ts";

const STEPS: readonly { readonly upToTokens: number; readonly effort: Effort }[] = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
];

/** The word for a budget of tokens to think with. */
export function effortOfBudget(tokens: number): Effort {
  return STEPS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}
