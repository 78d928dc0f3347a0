import type { ChatRequest } from "../../../../contract/schemas/chat.ts";
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
import type { Call, Effort } from "../../../canon/call.ts";
import { effortFor } from "../../../canon/effort.ts";
import type { Quirk } from "../../../canon/quirks.ts";
import { ROUTING_HINT_FIELDS } from "../../../canon/routing-hints.ts";
import { validateLabels } from "../../labels.ts";
import { isSignedElsewhere } from "../reasoning-details.ts";
import { encodeToolChoice, USAGE_UNASKED } from "../upstream/request.ts";
import { TOOL_IDS_9, ToolIds } from "../upstream/tool-ids.ts";
import { ALL_ROLES, SIGNED_TOOL_CALLS } from "../upstream/turns.ts";

/**
 * Quirk: the server rejects assistant messages with anything besides text and tool calls, and `name` outside tool
 * messages.
 */
const PLAIN_HISTORY = "plain-history";
const REPLY_EXTRAS: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);
/** Quirk: the server rejects reasoning in the message history. */
const THOUGHTLESS_HISTORY = "thoughtless-history";
/** Quirk: the server supports cache_control as in the messages dialect. */
const CACHE_MARKS = "cache-marks";
const CACHE_CONTROL = "cache_control";

type HistoryFacts = {
  readonly quirks: readonly Quirk[];
  /** The creator whose reasoning signatures the model can verify; null: none. */
  readonly signer: string | null;
};

type HistoryRules = {
  /** What is removed from assistant messages. Signatures of another family or API are always removed. */
  readonly strips: "everything" | "reasoning" | "foreign_signatures";
  readonly signer: HistoryFacts["signer"];
  readonly hasDeveloperRole: boolean;
  /** Signatures next to tool calls are valid only for the model that created them. */
  readonly requiresSignatures: boolean;
  /** False also if the body has no cache_control, to skip the search. */
  readonly stripsCacheControl: boolean;
  /** Undefined: the server accepts any id. */
  readonly toolIds: ToolIds | undefined;
};

type HistoryPatches = {
  /** Messages and tools rewritten only where the server rejects them. */
  readonly patches: readonly MemberPatch[];
  /** Log names of removed content. */
  readonly dropped: readonly string[];
};

/** Removes history content that the server rejects; undefined if there is none. */
export function historyPatches(
  { messages, tools }: ChatRequest,
  body: ParsedBody,
  facts: HistoryFacts,
): HistoryPatches | undefined {
  const rules = historyRules(facts, body);
  const isAffected = (message: JsonObject) => isRefused(message, rules);
  const isMarkedTool = (tool: JsonObject) => rules.stripsCacheControl && hasCacheControl(tool);
  if (!messages.some(isAffected) && !tools?.some(isMarkedTool)) return undefined;
  const removed = new Set<string>();
  const patches = [
    ...listPatches(body, "messages", isAffected, (message) => patchesFor(message, rules, removed)),
    ...listPatches(body, "tools", isMarkedTool, ({ value }) => {
      if (isNonEmpty(value[CACHE_CONTROL])) removed.add(`tools: ${CACHE_CONTROL}`);
      return [{ key: CACHE_CONTROL, json: null }];
    }),
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

function historyRules({ quirks, signer }: HistoryFacts, { text }: ParsedBody): HistoryRules {
  return {
    strips: stripLevel(quirks),
    signer,
    hasDeveloperRole: quirks.includes(ALL_ROLES),
    requiresSignatures: quirks.includes(SIGNED_TOOL_CALLS),
    stripsCacheControl: !quirks.includes(CACHE_MARKS) && text.includes(CACHE_CONTROL),
    toolIds: quirks.includes(TOOL_IDS_9) ? new ToolIds(quirks) : undefined,
  };
}

function stripLevel(quirks: readonly Quirk[]): HistoryRules["strips"] {
  if (quirks.includes(PLAIN_HISTORY)) return "everything";
  return quirks.includes(THOUGHTLESS_HISTORY) ? "reasoning" : "foreign_signatures";
}

function isRefused(message: JsonObject, rules: HistoryRules): boolean {
  const { role } = message;
  // Non-assistant messages need rewriting only for cache_control and names.
  if (!rules.stripsCacheControl && rules.strips !== "everything" && (role === "user" || role === "system"))
    return false;
  for (const key in message) if (retainedValue(role, key, message[key], rules) !== message[key]) return true;
  return false;
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
    if (lost !== undefined) removed.add(`messages: ${lost}`);
    const exact = retainedValue(role, key, losslessMember(message, key), rules);
    return [{ key, json: exact === undefined ? null : JSON.stringify(exact) }];
  });
}

/** Log name of removed content; undefined if nothing of value is lost. */
function droppedName(key: string, value: unknown, rules: HistoryRules): string | undefined {
  switch (key) {
    case "role":
    case "tool_call_id":
      return undefined;
    case "content":
      return listOf(value).some((part) => hasCacheControl(part) && isNonEmpty(part[CACHE_CONTROL]))
        ? CACHE_CONTROL
        : undefined;
    case "tool_calls":
      return listOf(value).some((call) => hasForeignSignature(call, rules)) ? "tool_calls.extra_content" : undefined;
    default:
      return isNonEmpty(value) ? key : undefined;
  }
}

/** The part of a member to send: the same value if unchanged, undefined if removed. */
function retainedValue(role: unknown, key: string, value: unknown, rules: HistoryRules): unknown {
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

function hasCacheControl(value: unknown): value is JsonObject {
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

/** All other members reach the provider byte for byte. */
export function requestPatches(request: ChatRequest, call: Call, facts: PassthroughChatFacts): MemberPatch[] {
  const { upstreamModel, outputLimit, quirks } = facts;
  validateLabels(call);
  const patches: MemberPatch[] = [{ key: "model", json: JSON.stringify(upstreamModel) }];
  for (const field of ROUTING_HINT_FIELDS) if (field in request) patches.push({ key: field, json: null });
  if (call.stream && !quirks.includes(USAGE_UNASKED)) {
    const options = { ...request.stream_options, include_usage: true };
    patches.push({ key: "stream_options", json: JSON.stringify(options) });
  } else if (request.stream_options !== undefined) patches.push({ key: "stream_options", json: null });
  const effort = effortFor(call, facts);
  if (effort !== undefined && request.reasoning_effort !== effort) {
    patches.push({ key: "reasoning_effort", json: JSON.stringify(effort) });
  }
  if (request.reasoning !== undefined) patches.push({ key: "reasoning", json: null });
  if (request.thinking !== undefined) patches.push({ key: "thinking", json: null });
  if (request.allowed_tools) {
    patches.push({ key: "allowed_tools", json: null });
    // Servers reject the field without tools.
    if (call.tools.length > 0) {
      const { tool_choice } = encodeToolChoice(call.toolChoice, request.allowed_tools);
      patches.push({ key: "tool_choice", json: JSON.stringify(tool_choice) });
    }
  }
  if (outputLimit !== null && call.maxOutputTokens !== undefined) patches.push(...limitPatches(request, outputLimit));
  dropNulls(patches, request);
  return patches;
}

/** Two names of one limit: servers that know only one reject or ignore the other. */
export const OUTPUT_LIMITS = ["max_tokens", "max_completion_tokens"] as const;

export type OutputLimit = (typeof OUTPUT_LIMITS)[number];

export type PassthroughChatFacts = {
  readonly upstreamModel: string;
  /** Null: the client's own name is kept. */
  readonly outputLimit: OutputLimit | null;
  /** Efforts that the model accepts; absent or null: unknown. */
  readonly efforts?: readonly Effort[] | null;
  readonly quirks: readonly Quirk[];
};

function limitPatches(request: ChatRequest, wanted: OutputLimit): MemberPatch[] {
  const other = wanted === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (!request[other]) return [];
  return [
    { key: wanted, json: String(request[other]) },
    { key: other, json: null },
  ];
}

/** Some servers reject null, which means absent. */
function dropNulls(patches: MemberPatch[], request: ChatRequest): void {
  const fields: Readonly<Record<string, unknown>> = request;
  for (const key in fields) {
    if (fields[key] === null && !patches.some((patch) => patch.key === key)) patches.push({ key, json: null });
  }
}
