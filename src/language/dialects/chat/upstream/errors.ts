import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";
import { isAborted } from "./normalize.ts";

const MESSAGE_CHARS_MAX = 2000;

/** Statuses of errors inside a stream, by code or type; the code takes precedence. */
const STATUSES: ReadonlyMap<string | null, number> = new Map([
  ["context_length_exceeded", 400],
  ["cyber_policy", 400],
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

/** Accepts every known error shape of this dialect; never throws. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const first = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(first)) return problem(null, null, null, status);
  const inner = isJsonObject(first["error"]) ? first["error"] : first;
  const message = messageIn(inner["message"]) ?? messageIn(first["error"]) ?? messageIn(first["detail"]);
  const words = textOf(inner["message"]) ?? textOf(first["error"]) ?? textOf(first["detail"]) ?? "";
  const code = INVALID_KEY.test(words) ? "invalid_api_key" : textOf(inner["code"]);
  const type = textOf(inner["type"]);
  const value = statusIn(inner["code"]) ?? statusIn(inner["status_code"]) ?? status;
  return problem(message, code, type, value ?? STATUSES.get(code) ?? STATUSES.get(type) ?? null);
}

function problem(
  message: string | null,
  code: string | null,
  type: string | null,
  status: number | null,
): UpstreamProblem {
  const value = (message ?? "the provider gave no reason").slice(0, MESSAGE_CHARS_MAX);
  const seconds = retryHintSeconds(value);
  return { message: value, code, type, status, ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }) };
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

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A message, or the list of a validator, which some servers nest in `detail`. */
function messageIn(value: unknown): string | null {
  const issues = isJsonObject(value) ? value["detail"] : value;
  if (!Array.isArray(issues)) return textOf(value);
  const lines = issues.flatMap((item) => (isJsonObject(item) ? validationLine(item) : []));
  return lines.length === 0 ? null : lines.join("; ");
}

/** Path and message only: the rejected input is not repeated. */
function validationLine({ loc, msg }: JsonObject): string[] {
  if (typeof msg !== "string") return [];
  const path = Array.isArray(loc) ? loc.slice(loc[0] === "body" ? 1 : 0).join(".") : "";
  return [path === "" ? msg : `${path}: ${msg}`];
}

const ABORTED_MESSAGE = "the model gave its answer up";

/** Errors and aborted replies can arrive with status 200. */
export function problemInChunk(chunk: JsonObject, event: string | null): UpstreamProblem | undefined {
  const { choices, error, object } = chunk;
  if (isJsonObject(error) || typeof error === "string" || object === "error" || event === "error")
    return decodeProblem(chunk, null);
  return Array.isArray(choices) && isAborted(choices) ? decodeProblem({ message: ABORTED_MESSAGE }, null) : undefined;
}
