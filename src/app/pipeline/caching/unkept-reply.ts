/** Reasons other than the end of the reply, in the wire formats of providers: it was refused, filtered or cut. */
const REASONS = [
  ...["length", "content_filter", "content_filtered", "error", "refusal", "max_tokens", "max_output_tokens"],
  ...["pause_turn", "model_context_window_exceeded", "guardrail_intervened", "malformed_model_output"],
  ...["malformed_tool_use", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST"],
  ...["PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"],
];
const NAMES = ["finish_reason", "finishReason", "stop_reason", "stopReason", "blockReason", "reason"];

/** Inside a string of JSON the quotes would be escaped, so texts of the model do not match. */
const ENDED_OTHERWISE = new RegExp(`"(?:${NAMES.join("|")})"\\s*:\\s*"(?:${REASONS.join("|")})"`);
const REFUSED = /"type"\s*:\s*"(?:refusal|response\.refusal\.[a-z]+|response\.incomplete)"|"refusal"\s*:\s*"/;
const INCOMPLETE = /"status"\s*:\s*"(?:incomplete|failed|cancelled)"/;

/** True for a reply that is refused, filtered or cut at a limit: another request may get a better one. */
export function isUnkeptReply(text: string): boolean {
  return ENDED_OTHERWISE.test(text) || REFUSED.test(text) || INCOMPLETE.test(text);
}
