import type { ChatSurface } from "./draft.ts";

/** A model reply, complete or still streaming. */
export type ModelReply = {
  readonly text: string;
  readonly reasoning: string;
  /** Tool calls in order of their index. */
  readonly calls: readonly { readonly name: string; readonly input: string }[];
  readonly error: ReplyError | null;
};

/** An error inside a stream that had started. */
export type ReplyError = { readonly message: string; readonly code: string };

export const EMPTY_REPLY: ModelReply = { text: "", reasoning: "", calls: [], error: null };

/** A nested JSON value; undefined: missing. */
export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of path) found = typeof found === "object" && found !== null ? Reflect.get(found, step) : undefined;
  return found;
}

const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
};
const listAt = (value: unknown, ...path: readonly (string | number)[]): readonly unknown[] => {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** Applies one stream event. */
export function applyEvent(surface: ChatSurface, reply: ModelReply, event: unknown): ModelReply {
  const errorMessage = textAt(event, "error", "message");
  if (errorMessage !== "") return { ...reply, error: replyError(valueAt(event, "error")) };
  return { chat: applyChatEvent, messages: applyMessagesEvent, responses: applyResponsesEvent }[surface](reply, event);
}

function replyError(error: unknown): ReplyError {
  return {
    message: textAt(error, "message") || "The response ended with an error.",
    code: textAt(error, "code") || textAt(error, "type") || "stream_failed",
  };
}

function withCall(reply: ModelReply, index: number, name: string, input: string): ModelReply {
  const calls = [...reply.calls];
  while (calls.length <= index) calls.push({ name: "", input: "" });
  const before = calls[index] ?? { name: "", input: "" };
  calls[index] = { name: before.name || name, input: before.input + input };
  return { ...reply, calls };
}

function applyChatEvent(reply: ModelReply, event: unknown): ModelReply {
  const delta = valueAt(event, "choices", 0, "delta");
  let updated: ModelReply = {
    ...reply,
    text: reply.text + textAt(delta, "content"),
    reasoning: reply.reasoning + (textAt(delta, "reasoning_content") || textAt(delta, "reasoning")),
  };
  for (const [position, call] of listAt(delta, "tool_calls").entries()) {
    const index = valueAt(call, "index");
    const callIndex = typeof index === "number" ? index : position;
    updated = withCall(updated, callIndex, textAt(call, "function", "name"), textAt(call, "function", "arguments"));
  }
  return updated;
}

function applyMessagesEvent(reply: ModelReply, event: unknown): ModelReply {
  if (textAt(event, "type") === "content_block_start" && textAt(event, "content_block", "type") === "tool_use")
    return withCall(reply, reply.calls.length, textAt(event, "content_block", "name"), "");
  const delta = valueAt(event, "delta");
  const input = textAt(delta, "partial_json");
  if (input !== "") return withCall(reply, Math.max(0, reply.calls.length - 1), "", input);
  return {
    ...reply,
    text: reply.text + textAt(delta, "text"),
    reasoning: reply.reasoning + textAt(delta, "thinking"),
  };
}

function applyResponsesEvent(reply: ModelReply, event: unknown): ModelReply {
  const type = textAt(event, "type");
  if (type === "response.output_text.delta") return { ...reply, text: reply.text + textAt(event, "delta") };
  if (/^response\.reasoning.*\.delta$/.test(type))
    return { ...reply, reasoning: reply.reasoning + textAt(event, "delta") };
  if (type === "response.output_item.added" && textAt(event, "item", "type") === "function_call")
    return withCall(reply, reply.calls.length, textAt(event, "item", "name"), "");
  if (type === "response.function_call_arguments.delta")
    return withCall(reply, Math.max(0, reply.calls.length - 1), "", textAt(event, "delta"));
  if (type === "response.failed") return { ...reply, error: replyError(valueAt(event, "response", "error")) };
  return reply;
}

/** The reply of a response that was not streamed. */
export function replyFromBody(surface: ChatSurface, body: unknown): ModelReply {
  if (surface === "chat") {
    const message = valueAt(body, "choices", 0, "message");
    const calls = listAt(message, "tool_calls").map((call) => ({
      name: textAt(call, "function", "name"),
      input: textAt(call, "function", "arguments"),
    }));
    const reasoning = textAt(message, "reasoning_content") || textAt(message, "reasoning");
    return { text: textAt(message, "content"), reasoning, calls, error: null };
  }
  const blocks = surface === "messages" ? listAt(body, "content") : listAt(body, "output");
  let reply = EMPTY_REPLY;
  for (const block of blocks) reply = withBlock(reply, block);
  return reply;
}

function withBlock(reply: ModelReply, block: unknown): ModelReply {
  const type = textAt(block, "type");
  if (type === "text") return { ...reply, text: reply.text + textAt(block, "text") };
  if (type === "thinking") return { ...reply, reasoning: reply.reasoning + textAt(block, "thinking") };
  if (type === "tool_use")
    return withCall(reply, reply.calls.length, textAt(block, "name"), JSON.stringify(valueAt(block, "input")));
  if (type === "function_call")
    return withCall(reply, reply.calls.length, textAt(block, "name"), textAt(block, "arguments"));
  const parts = listAt(block, type === "reasoning" ? "summary" : "content").map((part) => textAt(part, "text"));
  return type === "reasoning"
    ? { ...reply, reasoning: reply.reasoning + parts.join("") }
    : { ...reply, text: reply.text + parts.join("") };
}

/** Parses server-sent events from arbitrarily split chunks. */
export class SseParser {
  #rest = "";

  push(piece: string): unknown[] {
    const blocks = `${this.#rest}${piece}`.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap(parseBlock);
  }
}

function parseBlock(block: string): unknown[] {
  const data = block
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trimStart())
    .join("\n");
  if (data === "" || data === "[DONE]") return [];
  try {
    return [JSON.parse(data)];
  } catch {
    return [];
  }
}
