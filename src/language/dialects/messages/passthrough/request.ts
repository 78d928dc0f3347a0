import { isJsonObject, type JsonObject, type MemberPatch, type ParsedBody } from "../../../../kit/json.ts";
import { losslessArray, losslessMember, parseLosslessJson } from "../../../../kit/lossless-json.ts";
import { type Call, EFFORTS, type Effort } from "../../../canon/call.ts";
import { nearestEffort, type SupportedEfforts } from "../../../canon/effort.ts";
import type { Part } from "../../../canon/parts.ts";
import { isForeignSignature } from "../reasoning-signatures.ts";

/**
 * The effort to send instead of the caller's; undefined: unchanged. With unknown support the provider validates it
 * itself.
 */
export function substituteEffort({ value }: ParsedBody, efforts: SupportedEfforts): Effort | undefined {
  const { output_config: config } = value;
  const hint = isJsonObject(config) ? EFFORTS.find((known) => known === config["effort"]) : undefined;
  if (hint === undefined) return undefined;
  const nearest = nearestEffort({ effort: hint, budgetTokens: null }, efforts);
  return nearest === hint ? undefined : nearest;
}

/** Replaces only the effort in output_config. */
export function effortPatches(body: ParsedBody, efforts: SupportedEfforts): MemberPatch[] {
  const effort = substituteEffort(body, efforts);
  const config = effort === undefined ? undefined : losslessMember(body, "output_config");
  return isJsonObject(config) ? [{ key: "output_config", json: JSON.stringify({ ...config, effort }) }] : [];
}

type StrippedHints = {
  readonly patches: readonly MemberPatch[];
  /** Paths of removed hints. */
  readonly dropped: readonly string[];
};

/** Streams tool input immediately. Servers that do not know the field have a beta header for all tools. */
const EAGER_STREAMING = "eager_input_streaming";
export const EAGER_STREAMING_PATH = `tools[].${EAGER_STREAMING}`;

export const EAGER_STREAMING_BETA = "fine-grained-tool-streaming-2025-05-14";

const SCOPE_BETA = "prompt-caching-scope-";

const DIAGNOSIS_BETA = "cache-diagnosis-";

const HINTED_MEMBERS = ["system", "messages", "tools"] as const;

/**
 * Removes hints that the vendor's own API accepts and other hosts reject. They concern caching and delivery, not the
 * reply. Hints of a beta stay if the beta header is sent.
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
  const hints = [...(isSent(SCOPE_BETA) ? [] : ["scope"]), ...(eager === "unknown" ? [EAGER_STREAMING] : [])];
  // Cheap pre-check: in JSON a quoted word is a key or a string.
  const unknownHints = new Set(hints.filter((hint) => body.text.includes(`"${hint}"`)));
  if (unknownHints.size === 0) return { patches, dropped };
  const removed = new Set<string>();
  for (const key of HINTED_MEMBERS) {
    const list = losslessArray(body, key);
    const cleaned = list?.map((item) => withoutHints(item, unknownHints, removed, `${key}[]`));
    if (cleaned?.some((item, at) => item !== list?.[at])) patches.push({ key, json: JSON.stringify(cleaned) });
  }
  return { patches, dropped: [...dropped, ...removed] };
}

/** Returns the same object if unchanged. Tool inputs are not searched. */
function withoutHints(value: unknown, unknownHints: ReadonlySet<string>, removed: Set<string>, path: string): unknown {
  if (!isJsonObject(value)) return value;
  const { cache_control: cacheControl, content } = value;
  let stripped: JsonObject = value;
  if (unknownHints.has("scope") && isJsonObject(cacheControl) && "scope" in cacheControl) {
    const { scope: _, ...rest } = cacheControl;
    stripped = { ...stripped, cache_control: rest };
    removed.add(`${path}.cache_control.scope`);
  }
  if (unknownHints.has(EAGER_STREAMING) && EAGER_STREAMING in value) {
    const { [EAGER_STREAMING]: _, ...rest } = stripped;
    stripped = rest;
    if (value[EAGER_STREAMING] === true) removed.add(`${path}.${EAGER_STREAMING}`);
  }
  if (!Array.isArray(content)) return stripped;
  const cleaned = content.map((block) => withoutHints(block, unknownHints, removed, `${path}.content[]`));
  return cleaned.some((block, at) => block !== content[at]) ? { ...stripped, content: cleaned } : stripped;
}

/**
 * Reasoning of other models lacks a signature of this vendor, and one such block fails the whole request. Without
 * any, the caller's bytes are sent unchanged.
 */
export function hasForeignReasoning({ turns }: Call): boolean {
  return turns.some(({ parts }) => parts.some(isForeign));
}

export function withoutForeignReasoning(messagesText: string): string {
  const messages = parseLosslessJson(messagesText);
  return Array.isArray(messages) ? JSON.stringify(messages.flatMap(withoutForeignBlocks)) : messagesText;
}

function isForeign(part: Part): boolean {
  if (part.is === "tool_call") return part.signature !== undefined;
  return part.is === "reasoning" && part.detail.signature?.family !== "anthropic";
}

/** An empty message would be rejected, so it is dropped. */
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
