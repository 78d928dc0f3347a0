import { fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import { sha256Hex } from "../../../../kit/secret.ts";
import type { CacheBreakpoint, ConversationTurn, Part, ToolCallPart, ToolResultPart } from "../../../canon/parts.ts";
import { decodeCallArguments } from "../../tool-encoding.ts";
import { audioBlock, DocumentEncoder, imageBlock } from "./media.ts";

type EncodedConversation = {
  readonly system: readonly JsonObject[];
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: readonly JsonObject[] }[];
};

/** Optional content that the endpoint understands. */
type TurnSupport = {
  /** Whether the models verify Claude's reasoning signatures. */
  readonly readsClaudeSignatures: boolean;
  readonly hasCachePoints: boolean;
};

/** A block and its cache point, which must stay adjacent. */
type CacheableBlock = { readonly block: JsonObject; readonly cache: CacheBreakpoint | undefined };
type DraftMessage = { readonly role: "user" | "assistant"; readonly units: readonly CacheableBlock[] };

/**
 * Leading instructions become the system prompt; user and assistant messages then alternate, starting with the user.
 * Later instructions stay in place.
 */
export function encodeTurns(turns: readonly ConversationTurn[], support: TurnSupport): EncodedConversation {
  const first = leadingInstructions(turns);
  const context: EncodingContext = { support, documents: new DocumentEncoder() };
  const system = turns.slice(0, first).flatMap(({ parts }) => parts.flatMap((part) => textUnits(part)));
  const messages: DraftMessage[] = [];
  for (const [offset, turn] of turns.slice(first).entries()) {
    const role = turn.role === "assistant" ? "assistant" : "user";
    const units = unitsOf(turn, first + offset, context);
    const last = messages.at(-1);
    if (units.length === 0) continue;
    if (last?.role === role) messages.splice(-1, 1, { role, units: [...last.units, ...units] });
    else messages.push({ role, units });
  }
  if (messages.length === 0)
    throw fault("invalid_value", {
      message: "messages must have at least one text that is not blank.",
      param: "messages",
    });
  const last = messages.at(-1);
  if (last?.role === "assistant") messages.splice(-1, 1, withoutTrailingSpace(last));
  if (messages[0]?.role === "assistant") messages.unshift(OPENING_MESSAGE);
  rejectUnpairedCalls(turns);
  return {
    system: blocksOf(system, support),
    messages: messages.map(({ role, units }) => ({ role, content: contentOf(units, support) })),
  };
}

/** The API rejects a prefill that ends in white space. */
function withoutTrailingSpace({ role, units }: DraftMessage): DraftMessage {
  const last = units.at(-1);
  const text = last?.block["text"];
  if (last === undefined || typeof text !== "string") return { role, units };
  return { role, units: [...units.slice(0, -1), { ...last, block: { text: text.trimEnd() } }] };
}

type EncodingContext = { readonly support: TurnSupport; readonly documents: DocumentEncoder };

/** Inserted if the conversation starts with the assistant, because the API requires a user message first. */
const OPENING_MESSAGE: DraftMessage = {
  role: "user",
  units: [{ block: { text: "(The conversation begins here.)" }, cache: undefined }],
};

/**
 * Number of leading turns that form the system prompt; if there are no others, the last one becomes the user message.
 */
function leadingInstructions(turns: readonly ConversationTurn[]): number {
  const first = turns.findIndex(({ role }) => role !== "system" && role !== "developer");
  return first < 0 ? turns.length - 1 : first;
}

function blocksOf(units: readonly CacheableBlock[], { hasCachePoints }: TurnSupport): JsonObject[] {
  return units.flatMap(({ block, cache }) =>
    cache === undefined || !hasCachePoints ? [block] : [block, cachePoint(cache)],
  );
}

/** Five minutes are the default; some endpoints reject an explicit ttl. */
export function cachePoint({ ttl }: CacheBreakpoint): JsonObject {
  return { cachePoint: { type: "default", ...(ttl === "1h" ? { ttl } : {}) } };
}

/** Tool results come first, and a document requires a text block. */
function contentOf(units: readonly CacheableBlock[], support: TurnSupport): JsonObject[] {
  const isResult = ({ block }: CacheableBlock) => block["toolResult"] !== undefined;
  const ordered = [...units.filter(isResult), ...units.filter((unit) => !isResult(unit))];
  const content = blocksOf(ordered, support);
  const lonely =
    content.some(({ document }) => document !== undefined) && content.every(({ text }) => text === undefined);
  return lonely ? [...content, { text: "See the document." }] : content;
}

function unitsOf({ role, parts }: ConversationTurn, turnIndex: number, context: EncodingContext): CacheableBlock[] {
  if (role === "system" || role === "developer") return parts.flatMap((part) => textUnits(part));
  let calls = 0;
  return parts.flatMap((part, partIndex) => {
    const param =
      part.is === "tool_call"
        ? `messages.${turnIndex}.tool_calls.${calls++}`
        : `messages.${turnIndex}.content.${partIndex}`;
    return partUnits(part, param, context);
  });
}

/** The provider rejects blank text. */
function textUnits(part: Part): CacheableBlock[] {
  if ((part.is !== "text" && part.is !== "refusal") || part.text.trim() === "") return [];
  return [{ block: { text: part.text }, cache: part.cache }];
}

function partUnits(part: Part, param: string, { support, documents }: EncodingContext): CacheableBlock[] {
  switch (part.is) {
    case "text":
    case "refusal":
      return textUnits(part);
    case "image":
      return [{ block: imageBlock(part.source, param), cache: part.cache }];
    case "audio":
      return [{ block: audioBlock(part.source, param), cache: part.cache }];
    case "file":
      return [{ block: documents.block(part, param), cache: part.cache }];
    case "tool_call":
      return [{ block: toolUse(part, param), cache: part.cache }];
    case "tool_result":
      return [
        { block: toolResult(part, param), cache: part.cache ?? part.content.findLast(({ cache }) => cache)?.cache },
      ];
    case "reasoning":
      return support.readsClaudeSignatures ? reasoningUnits(part) : [];
  }
}

/** Only Claude's own signatures are valid; redacted content is sent as base64. */
function reasoningUnits({ detail }: Extract<Part, { is: "reasoning" }>): CacheableBlock[] {
  if (detail.signature?.family !== "anthropic") return [];
  const { data } = detail.signature;
  const reasoningContent =
    detail.is === "encrypted"
      ? { redactedContent: Buffer.from(data).toString("base64") }
      : { reasoningText: { text: detail.text, signature: data } };
  return [{ block: { reasoningContent }, cache: undefined }];
}

function toolUse(call: ToolCallPart, param: string): JsonObject {
  return { toolUse: { toolUseId: encodeToolId(call.id), name: call.name, input: decodeCallArguments(call, param) } };
}

function toolResult({ callId, content, failed }: ToolResultPart, param: string): JsonObject {
  const blocks = content.flatMap((part): JsonObject[] => {
    if (part.is === "image") return [imageBlock(part.source, param)];
    return part.text.trim() === "" ? [] : [{ text: part.text }];
  });
  return {
    toolResult: {
      toolUseId: encodeToolId(callId),
      content: blocks.length === 0 ? [{ text: "(empty)" }] : blocks,
      ...(failed ? { status: "error" } : {}),
    },
  };
}

const WIRE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Maps an id to the allowed alphabet and length; replies never repeat it. */
function encodeToolId(id: string): string {
  return WIRE_ID.test(id) ? id : `id_${sha256Hex(id).slice(0, 40)}`;
}

/** Each call needs a result before the next assistant turn, and each result a call. */
function rejectUnpairedCalls(turns: readonly ConversationTurn[]): void {
  const open = new Map<string, string>();
  for (const [turnIndex, { role, parts }] of turns.entries()) {
    // Adjacent turns of one role are one message.
    if (role === "assistant" && turns[turnIndex - 1]?.role !== "assistant") rejectUnanswered(open);
    for (const [index, part] of parts.filter(({ is }) => is === "tool_call").entries())
      if (part.is === "tool_call") open.set(part.id, `messages.${turnIndex}.tool_calls.${index}`);
    for (const part of parts) {
      if (part.is !== "tool_result" || open.delete(part.callId)) continue;
      const param = `messages.${turnIndex}.tool_call_id`;
      throw fault("invalid_value", {
        message: `${param} does not match a tool call of the preceding assistant message.`,
        param,
      });
    }
  }
  rejectUnanswered(open);
}

function rejectUnanswered(open: ReadonlyMap<string, string>): void {
  for (const param of open.values())
    throw fault("invalid_value", { message: `${param} has no matching tool result.`, param });
}
