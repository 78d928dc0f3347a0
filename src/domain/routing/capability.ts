import { invalidValue } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { NEED_DESCRIPTIONS, supportsNeed } from "./need-support.ts";
import type { DialectSupport, EndpointWithLimits, MissingCapability, Requirements } from "./requirements.ts";

/** The first requirement that the endpoint does not meet. */
export function findMissingCapability(
  limited: EndpointWithLimits,
  requirements: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  const { endpoint, model } = limited;
  if (requirements.checkFit !== undefined) return requirements.checkFit(endpoint, model);
  const isNative = support.isNative(endpoint);
  const unencodable = isNative ? undefined : findUnencodable(endpoint, requirements, support);
  if (unencodable !== undefined) return unencodable;
  for (const { need, param } of requirements.needs) {
    if ((!isNative && !support.takesNeed(endpoint, need, requirements)) || !supportsNeed(endpoint, model, need))
      return { reason: NEED_DESCRIPTIONS[need] ?? `does not offer ${need}`, param };
  }
  // A provider addressed in its own dialect rejects oversized requests itself, with an error its clients know.
  if (isNative && requirements.modelChosenBy === "caller") return undefined;
  const context = limited.contextTokens;
  if (context !== null && requirements.inputTokens > context) {
    return {
      reason: `takes at most ${context} tokens of context, the request has about ${requirements.inputTokens}`,
      param: "messages",
      contextTokens: context,
    };
  }
  if (requirements.outputLimitKind === "bound") return undefined;
  const output = limited.maxOutputTokens;
  if (output !== null && requirements.maxOutputTokens !== undefined && requirements.maxOutputTokens > output) {
    const param = requirements.parameterNames?.max_tokens ?? "max_tokens";
    return { reason: `writes at most ${output} tokens`, param, code: "invalid_value" };
  }
  return undefined;
}

/** The first part of the call that the endpoint's dialect cannot express. */
function findUnencodable(
  endpoint: Endpoint,
  requirements: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  const nativeField = requirements.nativeFields?.[0];
  if (nativeField !== undefined)
    return { reason: `speaks another dialect, which has no ${nativeField}`, param: nativeField };
  if (requirements.maxOutputTokens === 0) return emptyOutputUnsupported(endpoint);
  for (const parameter of requirements.parameters) {
    if (support.takesParameter(endpoint, parameter, requirements)) continue;
    const param = requirements.parameterNames?.[parameter] ?? parameter;
    return { reason: `does not take the parameter ${param}`, param };
  }
  return undefined;
}

/** The messages dialect allows `max_tokens: 0` to warm a prompt cache. */
function emptyOutputUnsupported({ model }: Endpoint): MissingCapability {
  const param = "max_tokens";
  const problem = `${model} writes an answer, and must be allowed one token at least. Send 1 or more`;
  return { reason: "always writes an answer", param, fault: invalidValue(param, problem) };
}

/** Supported reasoning efforts of the model at an endpoint; null: unknown. */
export function effortsOf(endpoint: Endpoint, model: Model): readonly Effort[] | null {
  return endpoint.efforts ?? model.efforts ?? null;
}
