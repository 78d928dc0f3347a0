import type { JsonObject } from "../../src/kit/json.ts";
import type { Call } from "../../src/language/canon/call.ts";
import type { UnusableReply, WholeReply } from "../../src/language/canon/reply.ts";
import type { ReplyEvent } from "../../src/language/canon/reply-events.ts";
import type { ModelFacts } from "../../src/language/dialects/upstream-dialect.ts";

export const CHAT_FACTS: ModelFacts = {
  model: "maker/model",
  upstreamModel: "up/model",
  maxOutputTokens: null,
  sampling: null,
  thinking: null,
  quirks: [],
};

/** The minimal request. */
export const CHAT_CALL: Call = {
  model: "m",
  turns: [{ role: "user", parts: [{ is: "text", text: "hello" }] }],
  tools: [],
  toolChoice: undefined,
  responseFormat: { is: "text" },
  reasoning: undefined,
  maxOutputTokens: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  stop: [],
  stream: false,
  includeUsage: false,
  parameters: [],
};

/** The gateway's own members of a reply with this id. */
export const headOf = (id: string) => ({ id, createdSeconds: 7, model: "own/model" });

/** A decoded reply that can be rendered. */
export function usable(reply: WholeReply | UnusableReply | undefined): WholeReply {
  if (reply === undefined || "unusable" in reply) throw new Error(reply?.unusable ?? "not a reply");
  return reply;
}

/** One chunk of a stream. */
export function chatChunk(delta: object, more: JsonObject = {}, top: JsonObject = {}): JsonObject {
  const choices = [{ index: 0, delta, finish_reason: null, ...more }];
  return { id: "up-1", object: "chat.completion.chunk", created: 1, model: "m", choices, ...top };
}

/** Chunks as the bytes of an event stream. */
export function chatSse(chunks: readonly unknown[], end: "done_marker" | "no_marker" = "done_marker"): Buffer {
  const events = chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`);
  return Buffer.from(events.join("") + (end === "done_marker" ? "data: [DONE]\n\n" : ""));
}

/** Joins the argument pieces of every call, right behind the call: their interleaving does not matter. */
export function byCall(events: readonly ReplyEvent[]): ReplyEvent[] {
  return events.flatMap((event): ReplyEvent[] => {
    if (event.is === "tool_arguments") return [];
    if (event.is !== "tool_call") return [event];
    const pieces = events.flatMap((one) =>
      one.is === "tool_arguments" && one.index === event.index ? [one.text] : [],
    );
    return pieces.length === 0 ? [event] : [event, { is: "tool_arguments", index: event.index, text: pieces.join("") }];
  });
}
