import { type Call, EFFORTS, type Effort, type ReasoningSettings } from "./call.ts";
import type { Quirk } from "./quirks.ts";

const BUDGET_STEPS: readonly { readonly upToTokens: number; readonly effort: Effort }[] = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
];

/** The word for a budget of tokens to think with. */
export function effortForBudget(tokens: number): Effort {
  return BUDGET_STEPS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}

const HIGH_OR_NONE = "effort-high-or-none";
/** Known to planners as well: such a model is not asked for both. */
export const TOOLS_OR_THINKING = "tools-or-thinking";

/** The words that a model takes; null: nobody knows. */
export type SupportedEfforts = readonly Effort[] | null | undefined;

/** What every model that can be told a word is known to take. */
const UNIVERSAL_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/**
 * The word that a model is told, where it has to be told one. One that thinks or does not, with nothing in between, refuses
 * the others; one that cannot think while it is offered tools has to be told so, whether or not anyone spoke of thinking.
 */
export function effortFor(
  { reasoning, tools }: Call,
  { quirks, efforts }: { readonly quirks: readonly Quirk[]; readonly efforts?: SupportedEfforts },
): Effort | undefined {
  if (tools.length > 0 && quirks.includes(TOOLS_OR_THINKING)) return "none";
  if (reasoning === undefined) return undefined;
  if (!quirks.includes(HIGH_OR_NONE)) return nearestEffort(reasoning, efforts);
  return reasoning.effort === "none" || reasoning.effort === "minimal" ? "none" : "high";
}

/**
 * The nearest word that the model knows, and of two the lower. Where nobody knows its words, a caller's demand goes out as
 * it is, and a wish that can be done without in words that every model takes.
 */
export function nearestEffort({ effort, isOptional }: ReasoningSettings, efforts: SupportedEfforts): Effort {
  const known = efforts ?? (isOptional === true ? UNIVERSAL_EFFORTS : undefined);
  if (effort === "none" || known === undefined || known.includes(effort)) return effort;
  const requestedIndex = EFFORTS.indexOf(effort);
  const [nearest = effort] = EFFORTS.filter((word) => known.includes(word)).toSorted(
    (a, b) => Math.abs(EFFORTS.indexOf(a) - requestedIndex) - Math.abs(EFFORTS.indexOf(b) - requestedIndex),
  );
  return nearest;
}
