import { Fault } from "../../src/contract/faults.ts";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import { encodeEventMessage } from "../../src/kit/aws-event-stream.ts";
import type { ReplyEvent } from "../../src/language/canon/reply-events.ts";
import { decodeRequest } from "../../src/language/dialects/chat/client/request.ts";
import { ConverseFrames } from "../../src/language/dialects/converse/upstream/frames.ts";
import { encodeRequest } from "../../src/language/dialects/converse/upstream/request.ts";
import { ConverseReader } from "../../src/language/dialects/converse/upstream/stream.ts";
import type { ModelFacts, ReplyContext } from "../../src/language/dialects/upstream-dialect.ts";

/** A Claude model as Bedrock serves it, and another model. */
export const FACTS: ModelFacts = {
  model: "anthropic/claude-sonnet-4-5",
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
  decodeRequest(ChatRequest.parse({ model: "m", messages: HELLO, ...more }));
// biome-ignore lint/suspicious/noExplicitAny: bodies are asserted field by field
export const bodyOf = (more: Record<string, unknown>, facts = FACTS): any =>
  JSON.parse(encodeRequest(callOf(more), facts));

export function refusalOf(more: Record<string, unknown>, facts = FACTS): { code: string; param: string | undefined } {
  try {
    encodeRequest(callOf(more), facts);
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

/** One event of the model as the bytes of its message, padded as the real service does. */
export function eventBytes(event: string, payload: Record<string, unknown>): Buffer {
  const headers = { ":event-type": event, ":content-type": "application/json", ":message-type": "event" };
  return encodeEventMessage(headers, JSON.stringify({ ...payload, p: "abcdefghijkl" }));
}

export function exceptionBytes(exception: string, payload: Record<string, unknown>): Buffer {
  const headers = { ":exception-type": exception, ":content-type": "application/json", ":message-type": "exception" };
  return encodeEventMessage(headers, JSON.stringify(payload));
}

type Block = Record<string, unknown>;
export type CompleteReply = { readonly content: readonly Block[]; readonly stopReason: string; readonly usage: object };

/** The complete reply. */
export function replyOf({ content, stopReason, usage }: CompleteReply): Record<string, unknown> {
  return { metrics: { latencyMs: 7 }, output: { message: { role: "assistant", content } }, stopReason, usage };
}

/** The same reply as a stream: text and reasoning blocks have no start event, and arguments come in pieces. */
export function streamOf({ content, stopReason, usage }: CompleteReply): Buffer[] {
  const frames = [eventBytes("messageStart", { role: "assistant" })];
  for (const [contentBlockIndex, block] of content.entries()) {
    for (const [event, payload] of deltasOf(block)) frames.push(eventBytes(event, { contentBlockIndex, ...payload }));
    frames.push(eventBytes("contentBlockStop", { contentBlockIndex }));
  }
  frames.push(eventBytes("messageStop", { stopReason }));
  frames.push(eventBytes("metadata", { usage, metrics: { latencyMs: 7 } }));
  return frames;
}

// biome-ignore lint/suspicious/noExplicitAny: blocks are written literally
function deltasOf(block: any): [string, Record<string, unknown>][] {
  const delta = (value: object): [string, Record<string, unknown>] => ["contentBlockDelta", { delta: value }];
  if (block.text !== undefined) return pieces(block.text).map((text) => delta({ text }));
  if (block.toolUse !== undefined) {
    const { input, ...toolUse } = block.toolUse;
    const text = Object.keys(input).length === 0 ? "" : JSON.stringify(input);
    const fragments = text === "" ? [] : pieces(text);
    return [
      ["contentBlockStart", { start: { toolUse } }],
      ...fragments.map((part) => delta({ toolUse: { input: part } })),
    ];
  }
  const { reasoningText, redactedContent } = block.reasoningContent;
  if (redactedContent !== undefined) return [delta({ reasoningContent: { redactedContent } })];
  const thoughts = pieces(reasoningText.text).map((text) => delta({ reasoningContent: { text } }));
  if (reasoningText.signature === undefined) return thoughts;
  return [...thoughts, delta({ reasoningContent: { signature: reasoningText.signature } })];
}

const pieces = (text: string): string[] => text.match(/[\s\S]{1,5}/gu) ?? [""];

/** All events of a binary stream that arrives in these pieces; `malformed` where it cannot be read. */
export function converseEvents(chunks: Iterable<Buffer>, context?: ReplyContext): (ReplyEvent | "malformed")[] {
  const frames = new ConverseFrames(1 << 24);
  const reader = new ConverseReader(context);
  const events: (ReplyEvent | "malformed")[] = [];
  const take = (list: ReturnType<ConverseFrames["push"]>) => {
    for (const frame of list) events.push(...(reader.read(frame) ?? ["malformed" as const]));
  };
  for (const chunk of chunks) take(frames.push(chunk));
  take(frames.end());
  return events;
}
