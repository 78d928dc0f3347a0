import { Fault } from "../../src/contract/faults.ts";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import type { JsonObject } from "../../src/kit/json.ts";
import type { Call } from "../../src/language/canon/call.ts";
import { decodeRequest } from "../../src/language/dialects/chat/client/request.ts";
import { messagesUpstream } from "../../src/language/dialects/messages/upstream/dialect.ts";
import type { ModelFacts } from "../../src/language/dialects/upstream-dialect.ts";
import type { Json } from "./gateway.ts";

/** A model that accepts everything and reasons by a budget. */
export const FACTS: ModelFacts = {
  model: "anthropic/claude-test",
  upstreamModel: "claude-test",
  maxOutputTokens: 64_000,
  sampling: null,
  thinking: "budget",
  quirks: [],
};
/** A model of the newer kind. */
export const ADAPTIVE: ModelFacts = { ...FACTS, thinking: "adaptive", sampling: false };

export const HELLO = { role: "user", content: "hello" };
export const WEATHER = {
  type: "function",
  function: { name: "weather", description: "Tells it.", parameters: { type: "object", properties: { c: {} } } },
};
/** The first bytes of an image. */
export const PNG = "iVBORw0KGgoAAAANSUhEUg==";

/** A chat request in the canon. */
export function callOf(request: object): Call {
  return decodeRequest(ChatRequest.parse({ model: "m", messages: [HELLO], ...request }));
}

/** What the provider would receive for it. */
export function sent(request: object, facts = FACTS): Json {
  return JSON.parse(messagesUpstream.encodeRequest(callOf(request), facts));
}

export function refusal(request: object, facts = FACTS): Fault {
  try {
    messagesUpstream.encodeRequest(callOf(request), facts);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

export function toolCall(id: string, name: string, args: string) {
  return { id, type: "function", function: { name, arguments: args } };
}

/** A complete reply of the messages API. */
export function messageJson(content: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-test",
    content,
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 7 },
    ...more,
  };
}

/** One event of a stream, with the padding that providers append to some. */
export const messageEvent = (data: JsonObject, padding = "") =>
  `event: ${String(data["type"])}\ndata: ${JSON.stringify(data).slice(0, -1)}${padding}}\n\n`;

/** The same reply as a stream: every text in pieces of the given size, with pings and padding between them. */
export function messageStream(
  { content, stop_reason, stop_details, usage, ...head }: JsonObject,
  size: number,
): Buffer {
  const events: string[] = [
    messageEvent({ type: "message_start", message: { ...head, content: [], usage: startUsage(usage) } }),
  ];
  for (const [index, block] of (Array.isArray(content) ? content : []).entries()) {
    const { open, deltas } = opened(block, size);
    events.push(
      messageEvent({ type: "content_block_start", index, content_block: open }, "   "),
      'event: ping\ndata: {"type": "ping"}\n\n',
    );
    for (const delta of deltas)
      events.push(messageEvent({ type: "content_block_delta", index, delta }, " ".repeat(deltas.length % 9)));
    events.push(messageEvent({ type: "content_block_stop", index }));
  }
  const delta = { stop_reason, stop_details, stop_sequence: null };
  events.push(messageEvent({ type: "message_delta", delta, usage }), messageEvent({ type: "message_stop" }, "     "));
  return Buffer.from(events.join(""));
}

/** The head of a stream knows the input and next to nothing of the output. */
function startUsage(usage: unknown): JsonObject {
  return { ...(typeof usage === "object" ? usage : {}), output_tokens: 1, output_tokens_details: null };
}

function pieces(text: string, size: number): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${size}}`, "gu")) ?? [];
}

function opened(block: JsonObject, size: number): { open: JsonObject; deltas: JsonObject[] } {
  switch (block["type"]) {
    case "text": {
      const texts = pieces(String(block["text"]), size).map((text) => ({ type: "text_delta", text }));
      const citations = Array.isArray(block["citations"]) ? block["citations"] : [];
      return {
        open: { type: "text", text: "" },
        deltas: [...citations.map((citation) => ({ type: "citations_delta", citation })), ...texts],
      };
    }
    case "thinking":
      return {
        open: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          ...pieces(String(block["thinking"]), size).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block["signature"] },
        ],
      };
    case "tool_use": {
      const text = JSON.stringify(block["input"]) === "{}" ? "" : JSON.stringify(block["input"]);
      const parts = pieces(text, size).map((partial_json) => ({ type: "input_json_delta", partial_json }));
      return { open: { ...block, input: {} }, deltas: [{ type: "input_json_delta", partial_json: "" }, ...parts] };
    }
    default:
      return { open: block, deltas: [] };
  }
}
