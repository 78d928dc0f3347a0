import { type Call, EFFORTS, type Effort, type ReasoningSettings } from "./call.ts";
import type { Quirk } from "./quirks.ts";

const BUDGET_STEPS: readonly { readonly upToTokens: number; readonly effort: Effort }[] = [
  { upToTokens: 2048, effort: "low" },
  { upToTokens: 8192, effort: "medium" },
];

export function effortForBudget(tokens: number): Effort {
  return BUDGET_STEPS.find((step) => tokens <= step.upToTokens)?.effort ?? "high";
}

const HIGH_OR_NONE = "effort-high-or-none";
/** Exported because the planner also excludes such models when a call needs both. */
export const TOOLS_OR_THINKING = "tools-or-thinking";

/** Efforts that a model accepts; null: unknown. */
export type SupportedEfforts = readonly Effort[] | null | undefined;

/** Every model with reasoning control accepts these. */
const UNIVERSAL_EFFORTS: readonly Effort[] = ["low", "medium", "high"];

/**
 * The effort to send, undefined for none. On/off models reject intermediate efforts, and a model that cannot reason
 * with tools needs an explicit "none" even if the caller sent no effort.
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
 * The closest supported effort, the lower of two at equal distance. With unknown support a required effort is sent
 * unchanged and an optional one is mapped to the universal efforts.
 */
export function nearestEffort({ effort, isOptional }: ReasoningSettings, efforts: SupportedEfforts): Effort {
  const known = efforts ?? (isOptional === true ? UNIVERSAL_EFFORTS : undefined);
  if (effort === "none" || known === undefined || known.includes(effort)) return effort;
  const requestedIndex = EFFORTS.indexOf(effort);
  const [nearest = effort] = EFFORTS.filter((candidate) => known.includes(candidate)).toSorted(
    (a, b) => Math.abs(EFFORTS.indexOf(a) - requestedIndex) - Math.abs(EFFORTS.indexOf(b) - requestedIndex),
  );
  return nearest;
}
