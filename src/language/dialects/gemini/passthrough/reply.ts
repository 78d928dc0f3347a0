import { isJsonObject, type JsonObject, type ParsedBody, patchMembers } from "../../../../kit/json.ts";
import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import { measureJson } from "../../../../kit/json-size.ts";
import type { UnusableReply, WholeReply } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import { NO_TOKENS } from "../../../canon/usage.ts";
import { extraUsesInCandidates } from "../../extras.ts";
import { decodeUsage } from "../upstream/usage.ts";

/** Finish reasons of broken output: a retry may succeed. */
export const BROKEN_REASONS: ReadonlySet<unknown> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
]);

/** Replaces the id of a provider's reply and keeps all other bytes. */
export function decodePassthroughReply(source: JsonSource, id: string): WholeReply | UnusableReply | undefined {
  const { body } = JsonDocument.of(source);
  if ("problem" in body || !isAnswer(body.value)) return undefined;
  const { candidates, responseId, usageMetadata } = body.value;
  const { weight, finishReason, hasContent, isBlocked } = outlineOf(body.value);
  if (finishReason === undefined && !isBlocked) return undefined;
  if (BROKEN_REASONS.has(finishReason) && !hasContent)
    return { unusable: `the model ended with ${String(finishReason)}` };
  return {
    usage: decodeUsage(usageMetadata) ?? (isBlocked ? NO_TOKENS : undefined),
    extraUses: extraUsesInCandidates(candidates),
    upstreamId: typeof responseId === "string" && responseId !== "" ? responseId : null,
    outputWeight: weight,
    render: () => withOwnId(body, id),
  };
}

export function withOwnId(body: ParsedBody, id: string): string {
  return patchMembers(body, [{ key: "responseId", json: JSON.stringify(id) }]);
}

export function isAnswer(value: JsonObject): boolean {
  const { candidates, promptFeedback, usageMetadata } = value;
  return Array.isArray(candidates) || isJsonObject(promptFeedback) || isJsonObject(usageMetadata);
}

type AnswerOutline = {
  readonly weight: number;
  readonly hasContent: boolean;
  readonly finishReason: unknown;
  readonly isBlocked: boolean;
};

/** What a whole answer or one of a stream contains. */
export function outlineOf({ candidates, promptFeedback }: JsonObject): AnswerOutline {
  let weight = 0;
  let hasContent = false;
  let finishReason: unknown;
  for (const candidate of Array.isArray(candidates) ? candidates : []) {
    if (!isJsonObject(candidate)) continue;
    const { content, finishReason: reason } = candidate;
    if (typeof reason === "string" && reason !== "FINISH_REASON_UNSPECIFIED") finishReason ??= reason;
    const parts = isJsonObject(content) && Array.isArray(content["parts"]) ? content["parts"] : [];
    for (const part of parts) {
      if (!isJsonObject(part)) continue;
      const { text, thought: _, thoughtSignature: __, ...others } = part;
      if (typeof text === "string") weight += weightOf(text);
      const own = Object.keys(others).length > 0;
      if (own) weight += measureJson(others, weightOf);
      hasContent ||= own || (typeof text === "string" && text !== "");
    }
  }
  const isBlocked = isJsonObject(promptFeedback) && typeof promptFeedback["blockReason"] === "string";
  return { weight, hasContent, finishReason, isBlocked };
}
