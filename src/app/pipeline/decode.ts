import type { Fault } from "../../contract/faults.ts";
import { MODEL_NAME_CHARS_MAX } from "../../contract/schemas/model-name.ts";
import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { ResponseSink } from "../exchange.ts";
import { tryParseJson } from "../request-input.ts";
import type { CaptureRecorder } from "./capture-recorder.ts";
import type { ChatInferenceRequest } from "./chat-request.ts";
import type { InferenceRequest } from "./inference-request.ts";
import type { RequestTrace } from "./request-trace.ts";

/** A decoded request with the hooks of its surface. */
export type DecodedRequest = {
  readonly request: InferenceRequest;
  /** Where the response goes; absent: the connection of the request. */
  readonly sink?: ResponseSink;
  /** Called after admission and before the first attempt. */
  readonly onAdmitted?: () => Promise<void>;
  /** Gets a complete streamed response before it is settled; must not fail. */
  readonly beforeSettle?: (final: string) => Promise<void>;
  /** Gets the complete response as JSON, after settlement and before its last bytes are sent; must not fail. */
  readonly storeResponse?: (final: string, headers: Readonly<Record<string, string>>) => Promise<void>;
  /** Rewrites canonical parameter names in a fault to those of the caller's dialect. */
  readonly toCallerParameterNames?: (problem: Fault) => Fault;
};

export type DecodedChatRequest<In extends InboundRequest = InboundRequest> = DecodedRequest & {
  readonly request: ChatInferenceRequest<In>;
};

/** How a surface reads its request: from a buffered body, or from an upload. */
export type RequestSource =
  | ((body: Buffer) => MaybePromise<DecodedRequest>)
  | { readonly upload: () => Promise<ReceivedRequest> };

export type ReceivedRequest = {
  /** The part that logs and capture windows may see; of an upload only its fields. */
  readonly loggableBody: Buffer;
  /** Identifies retries of the same request under one idempotency key. */
  readonly requestFingerprint: Buffer;
  decode(): MaybePromise<DecodedRequest>;
  /** Called once at the end of the request, however it ended. */
  dispose?(): void;
};

export function receivedBody(body: Buffer, decode: (body: Buffer) => MaybePromise<DecodedRequest>): ReceivedRequest {
  return { loggableBody: body, requestFingerprint: body, decode: () => decode(body) };
}

/** Adds a capture window's recorder to the decoded request. */
export function withCapture(recorder: CaptureRecorder, decoded: DecodedRequest, sink: ResponseSink): DecodedRequest {
  const { provider } = decoded.request.outline.routingHints ?? {};
  if (provider?.zeroDataRetention === true) recorder.optOut();
  const { storeResponse } = decoded;
  if (decoded.sink === undefined || storeResponse === undefined)
    return { ...decoded, sink: recorder.wrapSink(decoded.sink ?? sink) };
  return {
    ...decoded,
    sink: recorder.wrapSink(decoded.sink),
    // Callers of a background job read the stored response, not its stream.
    storeResponse(final, headers) {
      recorder.setResponse(final);
      return storeResponse(final, headers);
    },
  };
}

/** Fills the trace from the raw body of a request that was not decoded, valid or not. */
export function traceUndecoded(trace: RequestTrace, body: Buffer): void {
  const { model, stream } = tryParseJson(body) ?? {};
  if (typeof model === "string" && model.length <= MODEL_NAME_CHARS_MAX) trace.modelRequested = model;
  trace.streaming = stream === true;
}
