import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, Effort } from "../../../canon/call.ts";
import {
  conflictsWithEffort as isInClaudesWay,
  planReasoning as planClaude,
} from "../../messages/upstream/reasoning.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

type ReasoningPlan = {
  /** Model-specific fields that the dialect passes through. */
  readonly fields: JsonObject;
  /** Undefined: the model's own limit. */
  readonly maxTokens: number | undefined;
  /** The effort that the provider received. */
  readonly effectiveEffort: Effort | undefined;
};

const EFFORT_LEVELS: Readonly<Record<Exclude<Effort, "none">, "low" | "medium" | "high">> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** The dialect has no reasoning field: each model family has its own. */
export function planReasoning(call: Call, facts: ModelFacts): ReasoningPlan {
  const { maxOutputTokens: maxTokens, reasoning } = call;
  if (reasoning === undefined) return { fields: {}, maxTokens, effectiveEffort: undefined };
  const { effort } = reasoning;
  switch (facts.thinking) {
    case "nova": {
      if (effort === "none") return { fields: {}, maxTokens, effectiveEffort: effort };
      const level = exceedsHighLimits(call, effort) ? "medium" : EFFORT_LEVELS[effort];
      return {
        fields: { reasoningConfig: { type: "enabled", maxReasoningEffort: level } },
        maxTokens,
        effectiveEffort: level,
      };
    }
    case "effort": {
      if (effort === "none") throw unsupportedEffort(facts, "cannot disable reasoning: send low");
      return { fields: { reasoning_effort: EFFORT_LEVELS[effort] }, maxTokens, effectiveEffort: EFFORT_LEVELS[effort] };
    }
    case "fixed":
      throw unsupportedEffort(facts, "does not support reasoning effort: omit reasoning_effort");
    default:
      return planClaudeReasoning(call, facts);
  }
}

/** At high effort, Nova rejects output limits and sampling. */
function exceedsHighLimits({ maxOutputTokens, temperature, topP }: Call, effort: Exclude<Effort, "none">): boolean {
  return EFFORT_LEVELS[effort] === "high" && [maxOutputTokens, temperature, topP].some((value) => value !== undefined);
}

export function conflictsWithEffort(call: Call, facts: ModelFacts): boolean {
  return readsClaudeSignatures(facts) && isInClaudesWay(call, facts);
}

function unsupportedEffort({ model }: ModelFacts, why: string) {
  return fault("unsupported_parameter", { message: `${model} ${why}.`, param: "reasoning_effort" });
}

/** The fields of the messages dialect; a limit is sent only if the caller or a budget requires one. */
function planClaudeReasoning(call: Call, facts: ModelFacts): ReasoningPlan {
  const { thinking, effort, maxTokens, effectiveEffort } = planClaude(call, facts);
  const fields = {
    ...(thinking === undefined ? {} : { thinking }),
    ...(effort === undefined ? {} : { output_config: { effort: effort } }),
  };
  const budgeted = thinking?.["budget_tokens"] !== undefined;
  return { fields, maxTokens: budgeted ? maxTokens : call.maxOutputTokens, effectiveEffort };
}

export function readsClaudeSignatures({ thinking }: ModelFacts): boolean {
  return thinking !== "nova" && thinking !== "effort" && thinking !== "fixed";
}
