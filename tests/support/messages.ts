import { Fault } from "../../src/contract/faults.ts";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import type { Call } from "../../src/language/canon/call.ts";
import { decodeCall } from "../../src/language/dialects/chat/request.ts";
import type { ModelFacts } from "../../src/language/dialects/dialect.ts";
import { messagesDialect } from "../../src/language/dialects/messages/dialect.ts";
import type { Json } from "./gateway.ts";

/** A model that takes everything and is told to think by a budget. */
export const FACTS: ModelFacts = {
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
/** The first bytes of a picture. */
export const PNG = "iVBORw0KGgoAAAANSUhEUg==";

/** A chat request as the gateway understands it. */
export function callOf(request: object): Call {
  return decodeCall(ChatRequest.parse({ model: "m", messages: [HELLO], ...request }));
}

/** What the provider would receive for it. */
export function sent(request: object, facts = FACTS): Json {
  return JSON.parse(messagesDialect.encode(callOf(request), facts));
}

export function refusal(request: object, facts = FACTS): Fault {
  try {
    messagesDialect.encode(callOf(request), facts);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

export function toolCall(id: string, name: string, args: string) {
  return { id, type: "function", function: { name, arguments: args } };
}
