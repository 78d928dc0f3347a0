import type { Call, Effort } from "./call.ts";

const STEPS: readonly { readonly upToTokens: number; readonly effort: Effort }[] = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
];

/** The word for a budget of tokens to think with. */
export function effortOfBudget(tokens: number): Effort {
  return STEPS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}

const HIGH_OR_NONE = "effort-high-or-none";
/** Known to planners as well: such a model is not asked for both. */
export const TOOLS_OR_THINKING = "tools-or-thinking";

/**
 * The word that a model is told, where it has to be told one. One that thinks or does not, with nothing in between, refuses
 * the others; one that cannot think while it is offered tools has to be told so, whether or not anyone spoke of thinking.
 */
export function effortFor({ reasoning, tools }: Call, quirks: readonly string[]): Effort | undefined {
  if (tools.length > 0 && quirks.includes(TOOLS_OR_THINKING)) return "none";
  if (reasoning === undefined || !quirks.includes(HIGH_OR_NONE)) return reasoning?.effort;
  return reasoning.effort === "none" || reasoning.effort === "minimal" ? "none" : "high";
}
