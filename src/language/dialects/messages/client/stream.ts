import { type ErrorEnvelope, messagesEnvelopeOf } from "../../../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { parseLosslessJson } from "../../../../kit/lossless-json.ts";
import type { Call } from "../../../canon/call.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../../../canon/usage.ts";
import type { ClientDialect, FinishEvent, ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import { BlockQueue, type BlockStep } from "./content-blocks.ts";
import { finalUsage, firstUsage, wholeUsage } from "./usage.ts";

/** Canonical events as a stream of this dialect. */
class MessageWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #blocks: BlockQueue;
  #begun = false;
  /** What the provider has told before anything is shown; until then the gateway's own estimate stands. */
  #usage: Usage | undefined;

  constructor(head: ReplyHead, call: Call) {
    this.#head = head;
    this.#blocks = new BlockQueue(call);
  }

  write(event: ReplyEvent): string {
    if (event.is === "figures") this.#usage = event.usage;
    const steps = this.#blocks.add(event);
    return steps.length === 0 ? "" : this.#start() + steps.map(encodeStep).join("");
  }

  close({ finish, usage: counted, cost }: ReplyClosing): string {
    const rest = this.#blocks.finish().map(encodeStep).join("");
    const usage = finalUsage(counted, cost);
    const delta = frame({
      type: "message_delta",
      delta: { ...stopFields(finish, this.#blocks), container: null },
      usage,
    });
    return this.#start() + rest + delta + frame({ type: "message_stop" });
  }

  fail(envelope: ErrorEnvelope): string {
    return frame(messagesEnvelopeOf(envelope));
  }

  /** The head of the message, once, right before the first thing that is shown. */
  #start(): string {
    if (this.#begun) return "";
    this.#begun = true;
    const estimate = firstUsage(this.#head.inputTokens);
    const told = this.#usage;
    const isShown = told !== undefined && told !== IMPLAUSIBLE_TOKENS && hasUncachedInput(told);
    const usage = isShown ? { ...told, ...FIRST_TOKEN } : estimate;
    const unsaid = { stop_reason: null, stop_sequence: null, stop_details: null };
    return frame({ type: "message_start", message: messageOf(this.#head, [], unsaid, wholeUsage(usage, undefined)) });
  }
}

const FIRST_TOKEN = { outputTokens: 1, reasoningTokens: 0 };

/** Some clients take a message without any input for a broken one. */
function hasUncachedInput({ inputTokens, cachedTokens, cacheWriteTokens }: Usage): boolean {
  return inputTokens > cachedTokens + cacheWriteTokens;
}

function frame(event: JsonObject & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function encodeStep(step: BlockStep): string {
  const { index } = step;
  switch (step.is) {
    case "open":
      return frame({ type: "content_block_start", index, content_block: step.block });
    case "delta":
      return frame({ type: "content_block_delta", index, delta: step.delta });
    case "close":
      return frame({ type: "content_block_stop", index });
  }
}

function messageOf(head: ReplyHead, content: readonly JsonObject[], stop: JsonObject, usage: JsonObject): JsonObject {
  const { id, model } = head;
  return { id, type: "message", role: "assistant", model, content, ...stop, container: null, usage };
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Why the model stopped. Some servers say "stop" behind a tool call, or behind a refusal: what was said tells. */
function stopFields(finish: FinishEvent | undefined, { calls, refusal }: BlockQueue): JsonObject {
  const reason = finish?.reason ?? "stop";
  const sequence = finish?.stopSequence ?? null;
  const stopped = reason === "stop";
  const word =
    stopped && refusal !== ""
      ? "refusal"
      : stopped && calls > 0
        ? "tool_use"
        : stopped && sequence !== null
          ? "stop_sequence"
          : STOP_REASONS[reason];
  return {
    stop_reason: word,
    stop_sequence: word === "stop_sequence" ? sequence : null,
    stop_details: word === "refusal" ? { type: "refusal", category: null, explanation: refusal || null } : null,
  };
}

/** Callers of `POST /messages`. */
export const messagesClient: ClientDialect = {
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  openWriter: (head, call) => new MessageWriter(head, call),
  render(events, head, call, counted, shown) {
    const blocks = new BlockQueue(call);
    const steps = [...events.flatMap((event) => blocks.add(event)), ...blocks.finish()];
    const finish = events.findLast((event) => event.is === "finish");
    const usage = wholeUsage(counted, shown);
    return JSON.stringify(messageOf(head, foldSteps(steps), stopFields(finish, blocks), usage));
  },
};

/** The blocks that a client would put together from the stream. */
function foldSteps(steps: readonly BlockStep[]): JsonObject[] {
  const blocks: FoldedBlock[] = [];
  for (const step of steps) {
    if (step.is === "open") blocks.push({ start: step.block, text: "", signature: "", citations: [] });
    else if (step.is === "delta") applyDelta(blocks[step.index], step.delta);
  }
  return blocks.map(finishBlock);
}

type FoldedBlock = { readonly start: JsonObject; text: string; signature: string; readonly citations: unknown[] };

function applyDelta(block: FoldedBlock | undefined, delta: JsonObject): void {
  if (block === undefined) return;
  if (delta["type"] === "citations_delta") block.citations.push(delta["citation"]);
  else if (delta["type"] === "signature_delta") block.signature = String(delta["signature"]);
  else block.text += String(delta["text"] ?? delta["thinking"] ?? delta["partial_json"] ?? "");
}

function finishBlock({ start, text, signature, citations }: FoldedBlock): JsonObject {
  switch (start["type"]) {
    case "text":
      return { ...start, text, ...(citations.length === 0 ? {} : { citations }) };
    case "thinking":
      return { ...start, thinking: text, signature };
    case "tool_use":
      return { ...start, input: inputOf(text) };
    default:
      return start;
  }
}

/** Arguments are an object here, its numbers as the model wrote them; what broke off before its end is none. */
function inputOf(text: string): JsonObject {
  try {
    const input = parseLosslessJson(text);
    return isJsonObject(input) && text.trimStart().startsWith("{") ? input : {};
  } catch {
    return {};
  }
}
