import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, Effort } from "../../../canon/call.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

/** Quirk: reasoning cannot be disabled. */
const THINKS_ALWAYS = "thinks-always";

/** Levels of models that take a word. */
const LEVELS: Readonly<Record<Effort, "minimal" | "low" | "medium" | "high">> = {
  none: "minimal",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** Budgets of models that take a number; all of them accept the maximum. */
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

/** Undefined leaves reasoning to the model. */
export function encodeReasoning(call: Call, facts: ModelFacts): JsonObject | undefined {
  const { reasoning } = call;
  if (reasoning === undefined) return undefined;
  const { effort, budgetTokens } = reasoning;
  if (effort === "none" && facts.quirks.includes(THINKS_ALWAYS))
    throw fault("invalid_value", {
      message: `reasoning_effort: ${call.model} always reasons and does not support "none". The minimum is "low".`,
      param: "reasoning_effort",
    });
  const shown = effort === "none" ? {} : { includeThoughts: true };
  // All models accept a budget, so it is the default.
  if (facts.thinking === "level") return { thinkingLevel: levelOf(effort, facts), ...shown };
  const budget = budgetTokens === null ? BUDGETS[effort] : Math.min(Math.max(budgetTokens, BUDGET_MIN), BUDGET_MAX);
  return { thinkingBudget: budget, ...shown };
}

/** Models that always reason have no level below low. */
function levelOf(effort: Effort, { quirks }: ModelFacts): string {
  const level = LEVELS[effort];
  return level === "minimal" && quirks.includes(THINKS_ALWAYS) ? "low" : level;
}

/** The effort that the provider receives, for the response header. */
export function effectiveEffort(effort: Effort, facts: ModelFacts): Effort {
  if (facts.thinking !== "level") return effort === "xhigh" || effort === "max" ? "high" : effort;
  const level = LEVELS[effort];
  return level === "minimal" && facts.quirks.includes(THINKS_ALWAYS) ? "low" : level;
}
