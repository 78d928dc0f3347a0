import { isUtf8 } from "node:buffer";
import { type Fault, fault } from "../../../../contract/faults.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type {
  CacheBreakpoint,
  ConversationTurn,
  MediaSource,
  Part,
  ReasoningDetail,
  ToolCallPart,
  ToolResultPart,
} from "../../../canon/parts.ts";
import { sniffMediaType, unsupportedMedia } from "../../media.ts";
import { decodeCallArguments } from "../../tool-encoding.ts";
import { encodeToolId } from "../tool-ids.ts";
import { isOwnReasoning } from "./reasoning.ts";

export type WireMessage = { readonly role: "user" | "assistant"; readonly content: readonly JsonObject[] };
type Conversation = { readonly system: readonly JsonObject[]; readonly messages: readonly WireMessage[] };

/** Inserted if the conversation starts with the assistant, because the API requires a user message first. */
const OPENING: WireMessage = { role: "user", content: [{ type: "text", text: "(The conversation begins here.)" }] };

/** Adjacent turns of one role become one message; leading instructions become the system prompt. */
export function encodeTurns(turns: readonly ConversationTurn[]): Conversation {
  const leading = leadingInstructions(turns);
  const system = turns.slice(0, leading).flatMap(({ parts }) => instructionBlocks(parts));
  const messages = new MessageList();
  for (const [index, turn] of turns.entries()) if (index >= leading) messages.add(turn, index);
  return { system, messages: messages.finish() };
}

/** If there are only instructions, the last one becomes the user message. */
function leadingInstructions(turns: readonly ConversationTurn[]): number {
  const first = turns.findIndex(({ role }) => role !== "system" && role !== "developer");
  return first < 0 ? turns.length - 1 : first;
}

function instructionBlocks(parts: readonly Part[]): JsonObject[] {
  return parts.flatMap((part) => (part.is === "text" ? textBlock(part.text, part.cache) : []));
}

type MessageDraft = { readonly role: WireMessage["role"]; readonly results: JsonObject[]; readonly rest: JsonObject[] };

class MessageList {
  readonly #drafts: MessageDraft[] = [];
  /** Unanswered calls with the path of their field. */
  readonly #open = new Map<string, string>();

  add(turn: ConversationTurn, index: number): void {
    const role = turn.role === "assistant" ? "assistant" : "user";
    const param = `messages.${index}`;
    const results: JsonObject[] = [];
    const rest: JsonObject[] = [];
    if (role === "assistant" && this.#drafts.at(-1)?.role === "user") this.#checkAnswered();
    let calls = 0;
    for (const [at, part] of turn.parts.entries()) {
      if (part.is === "tool_result") {
        if (!this.#open.delete(part.callId)) throw unmatchedResult(part.callId, `${param}.tool_call_id`);
        results.push(resultBlock(part, param));
      } else if (part.is === "tool_call") {
        const path = `${param}.tool_calls.${calls++}`;
        this.#open.set(part.id, path);
        rest.push(callBlock(part, path));
      } else rest.push(...partBlocks(part, `${param}.content.${at}`));
    }
    if (results.length + rest.length > 0) this.#append(role, results, rest);
  }

  #append(role: WireMessage["role"], results: readonly JsonObject[], rest: readonly JsonObject[]): void {
    const last = this.#drafts.at(-1);
    if (last?.role === role) {
      last.results.push(...results);
      last.rest.push(...rest);
    } else this.#drafts.push({ role, results: [...results], rest: [...rest] });
  }

  /** Tool results must come first in the message after their calls. */
  finish(): WireMessage[] {
    this.#checkAnswered();
    const messages: WireMessage[] = this.#drafts.map(({ role, results, rest }) => ({
      role,
      content: [...results, ...rest],
    }));
    const [first] = messages;
    if (first === undefined)
      throw fault("invalid_value", {
        message: "messages must have at least one turn with content.",
        param: "messages",
      });
    const last = messages.at(-1);
    if (last?.role === "assistant") messages[messages.length - 1] = withoutTrailingSpace(last);
    return first.role === "assistant" ? [OPENING, ...messages] : messages;
  }

  #checkAnswered(): void {
    const [unanswered] = this.#open;
    if (unanswered === undefined) return;
    const [id, param] = unanswered;
    throw fault("invalid_value", {
      message: `${param}: the tool call ${shortId(id)} has no result. Send its result directly after it.`,
      param,
    });
  }
}

const ID_CHARS_SHOWN = 64;
const shortId = (id: string) => id.slice(0, ID_CHARS_SHOWN);

function unmatchedResult(id: string, param: string): Fault {
  return fault("invalid_value", {
    message: `${param}: ${shortId(id)} does not match an open tool call of the preceding assistant turn.`,
    param,
  });
}

/** The API rejects a prefill that ends in white space. */
function withoutTrailingSpace({ role, content }: WireMessage): WireMessage {
  const last = content.at(-1);
  if (last?.["type"] !== "text" || typeof last["text"] !== "string") return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, text: last["text"].trimEnd() }] };
}

export function withCacheControl(block: JsonObject, cache: CacheBreakpoint | undefined): JsonObject {
  if (cache === undefined) return block;
  return { ...block, cache_control: { type: "ephemeral", ...(cache.ttl === null ? {} : { ttl: cache.ttl }) } };
}

/** The API rejects blank text. */
function textBlock(text: string, cache?: CacheBreakpoint): JsonObject[] {
  return text.trim() === "" ? [] : [withCacheControl({ type: "text", text }, cache)];
}

function partBlocks(part: Part, param: string): JsonObject[] {
  switch (part.is) {
    case "text":
    case "refusal":
      return textBlock(part.text, part.cache);
    case "image":
      return [withCacheControl(imageBlock(part.source, param), part.cache)];
    case "file":
      return [withCacheControl(documentBlock(part.source, part.filename, param), part.cache)];
    case "reasoning":
      return isOwnReasoning(part) ? reasoningBlocks(part.detail) : [];
    case "audio":
      throw fault("unsupported_parameter", { message: `${param}: the provider's API does not support audio.`, param });
    case "tool_call":
    case "tool_result":
      // Handled by the caller, which pairs calls with results.
      return [];
  }
}

/** Byte-identical, because the signature covers it. */
function reasoningBlocks(detail: ReasoningDetail): JsonObject[] {
  if (detail.is === "encrypted") return [{ type: "redacted_thinking", data: detail.signature.data }];
  return detail.signature === null
    ? []
    : [{ type: "thinking", thinking: detail.text, signature: detail.signature.data }];
}

function callBlock(call: ToolCallPart, param: string): JsonObject {
  const block = {
    type: "tool_use",
    id: encodeToolId(call.id),
    name: call.name,
    input: decodeCallArguments(call, param),
  };
  return withCacheControl(block, call.cache);
}

/** A breakpoint inside a result moves to the result: the API accepts none further in. */
function resultBlock({ callId, content, failed, cache }: ToolResultPart, param: string): JsonObject {
  const inner = content.flatMap(({ cache: _, ...part }, at) => partBlocks(part, `${param}.content.${at}`));
  const block = {
    type: "tool_result",
    tool_use_id: encodeToolId(callId),
    ...(inner.length === 0 ? {} : { content: inner }),
    ...(failed ? { is_error: true } : {}),
  };
  return withCacheControl(block, cache ?? content.findLast((part) => part.cache !== undefined)?.cache);
}

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

function imageBlock(source: MediaSource, param: string): JsonObject {
  switch (source.is) {
    case "url":
      return { type: "image", source: { type: "url", url: webAddress(source.url, param) } };
    case "inline": {
      const mediaType = sniffMediaType(source.base64) ?? source.mediaType;
      if (!IMAGE_TYPES.has(mediaType)) throw unsupportedMedia(param, "a JPEG, PNG, GIF or WebP image");
      return { type: "image", source: { type: "base64", media_type: mediaType, data: source.base64 } };
    }
    case "uploaded":
      throw unsupportedMedia(param, "an image as a URL or a data URL");
  }
}

function documentBlock(source: MediaSource, filename: string | null, param: string): JsonObject {
  const title = filename === null ? {} : { title: filename };
  return { type: "document", source: documentSource(source, param), ...title };
}

function documentSource(source: MediaSource, param: string): JsonObject {
  if (source.is === "url") return { type: "url", url: webAddress(source.url, param) };
  if (source.is === "uploaded") throw unsupportedMedia(param, "a file as a data URL");
  const { base64, mediaType } = source;
  if (sniffMediaType(base64) === "application/pdf" || mediaType === "application/pdf")
    return { type: "base64", media_type: "application/pdf", data: base64 };
  const bytes = Buffer.from(base64, "base64");
  if (!mediaType.startsWith("text/") || !isUtf8(bytes)) throw unsupportedMedia(param, "a PDF or a text file in UTF-8");
  return { type: "text", media_type: "text/plain", data: bytes.toString() };
}

function webAddress(url: string, param: string): string {
  if (!/^https?:\/\//i.test(url)) throw unsupportedMedia(param, "an http(s) URL or a base64 data URL");
  return url;
}
