import type { DialectId, Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { DialectSupport } from "../../domain/routing/requirements.ts";
import type { Call } from "../../language/canon/call.ts";
import { TOOLS_OR_THINKING } from "../../language/canon/effort.ts";
import type { NeedSource } from "../../language/canon/needs.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import type { Part } from "../../language/canon/parts.ts";
import {
  NO_CEILING,
  PLAUSIBLE_FACTOR,
  REASONING_ALLOWANCE_TOKENS,
  SEARCH_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../../language/canon/tokens.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { RAW_PREDICT } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import type { MediaKind, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { DEFAULT_SAMPLING, modelFactsFor } from "./model-facts.ts";
import { messagesRouteFor } from "./passthrough-messages.ts";
import { isEffortTooLowForTools } from "./passthrough-responses.ts";
import { requiresResponsesApi, SCHEMALESS_CHAT, TOOLLESS_CHAT, usesResponsesApi } from "./responses-detour.ts";
import { translatedAdapter } from "./translated-adapter.ts";
import type { AdapterTarget, InboundRequest, UpstreamAdapter } from "./upstream-adapter.ts";
import { type GenerationAdapter, type GenerationFormat, UPSTREAM_ADAPTERS } from "./upstream-adapters.ts";

const FORMAT_BY_DIALECT: Readonly<Record<DialectId, GenerationFormat>> = {
  D1: "chat_completions",
  D2: "messages",
  D3: "gemini",
  D4: "converse",
};

/** The generation format of an endpoint: its first listed dialect, or the Responses API if it has no other. */
export function generationAdapterOf({
  dialects: [dialect],
  quirks,
  responsesApi,
}: Endpoint): GenerationAdapter | undefined {
  if (dialect === undefined) return responsesApi ? UPSTREAM_ADAPTERS.generation.responses : undefined;
  const format = dialect === "D2" && quirks?.includes(RAW_PREDICT) ? "raw_predict" : FORMAT_BY_DIALECT[dialect];
  return UPSTREAM_ADAPTERS.generation[format];
}

/** The adapter for one request and one endpoint: passthrough if both use the same wire format, otherwise translated. */
export function adapterFor(inbound: InboundRequest, target: AdapterTarget): UpstreamAdapter {
  const format = formatFor(inbound, target);
  const adapter = passthroughAdapter(format, inbound, target) ?? translatedAdapter(inbound, format.dialect, target);
  adapter.maxUsage = () => usageCeilingFor(inbound, target);
  return adapter;
}

/** The only place that chooses between the two formats of an endpoint that also has the Responses API. */
function formatFor(inbound: InboundRequest, { endpoint, model }: AdapterTarget): GenerationAdapter {
  const { responses } = UPSTREAM_ADAPTERS.generation;
  if (inbound.dialect === "responses" && endpoint.responsesApi) return responses;
  const hasPassthrough = inbound.dialect === "messages" && messagesRouteFor(endpoint) !== undefined;
  const isDetour =
    !hasPassthrough &&
    endpoint.responsesApi &&
    usesResponsesApi(endpoint, inbound.call, () => modelFactsFor(endpoint, model));
  if (isDetour) return responses;
  const format = generationAdapterOf(endpoint);
  if (format === undefined) throw new Error(`${endpoint.id} speaks no dialect that ${inbound.dialect} can reach`);
  return format;
}

function passthroughAdapter(
  { passthrough }: GenerationAdapter,
  inbound: InboundRequest,
  target: AdapterTarget,
): UpstreamAdapter | undefined {
  switch (inbound.dialect) {
    case "chat":
      return passthrough?.chat?.(inbound, target);
    case "messages":
      return passthrough?.messages?.(inbound, target);
    case "responses":
      return passthrough?.responses?.(inbound, target);
  }
}

/** Whether a reasoning effort that a router chose conflicts with something that the caller requested. */
export function isEffortConflicting({ call, dialect }: InboundRequest, target: Omit<AdapterTarget, "head">): boolean {
  const { endpoint, model } = target;
  if (dialect === "responses" && endpoint.responsesApi) return isEffortTooLowForTools(call, target);
  return generationAdapterOf(endpoint)?.dialect.conflictsWithEffort?.(call, modelFactsFor(endpoint, model)) === true;
}

/** What an endpoint's dialect can carry of a call; the planner checks it before any endpoint is called. */
export function dialectSupport(surface: Surface): DialectSupport {
  return surface === "messages" ? MESSAGES_SUPPORT : surface === "responses" ? RESPONSES_SUPPORT : CHAT_SUPPORT;
}

const NEEDED_MEDIA: Partial<Record<NeedSource["need"], MediaKind>> = {
  image_input: "image",
  audio_input: "audio",
  pdf_input: "file",
  remote_url: "remote_url",
  uploaded_file: "uploaded_file",
};

/** Models without sampling reject these in every dialect. */
const SAMPLING: ReadonlySet<Parameter> = new Set(["temperature", "top_p", "top_k"]);

const CHAT_SUPPORT: DialectSupport = {
  // Decided by dialect and model facts, never by vendor: a provider's own parameter list excludes nothing.
  takesParameter(endpoint, parameter, { needs, defaultedParameters }) {
    const isDefault = defaultedParameters?.includes(parameter) === true;
    if (SAMPLING.has(parameter) && !takesSampling(endpoint, isDefault ? "default" : "other")) return false;
    if (endpoint.thinking === "fixed" && parameter === "reasoning_effort") return false;
    return dialectFor(endpoint, needs).fields[parameter] !== "400";
  },
  takesNeed(endpoint, need, { needs }) {
    const dialect = dialectFor(endpoint, needs);
    if (dialect === chatUpstream && need === "thinking_with_tools")
      return !endpoint.quirks?.includes(TOOLS_OR_THINKING);
    if (dialect === chatUpstream && need === "tools" && endpoint.quirks?.includes(TOOLLESS_CHAT)) return false;
    if (dialect === chatUpstream && need === "json_schema" && endpoint.quirks?.includes(SCHEMALESS_CHAT)) return false;
    const media = NEEDED_MEDIA[need];
    return media === undefined || dialect.media.has(media);
  },
};

const hasMessagesPassthrough = (endpoint: Endpoint): boolean => messagesRouteFor(endpoint) !== undefined;
const MESSAGES_SUPPORT: DialectSupport = {
  ...CHAT_SUPPORT,
  isNative: hasMessagesPassthrough,
  isVerbatim: hasMessagesPassthrough,
};

const RESPONSES_SUPPORT: DialectSupport = { ...CHAT_SUPPORT, isNative: ({ responsesApi }) => responsesApi };

function dialectFor(endpoint: Endpoint, needs: readonly NeedSource[]): UpstreamDialect {
  if (requiresResponsesApi(endpoint, needs)) return responsesUpstream;
  return generationAdapterOf(endpoint)?.dialect ?? chatUpstream;
}

function takesSampling({ features, quirks }: Endpoint, value: "default" | "other"): boolean {
  return features.sampling !== false && (value === "default" || !quirks?.includes(DEFAULT_SAMPLING));
}

/**
 * The usage that a provider can plausibly report for a request. There is no ceiling with provider-run tools or uploaded
 * files: the provider may read and write any number of tokens then.
 */
function usageCeilingFor({ call, body }: InboundRequest, { endpoint, model, head }: AdapterTarget): UsageCeiling {
  if ([call.native, call.extras, call.uploadPaths].some((items) => items !== undefined && items.length > 0))
    return NO_CEILING;
  const modelMax = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Infinity;
  const limit = call.maxOutputTokens;
  const requested = limit === undefined ? modelMax : Math.max(limit, maxOutputTokensFor(call, limit, endpoint, model));
  return {
    inputTokens: hasMedia(call) ? Infinity : inputCeiling(body.text.length, head.inputTokens),
    visibleOutputTokens: PLAUSIBLE_FACTOR * requested + REASONING_ALLOWANCE_TOKENS,
    outputTokens: PLAUSIBLE_FACTOR * Math.max(requested, modelMax) + REASONING_ALLOWANCE_TOKENS,
  };
}

const CHARS_PER_TOKEN = 4;

/** The estimate includes earlier turns of a stored conversation, which the body may only reference. */
function inputCeiling(chars: number, estimatedTokens: number): number {
  return PLAUSIBLE_FACTOR * (chars + CHARS_PER_TOKEN * estimatedTokens) + SEARCH_ALLOWANCE_TOKENS;
}

function hasMedia({ turns }: Call): boolean {
  return turns.some(({ parts }) => parts.some(isMedia));
}

/** Runs at the end of every request, so it only tests for presence. */
function isMedia(part: Part): boolean {
  if (part.is === "tool_result") return part.content.some(isMedia);
  return part.is === "image" || part.is === "audio" || part.is === "file";
}

/** The most output tokens that an endpoint generates for a call with an output limit. */
export function maxOutputTokensFor(call: Call, limit: number, endpoint: Endpoint, model: Model): number {
  const modelMax = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const requested = Math.min(limit, modelMax);
  if (call.reasoning === undefined) return requested;
  const facts = modelFactsFor(endpoint, model);
  const withReasoning = generationAdapterOf(endpoint)?.dialect.outputTokensMax?.(call, requested, facts) ?? requested;
  return Math.min(withReasoning, modelMax);
}
