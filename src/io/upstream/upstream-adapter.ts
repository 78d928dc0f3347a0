import type { IncomingHttpHeaders } from "node:http";
import type { Fault, FaultCode } from "../../contract/faults.ts";
import type { ChatRequest } from "../../contract/schemas/chat.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { JsonObject, ParsedBody } from "../../kit/json.ts";
import type { Call, Effort } from "../../language/canon/call.ts";
import type { AudioStream, ReplyStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { UsageCeiling } from "../../language/canon/usage-plausibility.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { AuthStyle } from "./authorize.ts";
import type { UpstreamBody } from "./transport.ts";

/** A request as it came in: decoded once, its text kept. */
export type InboundRequest = InboundChat | InboundMessages | InboundResponses;

export type InboundChat = {
  readonly dialect: "chat";
  readonly call: Call;
  readonly request: ChatRequest;
  readonly body: ParsedBody;
};

export type InboundMessages = {
  readonly dialect: "messages";
  readonly call: Call;
  readonly body: ParsedBody;
  /** The headers `anthropic-version` and `anthropic-beta` as the caller sent them. */
  readonly version: string | undefined;
  readonly beta: string | undefined;
  /** The caller compares the model that an answer names with the one it asked for. */
  readonly comparesModel: boolean;
};

export type InboundResponses = {
  readonly dialect: "responses";
  readonly call: Call;
  readonly body: ParsedBody;
  /** The whole conversation as items: what came before, then the new input. */
  readonly items: readonly JsonObject[];
  /** The fields of the response object that repeat the request. */
  readonly echo: JsonObject;
};

/** Where one request is sent, and what its answer is called. */
export type AdapterTarget = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly head: ReplyHead;
  /** Places in `tools` of what the endpoint would bill apart and is not asked for. */
  readonly excludedTools?: readonly number[] | undefined;
};

/** Cuts the bytes of a stream into frames, wherever they were split; throws when one grows over its cap. */
export type FrameReader = { push(chunk: Buffer): StreamFrame[]; end(): StreamFrame[] };

/** The way from one inbound request to one endpoint and back. */
export type UpstreamAdapter = {
  /** Which of the provider's APIs is called: the value of X-Svc-Upstream-Surface; null on surfaces that have but one. */
  readonly surface: "chat" | "responses" | "messages" | null;
  readonly path: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** What the answer's content type must contain for a stream. */
  readonly streamContentType: string;
  /** What keeps the caller's idle stream open. */
  readonly keepAliveFrame: string;
  /** How hard the provider was told to think, where that is not the caller's own word. */
  readonly effort: Effort | "untold" | undefined;
  /** Fields of the request that were left out, because they change nothing of the answer. */
  readonly droppedFields: readonly string[];
  /** What the answer to the caller says beside everything that is the same for all. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** How long what was asked is, where the provider repeats it before its model speaks. */
  readonly echoedChars?: number;
  /** What a caller is told when nobody gave an answer that can be used; absent: `upstream_error`. */
  readonly unusableFaultCode?: FaultCode;
  /** Where its figures end, by what is asked; absent: nothing of that says it, or the answer is held against it here. */
  maxUsage?(): UsageCeiling;
  encode(): UpstreamBody;
  decodeResponse(bytes: Buffer, headers: IncomingHttpHeaders): WholeReply | UnusableReply | undefined;
  /** Several requests to the same endpoint that are one answer together; `encode` and `decodeWhole` are theirs then. */
  readonly subRequests?: {
    readonly adapters: readonly UpstreamAdapter[];
    join(answers: readonly WholeReply[]): WholeReply | UnusableReply;
  };
  /** The answer is audio, and goes out as bytes while it comes. */
  openAudioStream?(headers: IncomingHttpHeaders): AudioStream;
  /** What a caller is told of an error by which the provider declines to answer; undefined when it is another one. */
  refusalFault?(problem: UpstreamProblem): Fault | undefined;
  openFrameReader(frameMaxChars: number): FrameReader;
  openReplyStream(): ReplyStream;
  /** Without a status: an error that came with a good one. */
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** The smallest thing that can be asked of an endpoint: nothing is generated, and nothing costs. */
export type CredentialProbe = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** Statuses that only a caller who was let in gets to see, beside success; and those that only others see. */
  readonly acceptedStatuses: readonly number[];
  readonly rejectedStatuses: readonly number[];
};

export const NO_DROPPED_FIELDS: readonly string[] = [];

/** What every request to a provider says; a lane may say otherwise. */
export function upstreamHeaders(lane: Pick<UpstreamAdapter, "headers">, accept: string): Record<string, string> {
  return {
    "content-type": "application/json",
    accept,
    "accept-encoding": "identity",
    "user-agent": "inference-gateway",
    ...lane.headers,
  };
}
