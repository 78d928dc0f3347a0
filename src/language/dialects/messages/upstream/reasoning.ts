import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import { type Call, EFFORTS, type Effort, type ReasoningSettings } from "../../../canon/call.ts";
import { nearestEffort } from "../../../canon/effort.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import type { ReasoningControl } from "../../../canon/reasoning-control.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

/** Reasoning and output limit depend on each other, so they are planned together. */
type ReasoningPlan = {
  readonly maxTokens: number;
  readonly thinking: JsonObject | undefined;
  /** Effort field, on models that have one. */
  readonly effort: string | undefined;
  /** The effort that the provider receives. */
  readonly effectiveEffort: Effort | undefined;
};

/** The API requires a limit; all known models accept this one. */
const MAX_TOKENS_DEFAULT = 4096;
const BUDGET_MIN = 1024;
/** Share of the output limit that an effort may use for reasoning. */
const BUDGET_SHARE = 0.8;
const BUDGETS: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 65_536,
};

export function planReasoning(call: Call, facts: ModelFacts): ReasoningPlan {
  const maxTokens = call.maxOutputTokens ?? facts.maxOutputTokens ?? MAX_TOKENS_DEFAULT;
  const { reasoning } = call;
  if (reasoning === undefined) return { maxTokens, thinking: undefined, effort: undefined, effectiveEffort: undefined };
  const mode = modeOf(facts);
  if (reasoning.effort === "none")
    return { maxTokens, thinking: disabledThinking(mode, facts), effort: undefined, effectiveEffort: "none" };
  return mode === "budget"
    ? planByBudget(call, reasoning, maxTokens, facts)
    : planByEffort(call, reasoning, maxTokens, facts);
}

/** Output limit including a reasoning budget that does not fit into it. */
export function outputTokensMax({ reasoning }: Call, limit: number, facts: ModelFacts): number {
  if (reasoning === undefined || reasoning.effort === "none" || modeOf(facts) !== "budget") return limit;
  // An effort without a budget adds at most the minimum.
  const budget = reasoning.budgetTokens ?? BUDGET_MIN;
  return limit > budget ? limit : limit + budget;
}

/** Reasoning would raise the caller's limit, or would have to precede a prefill. */
export function conflictsWithEffort(call: Call, facts: ModelFacts): boolean {
  const { reasoning, maxOutputTokens: limit, turns } = call;
  if (reasoning === undefined || reasoning.effort === "none") return false;
  if (turns.at(-1)?.role === "assistant") return true;
  return limit !== undefined && outputTokensMax(call, limit, facts) > limit;
}

function modeOf(facts: ModelFacts): ReasoningControl {
  return facts.thinking ?? defaultMode(facts);
}

/** Models that reject sampling also reject a budget. */
function defaultMode({ sampling }: ModelFacts): ReasoningControl {
  return sampling === false ? "adaptive" : "budget";
}

function disabledThinking(mode: ReasoningControl, { model }: ModelFacts): JsonObject {
  if (mode === "always")
    throw fault("unsupported_parameter", {
      message: `${model} always reasons: reasoning_effort cannot be none. Send low, or use another model.`,
      param: "reasoning_effort",
    });
  return { type: mode === "between_tools" ? "between_tools" : "disabled" };
}

function isToolForced({ toolChoice }: Call): boolean {
  return toolChoice?.is === "required" || toolChoice?.is === "named";
}

/** Adaptive reasoning; a forced tool allows only the effort field. */
function planByEffort(call: Call, reasoning: ReasoningSettings, maxTokens: number, facts: ModelFacts): ReasoningPlan {
  const effort = nearestEffort(reasoning, facts.efforts);
  const wireEffort = effort === "minimal" ? "low" : effort;
  if (isToolForced(call)) return { maxTokens, thinking: undefined, effort: wireEffort, effectiveEffort: wireEffort };
  refuseSampling(call, facts);
  return {
    maxTokens,
    thinking: { type: "adaptive", display: "summarized" },
    effort: wireEffort,
    effectiveEffort: wireEffort,
  };
}

function planByBudget(call: Call, reasoning: ReasoningSettings, limit: number, facts: ModelFacts): ReasoningPlan {
  if (isToolForced(call))
    throw fault("unsupported_parameter", {
      message: `${facts.model} cannot be forced to call a tool while it reasons. Omit reasoning_effort, or send tool_choice "auto".`,
      param: "tool_choice",
    });
  // In a tool loop the model requires its earlier reasoning; without it reasoning must be disabled.
  if (lacksOwnReasoning(call.turns))
    return { maxTokens: limit, thinking: { type: "disabled" }, effort: undefined, effectiveEffort: "none" };
  refuseSampling(call, facts);
  const budget = budgetFor(reasoning, limit, facts);
  const maxTokens = limit > budget ? limit : limit + budget;
  if (facts.maxOutputTokens !== null && maxTokens > facts.maxOutputTokens)
    throw invalidBudget(`of ${budget} tokens leaves no tokens for the output of ${facts.model}`);
  return {
    maxTokens,
    thinking: { type: "enabled", budget_tokens: budget },
    effort: undefined,
    effectiveEffort: reasoning.budgetTokens === null ? effortForBudget(budget) : reasoning.effort,
  };
}

const TOP_P_MIN = 0.95;

/** Models reject sampling parameters while reasoning. */
function refuseSampling({ temperature, topP, topK }: Call, { model }: ModelFacts): void {
  const refused = [
    ...(temperature === undefined || temperature >= 1 ? [] : ["temperature"]),
    ...(topP === undefined || topP >= TOP_P_MIN ? [] : ["top_p"]),
    ...(topK === undefined ? [] : ["top_k"]),
  ];
  const [param] = refused;
  if (param === undefined) return;
  throw fault("unsupported_parameter", {
    message: `${model} does not support ${refused.join(", ")} with reasoning. Omit ${refused.length === 1 ? "it" : "them"} or reasoning_effort.`,
    param,
  });
}

function budgetFor({ effort, budgetTokens }: ReasoningSettings, limit: number, { model }: ModelFacts): number {
  if (budgetTokens !== null) {
    if (budgetTokens < BUDGET_MIN) throw invalidBudget(`must be at least ${BUDGET_MIN} tokens for ${model}`);
    return budgetTokens;
  }
  const requested = effort === "none" ? BUDGET_MIN : BUDGETS[effort];
  return Math.min(requested, Math.max(BUDGET_MIN, Math.floor(limit * BUDGET_SHARE)));
}

/** The lowest effort that covers the budget, which a small output limit may have reduced. */
function effortForBudget(budget: number): Effort | undefined {
  return EFFORTS.find((wireEffort) => wireEffort !== "none" && budget <= BUDGETS[wireEffort]);
}

function invalidBudget(why: string) {
  return fault("invalid_value", { message: `The reasoning budget ${why}.`, param: "reasoning_effort" });
}

/** The last assistant turn calls tools and its reasoning is missing. */
function lacksOwnReasoning(turns: readonly ConversationTurn[]): boolean {
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  let first = last;
  while (turns[first - 1]?.role === "assistant") first -= 1;
  const parts = turns.slice(first, last + 1).flatMap((turn) => turn.parts);
  return parts.some(({ is }) => is === "tool_call") && !parts.some(isOwnReasoning);
}

/** Only signatures of this family are accepted. */
export function isOwnReasoning(part: Part): boolean {
  return part.is === "reasoning" && part.detail.signature?.family === "anthropic";
}
