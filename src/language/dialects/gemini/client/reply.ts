import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import type { Usage } from "../../../canon/usage.ts";
import type { FinishEvent, ReplyHead } from "../../client-dialect.ts";
import { mergeParts, PartsEncoder } from "./content-parts.ts";
import { encodeUsage } from "./usage.ts";

/** A turn that ends with function calls has no reason of its own in this format. */
const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

/** The end of a candidate: why it ended, and its sources. */
export function candidateEnd(finish: FinishEvent | undefined, parts: PartsEncoder): JsonObject {
  const { refusal } = parts;
  const reason = finish?.reason ?? "stop";
  const isRefused = refusal !== "" && reason === "stop";
  return {
    finishReason: isRefused ? FINISH_REASONS.content_filter : FINISH_REASONS[reason],
    ...(refusal === "" ? {} : { finishMessage: refusal }),
    ...parts.grounding(),
  };
}

export function encodeAnswer(
  { id, model }: ReplyHead,
  parts: readonly JsonObject[],
  end: JsonObject,
  more: JsonObject,
): JsonObject {
  return {
    candidates: [{ content: { parts, role: "model" }, ...end, index: 0 }],
    ...more,
    modelVersion: model,
    responseId: id,
  };
}

/** A whole reply: the parts that a client would assemble from the stream. */
export function renderReply(
  events: readonly ReplyEvent[],
  head: ReplyHead,
  showsThoughts: boolean,
  usage: Usage,
  cost: ReportedCost | undefined,
): string {
  const encoder = new PartsEncoder(showsThoughts);
  const parts = mergeParts([...events.flatMap((event) => encoder.add(event)), ...encoder.finish()]);
  const finish = events.findLast((event) => event.is === "finish");
  const answer = encodeAnswer(head, parts, candidateEnd(finish, encoder), { usageMetadata: encodeUsage(usage, cost) });
  return JSON.stringify(answer);
}
