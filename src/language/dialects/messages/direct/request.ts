import { isJsonObject, type JsonObject, type MemberPatch, type ParsedBody } from "../../../../kit/json.ts";
import { losslessArray, losslessMember, parseLosslessJson } from "../../../../kit/lossless-json.ts";
import { type Call, EFFORTS, type Effort } from "../../../canon/call.ts";
import { nearestEffort, type SupportedEfforts } from "../../../canon/effort.ts";
import type { Part } from "../../../canon/parts.ts";
import { isForeignSignature } from "../reasoning-signatures.ts";

/**
 * The word that the model is told in the place of the caller's own; undefined: the caller's goes out, or there is none.
 * This is the provider's own format: where nobody knows the model's words, it judges them itself.
 */
export function substituteEffort({ value }: ParsedBody, efforts: SupportedEfforts): Effort | undefined {
  const { output_config: config } = value;
  const word = isJsonObject(config) ? EFFORTS.find((known) => known === config["effort"]) : undefined;
  if (word === undefined) return undefined;
  const nearest = nearestEffort({ effort: word, budgetTokens: null }, efforts);
  return nearest === word ? undefined : nearest;
}

/** The member that says so, its other fields as they were written. */
export function effortPatches(body: ParsedBody, efforts: SupportedEfforts): MemberPatch[] {
  const effort = substituteEffort(body, efforts);
  const config = effort === undefined ? undefined : losslessMember(body, "output_config");
  return isJsonObject(config) ? [{ key: "output_config", json: JSON.stringify({ ...config, effort }) }] : [];
}

/** What becomes of hints that another company's door does not know. */
type StrippedHints = {
  readonly patches: readonly MemberPatch[];
  /** By the names that the log has for them. */
  readonly dropped: readonly string[];
};

/** Asks for the arguments of a tool as they are written. Doors that do not know it have a beta that says so of all tools. */
export const EAGER_STREAMING = "eager_input_streaming";

export const EAGER_STREAMING_BETA = "fine-grained-tool-streaming-2025-05-14";

const SCOPE_BETA = "prompt-caching-scope-";

const DIAGNOSIS_BETA = "cache-diagnosis-";

const HINTED_MEMBERS = ["system", "messages", "tools"] as const;

/**
 * Hints that the maker's own API takes and others refuse the whole request for. None of them changes what the model says:
 * they are about caches, and about when pieces of an answer are sent. Those that came with a beta are known where it is
 * among the betas that go along.
 */
export function stripUnknownHints(
  body: ParsedBody,
  sent: readonly string[],
  eager: "known" | "unknown",
): StrippedHints {
  const isSent = (beta: string) => sent.some((name) => name.startsWith(beta));
  const fields = isSent(DIAGNOSIS_BETA) ? ["cache_control"] : ["cache_control", "diagnostics"];
  const dropped = fields.filter((key) => body.members.has(key));
  const patches: MemberPatch[] = dropped.map((key) => ({ key, json: null }));
  const words = [...(isSent(SCOPE_BETA) ? [] : ["scope"]), ...(eager === "unknown" ? [EAGER_STREAMING] : [])];
  // In JSON a word with its quotes is a name, or a text of its own.
  const strange = new Set(words.filter((word) => body.text.includes(`"${word}"`)));
  if (strange.size === 0) return { patches, dropped };
  const found = new Set<string>();
  for (const key of HINTED_MEMBERS) {
    const list = losslessArray(body, key);
    const cleaned = list?.map((one) => withoutHints(one, strange, found));
    if (cleaned?.some((one, at) => one !== list?.[at])) patches.push({ key, json: JSON.stringify(cleaned) });
  }
  return { patches, dropped: [...dropped, ...found] };
}

/** A block, a message or a tool; the same one where nothing was in it. What a tool is called with is not looked at. */
function withoutHints(value: unknown, strange: ReadonlySet<string>, found: Set<string>): unknown {
  if (!isJsonObject(value)) return value;
  const { cache_control: mark, content } = value;
  let kept: JsonObject = value;
  if (strange.has("scope") && isJsonObject(mark) && "scope" in mark) {
    const { scope: _, ...rest } = mark;
    kept = { ...kept, cache_control: rest };
    found.add("cache_control.scope");
  }
  if (strange.has(EAGER_STREAMING) && EAGER_STREAMING in value) {
    const { [EAGER_STREAMING]: _, ...rest } = kept;
    kept = rest;
    if (value[EAGER_STREAMING] === true) found.add(EAGER_STREAMING);
  }
  if (!Array.isArray(content)) return kept;
  const cleaned = content.map((block) => withoutHints(block, strange, found));
  return cleaned.some((block, at) => block !== content[at]) ? { ...kept, content: cleaned } : kept;
}

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
  return part.is === "reasoning" && part.detail.signature?.family !== "anthropic";
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
