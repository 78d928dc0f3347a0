import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { DialectSupport } from "../../domain/routing/requirements.ts";
import { TOOLS_OR_THINKING } from "../../language/canon/effort.ts";
import type { NeedSource } from "../../language/canon/need.ts";
import { SAMPLING_PARAMETERS } from "../../language/canon/sampling.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import type { MediaKind, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import { generationAdapterOf } from "./generation-adapter.ts";
import { DEFAULT_SAMPLING, modelFactsFor } from "./model-facts.ts";
import { speaksGemini } from "./passthrough-gemini.ts";
import { messagesRouteFor } from "./passthrough-messages.ts";
import { isEffortTooLowForTools } from "./passthrough-responses.ts";
import { requiresResponsesApi, SCHEMALESS_CHAT, TOOLLESS_CHAT } from "./responses-detour.ts";
import type { AdapterTarget, InboundRequest } from "./upstream-adapter.ts";

const NEEDED_MEDIA: Partial<Record<NeedSource["need"], MediaKind>> = {
  image_input: "image",
  audio_input: "audio",
  pdf_input: "file",
  remote_url: "remote_url",
  uploaded_file: "uploaded_file",
};

/** Shared by the surfaces: what the dialect of an endpoint supports. */
const TRANSLATION_SUPPORT: DialectSupport = {
  // Decided by dialect and model facts, never by vendor: a provider's own parameter list excludes nothing.
  takesParameter(endpoint, parameter, { needs, neutralParameters }) {
    const isDefault = neutralParameters?.includes(parameter) === true;
    if (SAMPLING_PARAMETERS.has(parameter) && !takesSampling(endpoint, isDefault ? "default" : "other")) return false;
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

/** The parameter table governs this surface, also on endpoints of its own dialect. */
const CHAT_SUPPORT: DialectSupport = {
  ...TRANSLATION_SUPPORT,
  forwardsUnknown: (endpoint, { needs }) => dialectFor(endpoint, needs) === chatUpstream,
};

const hasMessagesPassthrough = (endpoint: Endpoint): boolean => messagesRouteFor(endpoint) !== undefined;
const MESSAGES_SUPPORT: DialectSupport = {
  ...TRANSLATION_SUPPORT,
  isNative: hasMessagesPassthrough,
  isVerbatim: hasMessagesPassthrough,
};

const RESPONSES_SUPPORT: DialectSupport = { ...TRANSLATION_SUPPORT, isNative: ({ responsesApi }) => responsesApi };

const GEMINI_SUPPORT: DialectSupport = { ...TRANSLATION_SUPPORT, isNative: speaksGemini, isVerbatim: speaksGemini };

/** What an endpoint's dialect can express of a call; the planner checks it before any endpoint is called. */
export const DIALECT_SUPPORT: Readonly<Record<InboundRequest["dialect"], DialectSupport>> = {
  chat: CHAT_SUPPORT,
  messages: MESSAGES_SUPPORT,
  responses: RESPONSES_SUPPORT,
  gemini: GEMINI_SUPPORT,
};

function dialectFor(endpoint: Endpoint, needs: readonly NeedSource[]): UpstreamDialect {
  if (requiresResponsesApi(endpoint, needs)) return responsesUpstream;
  return generationAdapterOf(endpoint)?.dialect ?? chatUpstream;
}

function takesSampling({ features, quirks }: Endpoint, value: "default" | "other"): boolean {
  return features.sampling !== false && (value === "default" || !quirks?.includes(DEFAULT_SAMPLING));
}

/** Whether a reasoning effort that a router chose conflicts with something that the caller requested. */
export function isEffortConflicting({ call, dialect }: InboundRequest, target: Omit<AdapterTarget, "head">): boolean {
  const { endpoint, model } = target;
  if (dialect === "responses" && endpoint.responsesApi) return isEffortTooLowForTools(call, target);
  return generationAdapterOf(endpoint)?.dialect.conflictsWithEffort?.(call, modelFactsFor(endpoint, model)) === true;
}
