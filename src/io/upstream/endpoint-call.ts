import type { IncomingHttpHeaders } from "node:http";
import { Fault } from "../../contract/faults.ts";
import type { Credential, Endpoint } from "../../domain/catalogue/catalogue.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { AudioPiece, AudioStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { authorize } from "./authorize.ts";
import { classifyStatus } from "./classify-failure.ts";
import type { BodyReader, Transport, UpstreamCall } from "./transport.ts";
import { type UpstreamAdapter, upstreamHeaders } from "./upstream-adapter.ts";

/** One question of the gateway itself, outside of any request. */
export type Asking = {
  readonly lane: UpstreamAdapter;
  readonly endpoint: Endpoint;
  readonly baseUrl: string;
  readonly credential: Credential | undefined;
  /** Given every piece of audio that comes. */
  readonly heard?: (bytes: Buffer) => void;
  readonly signal: AbortSignal;
};

export type AskingParts = {
  readonly transport: Pick<Transport, "send">;
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long one answer may take in all, and how long it may be. */
  readonly timeoutMs: number;
  readonly answerMaxBytes: number;
};

export type Asked =
  | { readonly is: "whole"; readonly answer: WholeReply }
  | { readonly is: "audio"; readonly stream: AudioStream }
  /** A clause without content and without the provider's own words. */
  | { readonly is: "failed"; readonly why: string };

const PROBLEM_BYTES_MAX = 64 * 1024;

/** Sends a lane's request once, and reads the answer as the lane does. */
export async function askLane(asking: Asking, parts: AskingParts): Promise<Asked> {
  const { lane } = asking;
  if (lane.subRequests === undefined) return askPart(asking, parts);
  const answers: WholeReply[] = [];
  for (const part of lane.subRequests.adapters) {
    const asked = await askPart({ ...asking, lane: part }, parts);
    if (asked.is !== "whole") return asked;
    answers.push(asked.answer);
  }
  return wholeOf(lane.subRequests.join(answers));
}

function wholeOf(answer: WholeReply | UnusableReply | undefined): Asked {
  if (answer === undefined) return failed("what came is not an answer of its format");
  return "unusable" in answer ? failed(answer.unusable) : { is: "whole", answer };
}

function failed(why: string): Asked {
  return { is: "failed", why };
}

async function askPart(asking: Asking, parts: AskingParts): Promise<Asked> {
  const { lane, endpoint, baseUrl, credential, signal } = asking;
  const url = `${baseUrl}${lane.path}`;
  const headers = upstreamHeaders(lane, "application/json");
  let body: ReturnType<UpstreamAdapter["encode"]>;
  try {
    body = lane.encode();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return failed("the question cannot be said to it");
  }
  try {
    const outgoing = { url, headers, body, endpoint, nowMs: parts.clock.nowMs() };
    Object.assign(headers, await authorize(credential, lane.auth, outgoing));
  } catch {
    return failed("there was no credential to ask with");
  }
  if (signal.aborted) return failed("given up");
  return new Promise((resolve) => {
    const settle = (asked: Asked) => {
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
        failed: ({ kind }) => settle(failed(UNREACHED[kind])),
        answered: (status, received) =>
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
  readonly settle: (asked: Asked) => void;
  /** Nothing more is wanted. */
  readonly end: () => void;
};

function readerFor({ lane, endpoint, heard }: Asking, { answerMaxBytes }: AskingParts, reading: Reading): BodyReader {
  const { status, headers, settle } = reading;
  if (status !== 200) {
    const why = (bytes: Buffer) =>
      classifyStatus(status, headers, lane.decodeProblem(tryParseJson(bytes), status, headers), endpoint.provider).why;
    return collect(reading, PROBLEM_BYTES_MAX, "cut", (bytes) => settle(failed(why(bytes))));
  }
  if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity") {
    settle(failed("its answer is compressed although that was not asked for"));
    setImmediate(reading.end);
    return { data: () => "more", end() {}, failed() {} };
  }
  if (lane.openAudioStream !== undefined)
    return audioReader(lane.openAudioStream(headers), reading, answerMaxBytes, heard);
  return collect(reading, answerMaxBytes, "refused", (bytes) => settle(wholeOf(lane.decodeResponse(bytes, headers))));
}

function collect(
  { settle, end }: Reading,
  maxBytes: number,
  longer: "cut" | "refused",
  whole: (bytes: Buffer) => void,
): BodyReader {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    data(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > maxBytes) {
        if (longer === "cut") whole(Buffer.concat(chunks));
        else settle(failed(`its answer is longer than ${maxBytes} bytes`));
        end();
      }
      return "more";
    },
    end: () => whole(Buffer.concat(chunks)),
    failed: ({ kind }) => settle(failed(UNREACHED[kind])),
  };
}

function audioReader(
  stream: AudioStream,
  { settle, end }: Reading,
  maxBytes: number,
  heard: Asking["heard"],
): BodyReader {
  let bytes = 0;
  const take = (piece: AudioPiece): boolean => {
    if (piece.is === "audio") {
      heard?.(piece.bytes);
      return true;
    }
    settle(failed(piece.is === "garbage" ? piece.why : "it told of a problem in the middle of its audio"));
    return false;
  };
  return {
    data(chunk) {
      bytes += chunk.length;
      const isLong = bytes > maxBytes;
      if (isLong) settle(failed(`its answer is longer than ${maxBytes} bytes`));
      if (isLong || !take(stream.read(chunk))) end();
      return "more";
    },
    end() {
      if (take(stream.end())) settle({ is: "audio", stream });
    },
    failed: ({ kind }) => settle(failed(UNREACHED[kind])),
  };
}
