import type { JsonObject } from "../../../../kit/json.ts";
import { parseBoundedLosslessJson } from "../../../../kit/lossless-json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import type { Usage } from "../../../canon/usage.ts";
import type { FinishEvent, ReplyHead } from "../../client-dialect.ts";
import { BlockQueue, type BlockStep } from "./content-blocks.ts";
import { wholeUsage } from "./usage.ts";

export function encodeMessage(
  head: ReplyHead,
  content: readonly JsonObject[],
  stop: JsonObject,
  usage: JsonObject,
): JsonObject {
  const { id, model } = head;
  return { id, type: "message", role: "assistant", model, content, ...stop, container: null, usage };
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Some servers report "stop" after a tool call or refusal, so the content decides. */
export function stopFields(finish: FinishEvent | undefined, { calls, refusal }: BlockQueue): JsonObject {
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

/** The blocks that a client would assemble from the stream. */
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

/** Truncated or malformed arguments stay text. */
function inputOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return parseBoundedLosslessJson(text);
  } catch {
    return text;
  }
}

/** Citations belong to text blocks: a reply without text has no place for them. */
export function citationsWithoutText(events: readonly ReplyEvent[]): readonly string[] {
  if (events.some((event) => (event.is === "text" || event.is === "refusal") && event.text !== "")) return [];
  return [...new Set(events.flatMap((event) => (event.is === "citation" ? [event.path] : [])))];
}

/** A whole message: the content blocks that a client would assemble from the stream. */
export function renderReply(
  events: readonly ReplyEvent[],
  head: ReplyHead,
  call: Call,
  usage: Usage,
  cost: ReportedCost | undefined,
): string {
  const blocks = new BlockQueue(call, "whole");
  const steps = [...events.flatMap((event) => blocks.add(event)), ...blocks.finish()];
  const finish = events.findLast((event) => event.is === "finish");
  return JSON.stringify(encodeMessage(head, foldSteps(steps), stopFields(finish, blocks), wholeUsage(usage, cost)));
}
