import { encodeEventMessage } from "../kit/aws-event-stream.ts";
import { parseConverse } from "./converse-request.ts";
import { generateReply, type ReplyResult, type SandboxPrompt, type SandboxUsage } from "./reply.ts";
import { splitRuns, splitWords } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

type ConverseReply = Extract<ReplyResult, { is: "reply" }>;

const PATH = /^\/v1\/model\/(.+)\/(converse|converse-stream)$/;

/** Bedrock Converse, as JSON or as a binary event stream. The model is in the path. */
export const converseFormat: WireFormat = {
  method: "POST",
  matches: (path) => PATH.test(path),
  readCredential: (headers) =>
    bearerToken(headers) ?? /^AWS4-HMAC-SHA256 Credential=([^/]+)\//.exec(headers.authorization ?? "")?.[1],
  parse({ path, body }) {
    const [, segment = "", operation] = PATH.exec(path) ?? [];
    // The real service answers 200 to an unknown path, such as one with an unencoded slash.
    if (segment.includes("/")) return errorResponse(200, "UnknownOperationException");
    const model = decodeURIComponent(segment);
    const prompt = parseConverse(body, model);
    if ("is" in prompt) return prompt;
    return { is: "accepted", model, respond: (provider) => respond(prompt, operation === "converse-stream", provider) };
  },
  errorBody: ({ status, message }) =>
    status === 200
      ? JSON.stringify({ Output: { __type: `com.amazon.coral.service#${message}` }, Version: "1.0" })
      : JSON.stringify({ message }),
  errorHeaders: ({ status }) => ({ "x-amzn-errortype": `${ERROR_TYPES.get(status) ?? "InternalServerException"}:` }),
};

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [200, "UnknownOperationException"],
  [400, "ValidationException"],
  [401, "MissingAuthenticationTokenException"],
  [404, "ResourceNotFoundException"],
  [429, "ThrottlingException"],
  [503, "ServiceUnavailableException"],
]);

function respond(
  prompt: SandboxPrompt,
  streaming: boolean,
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const reply = generateReply(prompt, provider.slug);
  if (reply.is === "rejected") {
    const what = reply.part === null ? "outputConfig" : `the tool ${reply.part}`;
    return errorResponse(400, `The schema of ${what} is not supported: ${reply.problem}.`);
  }
  const blocks = blocksOf(reply, provider);
  if (!streaming)
    return {
      is: "body",
      contentType: "application/json",
      body: replyBody(reply, blocks),
      tokens: blocks.flatMap(blockDeltas).length,
    };
  return { is: "frames", contentType: "application/vnd.amazon.eventstream", frames: streamFrames(reply, blocks) };
}

type ConverseBlock =
  | { readonly is: "reasoning" | "text"; readonly text: string }
  | { readonly is: "call"; readonly id: string; readonly name: string; readonly argumentsJson: string };

function blocksOf({ reasoning, content }: ConverseReply, provider: SimulatedProvider): ConverseBlock[] {
  const blocks: ConverseBlock[] = reasoning === null ? [] : [{ is: "reasoning", text: reasoning }];
  if (content.is === "text") return [...blocks, { is: "text", text: content.text }];
  return [
    ...blocks,
    ...content.calls.map((call): ConverseBlock => ({ is: "call", id: provider.nextId("tooluse_"), ...call })),
  ];
}

const STOP_REASONS = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

function stopReason({ end, stopSequence }: ConverseReply) {
  return { stopReason: stopSequence === null ? STOP_REASONS[end] : "stop_sequence" };
}

function encodeUsage({ inputTokens, outputTokens }: SandboxUsage) {
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadInputTokens: 0,
    cacheReadInputTokenCount: 0,
    cacheWriteInputTokens: 0,
    cacheWriteInputTokenCount: 0,
    serverToolUsage: {},
  };
}

function replyBody(reply: ConverseReply, blocks: readonly ConverseBlock[]): string {
  return JSON.stringify({
    metrics: { latencyMs: 1 },
    output: { message: { content: blocks.map(encodeBlock), role: "assistant" } },
    ...stopReason(reply),
    usage: encodeUsage(reply.usage),
  });
}

function encodeBlock(block: ConverseBlock): unknown {
  if (block.is === "call")
    return { toolUse: { input: parseToolInput(block.argumentsJson), name: block.name, toolUseId: block.id } };
  return block.is === "text" ? { text: block.text } : { reasoningContent: { reasoningText: { text: block.text } } };
}

/** Truncated arguments are not valid JSON. */
function parseToolInput(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

/** Text and reasoning blocks have no start event; usage comes last, after the stop reason. */
function streamFrames(reply: ConverseReply, blocks: readonly ConverseBlock[]): Buffer[] {
  const list = [eventFrame("messageStart", { role: "assistant" })];
  for (const [contentBlockIndex, block] of blocks.entries()) {
    if (block.is === "call") {
      const toolUse = { name: block.name, toolUseId: block.id };
      list.push(eventFrame("contentBlockStart", { contentBlockIndex, start: { toolUse } }));
    }
    for (const delta of blockDeltas(block)) list.push(eventFrame("contentBlockDelta", { contentBlockIndex, delta }));
    list.push(eventFrame("contentBlockStop", { contentBlockIndex }));
  }
  list.push(eventFrame("messageStop", stopReason(reply)));
  list.push(eventFrame("metadata", { metrics: { latencyMs: 1 }, usage: encodeUsage(reply.usage) }));
  return list;
}

function blockDeltas(block: ConverseBlock): unknown[] {
  if (block.is !== "call")
    return splitWords(block.text).map((text) => (block.is === "text" ? { text } : { reasoningContent: { text } }));
  const runs = block.argumentsJson === "{}" ? [] : splitRuns(block.argumentsJson);
  return runs.map((input) => ({ toolUse: { input } }));
}

/** The real service pads events to hide the length of their content. */
function eventFrame(event: string, payload: Record<string, unknown>): Buffer {
  const headers = { ":event-type": event, ":content-type": "application/json", ":message-type": "event" };
  return encodeEventMessage(headers, JSON.stringify({ ...payload, p: "abcdefghijklmnop" }));
}
