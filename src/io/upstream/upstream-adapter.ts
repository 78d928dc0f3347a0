import type { IncomingHttpHeaders } from "node:http";
import type { Fault, FaultCode } from "../../contract/faults.ts";
import type { ChatRequest } from "../../contract/schemas/chat.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { JsonObject, ParsedBody } from "../../kit/json.ts";
import type { Call, Effort } from "../../language/canon/call.ts";
import type { UpstreamProblem } from "../../language/canon/problem.ts";
import type { AudioStream, ReplyStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { UsageCeiling } from "../../language/canon/usage-plausibility.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { AuthStyle } from "./authorize.ts";
import type { UpstreamBody } from "./transport.ts";

/** A request as it came in: decoded once, its text kept. */
export type Inbound = InboundChat | InboundMessages | InboundResponses;

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
export type Target = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly head: ReplyHead;
  /** Places in `tools` of what the endpoint would bill apart and is not asked for. */
  readonly leftOut?: readonly number[] | undefined;
};

/** Cuts the bytes of a stream into frames, wherever they were split; throws when one grows over its cap. */
export type FrameReader = { push(chunk: Buffer): StreamFrame[]; end(): StreamFrame[] };

/** The way from one inbound request to one endpoint and back. */
export type Lane = {
  /** Which of the provider's APIs is called: the value of X-Svc-Upstream-Surface; null on surfaces that have but one. */
  readonly surface: "chat" | "responses" | "messages" | null;
  readonly path: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** What the answer's content type must contain for a stream. */
  readonly streamType: string;
  /** What keeps the caller's idle stream open. */
  readonly keepAlive: string;
  /** How hard the provider was told to think, where that is not the caller's own word. */
  readonly effort: Effort | "untold" | undefined;
  /** Fields of the request that were left out, because they change nothing of the answer. */
  readonly dropped: readonly string[];
  /** What the answer to the caller says beside everything that is the same for all. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** How long what was asked is, where the provider repeats it before its model speaks. */
  readonly repeatedChars?: number;
  /** What a caller is told when nobody gave an answer that can be used; absent: `upstream_error`. */
  readonly unusable?: FaultCode;
  /** Where its figures end, by what is asked; absent: nothing of that says it, or the answer is held against it here. */
  end?(): UsageCeiling;
  encode(): UpstreamBody;
  decodeWhole(bytes: Buffer, headers: IncomingHttpHeaders): WholeReply | UnusableReply | undefined;
  /** Several requests to the same endpoint that are one answer together; `encode` and `decodeWhole` are theirs then. */
  readonly parts?: {
    readonly lanes: readonly Lane[];
    join(answers: readonly WholeReply[]): WholeReply | UnusableReply;
  };
  /** The answer is audio, and goes out as bytes while it comes. */
  openAudio?(headers: IncomingHttpHeaders): AudioStream;
  /** What a caller is told of an error by which the provider declines to answer; undefined when it is another one. */
  refusal?(problem: UpstreamProblem): Fault | undefined;
  openFrames(frameMaxChars: number): FrameReader;
  openStream(): ReplyStream;
  /** Without a status: an error that came with a good one. */
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** The smallest thing that can be asked of an endpoint: nothing is generated, and nothing costs. */
export type Probe = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** Statuses that only a caller who was let in gets to see, beside success; and those that only others see. */
  readonly letIn: readonly number[];
  readonly keptOut: readonly number[];
};

export const NOTHING_DROPPED: readonly string[] = [];

/** What every request to a provider says; a lane may say otherwise. */
export function requestHeaders(lane: Pick<Lane, "headers">, accept: string): Record<string, string> {
  return {
    "content-type": "application/json",
    accept,
    "accept-encoding": "identity",
    "user-agent": "inference-gateway",
    ...lane.headers,
  };
}
