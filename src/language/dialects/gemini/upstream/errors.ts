import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/problem.ts";

const MESSAGE_CHARS_MAX = 2000;

/** Google's error object, also where a server wraps it into an array; never fails. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const first = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(first) && isJsonObject(first["error"]) ? first["error"] : undefined;
  if (error === undefined) return { message: "the provider gave no reason", code: null, type: null, status };
  const details = Array.isArray(error["details"]) ? error["details"].filter(isJsonObject) : [];
  const seconds = retrySeconds(details);
  return {
    message: (textOf(error["message"]) ?? "the provider gave no reason").slice(0, MESSAGE_CHARS_MAX),
    // The reason says more than the status: a bad key is only INVALID_ARGUMENT, with the reason API_KEY_INVALID.
    code: reasonOf(details) ?? textOf(error["status"]),
    type: textOf(error["status"]),
    status: typeof error["code"] === "number" ? error["code"] : status,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function reasonOf(details: readonly JsonObject[]): string | null {
  for (const detail of details) {
    const reason = textOf(detail["reason"]);
    if (reason !== null) return reason;
  }
  return null;
}

/** RetryInfo: a duration in seconds, such as `48s` or `48.9s`. */
function retrySeconds(details: readonly JsonObject[]): number | undefined {
  for (const detail of details) {
    const match = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(detail["retryDelay"]) ?? "");
    if (match !== null) return Math.ceil(Number(match[1]));
  }
  return undefined;
}
