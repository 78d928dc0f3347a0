import type { ChatSurface } from "./draft.ts";

/** What has come of an answer so far. */
export type ApiResponse = {
  readonly text: string;
  readonly thoughts: string;
  /** Calls of tools, by where they stand in the answer. */
  readonly calls: readonly { readonly name: string; readonly input: string }[];
  readonly error: string | null;
};

export const NO_ANSWER: ApiResponse = { text: "", thoughts: "", calls: [], error: null };

/** A value inside a JSON document; undefined when there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of path) found = typeof found === "object" && found !== null ? Reflect.get(found, step) : undefined;
  return found;
}

const textAt = (value: unknown, ...path: readonly (string | number)[]): string => {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
};
const listAt = (value: unknown, ...path: readonly (string | number)[]): readonly unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** One event of a stream put to what there is. */
export function fold(surface: ChatSurface, answer: ApiResponse, event: unknown): ApiResponse {
  const said = textAt(event, "error", "message");
  if (said !== "") return { ...answer, error: said };
  return { chat: foldChat, messages: foldMessages, responses: foldResponses }[surface](answer, event);
}

function withCall(answer: ApiResponse, index: number, name: string, input: string): ApiResponse {
  const calls = [...answer.calls];
  while (calls.length <= index) calls.push({ name: "", input: "" });
  const before = calls[index] ?? { name: "", input: "" };
  calls[index] = { name: before.name || name, input: before.input + input };
  return { ...answer, calls };
}

function foldChat(answer: ApiResponse, event: unknown): ApiResponse {
  const delta = at(event, "choices", 0, "delta");
  let grown: ApiResponse = {
    ...answer,
    text: answer.text + textAt(delta, "content"),
    thoughts: answer.thoughts + (textAt(delta, "reasoning_content") || textAt(delta, "reasoning")),
  };
  for (const [position, call] of listAt(delta, "tool_calls").entries()) {
    const index = at(call, "index");
    const place = typeof index === "number" ? index : position;
    grown = withCall(grown, place, textAt(call, "function", "name"), textAt(call, "function", "arguments"));
  }
  return grown;
}

function foldMessages(answer: ApiResponse, event: unknown): ApiResponse {
  if (textAt(event, "type") === "content_block_start" && textAt(event, "content_block", "type") === "tool_use")
    return withCall(answer, answer.calls.length, textAt(event, "content_block", "name"), "");
  const delta = at(event, "delta");
  const input = textAt(delta, "partial_json");
  if (input !== "") return withCall(answer, Math.max(0, answer.calls.length - 1), "", input);
  return {
    ...answer,
    text: answer.text + textAt(delta, "text"),
    thoughts: answer.thoughts + textAt(delta, "thinking"),
  };
}

function foldResponses(answer: ApiResponse, event: unknown): ApiResponse {
  const type = textAt(event, "type");
  if (type === "response.output_text.delta") return { ...answer, text: answer.text + textAt(event, "delta") };
  if (/^response\.reasoning.*\.delta$/.test(type))
    return { ...answer, thoughts: answer.thoughts + textAt(event, "delta") };
  if (type === "response.output_item.added" && textAt(event, "item", "type") === "function_call")
    return withCall(answer, answer.calls.length, textAt(event, "item", "name"), "");
  if (type === "response.function_call_arguments.delta")
    return withCall(answer, Math.max(0, answer.calls.length - 1), "", textAt(event, "delta"));
  if (type === "response.failed") return { ...answer, error: textAt(event, "response", "error", "message") };
  return answer;
}

/** The same of an answer that came at once. */
export function whole(surface: ChatSurface, body: unknown): ApiResponse {
  if (surface === "chat") {
    const message = at(body, "choices", 0, "message");
    const calls = listAt(message, "tool_calls").map((call) => ({
      name: textAt(call, "function", "name"),
      input: textAt(call, "function", "arguments"),
    }));
    const thoughts = textAt(message, "reasoning_content") || textAt(message, "reasoning");
    return { text: textAt(message, "content"), thoughts, calls, error: null };
  }
  const blocks = surface === "messages" ? listAt(body, "content") : listAt(body, "output");
  let answer = NO_ANSWER;
  for (const block of blocks) answer = withBlock(answer, block);
  return answer;
}

function withBlock(answer: ApiResponse, block: unknown): ApiResponse {
  const type = textAt(block, "type");
  if (type === "text") return { ...answer, text: answer.text + textAt(block, "text") };
  if (type === "thinking") return { ...answer, thoughts: answer.thoughts + textAt(block, "thinking") };
  if (type === "tool_use")
    return withCall(answer, answer.calls.length, textAt(block, "name"), JSON.stringify(at(block, "input")));
  if (type === "function_call")
    return withCall(answer, answer.calls.length, textAt(block, "name"), textAt(block, "arguments"));
  const parts = listAt(block, type === "reasoning" ? "summary" : "content").map((part) => textAt(part, "text"));
  return type === "reasoning"
    ? { ...answer, thoughts: answer.thoughts + parts.join("") }
    : { ...answer, text: answer.text + parts.join("") };
}

/** Cuts a stream of server-sent events into the JSON of its frames, wherever the pieces were split. */
export class EventCutter {
  #rest = "";

  push(piece: string): unknown[] {
    const blocks = `${this.#rest}${piece}`.split(/\r?\n\r?\n/);
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap(eventsIn);
  }
}

function eventsIn(block: string): unknown[] {
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
