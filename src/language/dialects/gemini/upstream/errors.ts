import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";

const MESSAGE_CHARS_MAX = 2000;

/** Accepts Google's error object, also wrapped in an array; never throws. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const first = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(first) && isJsonObject(first["error"]) ? first["error"] : undefined;
  if (error === undefined) return { message: "the provider gave no reason", code: null, type: null, status };
  const details = Array.isArray(error["details"]) ? error["details"].filter(isJsonObject) : [];
  const seconds = retrySeconds(details);
  return {
    message: (textOf(error["message"]) ?? "the provider gave no reason").slice(0, MESSAGE_CHARS_MAX),
    // The reason is more specific: a bad key has status INVALID_ARGUMENT and reason API_KEY_INVALID.
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

/** RetryInfo delay, such as `48s` or `48.9s`. */
function retrySeconds(details: readonly JsonObject[]): number | undefined {
  for (const detail of details) {
    const match = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(detail["retryDelay"]) ?? "");
    if (match !== null) return Math.ceil(Number(match[1]));
  }
  return undefined;
}
