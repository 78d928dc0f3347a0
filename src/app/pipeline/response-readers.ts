import type { IncomingHttpHeaders } from "node:http";
import type { Endpoint } from "../../domain/catalogue/catalogue.ts";
import { classifyMalformed, classifyStatus, type Verdict } from "../../io/upstream/classify-failure.ts";
import type { BodyReader, UpstreamCall, UpstreamFailure } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { isJsonObject, tryParseJson } from "../../kit/json.ts";
import type { UpstreamProblem } from "../../language/canon/problem.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { verdictOf } from "./relay.ts";

const PROBLEM_BYTES_MAX = 64 * 1024;

type Reading = {
  readonly lane: UpstreamAdapter;
  readonly provider: string;
  readonly call: UpstreamCall;
  readonly resolve: (outcome: AttemptOutcome) => void;
  readonly failed: (failure: UpstreamFailure, upstreamStatus: number | null) => void;
};

/** One object where a stream was asked for: whatever it is, it is no stream. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/json") === true;
}

type WholeReading = Reading & {
  readonly gateway: GatewayDeps;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
};

/** Collects a whole JSON answer under its cap. */
export function wholeReader(reading: WholeReading): BodyReader {
  const { gateway, call, lane, provider, model, resolve, failed, headers } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    data(chunk) {
      bytes += chunk.length;
      if (bytes > gateway.limits.responseMaxBytes) {
        const verdict = classifyMalformed(`longer than ${gateway.limits.responseMaxBytes} bytes`, provider);
        resolve({ is: "failed", verdict, upstreamStatus: 200 });
        call.abort();
      } else chunks.push(chunk);
      return "more";
    },
    end() {
      const [only] = chunks;
      const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
      const answer = lane.decodeResponse(bytes, headers);
      const problem = answer === undefined ? reportedIn(bytes, lane, headers) : undefined;
      if (problem === undefined) return resolve(wholeOutcome(answer, lane, { provider, model }));
      resolve({ is: "failed", verdict: verdictOf(problem, provider), upstreamStatus: 200 });
    },
    failed: (failure) => failed(failure, 200),
  };
}

export function wholeOutcome(
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
function reportedIn(bytes: Buffer, lane: UpstreamAdapter, headers: IncomingHttpHeaders): UpstreamProblem | undefined {
  const body = tryParseJson(bytes);
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return undefined;
  const { error, object } = first;
  const isReport = isJsonObject(error) || (typeof error === "string" && error !== "") || object === "error";
  return isReport ? lane.decodeProblem(body, null, headers) : undefined;
}

type ProblemReading = Reading & { readonly status: number; readonly headers: IncomingHttpHeaders };

function verdictOn(bytes: Buffer, { status, headers, lane, provider }: ProblemReading): Verdict {
  if (status === 200) {
    const reported = reportedIn(bytes, lane, headers);
    return reported === undefined ? classifyMalformed("not an event stream", provider) : verdictOf(reported, provider);
  }
  const problem = lane.decodeProblem(tryParseJson(bytes), status, headers);
  const refused = status < 500 && status !== 429 ? lane.refusalFault?.(problem) : undefined;
  if (refused === undefined) return classifyStatus(status, headers, problem, provider);
  return { is: "stop", why: `provider declined (${status})`, fault: refused };
}

/** Collects the beginning of an error body and says what follows from it. */
export function problemReader(reading: ProblemReading): BodyReader {
  const { status, resolve, failed, call } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const conclude = () => {
    resolve({ is: "failed", verdict: verdictOn(Buffer.concat(chunks), reading), upstreamStatus: status });
  };
  return {
    data(chunk) {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > PROBLEM_BYTES_MAX) {
        // The verdict first: an abort is heard as a failure of its own.
        conclude();
        call.abort();
      }
      return "more";
    },
    end: conclude,
    failed: (failure) => failed(failure, status),
  };
}
