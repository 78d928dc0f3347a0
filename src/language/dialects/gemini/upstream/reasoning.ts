import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, Effort } from "../../../canon/call.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

/** A fact of the catalogue: the model cannot be told not to think. */
const THINKS_ALWAYS = "thinks-always";

/** Levels of models that are told by a word, with how the nearest one is called elsewhere. */
const LEVELS: Readonly<Record<Effort, "minimal" | "low" | "medium" | "high">> = {
  none: "minimal",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** Tokens of models that are told by a number; the largest is what every one of them takes. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 512,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
const BUDGET_MIN = 512;
const BUDGET_MAX = 24_576;

/** How hard to think, in the words of the model; undefined leaves it to the model. */
export function encodeReasoning(call: Call, facts: ModelFacts): JsonObject | undefined {
  const { reasoning } = call;
  if (reasoning === undefined) return undefined;
  const { effort, budgetTokens } = reasoning;
  if (effort === "none" && facts.quirks.includes(THINKS_ALWAYS))
    throw fault("invalid_value", {
      message: `reasoning_effort: ${call.model} always thinks and does not take "none"; "low" is the least.`,
      param: "reasoning_effort",
    });
  const shown = effort === "none" ? {} : { includeThoughts: true };
  // A number is understood by all of them, so it is the way where the catalogue does not say.
  if (facts.thinking === "level") return { thinkingLevel: levelOf(effort, facts), ...shown };
  const budget = budgetTokens === null ? BUDGETS[effort] : Math.min(Math.max(budgetTokens, BUDGET_MIN), BUDGET_MAX);
  return { thinkingBudget: budget, ...shown };
}

/** Models that always think have no level below low. */
function levelOf(effort: Effort, { quirks }: ModelFacts): string {
  const level = LEVELS[effort];
  return level === "minimal" && quirks.includes(THINKS_ALWAYS) ? "low" : level;
}

/** The effort that the model is really told, for the caller to see. */
export function effectiveEffort(effort: Effort, facts: ModelFacts): Effort {
  if (facts.thinking !== "level") return effort === "xhigh" || effort === "max" ? "high" : effort;
  const level = LEVELS[effort];
  return level === "minimal" && facts.quirks.includes(THINKS_ALWAYS) ? "low" : level;
}
