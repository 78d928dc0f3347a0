import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Call } from "../../language/canon/call.ts";
import type { Part } from "../../language/canon/parts.ts";
import { READ_IN_HISTORY } from "../../language/dialects/chat/client/read-shape.ts";
import { decodeDetail } from "../../language/dialects/chat/reasoning-details.ts";
import { READ_IN_INPUT } from "../../language/dialects/responses/client/read-shape.ts";
import { decodeReasoningItem } from "../../language/dialects/responses/reasoning-signatures.ts";
import { unreadPaths } from "../../language/dialects/unread-members.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/upstream-dialect.ts";
import type { InboundChat, InboundRequest, InboundResponses } from "./upstream-adapter.ts";

/**
 * Paths of the fields of a translated request that do not reach the provider: members of the history that the decoder does
 * not read, and parts of the call that the dialect has no place for. Parameters are handled by `dropUnsupported`.
 */
export function omittedFields(
  inbound: InboundRequest,
  call: Call,
  dialect: UpstreamDialect,
  facts: ModelFacts,
): readonly string[] {
  return [...unreadHistory(inbound), ...lostParts(inbound, call, dialect, facts)];
}

function unreadHistory(inbound: InboundRequest): readonly string[] {
  switch (inbound.dialect) {
    case "chat":
      return unreadPaths(inbound.request.messages, READ_IN_HISTORY, "messages");
    case "responses":
      return unreadPaths(inbound.body.value["input"], READ_IN_INPUT, "input");
    case "messages":
    case "gemini":
      // Found by the decoder.
      return [];
  }
}

/** Names of one thing in the dialects of callers. */
type CallerNames = Readonly<Record<InboundRequest["dialect"], string>>;

const IMAGE_DETAIL: CallerNames = {
  chat: "messages[].content[].image_url.detail",
  messages: "messages[].content[].detail",
  responses: "input[].content[].detail",
  gemini: "contents[].parts[].mediaResolution",
};
const FILE_NAME: CallerNames = {
  chat: "messages[].content[].file.filename",
  messages: "messages[].content[].title",
  responses: "input[].content[].filename",
  gemini: "contents[].parts[].inlineData.displayName",
};
const CALL_SIGNATURE: CallerNames = {
  chat: "messages[].tool_calls[].extra_content",
  messages: "messages[].content[].data",
  responses: "input[].encrypted_content",
  gemini: "contents[].parts[].thoughtSignature",
};

function lostParts(inbound: InboundRequest, call: Call, dialect: UpstreamDialect, facts: ModelFacts): string[] {
  const lost: string[] = [];
  const caller = inbound.dialect;
  const lacks = dialect.lacks(facts);
  const has = (isLost: (part: Part) => boolean) => call.turns.some(({ parts }) => parts.some(isLost));
  if (has((part) => isUnsupportedDetail(part, dialect))) lost.push(IMAGE_DETAIL[caller]);
  if (lacks.has("file_name") && has((part) => part.is === "file" && part.filename !== null))
    lost.push(FILE_NAME[caller]);
  if (lacks.has("strict_tools")) lost.push(...strictToolPaths(inbound.body.value["tools"], "tools[]"));
  if (lacks.has("cache_breakpoints") || countCacheMarks(call) > (dialect.cacheBreakpointsMax ?? Infinity))
    lost.push(...cacheMarkPaths(inbound.body.value));
  if (has((part) => part.is === "reasoning" && !dialect.readsReasoning(part.detail, facts)))
    lost.push(...reasoningPaths(inbound));
  else if (inbound.dialect === "chat" && hasUnknownDetails(inbound)) lost.push(REASONING_DETAILS);
  else if (inbound.dialect === "responses" && hasUnknownReasoning(inbound)) lost.push(...reasoningPaths(inbound));
  if (has((part) => part.is === "tool_call" && part.signature !== undefined && !dialect.readsCallSignatures(facts)))
    lost.push(CALL_SIGNATURE[caller]);
  return lost;
}

function isUnsupportedDetail(part: Part, dialect: UpstreamDialect): boolean {
  if (part.is === "tool_result") return part.content.some((inner) => isUnsupportedDetail(inner, dialect));
  return part.is === "image" && part.detail !== undefined && dialect.imageDetails?.has(part.detail) !== true;
}

/** Stated by the caller; some dialects are strict by default. */
function strictToolPaths(tools: unknown, path: string): string[] {
  const found = new Set<string>();
  for (const tool of objectsIn(tools)) {
    if (tool["strict"] === true) found.add(`${path}.strict`);
    if (isJsonObject(tool["function"]) && tool["function"]["strict"] === true) found.add(`${path}.function.strict`);
    for (const inner of strictToolPaths(tool["tools"], `${path}.tools[]`)) found.add(inner);
  }
  return [...found];
}

function countCacheMarks({ tools, turns }: Call): number {
  const isMarked = (part: Part) =>
    ("cache" in part && part.cache !== undefined) ||
    (part.is === "tool_result" && part.content.some(({ cache }) => cache !== undefined));
  let marks = tools.filter(({ cache }) => cache !== undefined).length;
  for (const { parts } of turns) marks += parts.filter(isMarked).length;
  return marks;
}

const CACHE_CONTROL = "cache_control";
const MARKED_LISTS = ["system", "messages", "tools"] as const;

/** Where the caller marked prefixes for a prompt cache. */
function cacheMarkPaths(body: JsonObject): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown, path: string) => {
    for (const item of objectsIn(value)) {
      if (item[CACHE_CONTROL] != null) found.add(`${path}[].${CACHE_CONTROL}`);
      visit(item["content"], `${path}[].content`);
      if (isJsonObject(item["source"])) visit(item["source"]["content"], `${path}[].source.content`);
    }
  };
  for (const member of MARKED_LISTS) visit(body[member], member);
  return [...found];
}

const REASONING_DETAILS = "messages[].reasoning_details";

/** The members that carry reasoning in this request. */
function reasoningPaths({ dialect, body }: InboundRequest): readonly string[] {
  switch (dialect) {
    case "chat":
      return membersIn(objectsIn(body.value["messages"]), ["reasoning_content", "reasoning_details"], "messages[]");
    case "messages": {
      const blocks = objectsIn(body.value["messages"]).flatMap(({ content }) => objectsIn(content));
      const reasoning = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
      return membersIn(reasoning, ["thinking", "signature", "data"], "messages[].content[]");
    }
    case "responses": {
      const items = objectsIn(body.value["input"]).filter(({ type }) => type === "reasoning");
      return membersIn(items, ["summary", "content", "encrypted_content"], "input[]");
    }
    case "gemini": {
      const parts = objectsIn(body.value["contents"]).flatMap((content) => objectsIn(content["parts"]));
      return membersIn(parts, ["thought", "thoughtSignature", "thought_signature"], "contents[].parts[]");
    }
  }
}

function membersIn(objects: readonly JsonObject[], members: readonly string[], path: string): readonly string[] {
  const isSent = (value: unknown) => value != null && value !== "" && !(Array.isArray(value) && value.length === 0);
  return members.filter((name) => objects.some((one) => isSent(one[name]))).map((name) => `${path}.${name}`);
}

/** Blocks of reasoning that this gateway did not create. */
function hasUnknownDetails({ request: { messages } }: InboundChat): boolean {
  return messages.some(
    (message) =>
      message.role === "assistant" && message.reasoning_details?.some((detail) => decodeDetail(detail) === undefined),
  );
}

/** Items without readable text whose content another gateway or provider encrypted. */
function hasUnknownReasoning({ body }: InboundResponses): boolean {
  return objectsIn(body.value["input"]).some(
    ({ type, summary, content, encrypted_content: encrypted }) =>
      type === "reasoning" &&
      textsIn(summary) + textsIn(content) === "" &&
      decodeReasoningItem("", typeof encrypted === "string" ? encrypted : null).is === "nothing",
  );
}

function textsIn(parts: unknown): string {
  return objectsIn(parts)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
