import type { IncomingHttpHeaders } from "node:http";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import {
  classifyFailure,
  classifyMalformed,
  classifyStatus,
  type FailureVerdict,
} from "../../io/upstream/classify-failure.ts";
import type { UpstreamBodyHandler, UpstreamCall, UpstreamFailure } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { isJsonObject, tryParseJson } from "../../kit/json.ts";
import type { AudioPiece, AudioStream, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { classifyProblem, type Relay } from "./relay.ts";

const ERROR_BYTES_MAX = 64 * 1024;

type ResponseReading = {
  readonly adapter: UpstreamAdapter;
  readonly provider: string;
  readonly call: UpstreamCall;
  readonly resolve: (outcome: AttemptOutcome) => void;
  readonly failed: (failure: UpstreamFailure, upstreamStatus: number | null) => void;
};

/** A JSON object in place of the requested stream is an error report. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/json") === true;
}

type BufferedReading = ResponseReading & {
  readonly gateway: GatewayDeps;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
};

/** Buffers a whole reply up to the size limit. */
export function bufferedReader(reading: BufferedReading): UpstreamBodyHandler {
  const { gateway, call, adapter, provider, model, resolve, failed, headers } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    onData(chunk) {
      bytes += chunk.length;
      if (bytes > gateway.limits.responseMaxBytes) {
        const verdict = classifyMalformed(`longer than ${gateway.limits.responseMaxBytes} bytes`, provider);
        resolve({ is: "failed", verdict, upstreamStatus: 200 });
        call.abort();
      } else chunks.push(chunk);
      return "more";
    },
    onEnd() {
      const [only] = chunks;
      const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
      const reply = adapter.decodeResponse(body, headers);
      const problem = reply === undefined ? embeddedProblem(body, adapter, headers) : undefined;
      if (problem === undefined) return resolve(bufferedOutcome(reply, adapter, { provider, model }));
      resolve({ is: "failed", verdict: classifyProblem(problem, provider), upstreamStatus: 200 });
    },
    onFailure: (failure) => failed(failure, 200),
  };
}

export function bufferedOutcome(
  reply: WholeReply | UnusableReply | undefined,
  { unusableFaultCode: code }: UpstreamAdapter,
  { provider, model }: Pick<Endpoint, "provider" | "model">,
): AttemptOutcome {
  if (reply !== undefined && !("unusable" in reply)) return { is: "complete", reply, upstreamStatus: 200 };
  const faultCode = code === undefined ? undefined : { code, model };
  const verdict = classifyMalformed(reply?.unusable ?? "not an answer of its dialect", provider, faultCode);
  return { is: "failed", verdict, upstreamStatus: 200 };
}

/** An error report inside a response of status 200. */
function embeddedProblem(
  bytes: Buffer,
  adapter: UpstreamAdapter,
  headers: IncomingHttpHeaders,
): UpstreamProblem | undefined {
  const body = tryParseJson(bytes);
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return undefined;
  const { error, object } = first;
  const isReport = isJsonObject(error) || (typeof error === "string" && error !== "") || object === "error";
  return isReport ? adapter.decodeProblem(body, null, headers) : undefined;
}

type ErrorReading = ResponseReading & { readonly status: number; readonly headers: IncomingHttpHeaders };

function classifyErrorBody(bytes: Buffer, { status, headers, adapter, provider }: ErrorReading): FailureVerdict {
  if (status === 200) {
    const reported = embeddedProblem(bytes, adapter, headers);
    return reported === undefined
      ? classifyMalformed("not an event stream", provider)
      : classifyProblem(reported, provider);
  }
  const problem = adapter.decodeProblem(tryParseJson(bytes), status, headers);
  const refused = status < 500 && status !== 429 ? adapter.refusalFault?.(problem) : undefined;
  if (refused === undefined) return classifyStatus(status, headers, problem, provider);
  return { is: "stop", why: `provider declined (${status})`, fault: refused };
}

/** Buffers the start of an error body and classifies it. */
export function errorReader(reading: ErrorReading): UpstreamBodyHandler {
  const { status, resolve, failed, call } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const classify = () => {
    resolve({ is: "failed", verdict: classifyErrorBody(Buffer.concat(chunks), reading), upstreamStatus: status });
  };
  return {
    onData(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > ERROR_BYTES_MAX) {
        // The verdict comes first, because the abort is reported as a failure.
        classify();
        call.abort();
      }
      return "more";
    },
    onEnd: classify,
    onFailure: (failure) => failed(failure, status),
  };
}

type AudioReading = {
  readonly call: UpstreamCall;
  readonly stream: AudioStream;
  readonly provider: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Relays audio bytes as they arrive; the first one is the commit point. */
export function audioReader(relay: Relay, { call, stream, provider, resolve }: AudioReading): UpstreamBodyHandler {
  let isEnded = false;
  const finish = (outcome: AttemptOutcome) => {
    isEnded = true;
    resolve(outcome);
  };
  const fail = (verdict: FailureVerdict) => {
    if (isEnded) return;
    if (relay.clientStoppedReading) finish({ is: "disconnected", stream });
    else if (relay.committed) finish(relay.brokenOutcome(stream, verdict));
    else finish({ is: "failed", verdict, upstreamStatus: 200 });
    // Last, because the abort is reported here as a failure.
    call.abort();
  };
  const relayPiece = (piece: AudioPiece): "more" | "pause" => {
    if (piece.is === "problem") fail(classifyProblem(piece.problem, provider));
    else if (piece.is === "malformed") fail(classifyMalformed(piece.why, provider));
    else if (piece.bytes.length > 0 && !relay.sendBytes(piece.bytes)) {
      relay.resumeWhenDrained(() => call.resume());
      return "pause";
    }
    return "more";
  };
  return {
    onData: (chunk) => {
      if (!isEnded) return relayPiece(stream.read(chunk));
      call.abort();
      return "more";
    },
    onEnd: () => {
      if (isEnded) return;
      relayPiece(stream.end());
      if (isEnded) return;
      if (relay.committed) finish({ is: "relayed", stream, upstreamStatus: 200 });
      else if (relay.disconnected) finish({ is: "disconnected", stream });
      else fail(classifyMalformed("no audio at all", provider));
    },
    onFailure: (failure) => fail(classifyFailure(failure, provider)),
  };
}
