import type { ErrorEnvelope } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { ReasoningSignature } from "../../../canon/parts.ts";
import type { Citation, FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import type { ClientDialect, ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import { encodeUsage } from "../direct/reply.ts";
import { encodeDetail } from "../reasoning-details.ts";

/** Canonical events as a chat-completions stream. */
class ChunkWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #includeUsage: boolean;
  readonly #before: string;
  readonly #after: string;
  readonly #usageNull: string;
  #details = 0;
  #begun = false;

  constructor(head: ReplyHead, includeUsage: boolean) {
    this.#head = head;
    this.#includeUsage = includeUsage;
    const text = JSON.stringify({
      id: head.id,
      object: "chat.completion.chunk",
      created: head.createdSeconds,
      model: head.model,
    });
    this.#usageNull = includeUsage ? ',"usage":null' : "";
    this.#before = `data: ${text.slice(0, -1)},"choices":[{"index":0,"delta":`;
    this.#after = `,"logprobs":null,"finish_reason":null}]${this.#usageNull}}\n\n`;
  }

  write(event: ReplyEvent): string {
    const delta = this.#delta(event);
    return delta === undefined ? "" : this.#role() + this.#before + JSON.stringify(delta) + this.#after;
  }

  /** The role comes first, right before the first thing that is shown. */
  #role(): string {
    if (this.#begun) return "";
    this.#begun = true;
    return `${this.#before}{"role":"assistant","content":"","refusal":null}${this.#after}`;
  }

  close({ finish, usage: counted, cost }: ReplyClosing): string {
    const end =
      finish === undefined
        ? ""
        : `${this.#role()}${this.#before}{},"logprobs":null,"finish_reason":"${finish.reason}"}]${this.#usageNull}}\n\n`;
    if (!this.#includeUsage) return `${end}data: [DONE]\n\n`;
    const { id, createdSeconds, model } = this.#head;
    const usage = encodeUsage(undefined, counted, cost);
    const chunk = { id, object: "chat.completion.chunk", created: createdSeconds, model, choices: [], usage };
    return `${end}data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  }

  fail(envelope: ErrorEnvelope): string {
    return encodeStreamError(envelope);
  }

  #delta(event: ReplyEvent): JsonObject | undefined {
    switch (event.is) {
      case "text":
        return { content: event.text };
      case "refusal":
        return { refusal: event.text };
      case "reasoning":
        return { reasoning_content: event.text };
      case "reasoning_detail":
        return { reasoning_details: [encodeDetail(event.detail, this.#details++)] };
      case "tool_call":
        return { tool_calls: [{ index: event.index, ...toolCall(event.id, event.name, "", event.signature) }] };
      case "tool_arguments":
        return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
      case "citation":
        return { annotations: [annotation(event.citation)] };
      case "begin":
      case "figures":
      case "finish":
      case "problem":
      case "end":
        return undefined;
    }
  }
}

function toolCall(id: string, name: string, argumentsText: string, signature: ReasoningSignature | null): JsonObject {
  const extra =
    signature?.family === "google" ? { extra_content: { google: { thought_signature: signature.data } } } : {};
  return { id, type: "function", function: { name, arguments: argumentsText }, ...extra };
}

function annotation({ url, title, start, end }: Citation): JsonObject {
  return {
    type: "url_citation",
    url_citation: { url: url ?? "", title: title ?? "", start_index: start ?? 0, end_index: end ?? 0 },
  };
}

/** An error frame; the status stays 200, and no end marker follows. */
export function encodeStreamError(envelope: ErrorEnvelope): string {
  return `data: ${JSON.stringify(envelope)}\n\n`;
}

/** Callers of `POST /chat/completions`. */
export const chatClient: ClientDialect = {
  keepAlive: ": keep-alive\n\n",
  openWriter: (head, call) => new ChunkWriter(head, call.includeUsage),
  render: (events, head, _call, counted, shown) =>
    JSON.stringify(completionOf(fold(events), head, encodeUsage(undefined, counted, shown))),
};

type FoldedReply = {
  content: string | null;
  refusal: string | null;
  reasoning: string;
  readonly details: JsonObject[];
  readonly calls: { id: string; name: string; argumentsText: string; signature: ReasoningSignature | null }[];
  readonly annotations: JsonObject[];
  reason: FinishReason;
};

/** Folding the events gives the same message that a client would put together from the stream. */
function fold(events: readonly ReplyEvent[]): FoldedReply {
  const folded: FoldedReply = {
    content: null,
    refusal: null,
    reasoning: "",
    details: [],
    calls: [],
    annotations: [],
    reason: "stop",
  };
  for (const event of events) foldEvent(folded, event);
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
    case "figures":
    case "problem":
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
