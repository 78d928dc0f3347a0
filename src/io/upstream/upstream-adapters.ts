import {
  type Credential,
  type DialectId,
  type Endpoint,
  effortsOf,
  type Model,
  supportsEffort,
} from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { DialectSupport } from "../../domain/routing/capability.ts";
import { SseReader } from "../../kit/sse.ts";
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
} from "../../language/canon/usage-plausibility.ts";
import { chatClient } from "../../language/dialects/chat/client/dialect.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import type { ClientDialect } from "../../language/dialects/client-dialect.ts";
import { converseUpstream } from "../../language/dialects/converse/upstream/dialect.ts";
import { ConverseFrames } from "../../language/dialects/converse/upstream/frames.ts";
import { geminiUpstream } from "../../language/dialects/gemini/upstream/dialect.ts";
import { messagesClient } from "../../language/dialects/messages/client/dialect.ts";
import { messagesUpstream } from "../../language/dialects/messages/upstream/dialect.ts";
import { RAW_PREDICT, rawPredictUpstream } from "../../language/dialects/messages/upstream/raw-predict.ts";
import { responsesClient } from "../../language/dialects/responses/client/dialect.ts";
import { signatureVisibility } from "../../language/dialects/responses/reasoning-signatures.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import { shortenToolNames } from "../../language/dialects/tool-names.ts";
import { TranslatedStream, translatedReply } from "../../language/dialects/translation.ts";
import type { MediaKind, ModelFacts, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { decisionsPath } from "./decision-wires.ts";
import { availableOutputTokens, dropUnsupported } from "./drop-unsupported.ts";
import { outputLimitOf, passthroughChat } from "./passthrough-chat.ts";
import { messagesRouteFor, passthroughMessages } from "./passthrough-messages.ts";
import { isEffortTooLowForTools, passthroughResponses } from "./passthrough-responses.ts";
import {
  encryptsReasoning,
  factsViaResponses,
  requiresResponsesApi,
  SCHEMALESS_CHAT,
  TOOLLESS_CHAT,
  usesResponsesApi,
} from "./responses-detour.ts";
import {
  type AdapterTarget,
  type CredentialProbe,
  type InboundRequest,
  NO_DROPPED_FIELDS,
  type UpstreamAdapter,
} from "./upstream-adapter.ts";

/** Dialects that providers are spoken to in. */
const UPSTREAM: Readonly<Record<DialectId, UpstreamDialect>> = {
  D1: chatUpstream,
  D2: messagesUpstream,
  D3: geminiUpstream,
  D4: converseUpstream,
};

/** How answers are written for the caller of a request. */
function clientFor(inbound: InboundRequest): ClientDialect {
  switch (inbound.dialect) {
    case "chat":
      return chatClient;
    case "responses":
      return responsesClient(inbound.echo, signatureVisibility(inbound.body.value, inbound.echo));
    case "messages":
      return messagesClient;
  }
}

const dialectOf = ({ dialects: [first] }: Endpoint): DialectId | undefined => first;

/** An endpoint speaks its first listed dialect, or that of responses alone; can the gateway speak it too? */
export function hasAdapter(endpoint: Endpoint): boolean {
  return dialectOf(endpoint) !== undefined || endpoint.responsesApi;
}

function upstreamDialectFor(endpoint: Endpoint): UpstreamDialect | undefined {
  const dialect = dialectOf(endpoint);
  if (dialect === undefined && endpoint.responsesApi) return responsesUpstream;
  if (dialect === "D2" && endpoint.quirks?.includes(RAW_PREDICT)) return rawPredictUpstream;
  return dialect === undefined ? undefined : UPSTREAM[dialect];
}

const NEEDED_MEDIA: Partial<Record<NeedSource["need"], MediaKind>> = {
  image_input: "image",
  audio_input: "audio",
  pdf_input: "file",
  remote_url: "remote_url",
  uploaded_file: "uploaded_file",
};

/**
 * It takes sampling at the default values of chat completions alone: translated requests do without, in its own dialect
 * other values are a demand that it cannot meet.
 */
const DEFAULT_SAMPLING = "default-sampling";

/** Models that choose their words by themselves refuse these, whatever dialect they are spoken to in. */
const SAMPLING: ReadonlySet<Parameter> = new Set(["temperature", "top_p", "top_k"]);

/** What the endpoint's dialect can carry of a call: the planner asks before anyone is called. */
export function dialectSupport(surface: Surface): DialectSupport {
  return surface === "messages" ? MESSAGES_SUPPORT : surface === "responses" ? RESPONSES_SUPPORT : CHAT_SUPPORT;
}

const CHAT_SUPPORT: DialectSupport = {
  // The parameter table governs this surface, on endpoints of its own dialect too.
  isNative: () => false,
  isVerbatim: () => false,
  // By dialect and by facts about the model, never by vendor: a provider's own list of parameters narrows nothing.
  takesParameter(endpoint, parameter, { needs, defaultedParameters }) {
    if (SAMPLING.has(parameter) && !takesSampling(endpoint, defaultedParameters?.includes(parameter) === true))
      return false;
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

function dialectFor(endpoint: Endpoint, needs: readonly NeedSource[]): UpstreamDialect {
  if (requiresResponsesApi(endpoint, needs)) return responsesUpstream;
  return upstreamDialectFor(endpoint) ?? chatUpstream;
}

function takesSampling({ features, quirks }: Endpoint, isUsual: boolean): boolean {
  return features.sampling !== false && (isUsual || !quirks?.includes(DEFAULT_SAMPLING));
}

const hasMessagesDoor = (endpoint: Endpoint): boolean => messagesRouteFor(endpoint) !== undefined;
const MESSAGES_SUPPORT: DialectSupport = { ...CHAT_SUPPORT, isNative: hasMessagesDoor, isVerbatim: hasMessagesDoor };
const RESPONSES_SUPPORT: DialectSupport = { ...CHAT_SUPPORT, isNative: ({ responsesApi }) => responsesApi };

export function adapterFor(inbound: InboundRequest, target: AdapterTarget): UpstreamAdapter {
  const lane = wayThere(inbound, target);
  lane.maxUsage = () => endOf(inbound, target);
  return lane;
}

/** What a call can use. Who runs tools, or has something of its own to go by, may read and write any number of times more. */
function endOf({ call, body }: InboundRequest, { endpoint, model, head }: AdapterTarget): UsageCeiling {
  if ([call.native, call.extras, call.uploadPaths].some((found) => found !== undefined && found.length > 0))
    return NO_CEILING;
  const most = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Infinity;
  const limit = call.maxOutputTokens;
  const asked = limit === undefined ? most : Math.max(limit, maxOutputTokensFor(call, limit, endpoint, model));
  return {
    inputTokens: hasMedia(call) ? Infinity : inputEnd(body.text.length, head.inputTokens),
    visibleOutputTokens: PLAUSIBLE_FACTOR * asked + REASONING_ALLOWANCE_TOKENS,
    outputTokens: PLAUSIBLE_FACTOR * Math.max(asked, most) + REASONING_ALLOWANCE_TOKENS,
  };
}

/** The estimate is of all that was said before as well, which the body may only name. */
function inputEnd(chars: number, estimate: number): number {
  return PLAUSIBLE_FACTOR * (chars + CHARS_PER_TOKEN * estimate) + SEARCH_ALLOWANCE_TOKENS;
}

const CHARS_PER_TOKEN = 4;

function hasMedia({ turns }: Call): boolean {
  return turns.some(({ parts }) => parts.some(isMedia));
}

/** Looked for at the end of every request: what names the places of all parts is too slow for that. */
function isMedia(part: Part): boolean {
  if (part.is === "tool_result") return part.content.some(isMedia);
  return part.is === "image" || part.is === "audio" || part.is === "file";
}

/** Same dialect on both sides: bytes with named patches. Otherwise through the canonical form. */
function wayThere(inbound: InboundRequest, target: AdapterTarget): UpstreamAdapter {
  const { endpoint, model } = target;
  if (inbound.dialect === "responses" && endpoint.responsesApi) return passthroughResponses(inbound, target);
  const door = inbound.dialect === "messages" ? messagesRouteFor(endpoint) : undefined;
  if (inbound.dialect === "messages" && door !== undefined) return passthroughMessages(inbound, target, door);
  if (endpoint.responsesApi && usesResponsesApi(endpoint, inbound.call, () => modelFactsFor(endpoint, model)))
    return translatedAdapter(inbound, responsesUpstream, target);
  if (inbound.dialect === "chat" && dialectOf(endpoint) === "D1") return passthroughChat(inbound, target);
  const dialect = upstreamDialectFor(endpoint);
  if (dialect === undefined) throw new Error(`${endpoint.id} speaks no dialect that ${inbound.dialect} can reach`);
  return translatedAdapter(inbound, dialect, target);
}

export function modelFactsFor(endpoint: Endpoint, model: Model): ModelFacts {
  return {
    model: endpoint.model,
    upstreamModel: endpoint.upstreamModel,
    maxOutputTokens: endpoint.limits.maxOutputTokens ?? model.maxOutputTokens,
    sampling: endpoint.quirks?.includes(DEFAULT_SAMPLING) ? false : endpoint.features.sampling,
    thinking: endpoint.thinking ?? null,
    efforts: effortsOf(endpoint, model),
    structuredOutput: endpoint.structuredOutput ?? null,
    promptCaching: endpoint.features.promptCaching,
    reasoning: reasoningOf(endpoint),
    acceptsEffort: supportsEffort(endpoint, model),
    outputLimit: outputLimitOf(endpoint),
    reasoningEncryptedBy: encryptsReasoning(endpoint) ? endpoint.provider : null,
    quirks: endpoint.quirks ?? [],
  };
}

/** The most that an endpoint writes in answer to a call that states a limit. */
export function maxOutputTokensFor(call: Call, limit: number, endpoint: Endpoint, model: Model): number {
  const most = endpoint.limits.maxOutputTokens ?? model.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  // A limit beyond what the model can write: it is asked for what it can.
  const asked = Math.min(limit, most);
  if (call.reasoning === undefined) return asked;
  const thought = upstreamDialectFor(endpoint)?.outputTokensMax?.(call, asked, modelFactsFor(endpoint, model)) ?? asked;
  return Math.min(thought, most);
}

/** Whether how hard to think, where a router chose it, gets in the way of something that the caller asked for. */
export function isEffortConflicting({ call, dialect }: InboundRequest, target: Omit<AdapterTarget, "head">): boolean {
  const { endpoint, model } = target;
  if (dialect === "responses" && endpoint.responsesApi) return isEffortTooLowForTools(call, target);
  return upstreamDialectFor(endpoint)?.conflictsWithEffort?.(call, modelFactsFor(endpoint, model)) === true;
}

function reasoningOf({ features, thinking }: Endpoint): "never" | "untold" | null {
  if (features.reasoning === false) return "never";
  return features.reasoningControl === false || thinking === "fixed" ? "untold" : null;
}

/** A wish that was left out: how hard to think is then the provider's own choice. */
function toldEffort(asked: Call, told: Call): "untold" | undefined {
  return asked.reasoning !== undefined && told.reasoning === undefined ? "untold" : undefined;
}

/** Who wants to read again what it thought reads it in the usual format alone. */
function thoughtsUntold({ turns }: Call, { quirks }: ModelFacts): readonly string[] {
  const isLost = quirks.includes("reasoning-in-history") && turns.some(({ parts }) => parts.some(isThought));
  return isLost ? ["earlier reasoning"] : NO_DROPPED_FIELDS;
}

const isThought = ({ is }: Part) => is === "reasoning";

function translatedAdapter(
  inbound: InboundRequest,
  dialect: UpstreamDialect,
  { endpoint, model, head }: AdapterTarget,
): UpstreamAdapter {
  const own = modelFactsFor(endpoint, model);
  const facts = dialect === responsesUpstream ? factsViaResponses(own, inbound.call) : own;
  const client = clientFor(inbound);
  // One dialect demands a limit of everyone, so its clients send one that no prompt leaves room for.
  const most =
    inbound.dialect === "messages" ? availableOutputTokens(endpoint, model, head.inputTokens) : facts.maxOutputTokens;
  const { call, droppedFields } = dropUnsupported(inbound.call, dialect, facts, most);
  const named = shortenToolNames(call, dialect.toolNameMax);
  return {
    surface: dialect.surface,
    path: dialect.path(call, facts),
    auth: dialect.auth,
    headers: dialect.headers,
    streamContentType: dialect.framing === "sse" ? "text/event-stream" : "application/vnd.amazon.eventstream",
    keepAliveFrame: client.keepAlive,
    effort: toldEffort(inbound.call, call) ?? dialect.effort?.(call, facts),
    droppedFields: dialect === responsesUpstream ? [...droppedFields, ...thoughtsUntold(call, own)] : droppedFields,
    encode: () => dialect.encodeRequest(named.call, facts),
    decodeResponse(bytes) {
      const events = dialect.decodeReply(bytes, { call: named.call, facts });
      // An answer in which the model reports its own failure is no answer.
      if (events === undefined || events.some(({ is }) => is === "problem")) return undefined;
      return translatedReply(named.restoreNames(events), client, head, call);
    },
    openFrameReader: (frameMax) => (dialect.framing === "sse" ? new SseReader(frameMax) : new ConverseFrames(frameMax)),
    openReplyStream: () => {
      const reader = named.reader(dialect.openReader({ call: named.call, facts }));
      return new TranslatedStream(reader, client.openWriter(head, call));
    },
    decodeProblem: dialect.decodeProblem,
  };
}

const LIST_MODELS = { method: "GET", path: "/models", body: "", letIn: [], keptOut: [400] } as const;
/** An empty request: who is not let in hears that first, and who is let in hears that it is empty. */
const EMPTY_REQUEST = { method: "POST", body: "{}", letIn: [400, 422], keptOut: [] } as const;

const NOTHING_ASKED: Call = {
  model: "",
  turns: [],
  tools: [],
  toolChoice: undefined,
  responseFormat: { is: "text" },
  reasoning: undefined,
  maxOutputTokens: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  stream: false,
  includeUsage: false,
  parameters: [],
};

/** How a credential for an endpoint is tried: the next way where a server does not have the one before. */
export function credentialProbesFor(
  endpoint: Endpoint,
  model: Model,
  credential: Credential,
): readonly CredentialProbe[] {
  const dialect = upstreamDialectFor(endpoint);
  if (dialect === undefined) {
    const place = decisionsPath(endpoint);
    return place === undefined ? [] : [{ ...EMPTY_REQUEST, path: place, auth: "bearer", headers: {} }];
  }
  const { auth, headers } = dialect;
  const path = dialect.path(NOTHING_ASKED, modelFactsFor(endpoint, model));
  const empty: CredentialProbe = { ...EMPTY_REQUEST, path, auth, headers };
  // Clouds that have models in their paths, or keep them in projects, list them elsewhere.
  const hasList = dialectOf(endpoint) !== "D4" && dialect !== rawPredictUpstream && credential.kind !== "minted";
  return hasList ? [{ ...LIST_MODELS, auth, headers }, empty] : [empty];
}
