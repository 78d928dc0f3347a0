import type { FinishReason } from "../../../canon/reply-events.ts";

type GeminiFinish =
  | { readonly is: "finished"; readonly reason: FinishReason }
  /** The model failed to say what it wanted; another try may succeed. */
  | { readonly is: "broken"; readonly why: string };

const CONTENT_FILTER_REASONS: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MODEL_ARMOR",
]);
const MALFORMED_REASONS: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
]);

/** What a stated finish reason means. A model that calls tools states STOP like any other. */
export function decodeFinishReason(stated: string, called: "calls" | "no_calls"): GeminiFinish {
  if (MALFORMED_REASONS.has(stated)) return { is: "broken", why: `the model ended with ${stated}` };
  if (stated === "MAX_TOKENS") return { is: "finished", reason: "length" };
  if (CONTENT_FILTER_REASONS.has(stated) || stated.startsWith("IMAGE_"))
    return { is: "finished", reason: "content_filter" };
  return { is: "finished", reason: called === "calls" ? "tool_calls" : "stop" };
}
