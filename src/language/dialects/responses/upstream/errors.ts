import { isJsonObject } from "../../../../kit/json.ts";
import type { UpstreamProblem } from "../../../canon/problem.ts";
import { decodeProblem as decodeChatProblem } from "../../chat/upstream/errors.ts";

/** Refusals of the caller's request itself, by the words that a failed response has for them. */
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
 * A failure inside a stream: an `error` event, whose fields stand at the top or in `error`, or a response that failed. No
 * status comes with it, so the code has to say whose fault it is.
 */
export function decodeStreamProblem(event: unknown): UpstreamProblem {
  const response = isJsonObject(event) && isJsonObject(event["response"]) ? event["response"] : event;
  const problem = decodeChatProblem(response, null);
  // The type of an event is not the type of an error.
  const type = problem.type === "error" ? null : problem.type;
  return { ...problem, type, status: problem.status ?? (CALLER_ERROR_CODES.has(problem.code) ? 400 : null) };
}

/** An error that came as an answer: with its status, or as a response that failed although the status was good. */
export function decodeResponsesProblem(body: unknown, status: number | null): UpstreamProblem {
  return status === null ? decodeStreamProblem(body) : decodeChatProblem(body, status);
}
