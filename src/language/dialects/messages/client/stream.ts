import type { ErrorEnvelope } from "../../../../contract/error-envelope.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../../../canon/usage.ts";
import type { ReplyClosing, ReplyHead, ReplyWriter } from "../../client-dialect.ts";
import { BlockQueue, type BlockStep } from "./content-blocks.ts";
import { encodeStreamError } from "./errors.ts";
import { encodeMessage, stopFields } from "./reply.ts";
import { finalUsage, firstUsage, wholeUsage } from "./usage.ts";

/** Encodes canonical events as a messages stream. */
export class MessageWriter implements ReplyWriter {
  readonly #head: ReplyHead;
  readonly #blocks: BlockQueue;
  #hasBegun = false;
  /** Usage reported before the first content; until then the gateway's estimate is used. */
  #usage: Usage | undefined;

  constructor(head: ReplyHead, call: Call) {
    this.#head = head;
    this.#blocks = new BlockQueue(call, "stream");
  }

  get omitted(): readonly string[] | undefined {
    return this.#blocks.omitted;
  }

  write(event: ReplyEvent): string {
    if (event.is === "usage") this.#usage = event.usage;
    const steps = this.#blocks.add(event);
    return steps.length === 0 ? "" : this.#start() + steps.map(encodeStep).join("");
  }

  close({ finish, usage: billed, cost, omitted }: ReplyClosing): string {
    const rest = this.#blocks.finish().map(encodeStep).join("");
    const usage = finalUsage(billed, cost);
    const delta = encodeEvent({
      type: "message_delta",
      delta: { ...stopFields(finish, this.#blocks), container: null },
      usage,
      ...(omitted === undefined ? {} : { svc_omitted: omitted }),
    });
    return this.#start() + rest + delta + encodeEvent({ type: "message_stop" });
  }

  fail(envelope: ErrorEnvelope): string {
    return encodeStreamError(envelope);
  }

  /** message_start precedes the first visible content. */
  #start(): string {
    if (this.#hasBegun) return "";
    this.#hasBegun = true;
    const estimate = firstUsage(this.#head.inputTokens);
    const reported = this.#usage;
    const isUsable = reported !== undefined && reported !== IMPLAUSIBLE_TOKENS && hasUncachedInput(reported);
    const usage = isUsable ? { ...reported, ...FIRST_TOKEN } : estimate;
    const pendingStop = { stop_reason: null, stop_sequence: null, stop_details: null };
    return encodeEvent({
      type: "message_start",
      message: encodeMessage(this.#head, [], pendingStop, wholeUsage(usage, undefined)),
    });
  }
}

const FIRST_TOKEN = { outputTokens: 1, reasoningTokens: 0 };

/** Some clients treat a message without input tokens as broken. */
function hasUncachedInput({ inputTokens, cachedTokens, cacheWriteTokens }: Usage): boolean {
  return inputTokens > cachedTokens + cacheWriteTokens;
}

function encodeEvent(event: JsonObject & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function encodeStep(step: BlockStep): string {
  const { index } = step;
  switch (step.is) {
    case "open":
      return encodeEvent({ type: "content_block_start", index, content_block: step.block });
    case "delta":
      return encodeEvent({ type: "content_block_delta", index, delta: step.delta });
    case "close":
      return encodeEvent({ type: "content_block_stop", index });
  }
}
