import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { parseLosslessJson } from "../../../../kit/lossless-json.ts";
import type { Call } from "../../../canon/call.ts";
import type { Part } from "../../../canon/parts.ts";
import { isForeignSignature } from "../reasoning-signatures.ts";

/**
 * A conversation that another model was part of has thoughts in it that this dialect's providers never signed: the
 * gateway wrote them, and a provider refuses the whole request for one of them. Where there are none, the caller's bytes
 * go on untouched.
 */
export function hasForeignReasoning({ turns }: Call): boolean {
  return turns.some(({ parts }) => parts.some(isForeign));
}

/** The text of `messages` without them, its numbers as they were written. */
export function withoutForeignReasoning(messagesText: string): string {
  const messages = parseLosslessJson(messagesText);
  return Array.isArray(messages) ? JSON.stringify(messages.flatMap(withoutForeignBlocks)) : messagesText;
}

function isForeign(part: Part): boolean {
  if (part.is === "tool_call") return part.signature !== undefined;
  return part.is === "reasoning" && part.detail.seal?.family !== "anthropic";
}

/** A turn that was nothing but such thoughts is left out: an empty one would be refused. */
function withoutForeignBlocks(message: unknown): unknown[] {
  if (!isJsonObject(message) || !Array.isArray(message["content"])) return [message];
  const content = message["content"].filter((block) => !isJsonObject(block) || !isForeignBlock(block));
  if (content.length === message["content"].length) return [message];
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isForeignBlock(block: JsonObject): boolean {
  if (block["type"] === "thinking") return !block["signature"] || isForeignSignature(block["signature"]);
  return block["type"] === "redacted_thinking" && isForeignSignature(block["data"]);
}
