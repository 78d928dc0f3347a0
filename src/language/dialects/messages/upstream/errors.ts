import { isJsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";

const MESSAGE_CHARS_MAX = 2000;

/** Statuses of errors inside a stream, by type. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/**
 * An exhausted or disabled operator account is reported as a request error; only the message tells. A colon indicates
 * a quoted field of the caller.
 */
const NO_CREDIT =
  /^(your credit balance is too low|you have reached your specified (workspace )?api usage limits|this organization has been disabled)[^:]*(:\d\d UTC\.)?$/i;

/** Decodes errors from bodies and stream events; never throws. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  const outer = isJsonObject(body) ? body : {};
  const error = isJsonObject(outer["error"]) ? outer["error"] : outer;
  const type = textOf(error["type"]);
  const details = isJsonObject(error["details"]) ? error["details"] : {};
  const message = (textOf(error["message"]) ?? "the provider gave no reason").slice(0, MESSAGE_CHARS_MAX);
  return {
    message,
    code: NO_CREDIT.test(message) ? "insufficient_quota" : textOf(details["error_code"]),
    type,
    status: status ?? STATUSES[type ?? ""] ?? null,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
