import { type Fault, fault, invalidValue } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { NeedSource } from "../../language/canon/needs.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import { ONE_SAMPLING, SAMPLING_OR_THINKING } from "../../language/canon/sampling.ts";
import { type Endpoint, isExtraPriced, type Model, supportsEffort } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import { type Attempt, isOwnResource } from "./attempt.ts";
import type { ExpectedUnits } from "./cost.ts";

/** What a request requires of an endpoint. */
export type Requirements = {
  readonly needs: readonly NeedSource[];
  /** Parameters that the caller sent, by their row in the parameter table. */
  readonly parameters: readonly Parameter[];
  /** Parameters that were sent with their default value. */
  readonly defaultedParameters?: readonly Parameter[] | undefined;
  readonly parameterNames?: Readonly<Partial<Record<Parameter, string>>> | undefined;
  /** Fields that exist only in the caller's dialect. */
  readonly nativeFields?: readonly string[] | undefined;
  readonly modelChosenBy?: "caller" | "router";
  readonly inputTokens: number;
  /** Set when the input is sent to some endpoints more than once: the total for one of them. */
  readonly inputTokensFor?: ((endpoint: Endpoint) => number) | undefined;
  /** Requested features that providers bill separately. */
  readonly extras?: readonly BillableExtra[] | undefined;
  readonly maxOutputTokens: number | undefined;
  /** `wanted`: the endpoint must support this length. `bound`: an upper limit, and less is acceptable. */
  readonly outputLimitKind?: "wanted" | "bound";
  /** Expected units on surfaces that are not billed by text tokens. */
  readonly billedUnits?: ExpectedUnits | undefined;
  /** The fault when no endpoint serves the model on this surface; absent: a generic one. */
  readonly unservedFault?: (() => Fault | undefined) | undefined;
  /** Replaces the chat checks on other surfaces. */
  readonly checkFit?: (endpoint: Endpoint, model: Model) => MissingCapability | undefined;
};

export type MissingCapability = {
  readonly reason: string;
  readonly param: string;
  /** The fault when every endpoint is excluded; absent: the parameter is reported as unsupported. */
  readonly fault?: Fault;
  /** Absent: `unsupported_parameter`. */
  readonly code?: "invalid_value";
  /** Set when the prompt alone exceeds this many tokens. */
  readonly contextTokens?: number;
};

/** What an endpoint's dialect can express of a call in the caller's dialect. */
export type DialectSupport = {
  /** The endpoint speaks the caller's dialect, so the provider validates the request itself. */
  isNative(endpoint: Endpoint): boolean;
  /** The caller's bytes are forwarded without additions. */
  isVerbatim(endpoint: Endpoint): boolean;
  /** Other needs may select the wire format of an endpoint that has two; some accept only default values. */
  takesParameter(
    endpoint: Endpoint,
    parameter: Parameter,
    alongside: Pick<Requirements, "needs" | "defaultedParameters">,
  ): boolean;
  takesNeed(endpoint: Endpoint, need: NeedSource["need"], alongside: Pick<Requirements, "needs">): boolean;
};

/** An endpoint and its model with their effective limits; null when unknown. */
export type EndpointWithLimits = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
};

export function withLimits(endpoint: Endpoint, model: Model): EndpointWithLimits {
  return {
    endpoint,
    model,
    contextTokens: endpoint.limits.contextTokens ?? model.contextTokens,
    maxOutputTokens: endpoint.limits.maxOutputTokens ?? model.maxOutputTokens,
  };
}

/** Texts for needs whose names callers do not know. */
const NEED_DESCRIPTIONS: Readonly<Partial<Record<NeedSource["need"], string>>> = {
  remote_url: "takes media inside the request only (a base64 data URL), not by address",
  uploaded_file: "takes files inside the request only, not by an id",
  forced_tools: "lets the model itself choose whether it calls a tool",
  reasoning_off: "always reasons",
  json_with_tools: "gives JSON or calls tools, not both",
  thinking_with_tools: "thinks or calls tools, not both",
  many_stops: "takes at most four sequences to stop at",
  both_samplings: "takes temperature or top_p, not both",
};

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

/**
 * A separately billed feature without a price in the catalogue would be free of charge on the operator's key. Tools that are
 * only offered are dropped instead, features that are never more expensive use the normal price, and an own key is not charged.
 */
export function findUnpricedExtra(
  { endpoint, price, ownKey }: Attempt,
  { extras }: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  if (extras === undefined || ownKey !== undefined) return undefined;
  for (const { name, field, forwarding, isCheaper, toolIndex } of extras) {
    if (toolIndex !== undefined || isCheaper || isExtraPriced(price, name)) continue;
    if (forwarding === "native" && !support.isNative(endpoint)) continue;
    const what = name.replaceAll("_", " ");
    const reason = `bills it apart (${what}) at a price this gateway does not have; with an own key of the workspace at the provider it can be used`;
    return { reason, param: field };
  }
  return undefined;
}

/**
 * Files cannot be uploaded through the gateway, so a file id in the operator's account belongs to someone else. With an own
 * key or node it belongs to the workspace.
 */
export function findInaccessibleFile(attempt: Attempt, { needs }: Requirements): MissingCapability | undefined {
  if (isOwnResource(attempt)) return undefined;
  const file = needs.find(({ need }) => need === "uploaded_file");
  if (file === undefined) return undefined;
  const reason =
    "is asked in an account that holds nothing of the workspace; with an own key of the workspace at the provider it can be used";
  return { reason, param: file.param };
}

/** An extra that makes the provider call other models bypasses the policy's list of allowed models. */
export function findUnpermittedModels(
  endpoint: Endpoint,
  { extras }: Requirements,
  { allowedModels }: Policy,
  support: DialectSupport,
): (MissingCapability & { readonly fault: Fault }) | undefined {
  if (extras === undefined || allowedModels === null) return undefined;
  const extra = extras.find(({ name }) => name === "other_models");
  if (extra === undefined || !support.isNative(endpoint)) return undefined;
  const { field } = extra;
  const message = `Field "${field}": it lets the provider ask other models, and policy names the models that may be asked. Leave it out. An admin can change the allowed models.`;
  const reason = "would ask models that the policy does not name";
  return { reason, param: field, fault: fault("model_not_permitted", { message, param: field }) };
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

/** The router's effort for a call that sets none, with the parts of the call that may exclude it. */
type RouterEffort = { readonly effort: Effort; readonly withTools: boolean; readonly sampled: boolean };

/** Whether the router's effort can be sent to the endpoint. An effort set by the caller is a requirement instead. */
export function acceptsEffort(
  { endpoint, model }: Pick<Attempt, "endpoint" | "model">,
  { effort, withTools, sampled }: RouterEffort,
  support: DialectSupport,
): boolean {
  const alongside = withTools ? THINKING_WITH_TOOLS : NO_NEEDS;
  if (support.isVerbatim(endpoint) || !support.takesParameter(endpoint, "reasoning_effort", alongside)) return false;
  if (!supportsEffort(endpoint, model)) return false;
  if (effort === "none") return supportsNeed(endpoint, model, "reasoning_off");
  if (sampled && endpoint.quirks?.includes(SAMPLING_OR_THINKING)) return false;
  return !withTools || support.takesNeed(endpoint, "thinking_with_tools", alongside);
}

const NO_NEEDS: Pick<Requirements, "needs"> = { needs: [] };
const THINKING_WITH_TOOLS: Pick<Requirements, "needs"> = {
  needs: [
    { need: "tools", param: "tools" },
    { need: "thinking_with_tools", param: "reasoning_effort" },
  ],
};

/** Catalogue facts decide. Without one, text features are assumed and media needs the model's declared capability. */
function supportsNeed(endpoint: Endpoint, model: Model, need: NeedSource["need"]): boolean {
  switch (need) {
    case "tools":
      return endpoint.features.tools ?? true;
    case "forced_tools":
      return endpoint.features.forcedTools ?? true;
    case "reasoning_off":
      return endpoint.thinking !== "always" && !endpoint.quirks?.includes("thinks-always");
    case "json_with_tools":
      return !endpoint.quirks?.includes("json-or-tools");
    case "many_stops":
      return !endpoint.quirks?.includes("stops-4");
    case "both_samplings":
      return !endpoint.quirks?.includes(ONE_SAMPLING);
    case "json_schema":
      return endpoint.features.jsonSchema ?? true;
    case "image_input":
      return endpoint.features.imageInput ?? model.capabilities.includes("image_input");
    case "audio_input":
    case "pdf_input":
      return model.capabilities.includes(need);
    case "thinking_with_tools":
    case "remote_url":
    case "uploaded_file":
      return true;
  }
}
