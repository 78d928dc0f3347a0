import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { NO_REASON_STATED, problemText, type UpstreamProblem } from "../../../canon/upstream-problem.ts";

/** Accepts Google's error object, also wrapped in an array; never throws. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const first = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(first) && isJsonObject(first["error"]) ? first["error"] : undefined;
  if (error === undefined) return { message: NO_REASON_STATED, code: null, type: null, status };
  const details = Array.isArray(error["details"]) ? error["details"].filter(isJsonObject) : [];
  const type = problemText(error["status"]);
  return {
    message: problemText(error["message"]) ?? NO_REASON_STATED,
    // The reason is more specific: a bad key has status INVALID_ARGUMENT and reason API_KEY_INVALID.
    code: reasonOf(details) ?? type,
    type,
    param: violatedFieldIn(details),
    status: typeof error["code"] === "number" ? error["code"] : status,
    retryAfterSeconds: retrySeconds(details),
  };
}

function reasonOf(details: readonly JsonObject[]): string | null {
  for (const detail of details) {
    const reason = problemText(detail["reason"]);
    if (reason !== null) return reason;
  }
  return null;
}

/** RetryInfo delay, such as `48s` or `48.9s`. */
function retrySeconds(details: readonly JsonObject[]): number | undefined {
  for (const detail of details) {
    const match = /^(\d{1,9}(?:\.\d+)?)s$/.exec(problemText(detail["retryDelay"]) ?? "");
    if (match !== null) return Math.ceil(Number(match[1]));
  }
  return undefined;
}

/** The field of a BadRequest detail. */
function violatedFieldIn(details: readonly JsonObject[]): string | undefined {
  for (const { fieldViolations } of details) {
    const [first]: unknown[] = Array.isArray(fieldViolations) ? fieldViolations : [];
    const field = isJsonObject(first) ? problemText(first["field"]) : null;
    if (field !== null) return field;
  }
  return undefined;
}
