import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call, Effort } from "../../../canon/call.ts";
import {
  conflictsWithEffort as isInClaudesWay,
  planReasoning as planClaude,
} from "../../messages/upstream/reasoning.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

export type ReasoningPlan = {
  /** Fields of the model's maker, which the dialect hands through. */
  readonly fields: JsonObject;
  /** The limit of the answer; undefined: the model's own. */
  readonly maxTokens: number | undefined;
  /** What the provider was told, in the caller's words. */
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

/** The dialect has no word for reasoning: each family of models has fields of its own. */
export function planReasoning(call: Call, facts: ModelFacts): ReasoningPlan {
  const { maxOutputTokens: maxTokens, reasoning } = call;
  if (reasoning === undefined) return { fields: {}, maxTokens, effectiveEffort: undefined };
  const { effort } = reasoning;
  switch (facts.thinking) {
    case "nova": {
      if (effort === "none") return { fields: {}, maxTokens, effectiveEffort: effort };
      const word = exceedsHighLimits(call, effort) ? "medium" : EFFORT_LEVELS[effort];
      return {
        fields: { reasoningConfig: { type: "enabled", maxReasoningEffort: word } },
        maxTokens,
        effectiveEffort: word,
      };
    }
    case "effort": {
      if (effort === "none") throw unsupportedEffort(facts, "cannot be told not to think: send low");
      return { fields: { reasoning_effort: EFFORT_LEVELS[effort] }, maxTokens, effectiveEffort: EFFORT_LEVELS[effort] };
    }
    case "fixed":
      throw unsupportedEffort(facts, "takes no word on how hard to think: leave reasoning_effort out");
    default:
      return planClaudeReasoning(call, facts);
  }
}

/** Nova at its highest decides on its own how long it writes and how it chooses its words, and refuses to be told. */
function exceedsHighLimits({ maxOutputTokens, temperature, topP }: Call, effort: Exclude<Effort, "none">): boolean {
  return EFFORT_LEVELS[effort] === "high" && [maxOutputTokens, temperature, topP].some((asked) => asked !== undefined);
}

export function conflictsWithEffort(call: Call, facts: ModelFacts): boolean {
  return readsClaudeSignatures(facts) && isInClaudesWay(call, facts);
}

function unsupportedEffort({ model }: ModelFacts, why: string) {
  return fault("unsupported_parameter", { message: `${model} ${why}.`, param: "reasoning_effort" });
}

/** The same fields as in Claude's own dialect; a limit is only stated where the caller or a budget needs one. */
function planClaudeReasoning(call: Call, facts: ModelFacts): ReasoningPlan {
  const { thinking, effort, maxTokens, effectiveEffort } = planClaude(call, facts);
  const fields = {
    ...(thinking === undefined ? {} : { thinking }),
    ...(effort === undefined ? {} : { output_config: { effort: effort } }),
  };
  const budgeted = thinking?.["budget_tokens"] !== undefined;
  return { fields, maxTokens: budgeted ? maxTokens : call.maxOutputTokens, effectiveEffort };
}

/** Whether an endpoint's models think as Claude does, and so open Claude's seals. */
export function readsClaudeSignatures({ thinking }: ModelFacts): boolean {
  return thinking !== "nova" && thinking !== "effort" && thinking !== "fixed";
}
