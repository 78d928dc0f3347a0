import { Fault } from "../../src/contract/faults.ts";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import { decodeCall } from "../../src/language/dialects/chat/request.ts";
import { encodeCall } from "../../src/language/dialects/converse/request.ts";
import type { ModelFacts } from "../../src/language/dialects/dialect.ts";

/** A Claude model as Bedrock serves it, and one that is none. */
export const FACTS: ModelFacts = {
  upstreamModel: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
  maxOutputTokens: 64_000,
  sampling: null,
  thinking: "budget",
  structuredOutput: null,
  promptCaching: true,
  quirks: [],
};
export const NOVA: ModelFacts = { ...FACTS, thinking: "nova", structuredOutput: "tool" };

type Message = Record<string, unknown>;
export const user = (content: unknown): Message => ({ role: "user", content });
export const HELLO = [user("hello")];

export const callOf = (more: Record<string, unknown>) =>
  decodeCall(ChatRequest.parse({ model: "m", messages: HELLO, ...more }));
// biome-ignore lint/suspicious/noExplicitAny: bodies are asserted field by field
export const bodyOf = (more: Record<string, unknown>, facts = FACTS): any =>
  JSON.parse(encodeCall(callOf(more), facts));

export function refusalOf(more: Record<string, unknown>, facts = FACTS): { code: string; param: string | undefined } {
  try {
    encodeCall(callOf(more), facts);
  } catch (error) {
    if (error instanceof Fault) return { code: error.code, param: error.param };
    throw error;
  }
  throw new Error("nothing was refused");
}

export const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
export const tool = (name: string, more: Record<string, unknown> = {}) => ({
  type: "function",
  function: { name, ...more },
});
export const result = (id: string, content: unknown, more: Record<string, unknown> = {}): Message => ({
  role: "tool",
  tool_call_id: id,
  content,
  ...more,
});
export const LOOP = [
  user("weather?"),
  { role: "assistant", content: null, tool_calls: [call("call_1", "weather", '{"city":"Paris"}')] },
  result("call_1", "sunny"),
];
