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

/** What a request needs of an endpoint, with the field that asks for it. */
export type Requirements = {
  readonly needs: readonly NeedSource[];
  /** Rows of the parameter table that were sent. */
  readonly parameters: readonly Parameter[];
  /** Those of them that were sent with their default values. */
  readonly defaultedParameters?: readonly Parameter[] | undefined;
  readonly parameterNames?: Readonly<Partial<Record<Parameter, string>>> | undefined;
  /** Fields that only an endpoint of the caller's own dialect understands. */
  readonly nativeFields?: readonly string[] | undefined;
  /** Who chose the model: the caller by its id, or a router. */
  readonly modelChosenBy?: "caller" | "router";
  readonly inputTokens: number;
  /** Where some endpoints are sent the same several times: what one of them reads in all. */
  readonly inputTokensFor?: ((endpoint: Endpoint) => number) | undefined;
  /** What it asks for that is billed apart. */
  readonly extras?: readonly BillableExtra[] | undefined;
  readonly maxOutputTokens: number | undefined;
  /** What that limit is: something an endpoint must be able to write, or a bound, so that less will do. */
  readonly outputLimitKind?: "wanted" | "bound";
  /** On surfaces that are billed by more than text: what the request is expected to take. No text is written there. */
  readonly billedUnits?: ExpectedUnits | undefined;
  /** What a caller is told when nobody serves the model on this surface; undefined: that it cannot be called here. */
  readonly unservedFault?: (() => Fault | undefined) | undefined;
  /** On surfaces beside chat: what such an endpoint cannot do of this request. */
  readonly checkFit?: (endpoint: Endpoint, model: Model) => MissingCapability | undefined;
};

export type MissingCapability = {
  readonly reason: string;
  readonly param: string;
  /** What a caller is told when every endpoint falls short; absent: that the field cannot be honoured. */
  readonly fault?: Fault;
  /** By which code that is told; absent: `unsupported_parameter`. */
  readonly code?: "invalid_value";
  /** The prompt alone is beyond this many tokens. */
  readonly contextTokens?: number;
};

/** What the dialect that an endpoint speaks can carry of a call in the caller's dialect. */
export type DialectSupport = {
  /** The endpoint is spoken to in the caller's own dialect: what it takes is for it to say, in its own words. */
  isNative(endpoint: Endpoint): boolean;
  /** It is sent what the caller wrote, and no word of anyone else. */
  isVerbatim(endpoint: Endpoint): boolean;
  /** What else is asked for decides on the format where an endpoint has two; some take default values and no others. */
  takesParameter(endpoint: Endpoint, parameter: Parameter, asked: Pick<Requirements, "needs" | "usual">): boolean;
  takesNeed(endpoint: Endpoint, need: NeedSource["need"], asked: Pick<Requirements, "needs">): boolean;
};

/** An endpoint with its model and what holds of the two together. Null: no limit is known. */
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

/** Needs whose names tell a caller nothing. */
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

/** The first thing the endpoint cannot do, or undefined when it can do all of it. */
export function findMissingCapability(
  able: EndpointWithLimits,
  demand: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  const { endpoint, model } = able;
  if (demand.checkFit !== undefined) return demand.checkFit(endpoint, model);
  const native = support.isNative(endpoint);
  const untold = native ? undefined : findUnencodable(endpoint, demand, support);
  if (untold !== undefined) return untold;
  for (const { need, param } of demand.needs) {
    if ((!native && !support.takesNeed(endpoint, need, demand)) || !supportsNeed(endpoint, model, need))
      return { reason: NEED_DESCRIPTIONS[need] ?? `does not offer ${need}`, param };
  }
  // A provider that is asked for one model in its own dialect says itself what is too much, in words its clients know.
  if (native && demand.modelChosenBy === "caller") return undefined;
  const context = able.contextTokens;
  if (context !== null && demand.inputTokens > context) {
    return {
      reason: `takes at most ${context} tokens of context, the request has about ${demand.inputTokens}`,
      param: "messages",
      contextTokens: context,
    };
  }
  if (demand.outputLimitKind === "bound") return undefined;
  const output = able.maxOutputTokens;
  if (output !== null && demand.maxOutputTokens !== undefined && demand.maxOutputTokens > output) {
    const param = demand.parameterNames?.max_tokens ?? "max_tokens";
    return { reason: `writes at most ${output} tokens`, param, code: "invalid_value" };
  }
  return undefined;
}

/**
 * What the request asks for that the provider bills apart, at a price nobody has written down: on the operator's key
 * that would be given away. What is only offered is left out instead, and what is never dearer than usual is served at
 * the usual price; with the workspace's own key nothing is charged.
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
 * A file or another thing that a provider keeps: nobody puts one there through the gateway, so in the operator's account
 * it is somebody else's. With the workspace's own key, or on its own machine, it is the workspace's.
 */
export function findInaccessibleFile(attempt: Attempt, { needs }: Requirements): MissingCapability | undefined {
  if (isOwnResource(attempt)) return undefined;
  const named = needs.find(({ need }) => need === "uploaded_file");
  if (named === undefined) return undefined;
  const reason =
    "is asked in an account that holds nothing of the workspace; with an own key of the workspace at the provider it can be used";
  return { reason, param: named.param };
}

/**
 * What would have the provider itself ask other models, whoever's key it is: where policy names the models that may be
 * asked, those were not let in.
 */
export function findUnpermittedModels(
  endpoint: Endpoint,
  { extras }: Requirements,
  { allowedModels }: Policy,
  support: DialectSupport,
): (MissingCapability & { readonly fault: Fault }) | undefined {
  if (extras === undefined || allowedModels === null) return undefined;
  const asking = extras.find(({ name }) => name === "other_models");
  if (asking === undefined || !support.isNative(endpoint)) return undefined;
  const { field } = asking;
  const message = `Field "${field}": it lets the provider ask other models, and policy names the models that may be asked. Leave it out. An admin can change the allowed models.`;
  const reason = "would ask models that the policy does not name";
  return { reason, param: field, fault: fault("model_not_permitted", { message, param: field }) };
}

/** What of the call has no words in the dialect of the endpoint. */
function findUnencodable(
  endpoint: Endpoint,
  demand: Requirements,
  support: DialectSupport,
): MissingCapability | undefined {
  const foreign = demand.nativeFields?.[0];
  if (foreign !== undefined) return { reason: `speaks another dialect, which has no ${foreign}`, param: foreign };
  if (demand.maxOutputTokens === 0) return emptyOutputUnsupported(endpoint);
  for (const parameter of demand.parameters) {
    if (support.takesParameter(endpoint, parameter, demand)) continue;
    const param = demand.parameterNames?.[parameter] ?? parameter;
    return { reason: `does not take the parameter ${param}`, param };
  }
  return undefined;
}

/** To warm a cache, the messages dialect can ask for no answer at all. */
function emptyOutputUnsupported({ model }: Endpoint): MissingCapability {
  const param = "max_tokens";
  const problem = `${model} writes an answer, and must be allowed one token at least. Send 1 or more`;
  return { reason: "always writes an answer", param, fault: invalidValue(param, problem) };
}

/** What a router wants of a call that says nothing of thinking, and what the call asks for that may exclude it. */
type RouterEffort = { readonly effort: Effort; readonly withTools: boolean; readonly sampled: boolean };

/** Whether a router's wish for an effort can be said to the endpoint; a wish of the caller is a demand instead. */
export function acceptsEffort(
  { endpoint, model }: Pick<Attempt, "endpoint" | "model">,
  { effort, withTools, sampled }: RouterEffort,
  support: DialectSupport,
): boolean {
  const asked = withTools ? THINKING_WITH_TOOLS : NO_NEEDS;
  if (support.isVerbatim(endpoint) || !support.takesParameter(endpoint, "reasoning_effort", asked)) return false;
  if (!supportsEffort(endpoint, model)) return false;
  if (effort === "none") return supportsNeed(endpoint, model, "reasoning_off");
  if (sampled && endpoint.quirks?.includes(SAMPLING_OR_THINKING)) return false;
  return !withTools || support.takesNeed(endpoint, "thinking_with_tools", asked);
}

/** Whether the rest can be said beside an effort shows when the request is written. */
const NO_NEEDS: Pick<Requirements, "needs"> = { needs: [] };
const THINKING_WITH_TOOLS: Pick<Requirements, "needs"> = {
  needs: [
    { need: "tools", param: "tools" },
    { need: "thinking_with_tools", param: "reasoning_effort" },
  ],
};

/** A stated fact decides. Where none is stated, text features are tried and media needs the model's own word. */
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
