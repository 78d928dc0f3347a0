import { invalidValue } from "../../../../contract/faults.ts";
import {
  type ContentPart,
  ITEM_TYPES,
  KnownItem,
  KnownPart,
  type ResponsesRequest,
} from "../../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import {
  type ConversationTurn,
  imageDetail,
  type MediaSource,
  type Part,
  type ReasoningSignature,
  type ToolCallPart,
  type ToolResultPart,
} from "../../../canon/parts.ts";
import { decodeReasoningItem } from "../reasoning-signatures.ts";
import { encodeCustomInput } from "./custom-tools.ts";
import { flatName } from "./namespaces.ts";

/** A plain string is one user message. */
export function inputItems({ input }: ResponsesRequest): JsonObject[] {
  if (typeof input !== "string") return [...(input ?? [])];
  return [{ type: "message", role: "user", content: [{ type: "input_text", text: input }] }];
}

/** Canonical turns, and the paths of native and dropped items. */
type DecodedItems = {
  readonly turns: readonly ConversationTurn[];
  readonly native: readonly string[];
  readonly advisory: readonly string[];
};

/** Dropped: the following message contains the findings. */
const WEB_SEARCH_CALL = "web_search_call";

/** `pathOf` returns the caller's path of an item. */
export function decodeItems(items: readonly JsonObject[], pathOf: (index: number) => string): DecodedItems {
  const reader = new ItemDecoder();
  for (const [index, item] of items.entries()) reader.read(item, pathOf(index));
  const { turns, native, advisory } = reader;
  return { turns, native, advisory: [...new Set(advisory)] };
}

type CallItem = Extract<KnownItem, { type: "function_call" | "custom_tool_call" }>;
type ToolOutputItem = Extract<KnownItem, { type: "function_call_output" | "custom_tool_call_output" }>;
type InputMessageItem = Extract<KnownItem, { role: string }>;

/** Merges adjacent assistant items into one turn. */
class ItemDecoder {
  readonly turns: { role: ConversationTurn["role"]; parts: Part[]; partPaths: string[] }[] = [];
  readonly native: string[] = [];
  readonly advisory: string[] = [];
  /** Applies to the next call. */
  #callSignature: ReasoningSignature | undefined;

  read(raw: JsonObject, path: string): void {
    const { type } = raw;
    if (typeof type === "string" && !ITEM_TYPES.includes(type)) {
      (type === WEB_SEARCH_CALL ? this.advisory : this.native).push(path);
      return;
    }
    const item = parseItem(raw, path);
    switch (item.type) {
      case "function_call":
      case "custom_tool_call":
        this.#addAssistant([this.#call(item, path)], [path]);
        return;
      case "function_call_output":
      case "custom_tool_call_output":
        this.turns.push({ role: "tool", parts: [this.#result(item, path)], partPaths: [subPath(path, "output")] });
        return;
      case "reasoning":
        this.#readReasoning(item, path);
        return;
      case "item_reference":
        throw invalidValue(path, "refers to an item that is not stored; send the item itself, or previous_response_id");
      case "message":
      case undefined:
      case null:
        this.#readMessage(item, path);
    }
  }

  #call(item: CallItem, path: string): ToolCallPart {
    const call = { is: "tool_call", id: item.call_id, ...calledFunction(item), ...this.#takeSignature() } as const;
    return path === HISTORY_PATH ? { ...call, isStored: true } : call;
  }

  #takeSignature(): { signature?: ReasoningSignature } {
    const signature = this.#callSignature;
    this.#callSignature = undefined;
    return signature === undefined ? {} : { signature };
  }

  #addAssistant(parts: readonly Part[], partPaths: readonly string[]): void {
    if (parts.length === 0) return;
    const last = this.turns.at(-1);
    if (last?.role === "assistant") {
      last.parts.push(...parts);
      last.partPaths.push(...partPaths);
    } else this.turns.push({ role: "assistant", parts: [...parts], partPaths: [...partPaths] });
  }

  #readReasoning(item: Extract<KnownItem, { type: "reasoning" }>, path: string): void {
    const { summary, content, encrypted_content } = item;
    const readable = summary?.length ? summary : (content ?? []);
    const decoded = decodeReasoningItem(readable.map(({ text }) => text ?? "").join("\n\n"), encrypted_content);
    if (decoded.is === "detail") this.#addAssistant([{ is: "reasoning", detail: decoded.detail }], [path]);
    else if (decoded.is === "call_signature") this.#callSignature = decoded.signature;
  }

  #readMessage({ role, content }: InputMessageItem, path: string): void {
    const read = this.#parts(content, subPath(path, "content"));
    const partPaths = read.map((pathed) => pathed.path);
    const parts = read.map((pathed) => pathed.part);
    if (role === "assistant") {
      // Assistant messages contain text only; other parts are native.
      const texts = read.filter(({ part }) => part.is === "text" || part.is === "refusal");
      this.native.push(...read.filter((pathed) => !texts.includes(pathed)).map((pathed) => pathed.path));
      this.#addAssistant(
        texts.map((pathed) => pathed.part),
        texts.map((pathed) => pathed.path),
      );
      return;
    }
    if (role !== "user" && parts.some(({ is }) => is !== "text"))
      throw invalidValue(subPath(path, "content"), `must be text only in a ${role} message`);
    if (parts.length > 0) this.turns.push({ role, parts, partPaths });
  }

  #result({ call_id, output }: ToolOutputItem, path: string): ToolResultPart {
    const content: ToolResultPart["content"][number][] = [];
    for (const { part, path: partPath } of this.#parts(output, subPath(path, "output"))) {
      if (part.is === "text" || part.is === "image") content.push(part);
      else this.native.push(partPath);
    }
    return { is: "tool_result", callId: call_id, content, failed: false };
  }

  #parts(content: string | readonly ContentPart[], path: string): PathedPart[] {
    if (typeof content === "string") return content === "" ? [] : [{ part: { is: "text", text: content }, path }];
    const parts: PathedPart[] = [];
    for (const [at, raw] of content.entries()) {
      const partPath = subPath(path, at);
      const known = KnownPart.safeParse(raw);
      if (known.success) parts.push({ part: decodePart(known.data, partPath), path: partPath });
      else this.native.push(partPath);
    }
    return parts;
  }
}

type PathedPart = { readonly part: Part; readonly path: string };

/** Path reported for every item of the stored history. */
export const HISTORY_PATH = "previous_response_id";

function subPath(path: string, ...rest: readonly (string | number)[]): string {
  return path === HISTORY_PATH ? path : [path, ...rest].join(".");
}

function parseItem(raw: JsonObject, path: string): KnownItem {
  const parsed = KnownItem.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidValue(subPath(path, ...(issue?.path ?? []).map(String)), "is not an item of this dialect");
}

function calledFunction(item: CallItem): { name: string; argumentsText: string } {
  const argumentsText = item.type === "function_call" ? item.arguments : encodeCustomInput(item.input);
  return { name: flatName(item["namespace"], item.name), argumentsText };
}

function decodePart(part: KnownPart, path: string): Part {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { is: "text", text: part.text };
    case "refusal":
      return { is: "refusal", text: part.refusal };
    case "input_image": {
      const { image_url, file_id } = part;
      const detail = imageDetail(part.detail);
      if (file_id) return { is: "image", source: { is: "uploaded", id: file_id }, ...detail };
      if (!image_url) throw invalidValue(path, "has no image: send image_url as a URL or a data URL");
      return { is: "image", source: inlineSource(image_url) ?? { is: "url", url: image_url }, ...detail };
    }
    case "input_file":
      return { is: "file", source: fileSource(part, path), filename: part.filename ?? null };
  }
}

function fileSource(part: Extract<KnownPart, { type: "input_file" }>, path: string): MediaSource {
  const { file_id, file_data, file_url } = part;
  if (file_id) return { is: "uploaded", id: file_id };
  if (file_url) return { is: "url", url: file_url };
  if (!file_data) throw invalidValue(path, "has no file: send file_data as a data URL, file_url or file_id");
  const inline = inlineSource(file_data);
  if (inline === undefined) throw invalidValue(`${path}.file_data`, "must be a base64 data URL with a media type");
  return inline;
}

/** Media type parameters, such as a charset, are ignored. */
const DATA_URL = /^data:([^;,]+)(?:;[^;,]*)*;base64,/i;

function inlineSource(url: string): MediaSource | undefined {
  const match = DATA_URL.exec(url.slice(0, 256));
  if (match === null) return undefined;
  return { is: "inline", mediaType: match[1] ?? "", base64: url.slice(match[0].length) };
}
