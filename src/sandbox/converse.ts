import { encodeEventMessage } from "../kit/aws-event-stream.ts";
import { type Answer, answerTo, type Prompt, type Usage } from "./answer.ts";
import { readConverse } from "./converse-request.ts";
import { runsOf, wordsOf } from "./tokens.ts";
import { bearerOf, type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

type Given = Extract<Answer, { is: "answer" }>;

const PATH = /^\/v1\/model\/(.+)\/(converse|converse-stream)$/;

/** The Converse format of Bedrock: JSON, or a binary event stream. The model stands in the path. */
export const converseFormat: WireFormat = {
  method: "POST",
  claims: (path) => PATH.test(path),
  tokenOf: (headers) =>
    bearerOf(headers) ?? /^AWS4-HMAC-SHA256 Credential=([^/]+)\//.exec(headers.authorization ?? "")?.[1],
  open({ path, body }) {
    const [, segment = "", operation] = PATH.exec(path) ?? [];
    // The real service answers 200 to a path it does not know; a slash that was not encoded makes such a path.
    if (segment.includes("/")) return refusal(200, "UnknownOperationException");
    const model = decodeURIComponent(segment);
    const prompt = readConverse(body, model);
    if ("is" in prompt) return prompt;
    return { is: "opened", model, deliver: (desk) => deliver(prompt, operation === "converse-stream", desk) };
  },
  refusalBody: ({ status, message }) =>
    status === 200
      ? JSON.stringify({ Output: { __type: `com.amazon.coral.service#${message}` }, Version: "1.0" })
      : JSON.stringify({ message }),
  refusalHeaders: ({ status }) => ({ "x-amzn-errortype": `${ERROR_TYPES.get(status) ?? "InternalServerException"}:` }),
};

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [200, "UnknownOperationException"],
  [400, "ValidationException"],
  [401, "MissingAuthenticationTokenException"],
  [404, "ResourceNotFoundException"],
  [429, "ThrottlingException"],
  [503, "ServiceUnavailableException"],
]);

function deliver(prompt: Prompt, streaming: boolean, desk: Desk): Delivery | Refusal {
  const answer = answerTo(prompt, desk.provider);
  if (answer.is === "refused") {
    const what = answer.part === null ? "outputConfig" : `the tool ${answer.part}`;
    return refusal(400, `The schema of ${what} is not supported: ${answer.problem}.`);
  }
  const blocks = blocksOf(answer, desk);
  if (!streaming)
    return {
      is: "whole",
      contentType: "application/json",
      body: whole(answer, blocks),
      tokens: blocks.flatMap(deltas).length,
    };
  return { is: "frames", contentType: "application/vnd.amazon.eventstream", frames: frames(answer, blocks) };
}

type Block =
  | { readonly is: "reasoning" | "text"; readonly text: string }
  | { readonly is: "call"; readonly id: string; readonly name: string; readonly argumentsJson: string };

function blocksOf({ reasoning, content }: Given, desk: Desk): Block[] {
  const blocks: Block[] = reasoning === null ? [] : [{ is: "reasoning", text: reasoning }];
  if (content.is === "text") return [...blocks, { is: "text", text: content.text }];
  return [...blocks, ...content.calls.map((call): Block => ({ is: "call", id: desk.nextId("tooluse_"), ...call }))];
}

const STOP_REASONS = { stop: "end_turn", length: "max_tokens", calls: "tool_use" } as const;

function stopOf({ end, stopSequence }: Given) {
  return { stopReason: stopSequence === null ? STOP_REASONS[end] : "stop_sequence" };
}

function wireUsage({ inputTokens, outputTokens }: Usage) {
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

function whole(answer: Given, blocks: readonly Block[]): string {
  return JSON.stringify({
    metrics: { latencyMs: 1 },
    output: { message: { content: blocks.map(wireBlock), role: "assistant" } },
    ...stopOf(answer),
    usage: wireUsage(answer.usage),
  });
}

function wireBlock(block: Block): unknown {
  if (block.is === "call")
    return { toolUse: { input: inputOf(block.argumentsJson), name: block.name, toolUseId: block.id } };
  return block.is === "text" ? { text: block.text } : { reasoningContent: { reasoningText: { text: block.text } } };
}

/** Arguments that were cut short by the limit cannot be shown as an object. */
function inputOf(argumentsJson: string): unknown {
  try {
    return JSON.parse(argumentsJson);
  } catch {
    return {};
  }
}

/** Text and reasoning are not announced by a start; figures come last, after the reason to stop. */
function frames(answer: Given, blocks: readonly Block[]): Buffer[] {
  const list = [frame("messageStart", { role: "assistant" })];
  for (const [contentBlockIndex, block] of blocks.entries()) {
    if (block.is === "call") {
      const toolUse = { name: block.name, toolUseId: block.id };
      list.push(frame("contentBlockStart", { contentBlockIndex, start: { toolUse } }));
    }
    for (const delta of deltas(block)) list.push(frame("contentBlockDelta", { contentBlockIndex, delta }));
    list.push(frame("contentBlockStop", { contentBlockIndex }));
  }
  list.push(frame("messageStop", stopOf(answer)));
  list.push(frame("metadata", { metrics: { latencyMs: 1 }, usage: wireUsage(answer.usage) }));
  return list;
}

function deltas(block: Block): unknown[] {
  if (block.is !== "call")
    return wordsOf(block.text).map((text) => (block.is === "text" ? { text } : { reasoningContent: { text } }));
  const runs = block.argumentsJson === "{}" ? [] : runsOf(block.argumentsJson);
  return runs.map((input) => ({ toolUse: { input } }));
}

/** The real service pads its events, so that their length does not tell what they say. */
function frame(event: string, payload: Record<string, unknown>): Buffer {
  const headers = { ":event-type": event, ":content-type": "application/json", ":message-type": "event" };
  return encodeEventMessage(headers, JSON.stringify({ ...payload, p: "abcdefghijklmnop" }));
}
