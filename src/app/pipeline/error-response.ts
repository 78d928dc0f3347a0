import type { IncomingHttpHeaders } from "node:http";
import {
  classifyDeclined,
  classifyMalformed,
  classifyStatus,
  type FailureVerdict,
} from "../../io/upstream/classify-failure.ts";
import { classifyShape } from "../../io/upstream/rejected-response.ts";
import type { MemoryLease } from "../../io/upstream/response-memory.ts";
import type { UpstreamBodyHandler, UpstreamCall, UpstreamFailure } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { isJsonObject } from "../../kit/json.ts";
import { type JsonDocument, tryParseDocument } from "../../kit/json-document.ts";
import type { UpstreamProblem } from "../../language/canon/upstream-problem.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

const ERROR_BYTES_MAX = 64 * 1024;

export type ResponseReading = {
  readonly adapter: UpstreamAdapter;
  readonly provider: string;
  readonly call: UpstreamCall;
  readonly resolve: (outcome: AttemptOutcome) => void;
  readonly failed: (failure: UpstreamFailure, upstreamStatus: number | null) => void;
};

export const IGNORE: UpstreamBodyHandler = { onData: () => "more", onEnd() {}, onFailure() {} };

/** A JSON object in place of the requested stream is an error report. */
export function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/json") === true;
}

type ErrorReading = ResponseReading & { readonly status: number; readonly headers: IncomingHttpHeaders };

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

function classifyErrorBody(bytes: Buffer, { status, headers, adapter, provider }: ErrorReading): FailureVerdict {
  if (status === 200) {
    const reported = embeddedProblem(tryParseDocument(bytes), adapter, headers);
    return reported === undefined
      ? classifyMalformed("not an event stream", provider)
      : classifyProblem(reported, provider);
  }
  const problem = adapter.decodeProblem(tryParseDocument(bytes), status, headers);
  const refused = status < 500 && status !== 429 ? adapter.refusalFault?.(problem) : undefined;
  if (refused === undefined) return classifyStatus(status, headers, problem, provider);
  return classifyDeclined(status, problem, provider, refused);
}

/** An error report inside a response of status 200. */
function embeddedProblem(
  body: unknown,
  adapter: UpstreamAdapter,
  headers: IncomingHttpHeaders,
): UpstreamProblem | undefined {
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return undefined;
  const { error, object } = first;
  const isReport = isJsonObject(error) || (typeof error === "string" && error !== "") || object === "error";
  return isReport ? adapter.decodeProblem(body, null, headers) : undefined;
}

export function rejectCompressed({ provider, status, resolve, call }: ErrorReading): UpstreamBodyHandler {
  const verdict = classifyMalformed("compressed although not requested", provider);
  resolve({ is: "failed", verdict, upstreamStatus: status });
  call.abort();
  return IGNORE;
}

/** The outcome of a response that is no reply: it may exceed a limit, or be an error report. */
export function undecodedOutcome(document: JsonDocument, reading: BufferedReading): AttemptOutcome {
  const { adapter, headers, provider } = reading;
  const limit = document.exceeded;
  if (limit !== undefined) return { is: "failed", verdict: classifyShape(limit, provider), upstreamStatus: 200 };
  const problem = embeddedProblem(document.value, adapter, headers);
  if (problem === undefined) return unusableOutcome("not a valid response of its dialect", adapter, reading);
  return { is: "failed", verdict: classifyProblem(problem, provider), upstreamStatus: 200 };
}

export function unusableOutcome(
  why: string,
  { unusableFaultCode: code }: Pick<UpstreamAdapter, "unusableFaultCode">,
  { provider, model }: Pick<BufferedReading, "provider" | "model">,
): AttemptOutcome {
  const verdict = classifyMalformed(why, provider, code === undefined ? undefined : { code, model });
  return { is: "failed", verdict, upstreamStatus: 200 };
}

/** Classifies an error event like an HTTP status. */
export function classifyProblem(problem: UpstreamProblem, provider: string): FailureVerdict {
  return classifyStatus(problem.status !== null && problem.status >= 400 ? problem.status : 502, {}, problem, provider);
}

/** Each is called at most once. */
export type RelayEvents = {
  /** Called right before the first byte is sent. */
  readonly onCommit: () => void;
  /** Called at the first content of the model. */
  readonly onFirstContent: () => void;
};

export type BufferedReading = ResponseReading & {
  readonly gateway: GatewayDeps;
  readonly headers: IncomingHttpHeaders;
  readonly model: string;
  readonly workspaceId: string;
  /** Keeps the memory of the response accounted for until the request is settled. */
  readonly relay: { hold(lease: MemoryLease): void };
};
