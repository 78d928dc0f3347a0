import type { JsonDocument, JsonSource } from "../../kit/json-document.ts";
import type { TextLimits } from "../../kit/json-size.ts";
import type { DocumentShape } from "../../kit/json-structure.ts";
import type { Call, Effort } from "../canon/call.ts";
import type { Parameter } from "../canon/parameters.ts";
import type { ReasoningDetail } from "../canon/parts.ts";
import type { Place } from "../canon/places.ts";
import type { Quirk } from "../canon/quirks.ts";
import type { ReasoningControl } from "../canon/reasoning-control.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import type { UpstreamProblem } from "../canon/upstream-problem.ts";

/** Honoured, rejected with 400, accepted and ignored, or addressed to the gateway. */
export type FieldSupport = "yes" | "400" | "no-op" | "svc";

export type FieldTable = Readonly<Record<Parameter, FieldSupport>>;

/** One frame of an upstream stream: an SSE event or a binary event-stream message. */
export type StreamFrame = {
  readonly event: string | null;
  readonly data: string;
  /** Of a frame that was parsed before it is read. */
  readonly document?: JsonDocument;
};

/** Catalogue facts about the model at this endpoint, so that no code names a model. */
export type ModelFacts = {
  /** Catalogue id, as shown to callers. */
  readonly model: string;
  readonly upstreamModel: string;
  readonly maxOutputTokens: number | null;
  /** False: the model rejects temperature, top_p and top_k. */
  readonly sampling: boolean | null;
  /** Null: the dialect's default. */
  readonly thinking: ReasoningControl | null;
  /** Efforts that the model accepts; absent or null: unknown. */
  readonly efforts?: readonly Effort[] | null;
  /** How JSON schemas are enforced; absent or null: by the dialect's own field. */
  readonly structuredOutput?: "native" | "tool" | null;
  /** Absent or null: unknown. */
  readonly promptCaching?: boolean | null;
  /** The model never reasons, or its reasoning cannot be controlled; absent or null: controllable or unknown. */
  readonly reasoning?: "never" | "untold" | null;
  /** The model is known to accept an effort. */
  readonly acceptsEffort?: boolean;
  /** Name of the output limit; absent or null: the dialect's default. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens" | null;
  /** Provider that returns reasoning encrypted for itself; absent or null: none. */
  readonly reasoningEncryptedBy?: string | null;
  readonly quirks: readonly Quirk[];
};

/** Parts of a call that some dialects have no place for. */
export type CallFeature = "cache_breakpoints" | "file_name" | "strict_tools";

export type MediaKind = "image" | "audio" | "file" | "remote_url" | "uploaded_file";

/** The request behind a reply, for dialects that need it for decoding. */
export type ReplyContext = {
  readonly call: Call;
  readonly facts: ModelFacts;
  /** Reply content that the caller's surface can express and others cannot; absent: none. */
  readonly places?: ReadonlySet<Place>;
  /** Absent: the defaults. */
  readonly text?: TextLimits | undefined;
};

/** Decodes the frames of one stream in order; undefined for an unreadable frame. */
export type ReplyEventReader = { read(frame: StreamFrame): readonly ReplyEvent[] | undefined };

/** The upstream half of a dialect: pure translation from the canonical call and back to canonical events. */
export type UpstreamDialect = {
  readonly fields: FieldTable;
  /** Value of X-Svc-Upstream-Surface. */
  readonly surface: "chat" | "messages" | "responses";
  readonly media: ReadonlySet<MediaKind>;
  readonly toolNameMax: number;
  /** Supported image resolutions; absent: none. */
  readonly imageDetails?: ReadonlySet<string>;
  /** How the credential is sent. */
  readonly auth: "bearer" | "x-api-key" | "x-goog-api-key";
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: "sse" | "event-stream";
  /** Parts of a call that the dialect has no place for; a call with them is sent without them. */
  lacks(facts: ModelFacts): ReadonlySet<CallFeature>;
  /** Earlier breakpoints are not sent; absent: all are sent or rejected. */
  readonly cacheBreakpointsMax?: number;
  /** Whether reasoning of earlier turns is sent; only its creator can verify or decrypt a signature. */
  readsReasoning(detail: ReasoningDetail, facts: ModelFacts): boolean;
  /** Whether signatures of tool calls are sent. */
  readsCallSignatures(facts: ModelFacts): boolean;
  /** Absent: the caller's own scale. */
  readonly temperatureMax?: number;
  /** Path below the provider's base URL. */
  path(call: Call, facts: ModelFacts): string;
  /** The effort that the provider receives, after mapping. */
  effort?(call: Call, facts: ModelFacts): Effort | undefined;
  /** Maximum output if reasoning may exceed the stated limit. */
  outputTokensMax?(call: Call, limit: number, facts: ModelFacts): number;
  /** Whether an effort that a router chose would conflict with the caller's request. */
  conflictsWithEffort?(call: Call, facts: ModelFacts): boolean;
  /** JSON body. Throws a Fault with the field's name if the dialect cannot express the call. */
  encodeRequest(call: Call, facts: ModelFacts): string;
  /** Which member of replies is read item by item, and which may be long and is not read. */
  readonly replyShape: DocumentShape;
  /** Numbers of replies keep their digits. */
  readonly numbers?: "lossless";
  /** Undefined if the document is not a reply of this dialect. */
  decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined;
  openReader(context?: ReplyContext): ReplyEventReader;
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};
