import { isJsonObject } from "../../../../kit/json.ts";
import { NO_REASON_STATED, problemText, type UpstreamProblem } from "../../../canon/upstream-problem.ts";

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
  const type = problemText(error["type"]);
  const details = isJsonObject(error["details"]) ? error["details"] : {};
  const stated = problemText(details["error_code"]);
  const message = problemText(error["message"]) ?? NO_REASON_STATED;
  const isUnpaid = NO_CREDIT.test(message);
  return {
    message,
    code: isUnpaid ? "insufficient_quota" : stated,
    statedCode: isUnpaid ? stated : undefined,
    type,
    status: status ?? STATUSES[type ?? ""] ?? null,
  };
}
