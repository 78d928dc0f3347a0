import type { ChatRequest } from "../../../contract/schemas/chat.ts";
import { exactMember, parseExactly } from "../../../kit/exact-json.ts";
import {
  isJsonObject,
  itemSpans,
  type JsonObject,
  type MemberPatch,
  type ParsedBody,
  parseJsonText,
  patchMembers,
} from "../../../kit/json.ts";
import type { Quirk } from "../../canon/quirks.ts";
import { isSealedElsewhere } from "./details.ts";
import { NINE, ToolIds } from "./tool-ids.ts";
import { ALL_ROLES, SIGNED_CALLS } from "./turns.ts";

/** It refuses answers that are sent back with more than words and calls, thoughts that it was itself heard to think too. */
const PLAIN_HISTORY = "plain-history";
const BESIDES: ReadonlySet<string> = new Set(["reasoning_content", "reasoning_details", "annotations", "audio"]);
/** It has no place for thoughts over chat completions, or none of the name that they are given out by. */
const THOUGHTLESS_HISTORY = "thoughtless-history";

type Server = {
  /** How much of an answer stays here. What another API of a provider has sealed is for that API alone, so it does always. */
  readonly kept: "besides" | "thoughts" | "seals";
  readonly developer: "known" | "unknown";
  /** What stands beside a tool call, signatures of the model that made it. They are for that model alone. */
  readonly signatures: "wanted" | "foreign";
  /** Undefined: it takes every id. */
  readonly ids: ToolIds | undefined;
};

type FittingHistory = {
  /** The value of `messages` as the server takes it: only what it refuses is written anew. */
  readonly messagesText: string;
  /** By the names that the log has for it. */
  readonly dropped: readonly string[];
};

/** The caller's messages without what a server refuses in them. Undefined where there is none of it. */
export function fittingHistory(
  { messages }: ChatRequest,
  body: ParsedBody,
  quirks: readonly Quirk[],
): FittingHistory | undefined {
  const server = serverOf(quirks);
  if (!messages.some((message) => isRefused(message, server))) return undefined;
  const span = body.members.get("messages");
  if (span === undefined) return undefined;
  const text = body.text.slice(span.valueStart, span.valueEnd);
  const found = new Set<string>();
  let messagesText = "";
  let from = 0;
  for (const [at, { start, end }] of itemSpans(text).entries()) {
    const message = messages[at];
    if (message === undefined || !isRefused(message, server)) continue;
    messagesText += text.slice(from, start) + fitting(text.slice(start, end), server, found);
    from = end;
  }
  return { messagesText: messagesText + text.slice(from), dropped: [...found] };
}

function serverOf(quirks: readonly Quirk[]): Server {
  return {
    kept: keptFrom(quirks),
    developer: quirks.includes(ALL_ROLES) ? "known" : "unknown",
    signatures: quirks.includes(SIGNED_CALLS) ? "wanted" : "foreign",
    ids: quirks.includes(NINE) ? new ToolIds(quirks) : undefined,
  };
}

function keptFrom(quirks: readonly Quirk[]): Server["kept"] {
  if (quirks.includes(PLAIN_HISTORY)) return "besides";
  return quirks.includes(THOUGHTLESS_HISTORY) ? "thoughts" : "seals";
}

function isRefused(message: JsonObject, server: Server): boolean {
  switch (message["role"]) {
    case "developer":
      return server.developer === "unknown";
    case "tool":
      return isRenamed(message["tool_call_id"], server);
    case "assistant":
      for (const key in message) if (valueLeft(key, message[key], server) !== message[key]) return true;
      return false;
    default:
      return false;
  }
}

function isRenamed(id: unknown, { ids }: Server): boolean {
  return ids !== undefined && typeof id === "string" && ids.wire(id) !== id;
}

/** One message that is refused as it is. */
function fitting(text: string, server: Server, found: Set<string>): string {
  const message = uniquelyKeyed(text);
  return message === undefined ? text : patchMembers(message, patchesFor(message, server, found));
}

/** Of a key that is given twice the last one counts, as for every reader of the whole. */
function uniquelyKeyed(text: string): ParsedBody | undefined {
  const parsed = parseJsonText(text);
  const unique = "problem" in parsed ? parseJsonText(JSON.stringify(parseExactly(text))) : parsed;
  return "problem" in unique ? undefined : unique;
}

function patchesFor(message: ParsedBody, server: Server, found: Set<string>): MemberPatch[] {
  const { role, tool_call_id: id } = message.value;
  if (role === "developer") return [{ key: "role", json: '"system"' }];
  if (role === "tool") return [{ key: "tool_call_id", json: JSON.stringify(server.ids?.wire(String(id))) }];
  return message.members.spans.flatMap(({ key }) => {
    const value = message.value[key];
    if (valueLeft(key, value, server) === value) return [];
    if (key !== "tool_calls" && saysSomething(value)) found.add(`messages: ${key}`);
    if (Array.isArray(value) && key === "tool_calls" && value.some((call) => isSigned(call, server)))
      found.add("messages: tool_calls.extra_content");
    const exact = valueLeft(key, exactMember(message, key), server);
    return [{ key, json: exact === undefined ? null : JSON.stringify(exact) }];
  });
}

/** What of a member goes on, the value itself where that is all of it; undefined: nothing. */
function valueLeft(key: string, value: unknown, server: Server): unknown {
  if (key === "tool_calls") return callsLeft(value, server);
  if (server.kept === "besides") return BESIDES.has(key) || (key === "refusal" && value === null) ? undefined : value;
  if (key !== "reasoning_content" && key !== "reasoning_details") return value;
  if (server.kept === "thoughts") return undefined;
  if (key === "reasoning_content" || !Array.isArray(value) || !value.some(isSealedElsewhere)) return value;
  const others = value.filter((detail) => !isSealedElsewhere(detail));
  return others.length === 0 ? undefined : others;
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
    ...(isRenamed(call["id"], server) ? { id: server.ids?.wire(String(call["id"])) } : {}),
  };
}

function isSigned(call: unknown, { signatures }: Server): boolean {
  return signatures === "foreign" && isJsonObject(call) && call["extra_content"] !== undefined;
}

/** Many clients send every member of an answer back, empty ones as well: nothing is lost with those. */
function saysSomething(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
