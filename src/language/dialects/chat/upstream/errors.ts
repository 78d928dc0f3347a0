import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { NO_REASON_STATED, problemText, type UpstreamProblem } from "../../../canon/upstream-problem.ts";
import { isAborted } from "./normalize.ts";

/** Statuses of errors inside a stream, by code or type; the code takes precedence. */
const STATUSES: ReadonlyMap<string | null, number> = new Map([
  ["content_filter", 400],
  ["content_policy_violation", 400],
  ["context_length_exceeded", 400],
  ["cyber_policy", 400],
  ["invalid_prompt", 400],
  ["json_validate_failed", 400],
  ["tool_use_failed", 400],
  ["invalid_api_key", 401],
  ["model_not_found", 404],
  ["rate_limit_exceeded", 429],
  ["server_is_overloaded", 503],
  ["slow_down", 503],
  ["invalid_request_error", 400],
  ["rate_limit_error", 429],
]);

/** Some providers report a bad key with 400. Anchored, because callers' text may follow later in the message. */
const INVALID_KEY = /^\s*(api key not valid|(incorrect|invalid) api key)/i;

/** Issues of a validator that are read. */
const ISSUES_MAX = 100;

/** Accepts every known error shape of this dialect; never throws. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return { message: NO_REASON_STATED, code: null, type: null, status };
  const inner = errorObjectIn(first);
  const { message, param, type, failed_generation: failedGeneration } = inner;
  const sent = inner["code"];
  const statedStatus = statusIn(sent) ?? statusIn(inner["status_code"]);
  const stated = problemText(sent) ?? (typeof sent === "number" && statusIn(sent) === undefined ? String(sent) : null);
  const words = problemText(message, first["error"], first["detail"]) ?? "";
  const code = INVALID_KEY.test(words) ? "invalid_api_key" : stated;
  const kind = problemText(type, first["error_type"]);
  const text = messageIn(message) ?? messageIn(first["error"]) ?? messageIn(first["detail"]) ?? NO_REASON_STATED;
  return {
    message: text,
    code,
    type: kind,
    status: statedStatus ?? status ?? STATUSES.get(code) ?? STATUSES.get(kind) ?? null,
    statedCode: code === stated ? undefined : stated,
    param: problemText(param, issuePath(message), issuePath(first["detail"])) ?? undefined,
    failedGeneration: problemText(failedGeneration) ?? undefined,
    retryAfterSeconds: retryHintSeconds(text),
  };
}

/** The error is nested, listed, or the body itself. */
function errorObjectIn(body: JsonObject): JsonObject {
  const { error, errors } = body;
  if (isJsonObject(error)) return error;
  const [listed]: unknown[] = Array.isArray(errors) ? errors : [];
  return isJsonObject(listed) ? listed : body;
}

const RETRY_HINT = /\btry again in ((?:\d{1,6}(?:\.\d{1,6})?(?:ms|h|m|s))+)/i;
const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** Inside a stream only the message states the delay: "Please try again in 6m1.2s." */
function retryHintSeconds(message: string): number | undefined {
  const stated = RETRY_HINT.exec(message)?.[1]?.toLowerCase();
  if (stated === undefined) return undefined;
  let seconds = 0;
  for (const [, figure, unit = ""] of stated.matchAll(/([\d.]+)(ms|h|m|s)/g))
    seconds += Number(figure) * (UNIT_SECONDS[unit] ?? 0);
  return Math.ceil(seconds);
}

/** Providers also put their own numeric codes into this field. */
function statusIn(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

/** A message, or the list of a validator, which some servers nest in `detail`. */
function messageIn(value: unknown): string | null {
  const issues = issuesIn(value);
  if (issues === undefined) return problemText(value);
  const lines = issues.flatMap((item) => (isJsonObject(item) ? validationLine(item) : []));
  return problemText(lines.join("; "));
}

function issuesIn(value: unknown): readonly unknown[] | undefined {
  const issues = isJsonObject(value) ? value["detail"] : value;
  return Array.isArray(issues) ? issues.slice(0, ISSUES_MAX) : undefined;
}

/** The field of a validator's first issue. */
export function issuePath(value: unknown): string | null {
  const [issue] = issuesIn(value) ?? [];
  return isJsonObject(issue) ? problemText(pathOf(issue["loc"])) : null;
}

function pathOf(loc: unknown): string {
  if (!Array.isArray(loc)) return "";
  const steps = loc.filter((step) => typeof step === "string" || typeof step === "number");
  return steps.slice(steps[0] === "body" ? 1 : 0).join(".");
}

/** Path and message only: the rejected input is not repeated. */
function validationLine({ loc, msg }: JsonObject): string[] {
  if (typeof msg !== "string") return [];
  const path = pathOf(loc);
  return [path === "" ? msg : `${path}: ${msg}`];
}

const ABORTED_MESSAGE = "the model aborted its response";

/** Errors and aborted replies can arrive with status 200. */
export function problemInChunk(chunk: JsonObject, event: string | null): UpstreamProblem | undefined {
  const { choices, error, object } = chunk;
  if (isJsonObject(error) || typeof error === "string" || object === "error" || event === "error")
    return decodeProblem(chunk, null);
  return Array.isArray(choices) && isAborted(choices) ? decodeProblem({ message: ABORTED_MESSAGE }, null) : undefined;
}
