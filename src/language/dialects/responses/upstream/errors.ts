import { isJsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";
import { decodeProblem as decodeChatProblem } from "../../chat/upstream/errors.ts";

/** Failure codes that the caller's request causes. */
const CALLER_ERROR_CODES: ReadonlySet<string | null> = new Set([
  "bio_policy",
  "empty_image_file",
  "failed_to_download_image",
  "image_content_policy_violation",
  "image_file_not_found",
  "image_file_too_large",
  "image_parse_error",
  "image_too_large",
  "image_too_small",
  "invalid_base64_image",
  "invalid_image",
  "invalid_image_format",
  "invalid_image_mode",
  "invalid_image_url",
  "invalid_prompt",
  "unsupported_image_media_type",
]);

/**
 * An `error` event, with its fields at the top level or in `error`, or a failed response. There is no status, so the
 * code decides whose fault it is.
 */
export function decodeStreamProblem(event: unknown): UpstreamProblem {
  const response = isJsonObject(event) && isJsonObject(event["response"]) ? event["response"] : event;
  const problem = decodeChatProblem(response, null);
  // `error` is the event's type here.
  const type = problem.type === "error" ? null : problem.type;
  return { ...problem, type, status: problem.status ?? (CALLER_ERROR_CODES.has(problem.code) ? 400 : null) };
}

/** An error body with its status, or a failed response with a 2xx status. */
export function decodeProblem(body: unknown, status: number | null): UpstreamProblem {
  return status === null ? decodeStreamProblem(body) : decodeChatProblem(body, status);
}
