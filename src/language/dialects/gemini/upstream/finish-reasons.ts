import type { FinishReason } from "../../../canon/reply-events.ts";
import type { UpstreamProblem } from "../../../canon/upstream-problem.ts";

/** Reported as 502, so that the gateway may try another endpoint. */
export function malformedReply(message: string): UpstreamProblem {
  return { message, code: "malformed_answer", type: null, status: 502 };
}

type GeminiFinish =
  | { readonly is: "finished"; readonly reason: FinishReason }
  /** Malformed model output; a retry may succeed. */
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

/** Models that call tools also finish with STOP. */
export function decodeFinishReason(statedReason: string, { hasCalls }: { readonly hasCalls: boolean }): GeminiFinish {
  if (MALFORMED_REASONS.has(statedReason)) return { is: "broken", why: `the model ended with ${statedReason}` };
  if (statedReason === "MAX_TOKENS") return { is: "finished", reason: "length" };
  if (CONTENT_FILTER_REASONS.has(statedReason) || statedReason.startsWith("IMAGE_"))
    return { is: "finished", reason: "content_filter" };
  return { is: "finished", reason: hasCalls ? "tool_calls" : "stop" };
}

/** Reasons that have a meaning on every surface. */
export const FINISH_REASONS: ReadonlySet<string> = new Set([
  "FINISH_REASON_UNSPECIFIED",
  "STOP",
  "MAX_TOKENS",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  ...CONTENT_FILTER_REASONS,
  ...MALFORMED_REASONS,
]);
