import type { ChatRequest } from "../../contract/schemas/chat.ts";
import type { DialectId, Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { DialectSupport } from "../../domain/routing/capability.ts";
import { type ParsedBody, patchMembers } from "../../kit/json.ts";
import { SseReader } from "../../kit/sse.ts";
import type { AnswerStream, WholeAnswer } from "../../language/canon/answer.ts";
import type { Call, Effort } from "../../language/canon/call.ts";
import type { NeedSource } from "../../language/canon/needs.ts";
import type { Parameter } from "../../language/canon/parameters.ts";
import type { UpstreamProblem } from "../../language/canon/problem.ts";
import { type AnswerHead, TranslatedStream, translatedReply } from "../../language/dialects/chat/answer.ts";
import { decodeProblem } from "../../language/dialects/chat/errors.ts";
import { FIELDS } from "../../language/dialects/chat/fields.ts";
import { decodeReply } from "../../language/dialects/chat/reply.ts";
import {
  type DirectFacts,
  directPatches,
  OUTPUT_LIMITS,
  type OutputLimit,
} from "../../language/dialects/chat/request.ts";
import { DirectStream } from "../../language/dialects/chat/stream.ts";
import { converseDialect } from "../../language/dialects/converse/dialect.ts";
import { ConverseFrames } from "../../language/dialects/converse/frames.ts";
import type { Frame, Media, ModelFacts, UpstreamDialect } from "../../language/dialects/dialect.ts";
import { geminiDialect } from "../../language/dialects/gemini/dialect.ts";
import { messagesDialect } from "../../language/dialects/messages/dialect.ts";
import type { AuthStyle } from "./authorize.ts";

/** A request as it came in: decoded once, its text kept. */
export type Inbound = {
  readonly dialect: "chat";
  readonly call: Call;
  readonly request: ChatRequest;
  readonly body: ParsedBody;
};

/** Cuts the bytes of a stream into frames, wherever they were split; throws when one grows over its cap. */
export type FrameReader = { push(chunk: Buffer): Frame[]; end(): Frame[] };

/** The way from one inbound request to one endpoint and back. */
export type Lane = {
  /** Which of the provider's APIs is called: the value of X-Svc-Upstream-Surface. */
  readonly surface: "chat" | "responses" | "messages";
  readonly path: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** What the answer's content type must contain for a stream. */
  readonly streamType: string;
  /** How hard the provider was told to think, where that is not the caller's own word. */
  readonly effort: Effort | undefined;
  encode(): string;
  decodeWhole(bytes: Buffer): WholeAnswer | undefined;
  openFrames(frameMaxChars: number): FrameReader;
  openStream(): AnswerStream;
  decodeProblem(
    body: unknown,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** Dialects that are reached by translation; D1 is the dialect of the surface itself. */
const TRANSLATED: Partial<Record<DialectId, UpstreamDialect>> = {
  D2: messagesDialect,
  D3: geminiDialect,
  D4: converseDialect,
};

const dialectOf = ({ dialects: [first] }: Endpoint): DialectId | undefined => first;

/** An endpoint speaks its first listed dialect; can the gateway speak it too? */
export function isSpoken(endpoint: Endpoint): boolean {
  const dialect = dialectOf(endpoint);
  return dialect === "D1" || (dialect !== undefined && TRANSLATED[dialect] !== undefined);
}

function translationFor(endpoint: Endpoint): UpstreamDialect | undefined {
  const dialect = dialectOf(endpoint);
  return dialect === undefined ? undefined : TRANSLATED[dialect];
}

const NEEDED_MEDIA: Partial<Record<NeedSource["need"], Media>> = {
  image_input: "image",
  audio_input: "audio",
  pdf_input: "file",
  remote_url: "remote_url",
  uploaded_file: "uploaded_file",
};

/** Models that choose their words by themselves refuse these, whatever dialect they are spoken to in. */
const SAMPLING: ReadonlySet<Parameter> = new Set(["temperature", "top_p", "top_k"]);

/** What the endpoint's dialect can carry: the planner asks before anyone is called. */
export const dialectSupport: DialectSupport = {
  // By dialect and by facts about the model, never by vendor: a provider's own list of parameters narrows nothing.
  takesParameter(endpoint, parameter) {
    if (endpoint.features.sampling === false && SAMPLING.has(parameter)) return false;
    if (endpoint.thinking === "fixed" && parameter === "reasoning_effort") return false;
    return (translationFor(endpoint)?.fields ?? FIELDS)[parameter] !== "400";
  },
  takesNeed(endpoint, need) {
    const media = NEEDED_MEDIA[need];
    return media === undefined || (translationFor(endpoint)?.media.has(media) ?? true);
  },
};

/** Same dialect on both sides: bytes with named patches. Otherwise through the canonical form. */
export function laneFor(inbound: Inbound, endpoint: Endpoint, model: Model, ownId: string, nowMs: number): Lane {
  const translation = translationFor(endpoint);
  return translation === undefined
    ? directLane(inbound, endpoint, ownId)
    : translatedLane(inbound, translation, factsOf(endpoint, model), {
        id: ownId,
        createdSeconds: Math.floor(nowMs / 1000),
        model: endpoint.model,
      });
}

function directFactsOf(endpoint: Endpoint): DirectFacts {
  return { upstreamModel: endpoint.upstreamModel, outputLimit: outputLimitOf(endpoint) };
}

/** A quirk decides; where there is none, a list of parameters that has only one of the two names. */
function outputLimitOf({ quirks, supportedParams }: Endpoint): OutputLimit | null {
  if (quirks?.includes("max-completion-tokens")) return "max_completion_tokens";
  if (quirks?.includes("max-tokens")) return "max_tokens";
  if (supportedParams === null) return null;
  const known = OUTPUT_LIMITS.filter((name) => supportedParams.includes(name));
  return known.length === 1 ? (known[0] ?? null) : null;
}

function directLane({ request, call, body }: Inbound, endpoint: Endpoint, ownId: string): Lane {
  return {
    surface: "chat",
    path: "/chat/completions",
    auth: "bearer",
    headers: {},
    streamType: "text/event-stream",
    effort: undefined,
    encode: () => patchMembers(body, directPatches(request, call, directFactsOf(endpoint))),
    decodeWhole: (answer) => decodeReply(answer, ownId),
    openFrames: (frameMaxChars) => new SseReader(frameMaxChars),
    openStream: () => new DirectStream(ownId, call.includeUsage),
    decodeProblem,
  };
}

function factsOf(endpoint: Endpoint, model: Model): ModelFacts {
  return {
    upstreamModel: endpoint.upstreamModel,
    maxOutputTokens: endpoint.limits.maxOutputTokens ?? model.maxOutputTokens,
    sampling: endpoint.features.sampling,
    thinking: endpoint.thinking ?? null,
    structuredOutput: endpoint.structuredOutput ?? null,
    promptCaching: endpoint.features.promptCaching,
    quirks: endpoint.quirks ?? [],
  };
}

function translatedLane({ call }: Inbound, dialect: UpstreamDialect, facts: ModelFacts, head: AnswerHead): Lane {
  return {
    surface: dialect.surface,
    path: dialect.path(call, facts),
    auth: dialect.auth,
    headers: dialect.headers,
    streamType: dialect.framing === "sse" ? "text/event-stream" : "application/vnd.amazon.eventstream",
    effort: dialect.effort?.(call, facts),
    encode: () => dialect.encode(call, facts),
    decodeWhole(bytes) {
      const events = dialect.decodeReply(bytes, { call, facts });
      // An answer in which the model reports its own failure is no answer.
      if (events === undefined || events.some(({ is }) => is === "problem")) return undefined;
      return translatedReply(events, head);
    },
    openFrames: (frameMax) => (dialect.framing === "sse" ? new SseReader(frameMax) : new ConverseFrames(frameMax)),
    openStream: () => new TranslatedStream(dialect.openReader({ call, facts }), head, call.includeUsage),
    decodeProblem: dialect.decodeProblem,
  };
}
