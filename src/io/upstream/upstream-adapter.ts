import type { IncomingHttpHeaders } from "node:http";
import type { Fault, FaultCode } from "../../contract/faults.ts";
import type { ChatRequest } from "../../contract/schemas/chat.ts";
import type { Endpoint, Model } from "../../domain/catalogue/catalogue.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import type { JsonObject, ParsedBody } from "../../kit/json.ts";
import type { JsonDocument, JsonSource } from "../../kit/json-document.ts";
import type { TextLimits } from "../../kit/json-size.ts";
import type { Call, Effort } from "../../language/canon/call.ts";
import type { AudioStream, ReplyStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { UsageCeiling } from "../../language/canon/usage-ceiling.ts";
import type { ReplyHead } from "../../language/dialects/client-dialect.ts";
import type { GeminiReplyOptions } from "../../language/dialects/gemini/client/stream.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";
import type { DocumentForm } from "./large-response.ts";
import type { AuthStyle } from "./sigv4.ts";
import type { UpstreamBody } from "./transport.ts";

/** A decoded request with its original text. */
export type InboundRequest = InboundChat | InboundMessages | InboundResponses | InboundGemini;

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
  /** The caller compares the model in the reply with the requested one. */
  readonly comparesModel: boolean;
};

export type InboundResponses = {
  readonly dialect: "responses";
  readonly call: Call;
  readonly body: ParsedBody;
  /** The whole conversation as items: the stored history, then the new input. */
  readonly items: readonly JsonObject[];
  /** The fields of the response object that echo the request. */
  readonly echo: JsonObject;
};

export type InboundGemini = {
  readonly dialect: "gemini";
  readonly call: Call;
  readonly body: ParsedBody;
  readonly reply: GeminiReplyOptions;
};

/** The endpoint of one attempt, and the identity of its reply. */
export type AdapterTarget = {
  readonly endpoint: Endpoint;
  readonly model: Model;
  readonly head: ReplyHead;
  /** Absent: the defaults. */
  readonly text?: TextLimits | undefined;
  /** Indexes in `tools` of provider-run tools that are billed separately and not requested from this endpoint. */
  readonly excludedTools?: readonly number[] | undefined;
};

/** The longest frames: SSE events, and binary messages, which are checked and decoded at once. */
export type FrameLimits = { readonly frameMaxChars: number; readonly binaryFrameMaxBytes: number };

/** Splits a byte stream into frames; throws if a frame exceeds its limit. */
export type FrameReader = {
  /** Length of the unfinished frame. */
  readonly pendingChars: number;
  /** Memory of one character: V8 keeps a text with characters beyond Latin-1 in two bytes each. */
  readonly charBytes: 1 | 2;
  push(chunk: Buffer): StreamFrame[];
  end(): StreamFrame[];
};

/** Encodes one inbound request for one endpoint and decodes its response. */
export type UpstreamAdapter = {
  /** The provider API that is called, the value of X-Svc-Upstream-Surface; null on surfaces with only one. */
  readonly surface: "chat" | "responses" | "messages" | null;
  /** Below the endpoint's base URL, or a whole address. */
  readonly path: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** The Content-Type of a streamed response contains this. */
  readonly streamContentType: string;
  /** Written to an idle stream so that clients and proxies keep it open. */
  readonly keepAliveFrame: string;
  /** The reasoning effort that was sent, if it differs from the caller's. */
  readonly effort: Effort | "untold" | undefined;
  /** Paths of request fields that are not carried: reported in X-Svc-Omitted and in the log; absent: all are. */
  readonly omitted?: readonly string[] | undefined;
  /** Values that are sent differently, such as a limit lowered to the model's maximum; for the log. */
  readonly adjusted?: readonly string[] | undefined;
  /** The reply to a streaming request arrives whole, and is rendered as a stream. */
  readonly isWhole?: true | undefined;
  /** Content-Type of the stream to the caller; absent: server-sent events. */
  readonly streamResponseType?: string;
  /** Additional headers of the response to the caller. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Length of the request, if the provider echoes it before the first generated token. */
  readonly echoedChars?: number;
  /** The fault code if no endpoint returned a usable reply; default `upstream_error`. */
  readonly unusableFaultCode?: FaultCode;
  /** The highest plausible usage for this request; absent if unknown, or checked by the adapter itself. */
  maxUsage?(): UsageCeiling;
  encode(): UpstreamBody;
  decodeResponse(source: JsonSource, headers: IncomingHttpHeaders): WholeReply | UnusableReply | undefined;
  /** How the objects of a long response are built; absent: all of them, as by `JSON.parse`. */
  readonly form?: DocumentForm;
  /** For a long response, in slices of event-loop turns; absent: `decodeResponse`. */
  decodeInSlices?(
    document: JsonDocument,
    headers: IncomingHttpHeaders,
    work: SlicedWork,
  ): Promise<WholeReply | UnusableReply | undefined>;
  /** Default: POST. */
  readonly method?: "GET" | "POST";
  /** The response is a file, and this decodes it. */
  decodeBytes?(bytes: Buffer, headers: IncomingHttpHeaders): WholeReply | UnusableReply;
  /** Requests that follow an accepted one; only for sub-requests. */
  readonly sequence?: RequestSequence | undefined;
  /** Several requests to the same endpoint that form one reply; their `encode` and `decodeResponse` are used then. */
  readonly subRequests?: {
    readonly adapters: readonly UpstreamAdapter[];
    join(replies: readonly WholeReply[]): WholeReply | UnusableReply;
  };
  /** The response is audio and is relayed as bytes. */
  openAudioStream?(headers: IncomingHttpHeaders): AudioStream;
  /** The fault for an error by which the model declines to answer; undefined for any other error. */
  refusalFault?(problem: UpstreamProblem): Fault | undefined;
  openFrameReader(limits: FrameLimits): FrameReader;
  /** Checks each frame of a stream before it is read; throws at an implausible one. */
  openFrameCheck?(): (frame: StreamFrame) => StreamFrame;
  openReplyStream(): ReplyStream;
  /** `status` is null for an error inside a successful response. */
  decodeProblem(
    body: unknown,
    status: number | null,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): UpstreamProblem;
};

/** The requests after the first one of a job; the reply to the last one counts. */
export type RequestSequence = {
  /** Undefined: the reply to the latest request is the result. */
  next(): { readonly adapter: UpstreamAdapter; readonly afterMs: number } | undefined;
};

/** The cheapest request to an endpoint: it generates nothing and costs nothing. */
export type CredentialProbe = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: string;
  readonly auth: AuthStyle;
  readonly headers: Readonly<Record<string, string>>;
  /** Statuses besides success that prove the credential accepted, and those that prove it rejected. */
  readonly acceptedStatuses: readonly number[];
  readonly rejectedStatuses: readonly number[];
};
