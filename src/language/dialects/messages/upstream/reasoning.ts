import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import { type Call, EFFORTS, type Effort, type ReasoningSettings } from "../../../canon/call.ts";
import { nearestEffort } from "../../../canon/effort.ts";
import type { ConversationTurn, Part } from "../../../canon/parts.ts";
import type { ReasoningControl } from "../../../canon/reasoning-control.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";

/** How a request says how hard to think and how long the answer may get; the two depend on each other. */
export type ReasoningPlan = {
  readonly maxTokens: number;
  readonly thinking: JsonObject | undefined;
  /** The word beside it, on models that have one. */
  readonly effort: string | undefined;
  /** What the provider was told, in the caller's words. */
  readonly effectiveEffort: Effort | undefined;
};

/** The dialect demands a limit. Where the catalogue knows none of the model, every model known takes this one. */
const MAX_TOKENS_DEFAULT = 4096;
const BUDGET_MIN = 1024;
/** At most this share of the answer's limit is thought, when only a word was given. */
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

/** The most that is written where a limit is stated: a budget that does not fit into it comes on top of it. */
export function outputTokensMax({ reasoning }: Call, limit: number, facts: ModelFacts): number {
  if (reasoning === undefined || reasoning.effort === "none" || modeOf(facts) !== "budget") return limit;
  // A word alone asks for more than a small limit only by the least that can be thought.
  const budget = reasoning.budgetTokens ?? BUDGET_MIN;
  return limit > budget ? limit : limit + budget;
}

/** Thoughts that do not fit into the stated limit would raise it, and none can come before words that are already said. */
export function conflictsWithEffort(call: Call, facts: ModelFacts): boolean {
  const { reasoning, maxOutputTokens: limit, turns } = call;
  if (reasoning === undefined || reasoning.effort === "none") return false;
  if (turns.at(-1)?.role === "assistant") return true;
  return limit !== undefined && outputTokensMax(call, limit, facts) > limit;
}

function modeOf(facts: ModelFacts): ReasoningControl {
  return facts.thinking ?? defaultMode(facts);
}

/** Models that refuse sampling are the ones that also refuse a budget. */
function defaultMode({ sampling }: ModelFacts): ReasoningControl {
  return sampling === false ? "adaptive" : "budget";
}

function disabledThinking(mode: ReasoningControl, { model }: ModelFacts): JsonObject {
  if (mode === "always")
    throw fault("unsupported_parameter", {
      message: `${model} always thinks: reasoning_effort cannot be none. Send low, or choose another model.`,
      param: "reasoning_effort",
    });
  return { type: mode === "between_tools" ? "between_tools" : "disabled" };
}

function isToolForced({ toolChoice }: Call): boolean {
  return toolChoice?.is === "required" || toolChoice?.is === "named";
}

/** The model decides how much to think; the word says how much it may cost. A forced tool leaves only the word. */
function planByEffort(call: Call, reasoning: ReasoningSettings, maxTokens: number, facts: ModelFacts): ReasoningPlan {
  const effort = nearestEffort(reasoning, facts.efforts);
  const word = effort === "minimal" ? "low" : effort;
  if (isToolForced(call)) return { maxTokens, thinking: undefined, effort: word, effectiveEffort: word };
  refuseSampling(call, facts);
  return { maxTokens, thinking: { type: "adaptive", display: "summarized" }, effort: word, effectiveEffort: word };
}

function planByBudget(call: Call, reasoning: ReasoningSettings, limit: number, facts: ModelFacts): ReasoningPlan {
  if (isToolForced(call))
    throw fault("unsupported_parameter", {
      message: `${facts.model} cannot be made to call a tool while it thinks: leave reasoning_effort out, or send tool_choice "auto".`,
      param: "tool_choice",
    });
  // In the middle of a tool loop the model wants its own thoughts back; without them it can only go on without any.
  if (lacksOwnReasoning(call.turns))
    return { maxTokens: limit, thinking: { type: "disabled" }, effort: undefined, effectiveEffort: "none" };
  refuseSampling(call, facts);
  const budget = budgetFor(reasoning, limit, facts);
  const maxTokens = limit > budget ? limit : limit + budget;
  if (facts.maxOutputTokens !== null && maxTokens > facts.maxOutputTokens)
    throw invalidBudget(`of ${budget} tokens leaves no room for an answer of ${facts.model}`);
  return {
    maxTokens,
    thinking: { type: "enabled", budget_tokens: budget },
    effort: undefined,
    effectiveEffort: reasoning.budgetTokens === null ? effortForBudget(budget) : reasoning.effort,
  };
}

const TOP_P_MIN = 0.95;

/** While a model thinks, its words are chosen in one way only. */
function refuseSampling({ temperature, topP, topK }: Call, { model }: ModelFacts): void {
  const refused = [
    ...(temperature === undefined || temperature >= 1 ? [] : ["temperature"]),
    ...(topP === undefined || topP >= TOP_P_MIN ? [] : ["top_p"]),
    ...(topK === undefined ? [] : ["top_k"]),
  ];
  const [param] = refused;
  if (param === undefined) return;
  throw fault("unsupported_parameter", {
    message: `${model} takes no ${refused.join(", ")} while it thinks: leave ${refused.length === 1 ? "it" : "them"} or reasoning_effort out.`,
    param,
  });
}

function budgetFor({ effort, budgetTokens }: ReasoningSettings, limit: number, { model }: ModelFacts): number {
  if (budgetTokens !== null) {
    if (budgetTokens < BUDGET_MIN) throw invalidBudget(`must be at least ${BUDGET_MIN} tokens for ${model}`);
    return budgetTokens;
  }
  const asked = effort === "none" ? BUDGET_MIN : BUDGETS[effort];
  return Math.min(asked, Math.max(BUDGET_MIN, Math.floor(limit * BUDGET_SHARE)));
}

/** The least word that asks for as much: a small limit of the answer makes less of the caller's own. */
function effortForBudget(budget: number): Effort | undefined {
  return EFFORTS.find((word) => word !== "none" && budget <= BUDGETS[word]);
}

function invalidBudget(why: string) {
  return fault("invalid_value", { message: `The budget for reasoning ${why}.`, param: "reasoning_effort" });
}

/** The last thing the assistant did was to call tools, and what it thought before is not in the request. */
function lacksOwnReasoning(turns: readonly ConversationTurn[]): boolean {
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  let first = last;
  while (turns[first - 1]?.role === "assistant") first -= 1;
  const parts = turns.slice(first, last + 1).flatMap((turn) => turn.parts);
  return parts.some(({ is }) => is === "tool_call") && !parts.some(isOwnReasoning);
}

/** Only what this family of models has sealed can be sent back to it. */
export function isOwnReasoning(part: Part): boolean {
  return part.is === "reasoning" && part.detail.signature?.family === "anthropic";
}
