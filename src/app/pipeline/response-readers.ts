import type { IncomingHttpHeaders } from "node:http";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { classifyMalformed, classifyStatus, type FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { UpstreamBodyHandler, UpstreamCall, UpstreamFailure } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { isJsonObject, tryParseJson } from "../../kit/json.ts";
import type { UpstreamProblem } from "../../language/canon/problem.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { classifyProblem } from "./relay.ts";

const PROBLEM_BYTES_MAX = 64 * 1024;

type ResponseReading = {
  readonly adapter: UpstreamAdapter;
  readonly provider: string;
  readonly call: UpstreamCall;
  readonly resolve: (outcome: AttemptOutcome) => void;
  readonly failed: (failure: UpstreamFailure, upstreamStatus: number | null) => void;
};

/** One object where a stream was asked for: whatever it is, it is no stream. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/json") === true;
}

type BufferedReading = ResponseReading & {
  readonly gateway: GatewayDeps;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
};

/** Collects a whole JSON answer under its cap. */
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
      const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
      const answer = adapter.decodeResponse(bytes, headers);
      const problem = answer === undefined ? embeddedProblem(bytes, adapter, headers) : undefined;
      if (problem === undefined) return resolve(bufferedOutcome(answer, adapter, { provider, model }));
      resolve({ is: "failed", verdict: classifyProblem(problem, provider), upstreamStatus: 200 });
    },
    onFailure: (failure) => failed(failure, 200),
  };
}

export function bufferedOutcome(
  answer: WholeReply | UnusableReply | undefined,
  { unusableFaultCode: code }: UpstreamAdapter,
  { provider, model }: Pick<Endpoint, "provider" | "model">,
): AttemptOutcome {
  if (answer !== undefined && !("unusable" in answer)) return { is: "whole", answer, upstreamStatus: 200 };
  const named = code === undefined ? undefined : { code, model };
  const verdict = classifyMalformed(answer?.unusable ?? "not an answer of its dialect", provider, named);
  return { is: "failed", verdict, upstreamStatus: 200 };
}

/** What went wrong, where that is told in the place of an answer and the status says nothing of it. */
function embeddedProblem(
  bytes: Buffer,
  lane: UpstreamAdapter,
  headers: IncomingHttpHeaders,
): UpstreamProblem | undefined {
  const body = tryParseJson(bytes);
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return undefined;
  const { error, object } = first;
  const isReport = isJsonObject(error) || (typeof error === "string" && error !== "") || object === "error";
  return isReport ? lane.decodeProblem(body, null, headers) : undefined;
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

/** Collects the beginning of an error body and says what follows from it. */
export function errorReader(reading: ErrorReading): UpstreamBodyHandler {
  const { status, resolve, failed, call } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const conclude = () => {
    resolve({ is: "failed", verdict: classifyErrorBody(Buffer.concat(chunks), reading), upstreamStatus: status });
  };
  return {
    onData(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > PROBLEM_BYTES_MAX) {
        // The verdict first: an abort is heard as a failure of its own.
        conclude();
        call.abort();
      }
      return "more";
    },
    onEnd: conclude,
    onFailure: (failure) => failed(failure, status),
  };
}
