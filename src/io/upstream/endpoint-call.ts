import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../../contract/faults.ts";
import type { Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AudioPiece, AudioStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { authorize } from "./authorize.ts";
import { classifyStatus } from "./classify-failure.ts";
import type { Transport, UpstreamBodyHandler, UpstreamCall } from "./transport.ts";
import { type UpstreamAdapter, upstreamHeaders } from "./upstream-adapter.ts";

/** One question of the gateway itself, outside of any request. */
export type EndpointCall = {
  readonly adapter: UpstreamAdapter;
  readonly endpoint: Endpoint;
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  /** Given every piece of audio that comes. */
  readonly onAudio?: (bytes: Buffer) => void;
  readonly signal: AbortSignal;
};

export type EndpointCallDeps = {
  readonly transport: Pick<Transport, "send">;
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long one answer may take in all, and how long it may be. */
  readonly timeoutMs: number;
  readonly responseMaxBytes: number;
};

export type EndpointCallResult =
  | { readonly is: "whole"; readonly answer: WholeReply }
  | { readonly is: "audio"; readonly stream: AudioStream }
  /** A clause without content and without the provider's own words. */
  | { readonly is: "failed"; readonly why: string };

const PROBLEM_BYTES_MAX = 64 * 1024;

/** Sends a lane's request once, and reads the answer as the lane does. */
export async function callEndpoint(asking: EndpointCall, parts: EndpointCallDeps): Promise<EndpointCallResult> {
  const { adapter } = asking;
  if (adapter.subRequests === undefined) return askPart(asking, parts);
  const answers: WholeReply[] = [];
  for (const part of adapter.subRequests.adapters) {
    const asked = await askPart({ ...asking, adapter: part }, parts);
    if (asked.is !== "whole") return asked;
    answers.push(asked.answer);
  }
  return wholeOf(adapter.subRequests.join(answers));
}

function wholeOf(answer: WholeReply | UnusableReply | undefined): EndpointCallResult {
  if (answer === undefined) return failed("what came is not an answer of its format");
  return "unusable" in answer ? failed(answer.unusable) : { is: "whole", answer };
}

function failed(why: string): EndpointCallResult {
  return { is: "failed", why };
}

async function askPart(asking: EndpointCall, parts: EndpointCallDeps): Promise<EndpointCallResult> {
  const { adapter, endpoint, baseUrl, credential, signal } = asking;
  const url = `${baseUrl}${adapter.path}`;
  const headers = upstreamHeaders(adapter, "application/json");
  let body: ReturnType<UpstreamAdapter["encode"]>;
  try {
    body = adapter.encode();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return failed("the question cannot be said to it");
  }
  try {
    const outgoing = { url, headers, body, endpoint, nowMs: parts.clock.nowMs() };
    Object.assign(headers, await authorize(credential, adapter.auth, outgoing));
  } catch {
    return failed("there was no credential to ask with");
  }
  if (signal.aborted) return failed("given up");
  return new Promise((resolve) => {
    const settle = (asked: EndpointCallResult) => {
      cancelTimer(deadline);
      signal.removeEventListener("abort", giveUp);
      resolve(asked);
    };
    const giveUp = () => {
      settle(failed("given up"));
      call?.abort();
    };
    const deadline = parts.timers.after(parts.timeoutMs, () => {
      settle(failed(`it took longer than ${Math.round(parts.timeoutMs / 1000)} s`));
      call?.abort();
    });
    signal.addEventListener("abort", giveUp);
    // A request that cannot even be begun fails before there is a call to speak of.
    let call: UpstreamCall | undefined;
    call = parts.transport.send(
      { url, headers, body },
      {
        onFailure: ({ kind }) => settle(failed(UNREACHED[kind])),
        onHeaders: (status, received) =>
          readerFor(asking, parts, { status, headers: received, settle, end: () => call?.abort() }),
      },
    );
  });
}

const UNREACHED = {
  connect: "it could not be reached",
  timeout: "it did not answer in time",
  broken: "its answer broke off",
  aborted: "given up",
  stopped: "given up",
  leaving: "given up",
  busy: "it takes no more requests",
} as const;

type Reading = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly settle: (asked: EndpointCallResult) => void;
  /** Nothing more is wanted. */
  readonly end: () => void;
};

function readerFor(
  { adapter, endpoint, onAudio }: EndpointCall,
  { responseMaxBytes }: EndpointCallDeps,
  reading: Reading,
): UpstreamBodyHandler {
  const { status, headers, settle } = reading;
  if (status !== 200) {
    const why = (bytes: Buffer) =>
      classifyStatus(status, headers, adapter.decodeProblem(tryParseJson(bytes), status, headers), endpoint.provider)
        .why;
    return collect(reading, PROBLEM_BYTES_MAX, "cut", (bytes) => settle(failed(why(bytes))));
  }
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
    settle(failed("its answer is compressed although that was not asked for"));
    setImmediate(reading.end);
    return { onData: () => "more", onEnd() {}, onFailure() {} };
  }
  if (adapter.openAudioStream !== undefined)
    return audioReader(adapter.openAudioStream(headers), reading, responseMaxBytes, onAudio);
  return collect(reading, responseMaxBytes, "refused", (bytes) =>
    settle(wholeOf(adapter.decodeResponse(bytes, headers))),
  );
}

function collect(
  { settle, end }: Reading,
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
        else settle(failed(`its answer is longer than ${maxBytes} bytes`));
        end();
      }
      return "more";
    },
    onEnd: () => whole(Buffer.concat(chunks)),
    onFailure: ({ kind }) => settle(failed(UNREACHED[kind])),
  };
}

function audioReader(
  stream: AudioStream,
  { settle, end }: Reading,
  maxBytes: number,
  heard: EndpointCall["onAudio"],
): UpstreamBodyHandler {
  let bytes = 0;
  const take = (piece: AudioPiece): boolean => {
    if (piece.is === "audio") {
      heard?.(piece.bytes);
      return true;
    }
    settle(failed(piece.is === "malformed" ? piece.why : "it told of a problem in the middle of its audio"));
    return false;
  };
  return {
    onData(chunk) {
      bytes += chunk.length;
      const isLong = bytes > maxBytes;
      if (isLong) settle(failed(`its answer is longer than ${maxBytes} bytes`));
      if (isLong || !take(stream.read(chunk))) end();
      return "more";
    },
    onEnd() {
      if (take(stream.end())) settle({ is: "audio", stream });
    },
    onFailure: ({ kind }) => settle(failed(UNREACHED[kind])),
  };
}
