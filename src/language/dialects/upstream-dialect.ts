import type { Call, Effort } from "../canon/call.ts";
import type { Parameter } from "../canon/parameters.ts";
import type { UpstreamProblem } from "../canon/problem.ts";
import type { Quirk } from "../canon/quirks.ts";
import type { ReasoningControl } from "../canon/reasoning-control.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";

/** How a dialect treats a parameter: honoured, refused, accepted and ignored, or meant for the gateway alone. */
export type FieldSupport = "yes" | "400" | "no-op" | "svc";

export type FieldTable = Readonly<Record<Parameter, FieldSupport>>;

/** One frame of a provider's stream, whatever carries it: an SSE event, or a message of a binary event stream. */
export type StreamFrame = { readonly event: string | null; readonly data: string };

/** What the catalogue knows of the model as this endpoint serves it: facts, so that no code names a model. */
export type ModelFacts = {
  /** Its id in the catalogue: what callers are told of it. */
  readonly model: string;
  /** Its name at the provider. */
  readonly upstreamModel: string;
  readonly maxOutputTokens: number | null;
  /** False: the model refuses temperature, top_p and top_k. */
  readonly sampling: boolean | null;
  /** How the model is told to think; null: the dialect's usual way. */
  readonly thinking: ReasoningControl | null;
  /** The words for how hard to think that it takes; absent or null: nobody knows. */
  readonly efforts?: readonly Effort[] | null;
  /** How the endpoint is held to a JSON schema; absent or null: by the dialect's own field. */
  readonly structuredOutput?: "native" | "tool" | null;
  /** Whether marks for the prompt cache are understood; absent or null: not known. */
  readonly promptCaching?: boolean | null;
  /** The model never thinks, or thinks and cannot be told how hard; absent or null: it can be told, or nothing is known. */
  readonly reasoning?: "never" | "untold" | null;
  /** It is known to think, and nothing says that it cannot be told how hard; absent: not known. */
  readonly acceptsEffort?: boolean;
  /** The name the limit of output tokens goes by, where the dialect has two; absent or null: the usual one. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens" | null;
  /** The provider, where it gives the thoughts of its models out encrypted and only it can open them; absent or null: it does not. */
  readonly reasoningEncryptedBy?: string | null;
  readonly quirks: readonly Quirk[];
};

/** What a dialect's requests can carry besides text. */
export type MediaKind = "image" | "audio" | "file" | "remote_url" | "uploaded_file";

/** What an answer answers, for dialects whose answers cannot be read without it. */
export type ReplyContext = { readonly call: Call; readonly facts: ModelFacts };

/** Reads the frames of one stream, in order. A frame it cannot read at all gives undefined. */
export type ReplyEventReader = { read(frame: StreamFrame): readonly ReplyEvent[] | undefined };

/** A way to speak to providers: pure translation from the canonical call and back to canonical events. */
export type UpstreamDialect = {
  readonly fields: FieldTable;
  /** Which API of the provider it is, for X-Svc-Upstream-Surface. */
  readonly surface: "chat" | "messages" | "responses";
  readonly media: ReadonlySet<MediaKind>;
  /** The longest name of a tool. */
  readonly toolNameMax: number;
  /** Its words for how closely a picture is looked at; absent: it has none. */
  readonly imageDetails?: ReadonlySet<string>;
  /** How the provider is shown the operator's credential. */
  readonly auth: "bearer" | "x-api-key" | "x-goog-api-key";
  /** Headers that every request of the dialect carries. */
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: "sse" | "event-stream";
  /** Whether this model is told what is worth caching; absent: none is. */
  supportsCacheBreakpoints?(facts: ModelFacts): boolean;
  /** Where the scale of temperatures ends; absent: where the caller's does. */
  readonly temperatureMax?: number;
  /** The path behind the provider's base address. */
  path(call: Call, facts: ModelFacts): string;
  /** The level of reasoning the provider is told, where the dialect has no word for the one asked for. */
  effort?(call: Call, facts: ModelFacts): Effort | undefined;
  /** The most that is written where thoughts can come on top of the limit that a call states. */
  outputTokensMax?(call: Call, limit: number, facts: ModelFacts): number;
  /** Whether how hard to think, where a router chose it, gets in the way of something that the caller asked for. */
  conflictsWithEffort?(call: Call, facts: ModelFacts): boolean;
  /** The body, as JSON text. Throws a Fault that names the field when the call cannot be said in this dialect. */
  encodeRequest(call: Call, facts: ModelFacts): string;
  /** A whole answer as the events it consists of; undefined when it is not an answer of this dialect. */
  decodeReply(bytes: Buffer, asked?: ReplyContext): readonly ReplyEvent[] | undefined;
  openReader(asked?: ReplyContext): ReplyEventReader;
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};
