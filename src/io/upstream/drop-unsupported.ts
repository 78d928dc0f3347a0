import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import { NOTHING_OMITTED } from "../../language/canon/omitted-paths.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import { ONE_SAMPLING, withOneSampling } from "../../language/canon/sampling.ts";
import { withoutUnsupportedEffort } from "../../language/dialects/optional-effort.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";

/** The call without the parameters that an endpoint does not support. */
export type ReducedCall = {
  readonly call: Call;
  /** Parameters that are not sent. */
  readonly omitted: readonly string[];
  /** Parameters that are sent with another value. */
  readonly adjusted: readonly string[];
};

/** `tokensCap`: the most output tokens that are possible at all; null if unknown. */
export function dropUnsupported(
  requested: Call,
  { fields, temperatureMax }: UpstreamDialect,
  facts: ModelFacts,
  tokensCap: number | null = facts.maxOutputTokens,
): ReducedCall {
  const { sampling } = facts;
  const withEffort = withoutUnsupportedEffort(requested, facts);
  const droppedEffort =
    withEffort === requested ? [] : [requested.parameterNames?.reasoning_effort ?? "reasoning_effort"];
  const { call, lost, adjusted } =
    sampling === false
      ? capOutputTokens(withEffort, tokensCap)
      : reduceSampling(capOutputTokens(withEffort, tokensCap), temperatureMax, facts);
  const advisory = (call.advisory ?? NOTHING_OMITTED).filter(
    (field) => !(isParameter(field) && fields[field] === "yes" && call.openAiParameters?.[field] !== undefined),
  );
  // If sampling is a requirement, the planner excluded such a model; otherwise it is dropped.
  const droppedSampling = sampling === false ? samplingFields(call) : unrequiredTopK(call, fields);
  const omitted = [...advisory, ...droppedEffort, ...lost, ...droppedSampling];
  if (droppedSampling.length === 0) return { call, omitted, adjusted };
  if (sampling !== false) return { call: { ...call, topK: undefined }, omitted, adjusted };
  return { call: { ...call, temperature: undefined, topP: undefined, topK: undefined }, omitted, adjusted };
}

type CallReduction = { readonly call: Call; readonly lost: readonly string[]; readonly adjusted: readonly string[] };

/** A limit above the model's maximum is lowered to it, and the reasoning budget below that. */
function capOutputTokens(call: Call, tokensCap: number | null): CallReduction {
  const { maxOutputTokens: requested, reasoning, parameterNames } = call;
  if (tokensCap === null || requested === undefined || requested <= tokensCap)
    return { call, lost: NOTHING_OMITTED, adjusted: NOTHING_OMITTED };
  const adjusted = [`${parameterNames?.max_tokens ?? "max_tokens"} above ${tokensCap}`];
  const budgetTokens = reasoning?.budgetTokens ?? null;
  if (reasoning === undefined || budgetTokens === null || budgetTokens < tokensCap)
    return { call: { ...call, maxOutputTokens: tokensCap }, lost: NOTHING_OMITTED, adjusted };
  return {
    call: { ...call, maxOutputTokens: tokensCap, reasoning: { ...reasoning, budgetTokens: tokensCap - 1 } },
    lost: NOTHING_OMITTED,
    adjusted: [...adjusted, `${parameterNames?.reasoning_effort ?? "reasoning_effort"} above ${tokensCap - 1}`],
  };
}

/** A temperature above the dialect's maximum is lowered to it. */
function capTemperature(reduction: CallReduction, max: number | undefined): CallReduction {
  const { call, lost, adjusted } = reduction;
  if (max === undefined || call.temperature === undefined || call.temperature <= max) return reduction;
  return { call: { ...call, temperature: max }, lost, adjusted: [...adjusted, `temperature above ${max}`] };
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
  return droppedField === undefined
    ? { ...capped, call }
    : { ...capped, call, lost: [call.parameterNames?.[droppedField] ?? droppedField] };
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

function samplingFields({ temperature, topP, topK, parameterNames }: Call): string[] {
  const sent = { temperature, top_p: topP, top_k: topK } as const;
  return Object.entries(sent).flatMap(([field, value]) => {
    if (value === undefined || !isParameter(field)) return [];
    return [parameterNames?.[field] ?? field];
  });
}

/** The planner excluded the endpoint if the caller requires top_k. */
function unrequiredTopK({ topK, parameterNames }: Call, fields: UpstreamDialect["fields"]): readonly string[] {
  return topK === undefined || fields.top_k !== "400" ? NOTHING_OMITTED : [parameterNames?.top_k ?? "top_k"];
}
