import type { ChatRequest } from "../../../contract/schemas/chat.ts";
import { exactList } from "../../../kit/exact-json.ts";
import { isJsonObject, type JsonObject, type ParsedBody } from "../../../kit/json.ts";

/** It refuses answers that are sent back with more than words and calls, thoughts that it was itself heard to think too. */
const PLAIN_HISTORY = "plain-history";
const BESIDES: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);

type PlainHistory = {
  /** The value of `messages` without what is refused, its numbers as they were written. */
  readonly messagesText: string;
  /** By the names that the log has for it. */
  readonly dropped: readonly string[];
};

/** Answers come back as they were given: what a server refuses of them stays here. Undefined where there is none of it. */
export function plainHistory(
  { messages }: ChatRequest,
  body: ParsedBody,
  quirks: readonly string[],
): PlainHistory | undefined {
  if (!quirks.includes(PLAIN_HISTORY) || !messages.some(hasMore)) return undefined;
  const found = new Set<string>();
  const plain = exactList(body, "messages")?.map((message) => withoutMore(message, found));
  return plain === undefined ? undefined : { messagesText: JSON.stringify(plain), dropped: [...found] };
}

function hasMore(message: JsonObject): boolean {
  return message["role"] === "assistant" && Object.entries(message).some(isRefused);
}

function isRefused([key, value]: readonly [string, unknown]): boolean {
  return BESIDES.has(key) || (key === "refusal" && value === null);
}

function withoutMore(message: unknown, found: Set<string>): unknown {
  if (!isJsonObject(message) || !hasMore(message)) return message;
  const kept: [string, unknown][] = [];
  for (const entry of Object.entries(message)) {
    if (!isRefused(entry)) kept.push(entry);
    else if (saysSomething(entry[1])) found.add(`messages: ${entry[0]}`);
  }
  return Object.fromEntries(kept);
}

/** Many clients send every member of an answer back, empty ones as well: nothing is lost with those. */
function saysSomething(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
