import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../../contract/faults.ts";
import type { Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import { DOCUMENT_LIMITS, JsonDocument, tryParseDocument } from "../../kit/json-document.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AudioPiece, AudioStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { classifyStatus } from "./classify-failure.ts";
import { authorize, upstreamHeaders } from "./connections.ts";
import type { Transport, UpstreamBodyHandler, UpstreamCall } from "./transport.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";

/** A request of the gateway itself, outside of any inference request. */
export type EndpointCall = {
  readonly adapter: UpstreamAdapter;
  readonly endpoint: Endpoint;
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  readonly onAudio?: (bytes: Buffer) => void;
  readonly signal: AbortSignal;
};

export type EndpointCallDeps = {
  readonly transport: Pick<Transport, "send">;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Limits for the whole response. */
  readonly timeoutMs: number;
  readonly responseMaxBytes: number;
};

export type EndpointCallResult =
  | { readonly is: "whole"; readonly answer: WholeReply }
  | { readonly is: "audio"; readonly stream: AudioStream }
  /** A phrase without content and without the provider's own message. */
  | { readonly is: "failed"; readonly why: string };

const PROBLEM_BYTES_MAX = 64 * 1024;

/** Sends an adapter's request once and decodes the response. */
export async function callEndpoint(call: EndpointCall, deps: EndpointCallDeps): Promise<EndpointCallResult> {
  const { adapter } = call;
  if (adapter.subRequests === undefined) return callOnce(call, deps);
  const answers: WholeReply[] = [];
  for (const part of adapter.subRequests.adapters) {
    const result = await callOnce({ ...call, adapter: part }, deps);
    if (result.is !== "whole") return result;
    answers.push(result.answer);
  }
  return resultOf(adapter.subRequests.join(answers));
}

function resultOf(answer: WholeReply | UnusableReply | undefined): EndpointCallResult {
  if (answer === undefined) return failed("not a valid response of its format");
  return "unusable" in answer ? failed(answer.unusable) : { is: "whole", answer };
}

function failed(why: string): EndpointCallResult {
  return { is: "failed", why };
}

async function callOnce(call: EndpointCall, deps: EndpointCallDeps): Promise<EndpointCallResult> {
  const { adapter, endpoint, baseUrl, credential, signal } = call;
  const url = `${baseUrl}${adapter.path}`;
  const headers = upstreamHeaders(adapter, "application/json");
  let body: ReturnType<UpstreamAdapter["encode"]>;
  try {
    body = adapter.encode();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return failed("the request cannot be encoded for this endpoint");
  }
  try {
    const outgoing = { url, headers, body, endpoint, nowMs: deps.clock.nowMs() };
    Object.assign(headers, await authorize(credential, adapter.auth, outgoing));
  } catch {
    return failed("there is no credential");
  }
  if (signal.aborted) return failed("aborted");
  return new Promise((resolve) => {
    const settle = (result: EndpointCallResult) => {
      cancelTimer(deadline);
      signal.removeEventListener("abort", onAbort);
      resolve(result);
    };
    const onAbort = () => {
      settle(failed("aborted"));
      upstreamCall?.abort();
    };
    const deadline = deps.timers.after(deps.timeoutMs, () => {
      settle(failed(`no complete response within ${Math.round(deps.timeoutMs / 1000)} s`));
      upstreamCall?.abort();
    });
    signal.addEventListener("abort", onAbort);
    // `send` may fail synchronously, before there is a call to abort.
    let upstreamCall: UpstreamCall | undefined;
    upstreamCall = deps.transport.send(
      { url, headers, body },
      {
        onFailure: ({ kind }) => settle(failed(FAILURE_TEXTS[kind])),
        onHeaders: (status, received) =>
          readerFor(call, deps, { status, headers: received, settle, end: () => upstreamCall?.abort() }),
      },
    );
  });
}

const FAILURE_TEXTS = {
  connect: "the endpoint is unreachable",
  timeout: "the endpoint did not respond in time",
  broken: "the response was cut off",
  aborted: "aborted",
  stopped: "aborted",
  leaving: "aborted",
  busy: "the endpoint accepts no more requests",
} as const;

type ResponseContext = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly settle: (result: EndpointCallResult) => void;
  /** Aborts the call. */
  readonly end: () => void;
};

function readerFor(
  { adapter, endpoint, onAudio }: EndpointCall,
  { responseMaxBytes }: EndpointCallDeps,
  context: ResponseContext,
): UpstreamBodyHandler {
  const { status, headers, settle } = context;
  if (status !== 200) {
    const why = (bytes: Buffer) =>
      classifyStatus(
        status,
        headers,
        adapter.decodeProblem(tryParseDocument(bytes), status, headers),
        endpoint.provider,
      ).why;
    return collect(context, PROBLEM_BYTES_MAX, "cut", (bytes) => settle(failed(why(bytes))));
  }
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
    settle(failed("the response is compressed although not requested"));
    setImmediate(context.end);
    return { onData: () => "more", onEnd() {}, onFailure() {} };
  }
  if (adapter.openAudioStream !== undefined)
    return audioReader(adapter.openAudioStream(headers), context, responseMaxBytes, onAudio);
  return collect(context, responseMaxBytes, "refused", (bytes) =>
    settle(resultOf(adapter.decodeResponse(new JsonDocument(bytes, DOCUMENT_LIMITS), headers))),
  );
}

function collect(
  { settle, end }: ResponseContext,
  maxBytes: number,
  longer: "cut" | "refused",
  whole: (bytes: Buffer) => void,
): UpstreamBodyHandler {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    onData(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes) {
        if (longer === "cut") whole(Buffer.concat(chunks));
        else settle(failed(`the response is longer than ${maxBytes} bytes`));
        end();
      }
      return "more";
    },
    onEnd: () => whole(Buffer.concat(chunks)),
    onFailure: ({ kind }) => settle(failed(FAILURE_TEXTS[kind])),
  };
}

function audioReader(
  stream: AudioStream,
  { settle, end }: ResponseContext,
  maxBytes: number,
  onAudio: EndpointCall["onAudio"],
): UpstreamBodyHandler {
  let bytes = 0;
  const take = (piece: AudioPiece): boolean => {
    if (piece.is === "audio") {
      onAudio?.(piece.bytes);
      return true;
    }
    settle(failed(piece.is === "malformed" ? piece.why : "the endpoint reported an error in the middle of the audio"));
    return false;
  };
  return {
    onData(chunk) {
      bytes += chunk.length;
      const isLong = bytes > maxBytes;
      if (isLong) settle(failed(`the response is longer than ${maxBytes} bytes`));
      if (isLong || !take(stream.read(chunk))) end();
      return "more";
    },
    onEnd() {
      if (take(stream.end())) settle({ is: "audio", stream });
    },
    onFailure: ({ kind }) => settle(failed(FAILURE_TEXTS[kind])),
  };
}
