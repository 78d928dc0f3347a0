import type { ChatRequest } from "../../../contract/schemas/chat.ts";
import { exactList } from "../../../kit/exact-json.ts";
import { isJsonObject, type JsonObject, type ParsedBody } from "../../../kit/json.ts";
import { isSealedElsewhere } from "./details.ts";

/** It refuses answers that are sent back with more than words and calls, thoughts that it was itself heard to think too. */
const PLAIN_HISTORY = "plain-history";
const BESIDES: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);
/** It has no place for thoughts over chat completions, or none of the name that they are given out by. */
const THOUGHTLESS_HISTORY = "thoughtless-history";

/** How much of an answer stays here. What another API of a provider has sealed is for that API alone, so it does always. */
type Kept = "besides" | "thoughts" | "seals";

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
  const kept = keptFrom(quirks);
  if (!messages.some((message) => hasMore(message, kept))) return undefined;
  const found = new Set<string>();
  const plain = exactList(body, "messages")?.map((message) => withoutMore(message, kept, found));
  return plain === undefined ? undefined : { messagesText: JSON.stringify(plain), dropped: [...found] };
}

function keptFrom(quirks: readonly string[]): Kept {
  if (quirks.includes(PLAIN_HISTORY)) return "besides";
  return quirks.includes(THOUGHTLESS_HISTORY) ? "thoughts" : "seals";
}

function hasMore(message: JsonObject, kept: Kept): boolean {
  if (message["role"] !== "assistant") return false;
  if (kept === "besides") return Object.entries(message).some(isRefused);
  const { reasoning_content: thoughts, reasoning_details: details } = message;
  if (kept === "thoughts") return thoughts !== undefined || details !== undefined;
  return Array.isArray(details) && details.some(isSealedElsewhere);
}

function isRefused([key, value]: readonly [string, unknown]): boolean {
  return BESIDES.has(key) || (key === "refusal" && value === null);
}

function withoutMore(message: unknown, kept: Kept, found: Set<string>): unknown {
  if (!isJsonObject(message) || !hasMore(message, kept)) return message;
  const left = Object.entries(message).flatMap((entry) => {
    const value = valueLeft(entry, kept);
    if (value !== entry[1] && saysSomething(entry[1])) found.add(`messages: ${entry[0]}`);
    return value === undefined ? [] : [[entry[0], value]];
  });
  return Object.fromEntries(left);
}

/** What of a member goes on; undefined: nothing. */
function valueLeft([key, value]: readonly [string, unknown], kept: Kept): unknown {
  if (kept === "besides") return isRefused([key, value]) ? undefined : value;
  if (kept === "thoughts") return key === "reasoning_content" || key === "reasoning_details" ? undefined : value;
  if (key !== "reasoning_details" || !Array.isArray(value)) return value;
  const others = value.filter((detail) => !isSealedElsewhere(detail));
  return others.length === 0 ? undefined : others;
}

/** Many clients send every member of an answer back, empty ones as well: nothing is lost with those. */
function saysSomething(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
