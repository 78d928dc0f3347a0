import type { JsonObject } from "../../../../kit/json.ts";
import { JsonSpan } from "../../../../kit/json-span.ts";
import type { ReasoningDetail, ReasoningSignature } from "../../../canon/parts.ts";
import type { Citation, ReplyEvent } from "../../../canon/reply-events.ts";
import { encodeCallSignature, encodeDetail, type SignatureVisibility } from "../reasoning-signatures.ts";
import { decodeCustomInput } from "./custom-tools.ts";
import type { FlatNames } from "./namespaces.ts";

/** The whole text and its unsent tail, so that a long text is never searched or sliced. */
export type GrowingText = { text: string; unsent: string; encoded?: EncodedText };

/** JSON text of the first `chars` characters. */
type EncodedText = { readonly chars: number; readonly json: JsonSpan };

const LONG_TEXT_CHARS = 16_384;

/** A long text is encoded once, because several events repeat it. */
export function encodeText(growing: GrowingText): string | JsonSpan {
  const { text } = growing;
  if (text.length < LONG_TEXT_CHARS) return text;
  if (growing.encoded?.chars !== text.length)
    growing.encoded = { chars: text.length, json: new JsonSpan(JSON.stringify(text), undefined) };
  return growing.encoded.json;
}

function appendText(growing: GrowingText, text: string): void {
  growing.text += text;
  growing.unsent += text;
}

export type MessagePart =
  | (GrowingText & {
      readonly is: "text";
      readonly annotations: JsonObject[];
      /** Position in the text of the whole reply, in UTF-16 units. */
      readonly start: number;
    })
  | (GrowingText & { readonly is: "refusal" });

/** An output item under construction; its list index is its `output_index`. */
export type OutputItem = MessageItem | ReasoningItem | ToolCallItem;
export type MessageItem = { readonly is: "message"; readonly id: string; readonly parts: MessagePart[] };
export type ReasoningItem = GrowingText & {
  readonly is: "reasoning";
  readonly id: string;
  encryptedContent: string | undefined;
  isComplete: boolean;
  /** Signature of the preceding message, which may continue. */
  readonly isMessageSignature: boolean;
};
/** The text is the JSON arguments. */
export type ToolCallItem = GrowingText & {
  readonly is: "function_call" | "custom_tool_call";
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly namespace: string | undefined;
  endsInBrace: boolean;
};

const EMPTY_TEXT: GrowingText = { text: "", unsent: "" };

export type ItemStatus = "in_progress" | "completed" | "incomplete";

const PREFIXES: Readonly<Record<OutputItem["is"], string>> = {
  message: "msg_",
  reasoning: "rs_",
  function_call: "fc_",
  custom_tool_call: "ctc_",
};

type OutputRules = {
  /** Item ids derive from it, so that the same reply always has the same ids. */
  readonly responseId: string;
  readonly names: FlatNames;
  readonly allowsParallelCalls: boolean;
};

/** Collects canonical events into output items, independent of how the stream was split. */
export class OutputItems {
  readonly list: OutputItem[] = [];
  readonly #rules: OutputRules;
  readonly #core: string;
  /** By tool call index; undefined for a suppressed parallel call. */
  readonly #calls = new Map<number, ToolCallItem | undefined>();
  #textChars = 0;
  /** Annotations of closed items, which still need an event. */
  readonly #late: LateAnnotation[] = [];

  constructor(rules: OutputRules) {
    this.#rules = rules;
    this.#core = rules.responseId.replace(/^resp_/, "");
  }

  /** Items before `from` are closed. */
  add(event: ReplyEvent, from: number): void {
    switch (event.is) {
      case "text":
        if (event.text === "") return;
        appendText(this.#text(from), event.text);
        this.#textChars += event.text.length;
        return;
      case "refusal":
        if (event.text !== "") appendText(this.#refusal(from), event.text);
        return;
      case "reasoning":
        if (event.text !== "") appendText(this.#reasoning(from), event.text);
        return;
      case "reasoning_detail":
        this.#detail(event.detail, from);
        return;
      case "tool_call":
        this.#call(event);
        return;
      case "tool_arguments": {
        const call = this.#calls.get(event.index);
        if (call === undefined || this.list.indexOf(call) < from) return;
        appendText(call, event.text);
        const end = event.text.trimEnd();
        if (end !== "") call.endsInBrace = end.endsWith("}");
        return;
      }
      case "citation":
        this.#cite(event.citation, from);
        return;
      case "begin":
      case "usage":
      case "finish":
      case "problem":
      case "omitted":
      case "end":
        return;
    }
  }

  #id(is: OutputItem["is"]): string {
    return `${PREFIXES[is]}${this.#core}${String(this.list.length).padStart(4, "0")}`;
  }

  #message(from: number): MessageItem {
    const at = this.list.findLastIndex((item) => item.is !== "reasoning" || !item.isMessageSignature);
    const last = at >= from ? this.list[at] : undefined;
    if (last?.is === "message") return last;
    const message: MessageItem = { is: "message", id: this.#id("message"), parts: [] };
    this.list.push(message);
    return message;
  }

  #text(from: number): Extract<MessagePart, { is: "text" }> {
    const { parts } = this.#message(from);
    const last = parts.at(-1);
    if (last?.is === "text") return last;
    const part = { is: "text" as const, ...EMPTY_TEXT, annotations: [], start: this.#textChars };
    parts.push(part);
    return part;
  }

  #refusal(from: number): Extract<MessagePart, { is: "refusal" }> {
    const { parts } = this.#message(from);
    const last = parts.at(-1);
    if (last?.is === "refusal") return last;
    const part = { is: "refusal" as const, ...EMPTY_TEXT };
    parts.push(part);
    return part;
  }

  #reasoning(from: number): ReasoningItem {
    const last = this.list.length > from ? this.list.at(-1) : undefined;
    if (last?.is === "reasoning" && !last.isComplete) return last;
    return this.#newReasoning({ isComplete: false, isMessageSignature: false });
  }

  #newReasoning(more: Pick<ReasoningItem, "isComplete" | "isMessageSignature">): ReasoningItem {
    const item: ReasoningItem = {
      is: "reasoning",
      id: this.#id("reasoning"),
      ...EMPTY_TEXT,
      encryptedContent: undefined,
      ...more,
    };
    this.list.push(item);
    return item;
  }

  #detail(detail: ReasoningDetail, from: number): void {
    if (detail.is === "encrypted") {
      // Google also signs text, possibly in the middle of it.
      const isMessageSignature = detail.signature.family === "google" && this.list.at(-1)?.is === "message";
      this.#newReasoning({ isComplete: true, isMessageSignature }).encryptedContent = encodeDetail(detail);
      return;
    }
    const item = this.#reasoning(from);
    if (item.text === "") appendText(item, detail.text);
    item.encryptedContent = encodeDetail(detail);
    item.isComplete = true;
  }

  #call({ index, id, name, signature }: Extract<ReplyEvent, { is: "tool_call" }>): void {
    if (!this.#rules.allowsParallelCalls && this.#calls.size > 0) {
      this.#calls.set(index, undefined);
      return;
    }
    if (signature !== null) this.#sealCall(signature);
    const { custom, grouped } = this.#rules.names;
    const is = custom.has(name) ? "custom_tool_call" : "function_call";
    const called = grouped.get(name) ?? { name, namespace: undefined };
    const call: ToolCallItem = { is, id: this.#id(is), callId: id, ...called, ...EMPTY_TEXT, endsInBrace: false };
    this.list.push(call);
    this.#calls.set(index, call);
  }

  #sealCall(signature: ReasoningSignature): void {
    this.#newReasoning({ isComplete: true, isMessageSignature: false }).encryptedContent =
      encodeCallSignature(signature);
  }

  /** A citation belongs to the part that it covers, or to the last one, which may be closed already. */
  #cite(citation: Citation, from: number): void {
    const place = this.#citedPart(citation.start);
    if (place === undefined) {
      this.#text(from).annotations.push(annotation(citation, 0));
      return;
    }
    const { part, itemIndex, contentIndex } = place;
    const added = annotation(citation, part.start);
    part.annotations.push(added);
    const item = this.list[itemIndex];
    const isClosed = itemIndex < from || (item?.is === "message" && contentIndex < item.parts.length - 1);
    if (isClosed)
      this.#late.push({ itemIndex, contentIndex, annotationIndex: part.annotations.length - 1, annotation: added });
  }

  #citedPart(start: number | null): CitedPart | undefined {
    let last: CitedPart | undefined;
    for (const [itemIndex, item] of this.list.entries()) {
      if (item.is !== "message") continue;
      for (const [contentIndex, part] of item.parts.entries())
        if (part.is === "text" && (start === null || part.start <= start)) last = { part, itemIndex, contentIndex };
    }
    return last;
  }

  takeLate(): readonly LateAnnotation[] {
    return this.#late.length === 0 ? NO_LATE_ANNOTATIONS : this.#late.splice(0);
  }
}

type CitedPart = {
  readonly part: Extract<MessagePart, { is: "text" }>;
  readonly itemIndex: number;
  readonly contentIndex: number;
};

export type LateAnnotation = {
  readonly itemIndex: number;
  readonly contentIndex: number;
  readonly annotationIndex: number;
  readonly annotation: JsonObject;
};
const NO_LATE_ANNOTATIONS: readonly LateAnnotation[] = [];

/** Positions count from the start of the part. */
function annotation({ url, title, start, end }: Citation, partStart: number): JsonObject {
  const relative = (position: number | null) => Math.max(0, (position ?? partStart) - partStart);
  return {
    type: "url_citation",
    url: url ?? "",
    title: title ?? "",
    start_index: relative(start),
    end_index: relative(end),
  };
}

export function encodeItem(item: OutputItem, status: ItemStatus, visibility: SignatureVisibility): JsonObject {
  switch (item.is) {
    case "message":
      return { id: item.id, type: "message", status, role: "assistant", content: item.parts.map(encodePart) };
    case "reasoning": {
      const summary = item.text === "" ? [] : [encodeSummary(item)];
      const { encryptedContent } = item;
      const sealed =
        visibility === "hidden" || encryptedContent === undefined ? {} : { encrypted_content: encryptedContent };
      return { id: item.id, type: "reasoning", summary, ...sealed };
    }
    case "function_call": {
      const { id, callId, text } = item;
      return {
        id,
        type: "function_call",
        status,
        call_id: callId,
        ...encodeName(item),
        arguments: text === "" ? "{}" : encodeText(item),
      };
    }
    case "custom_tool_call": {
      const { id, callId } = item;
      return { id, type: "custom_tool_call", status, call_id: callId, ...encodeName(item), input: customInput(item) };
    }
  }
}

function encodeName({ name, namespace }: ToolCallItem): JsonObject {
  return namespace === undefined ? { name } : { name, namespace };
}

export function encodeOpenedItem(item: OutputItem): JsonObject {
  switch (item.is) {
    case "message":
      return encodeItem({ ...item, parts: [] }, "in_progress", "hidden");
    case "reasoning":
      return encodeItem({ ...item, text: "" }, "in_progress", "hidden");
    case "function_call":
      return { ...encodeItem(item, "in_progress", "hidden"), arguments: "" };
    case "custom_tool_call":
      return encodeItem({ ...item, text: "" }, "in_progress", "hidden");
  }
}

export function encodePart(part: MessagePart): JsonObject {
  if (part.is === "refusal") return { type: "refusal", refusal: encodeText(part) };
  return { type: "output_text", text: encodeText(part), annotations: part.annotations, logprobs: [] };
}

export function encodeSummary(growing: GrowingText): JsonObject {
  return { type: "summary_text", text: encodeText(growing) };
}

export function customInput({ text }: ToolCallItem): string {
  return text === "" ? "" : decodeCustomInput(text);
}
