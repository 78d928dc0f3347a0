import {
  isJsonObject,
  itemSpans,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  parseJsonText,
  patchMembers,
} from "../../../../kit/json.ts";
import { losslessMember, parseLosslessJson } from "../../../../kit/lossless-json.ts";
import { isSignedElsewhere } from "../reasoning-details.ts";
import type { ToolIds } from "../upstream/tool-ids.ts";

const REPLY_EXTRAS: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);
export const CACHE_CONTROL = "cache_control";

/** What a server rejects in the message history. */
export type HistoryRules = {
  /** What is removed from assistant messages. Signatures of another family or API are always removed. */
  readonly strips: "everything" | "reasoning" | "foreign_signatures";
  /** The creator whose reasoning signatures the model can verify; null: none. */
  readonly signer: string | null;
  readonly hasDeveloperRole: boolean;
  /** Signatures next to tool calls are valid only for the model that created them. */
  readonly requiresSignatures: boolean;
  /** False also if the body has no cache_control, to skip the search. */
  readonly stripsCacheControl: boolean;
  /** Undefined: the server accepts any id. */
  readonly toolIds: ToolIds | undefined;
};

export type HistoryPatches = {
  /** Messages and tools rewritten only where the server rejects them. */
  readonly patches: readonly MemberPatch[];
  /** Paths of removed content. */
  readonly dropped: readonly string[];
};

/** Rewrites the messages and tools that the server rejects. */
export function rewriteHistory(
  body: ParsedBody,
  rules: HistoryRules,
  isAffected: (message: JsonObject) => boolean,
): HistoryPatches {
  const removed = new Set<string>();
  const patches = [
    ...listPatches(body, "messages", isAffected, (message) => patchesFor(message, rules, removed)),
    ...listPatches(
      body,
      "tools",
      (tool) => rules.stripsCacheControl && hasCacheControl(tool),
      ({ value }) => {
        if (isNonEmpty(value[CACHE_CONTROL])) removed.add(`tools[].${CACHE_CONTROL}`);
        return [{ key: CACHE_CONTROL, json: null }];
      },
    ),
  ];
  return { patches, dropped: [...removed] };
}

/** Rewrites the matching items of one list and keeps all other bytes. */
function listPatches(
  body: ParsedBody,
  key: "messages" | "tools",
  isAffected: (item: JsonObject) => boolean,
  patchesOf: (item: ParsedBody) => MemberPatch[],
): MemberPatch[] {
  const span = body.members.get(key);
  const items = body.value[key];
  if (span === undefined || !Array.isArray(items)) return [];
  const text = body.text.slice(span.valueStart, span.valueEnd);
  let json = "";
  let from = 0;
  for (const [at, { start, end }] of itemSpans(text).entries()) {
    const item = isAffected(items[at]) ? withUniqueKeys(text.slice(start, end)) : undefined;
    if (item === undefined) continue;
    json += text.slice(from, start) + patchMembers(item, patchesOf(item));
    from = end;
  }
  return from === 0 ? [] : [{ key, json: json + text.slice(from) }];
}

function isRenamed(id: unknown, { toolIds }: HistoryRules): boolean {
  return toolIds !== undefined && typeof id === "string" && toolIds.encode(id) !== id;
}

/** The last of duplicate keys wins, as in any JSON parser. */
function withUniqueKeys(text: string): ParsedBody | undefined {
  const parsed = parseJsonText(text);
  const unique = "problem" in parsed ? parseJsonText(JSON.stringify(parseLosslessJson(text))) : parsed;
  return "problem" in unique ? undefined : unique;
}

function patchesFor(message: ParsedBody, rules: HistoryRules, removed: Set<string>): MemberPatch[] {
  const { role } = message.value;
  return message.members.spans.flatMap(({ key }) => {
    const value = message.value[key];
    if (retainedValue(role, key, value, rules) === value) return [];
    const lost = droppedName(key, value, rules);
    if (lost !== undefined) removed.add(`messages[].${lost}`);
    const exact = retainedValue(role, key, losslessMember(message, key), rules);
    return [{ key, json: exact === undefined ? null : JSON.stringify(exact) }];
  });
}

/** Path of removed content in its message; undefined if nothing of value is lost. */
function droppedName(key: string, value: unknown, rules: HistoryRules): string | undefined {
  switch (key) {
    case "role":
    case "tool_call_id":
      return undefined;
    case "content":
      return listOf(value).some((part) => hasCacheControl(part) && isNonEmpty(part[CACHE_CONTROL]))
        ? `content[].${CACHE_CONTROL}`
        : undefined;
    case "tool_calls":
      return listOf(value).some((call) => hasForeignSignature(call, rules)) ? "tool_calls[].extra_content" : undefined;
    default:
      return isNonEmpty(value) ? key : undefined;
  }
}

/** The part of a member to send: the same value if unchanged, undefined if removed. */
export function retainedValue(role: unknown, key: string, value: unknown, rules: HistoryRules): unknown {
  switch (key) {
    case "role":
      return value === "developer" && !rules.hasDeveloperRole ? "system" : value;
    case "tool_call_id":
      return isRenamed(value, rules) ? rules.toolIds?.encode(String(value)) : value;
    case "content":
      return rules.stripsCacheControl ? retainedParts(value) : value;
    case CACHE_CONTROL:
      return rules.stripsCacheControl ? undefined : value;
    case "name":
      return rules.strips === "everything" && role !== "tool" ? undefined : value;
    default:
      return role === "assistant" ? retainedInAssistant(key, value, rules) : value;
  }
}

function retainedInAssistant(key: string, value: unknown, rules: HistoryRules): unknown {
  if (key === "tool_calls") return retainedCalls(value, rules);
  if (rules.strips === "everything")
    return REPLY_EXTRAS.has(key) || (key === "refusal" && value === null) ? undefined : value;
  if (key !== "reasoning_content" && key !== "reasoning_details") return value;
  if (rules.strips === "reasoning") return undefined;
  return key === "reasoning_details" && Array.isArray(value) ? retainedDetails(value, rules) : value;
}

function retainedDetails(details: readonly unknown[], { signer }: HistoryRules): unknown {
  const left = details.filter((detail) => !isSignedElsewhere(detail, signer));
  if (left.length === details.length) return details;
  return left.length === 0 ? undefined : left;
}

function retainedParts(value: unknown): unknown {
  if (!listOf(value).some(hasCacheControl)) return value;
  return listOf(value).map((part) => {
    if (!hasCacheControl(part)) return part;
    const { [CACHE_CONTROL]: _, ...plain } = part;
    return plain;
  });
}

export function hasCacheControl(value: unknown): value is JsonObject {
  return isJsonObject(value) && value[CACHE_CONTROL] !== undefined;
}

function retainedCalls(value: unknown, rules: HistoryRules): unknown {
  if (!Array.isArray(value) || !value.some((call) => needsRewrite(call, rules))) return value;
  return value.map((call) => (needsRewrite(call, rules) ? retainedCall(call, rules) : call));
}

function needsRewrite(call: unknown, rules: HistoryRules): call is JsonObject {
  return isJsonObject(call) && (hasForeignSignature(call, rules) || isRenamed(call["id"], rules));
}

function retainedCall(call: JsonObject, rules: HistoryRules): JsonObject {
  const { extra_content, ...plain } = call;
  return {
    ...plain,
    ...(hasForeignSignature(call, rules) || extra_content === undefined ? {} : { extra_content }),
    ...(isRenamed(call["id"], rules) ? { id: rules.toolIds?.encode(String(call["id"])) } : {}),
  };
}

function hasForeignSignature(call: unknown, { requiresSignatures }: HistoryRules): boolean {
  return !requiresSignatures && isJsonObject(call) && call["extra_content"] !== undefined;
}

/** Clients send empty members back; removing those is not reported. */
function isNonEmpty(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
