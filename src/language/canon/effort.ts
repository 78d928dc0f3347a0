import type { Effort } from "./call.ts";

const STEPS: readonly { readonly upToTokens: number; readonly effort: Effort }[] = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
];

/** The word for a budget of tokens to think with. */
export function effortOfBudget(tokens: number): Effort {
  return STEPS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}

const HIGH_OR_NONE = "effort-high-or-none";

/** The word that a model is told: one that thinks or does not, with nothing in between, refuses the others. */
export function effortFor(effort: Effort, quirks: readonly string[]): Effort {
  if (!quirks.includes(HIGH_OR_NONE)) return effort;
  return effort === "none" || effort === "minimal" ? "none" : "high";
}
