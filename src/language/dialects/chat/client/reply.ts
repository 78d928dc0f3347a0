import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReasoningSignature } from "../../../canon/parts.ts";
import type { Citation, FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyHead } from "../../client-dialect.ts";
import { encodeDetail } from "../reasoning-details.ts";

export function toolCall(
  id: string,
  name: string,
  argumentsText: string,
  signature: ReasoningSignature | null,
): JsonObject {
  const extra =
    signature?.family === "google" ? { extra_content: { google: { thought_signature: signature.data } } } : {};
  return { id, type: "function", function: { name, arguments: argumentsText }, ...extra };
}

export function annotation({ url, title, start, end }: Citation): JsonObject {
  return {
    type: "url_citation",
    url_citation: { url: url ?? "", title: title ?? "", start_index: start ?? 0, end_index: end ?? 0 },
  };
}

/** Filters the events of a reply: without parallel tool calls, only the first call is shown, whatever the model does. */
export function shownCalls({ openAiParameters }: Pick<Call, "openAiParameters">): (event: ReplyEvent) => boolean {
  if (openAiParameters?.parallel_tool_calls !== false) return () => true;
  let first: number | undefined;
  return (event) => {
    if (event.is !== "tool_call" && event.is !== "tool_arguments") return true;
    first ??= event.index;
    return event.index === first;
  };
}

type FoldedReply = {
  content: string | null;
  refusal: string | null;
  reasoning: string;
  readonly details: JsonObject[];
  readonly calls: { id: string; name: string; argumentsText: string; signature: ReasoningSignature | null }[];
  readonly annotations: JsonObject[];
  reason: FinishReason;
};

/** Builds the message that a client would assemble from the stream. */
function fold(events: readonly ReplyEvent[], call: Call): FoldedReply {
  const folded: FoldedReply = {
    content: null,
    refusal: null,
    reasoning: "",
    details: [],
    calls: [],
    annotations: [],
    reason: "stop",
  };
  const shown = shownCalls(call);
  for (const event of events) if (shown(event)) foldEvent(folded, event);
  return folded;
}

function foldEvent(folded: FoldedReply, event: ReplyEvent): void {
  switch (event.is) {
    case "text":
      folded.content = (folded.content ?? "") + event.text;
      return;
    case "refusal":
      folded.refusal = (folded.refusal ?? "") + event.text;
      return;
    case "reasoning":
      folded.reasoning += event.text;
      return;
    case "reasoning_detail":
      folded.details.push(encodeDetail(event.detail, folded.details.length));
      return;
    case "tool_call":
      folded.calls[event.index] = { id: event.id, name: event.name, argumentsText: "", signature: event.signature };
      return;
    case "tool_arguments": {
      const call = folded.calls[event.index];
      if (call !== undefined) call.argumentsText += event.text;
      return;
    }
    case "citation":
      folded.annotations.push(annotation(event.citation));
      return;
    case "finish":
      folded.reason = event.reason;
      return;
    case "begin":
    case "usage":
    case "problem":
    case "omitted":
    case "end":
      return;
  }
}

function completionOf(folded: FoldedReply, head: ReplyHead, usage: JsonObject): JsonObject {
  const calls = folded.calls.map(({ id, name, argumentsText, signature }) =>
    toolCall(id, name, argumentsText, signature),
  );
  const message = {
    role: "assistant",
    content: folded.content,
    refusal: folded.refusal,
    ...(folded.reasoning === "" ? {} : { reasoning_content: folded.reasoning }),
    ...(folded.details.length === 0 ? {} : { reasoning_details: folded.details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(folded.annotations.length === 0 ? {} : { annotations: folded.annotations }),
  };
  return {
    id: head.id,
    object: "chat.completion",
    created: head.createdSeconds,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: folded.reason }],
    usage,
  };
}

/** A whole chat completion: the message that a client would assemble from the stream. */
export function renderReply(events: readonly ReplyEvent[], head: ReplyHead, call: Call, usage: JsonObject): string {
  return JSON.stringify(completionOf(fold(events, call), head, usage));
}
