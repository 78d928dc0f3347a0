import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import type { Part } from "../../language/canon/parts.ts";
import { ONE_SAMPLING, withOneSampling } from "../../language/canon/sampling.ts";
import { withoutUnsupportedEffort } from "../../language/dialects/optional-effort.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { NO_DROPPED_FIELDS } from "./upstream-adapter.ts";

/** The call without the fields that an endpoint does not support; the log names them. */
export type ReducedCall = { readonly call: Call; readonly droppedFields: readonly string[] };

/** `tokensCap`: the most output tokens that are possible at all; null if unknown. */
export function dropUnsupported(
  requested: Call,
  { fields, temperatureMax, imageDetails, supportsCacheBreakpoints }: UpstreamDialect,
  facts: ModelFacts,
  tokensCap: number | null = facts.maxOutputTokens,
): ReducedCall {
  const { sampling } = facts;
  const withEffort = withoutUnsupportedEffort(requested, facts);
  const droppedEffort =
    withEffort === requested ? [] : [requested.parameterNames?.reasoning_effort ?? "reasoning_effort"];
  const { call, reductions } =
    sampling === false
      ? capOutputTokens(withEffort, tokensCap)
      : reduceSampling(capOutputTokens(withEffort, tokensCap), temperatureMax, facts);
  const advisory = (call.advisory ?? NO_DROPPED_FIELDS).filter(
    (field) => !(isParameter(field) && fields[field] === "yes" && call.openAiParameters?.[field] !== undefined),
  );
  const droppedDetail = unsupportedImageDetail(call, imageDetails);
  const droppedMarkers = supportsCacheBreakpoints?.(facts) === true ? NO_DROPPED_FIELDS : cacheMarkers(call);
  const added = [...droppedEffort, ...reductions, ...droppedDetail, ...droppedMarkers];
  const dropped = added.length === 0 ? advisory : [...new Set([...advisory, ...added])];
  // If sampling is a requirement, the planner excluded such a model; otherwise it is dropped.
  const droppedSampling = sampling === false ? samplingFields(call) : NO_DROPPED_FIELDS;
  if (droppedSampling.length === 0) return { call, droppedFields: dropped };
  return {
    call: { ...call, temperature: undefined, topP: undefined, topK: undefined },
    droppedFields: [...dropped, ...droppedSampling],
  };
}

type CallReduction = { readonly call: Call; readonly reductions: readonly string[] };

/** A limit above the model's maximum is lowered to it, and the reasoning budget below that. */
function capOutputTokens(call: Call, tokensCap: number | null): CallReduction {
  const { maxOutputTokens: requested, reasoning, parameterNames } = call;
  if (tokensCap === null || requested === undefined || requested <= tokensCap)
    return { call, reductions: NO_DROPPED_FIELDS };
  const reductions = [`${parameterNames?.max_tokens ?? "max_tokens"} above ${tokensCap}`];
  const budgetTokens = reasoning?.budgetTokens ?? null;
  if (reasoning === undefined || budgetTokens === null || budgetTokens < tokensCap)
    return { call: { ...call, maxOutputTokens: tokensCap }, reductions };
  return {
    call: { ...call, maxOutputTokens: tokensCap, reasoning: { ...reasoning, budgetTokens: tokensCap - 1 } },
    reductions: [...reductions, `${parameterNames?.reasoning_effort ?? "reasoning_effort"} above ${tokensCap - 1}`],
  };
}

/** The image detail is left to the model if the dialect has no such value. */
function unsupportedImageDetail({ turns }: Call, supportedDetails: ReadonlySet<string> | undefined): readonly string[] {
  const isUnsupported = (part: Part): boolean => {
    if (part.is === "tool_result") return part.content.some(isUnsupported);
    return part.is === "image" && part.detail !== undefined && !supportedDetails?.has(part.detail);
  };
  return turns.some(({ parts }) => parts.some(isUnsupported)) ? ["detail"] : NO_DROPPED_FIELDS;
}

/** Cache markers are dropped for models without explicit prompt caching. */
function cacheMarkers({ turns, tools }: Call): readonly string[] {
  const isMarked = (part: Part): boolean =>
    ("cache" in part && part.cache !== undefined) || (part.is === "tool_result" && part.content.some(isMarked));
  const marked = tools.some(({ cache }) => cache !== undefined) || turns.some(({ parts }) => parts.some(isMarked));
  return marked ? ["cache_control"] : NO_DROPPED_FIELDS;
}

/** A temperature above the dialect's maximum is lowered to it. */
function capTemperature(reduction: CallReduction, max: number | undefined): CallReduction {
  const { call, reductions } = reduction;
  if (max === undefined || call.temperature === undefined || call.temperature <= max) return reduction;
  return { call: { ...call, temperature: max }, reductions: [...reductions, `temperature above ${max}`] };
}

/** Caps the temperature, and keeps one of temperature and top_p for models that accept only one. */
function reduceSampling(
  reduction: CallReduction,
  temperatureMax: number | undefined,
  { quirks }: ModelFacts,
): CallReduction {
  const capped = capTemperature(reduction, temperatureMax);
  if (!quirks.includes(ONE_SAMPLING)) return capped;
  const { call, lost: droppedField } = withOneSampling(capped.call);
  return { call, reductions: droppedField === undefined ? capped.reductions : [...capped.reductions, droppedField] };
}

/** The prompt may be this much longer than estimated. */
const ESTIMATE_MARGIN = 0.1;
/** Below this the provider itself reports that the prompt is too long. */
const OUTPUT_TOKENS_MIN = 1024;

/** The output tokens that remain for a prompt: the output limit, and what the prompt leaves of the context window. */
export function availableOutputTokens(
  { limits }: Pick<Endpoint, "limits">,
  model: Pick<Model, "maxOutputTokens" | "contextTokens">,
  inputTokens: number,
): number | null {
  const limit = limits.maxOutputTokens ?? model.maxOutputTokens;
  const context = limits.contextTokens ?? model.contextTokens;
  if (context === null) return limit;
  const remaining = Math.max(OUTPUT_TOKENS_MIN, context - inputTokens - Math.ceil(inputTokens * ESTIMATE_MARGIN));
  return limit === null ? remaining : Math.min(limit, remaining);
}

function samplingFields({ temperature, topP, topK }: Call): string[] {
  const sent = { temperature, top_p: topP, top_k: topK };
  return Object.entries(sent).flatMap(([field, value]) => (value === undefined ? [] : [field]));
}
