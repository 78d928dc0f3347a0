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
import type { Quirk } from "../../../canon/quirks.ts";
import { isSealedElsewhere } from "../reasoning-details.ts";
import { NINE, ToolIds } from "../upstream/tool-ids.ts";
import { ALL_ROLES, SIGNED_CALLS } from "../upstream/turns.ts";

/**
 * It refuses answers that are sent back with more than words and calls, thoughts that it was itself heard to think too, and
 * knows no name but a tool's.
 */
const PLAIN_HISTORY = "plain-history";
const BESIDES: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);
/** It has no place for thoughts over chat completions, or none of the name that they are given out by. */
const THOUGHTLESS_HISTORY = "thoughtless-history";
/** It has a cache that callers fill by marks of the messages dialect. */
const CACHE_MARKS = "cache-marks";
const MARK = "cache_control";

/** What the catalogue says of the server and its model. */
type Facts = {
  readonly quirks: readonly Quirk[];
  /** Whose seals on thoughts the model can open: its creator's; null: nobody's. */
  readonly sealer: string | null;
};

type Server = {
  /** How much of an answer stays here. What another family or another API has sealed is for them alone, so it does always. */
  readonly kept: "besides" | "thoughts" | "seals";
  readonly sealer: Facts["sealer"];
  readonly developer: "known" | "unknown";
  /** What stands beside a tool call, signatures of the model that made it. They are for that model alone. */
  readonly signatures: "wanted" | "foreign";
  /** Of what is worth caching; kept as well where the caller set none, so that nobody looks for them. */
  readonly marks: "kept" | "cut";
  /** Undefined: it takes every id. */
  readonly ids: ToolIds | undefined;
};

type Fitting = {
  /** Messages and tools as the server takes them: only what it refuses is written anew. */
  readonly patches: readonly MemberPatch[];
  /** By the names that the log has for it. */
  readonly dropped: readonly string[];
};

/** The caller's conversation without what a server refuses in it. Undefined where there is none of it. */
export function historyPatches({ messages, tools }: ChatRequest, body: ParsedBody, facts: Facts): Fitting | undefined {
  const server = serverOf(facts, body);
  const isOther = (message: JsonObject) => isRefused(message, server);
  const isMarkedTool = (tool: JsonObject) => server.marks === "cut" && isMarked(tool);
  if (!messages.some(isOther) && !tools?.some(isMarkedTool)) return undefined;
  const found = new Set<string>();
  const patches = [
    ...listPatches(body, "messages", isOther, (message) => patchesFor(message, server, found)),
    ...listPatches(body, "tools", isMarkedTool, ({ value }) => {
      if (saysSomething(value[MARK])) found.add(`tools: ${MARK}`);
      return [{ key: MARK, json: null }];
    }),
  ];
  return { patches, dropped: [...found] };
}

/** A list of the body, its refused items written anew. */
function listPatches(
  body: ParsedBody,
  key: "messages" | "tools",
  isOther: (item: JsonObject) => boolean,
  patchesOf: (item: ParsedBody) => MemberPatch[],
): MemberPatch[] {
  const span = body.members.get(key);
  const items = body.value[key];
  if (span === undefined || !Array.isArray(items)) return [];
  const text = body.text.slice(span.valueStart, span.valueEnd);
  let json = "";
  let from = 0;
  for (const [at, { start, end }] of itemSpans(text).entries()) {
    const item = isOther(items[at]) ? uniquelyKeyed(text.slice(start, end)) : undefined;
    if (item === undefined) continue;
    json += text.slice(from, start) + patchMembers(item, patchesOf(item));
    from = end;
  }
  return from === 0 ? [] : [{ key, json: json + text.slice(from) }];
}

function serverOf({ quirks, sealer }: Facts, { text }: ParsedBody): Server {
  return {
    kept: keptFrom(quirks),
    sealer,
    developer: quirks.includes(ALL_ROLES) ? "known" : "unknown",
    signatures: quirks.includes(SIGNED_CALLS) ? "wanted" : "foreign",
    marks: quirks.includes(CACHE_MARKS) || !text.includes(MARK) ? "kept" : "cut",
    ids: quirks.includes(NINE) ? new ToolIds(quirks) : undefined,
  };
}

function keptFrom(quirks: readonly Quirk[]): Server["kept"] {
  if (quirks.includes(PLAIN_HISTORY)) return "besides";
  return quirks.includes(THOUGHTLESS_HISTORY) ? "thoughts" : "seals";
}

function isRefused(message: JsonObject, server: Server): boolean {
  const { role } = message;
  // Marks and names alone are ever refused of these.
  if (server.marks === "kept" && server.kept !== "besides" && (role === "user" || role === "system")) return false;
  for (const key in message) if (valueLeft(role, key, message[key], server) !== message[key]) return true;
  return false;
}

function isRenamed(id: unknown, { ids }: Server): boolean {
  return ids !== undefined && typeof id === "string" && ids.encode(id) !== id;
}

/** Of a key that is given twice the last one counts, as for every reader of the whole. */
function uniquelyKeyed(text: string): ParsedBody | undefined {
  const parsed = parseJsonText(text);
  const unique = "problem" in parsed ? parseJsonText(JSON.stringify(parseLosslessJson(text))) : parsed;
  return "problem" in unique ? undefined : unique;
}

function patchesFor(message: ParsedBody, server: Server, found: Set<string>): MemberPatch[] {
  const { role } = message.value;
  return message.members.spans.flatMap(({ key }) => {
    const value = message.value[key];
    if (valueLeft(role, key, value, server) === value) return [];
    const lost = lostOf(key, value, server);
    if (lost !== undefined) found.add(`messages: ${lost}`);
    const exact = valueLeft(role, key, losslessMember(message, key), server);
    return [{ key, json: exact === undefined ? null : JSON.stringify(exact) }];
  });
}

/** What the log says of a member that does not go on as it is; undefined: nothing is lost with it. */
function lostOf(key: string, value: unknown, server: Server): string | undefined {
  switch (key) {
    case "role":
    case "tool_call_id":
      return undefined;
    case "content":
      return listOf(value).some((part) => isMarked(part) && saysSomething(part[MARK])) ? MARK : undefined;
    case "tool_calls":
      return listOf(value).some((call) => isSigned(call, server)) ? "tool_calls.extra_content" : undefined;
    default:
      return saysSomething(value) ? key : undefined;
  }
}

/** What of a member goes on, the value itself where that is all of it; undefined: nothing. */
function valueLeft(role: unknown, key: string, value: unknown, server: Server): unknown {
  switch (key) {
    case "role":
      return value === "developer" && server.developer === "unknown" ? "system" : value;
    case "tool_call_id":
      return isRenamed(value, server) ? server.ids?.encode(String(value)) : value;
    case "content":
      return server.marks === "cut" ? partsLeft(value) : value;
    case MARK:
      return server.marks === "cut" ? undefined : value;
    case "name":
      return server.kept === "besides" && role !== "tool" ? undefined : value;
    default:
      return role === "assistant" ? answerLeft(key, value, server) : value;
  }
}

function answerLeft(key: string, value: unknown, server: Server): unknown {
  if (key === "tool_calls") return callsLeft(value, server);
  if (server.kept === "besides") return BESIDES.has(key) || (key === "refusal" && value === null) ? undefined : value;
  if (key !== "reasoning_content" && key !== "reasoning_details") return value;
  if (server.kept === "thoughts") return undefined;
  return key === "reasoning_details" && Array.isArray(value) ? detailsLeft(value, server) : value;
}

function detailsLeft(details: readonly unknown[], { sealer }: Server): unknown {
  const left = details.filter((detail) => !isSealedElsewhere(detail, sealer));
  if (left.length === details.length) return details;
  return left.length === 0 ? undefined : left;
}

function partsLeft(value: unknown): unknown {
  if (!listOf(value).some(isMarked)) return value;
  return listOf(value).map((part) => {
    if (!isMarked(part)) return part;
    const { [MARK]: _, ...plain } = part;
    return plain;
  });
}

function isMarked(value: unknown): value is JsonObject {
  return isJsonObject(value) && value[MARK] !== undefined;
}

function callsLeft(value: unknown, server: Server): unknown {
  if (!Array.isArray(value) || !value.some((call) => isOther(call, server))) return value;
  return value.map((call) => (isOther(call, server) ? callLeft(call, server) : call));
}

function isOther(call: unknown, server: Server): call is JsonObject {
  return isJsonObject(call) && (isSigned(call, server) || isRenamed(call["id"], server));
}

function callLeft(call: JsonObject, server: Server): JsonObject {
  const { extra_content, ...plain } = call;
  return {
    ...plain,
    ...(isSigned(call, server) || extra_content === undefined ? {} : { extra_content }),
    ...(isRenamed(call["id"], server) ? { id: server.ids?.encode(String(call["id"])) } : {}),
  };
}

function isSigned(call: unknown, { signatures }: Server): boolean {
  return signatures === "foreign" && isJsonObject(call) && call["extra_content"] !== undefined;
}

/** Many clients send every member of an answer back, empty ones as well: nothing is lost with those. */
function saysSomething(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
