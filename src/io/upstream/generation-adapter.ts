import type { DialectId, Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { Call } from "../../language/canon/call.ts";
import type { Part } from "../../language/canon/parts.ts";
import {
  NO_CEILING,
  PLAUSIBLE_FACTOR,
  REASONING_ALLOWANCE_TOKENS,
  SEARCH_ALLOWANCE_TOKENS,
  type UsageCeiling,
} from "../../language/canon/usage-ceiling.ts";
import { RAW_PREDICT } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { modelFactsFor } from "./model-facts.ts";
import { messagesRouteFor } from "./passthrough-messages.ts";
import { usesResponsesApi } from "./responses-detour.ts";
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
  if (format === undefined)
    throw new Error(`${endpoint.id} has no dialect that ${inbound.dialect} can be translated to`);
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
    case "gemini":
      return passthrough?.gemini?.(inbound, target);
  }
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
