import { isJsonObject, type JsonObject, tryParseJson } from "../../../../kit/json.ts";
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../../../kit/json-characters.ts";
import type { Call } from "../../../canon/call.ts";
import type { ReasoningDetail, ReasoningSignature } from "../../../canon/parts.ts";
import type { Citation, ReplyEvent } from "../../../canon/reply-events.ts";
import { encodeSignature } from "../reasoning-signatures.ts";
import { encodeToolId } from "../tool-ids.ts";

/** One change of the content blocks on the wire. */
export type BlockStep =
  | { readonly is: "open"; readonly index: number; readonly block: JsonObject }
  | { readonly is: "delta"; readonly index: number; readonly delta: JsonObject }
  | { readonly is: "close"; readonly index: number };

type BlockDraft = {
  readonly kind: "text" | "thinking" | "tool" | "encrypted";
  readonly block: JsonObject;
  /** Deltas queued until the block is open. */
  readonly waiting: JsonObject[];
  /** Position of a text in the text of the whole reply, in UTF-16 units. */
  readonly start: number;
  /** Position among the blocks, once the block is open. */
  index?: number;
  readonly call?: OpenToolCall;
  opened: boolean;
  /** The block accepts no more deltas. */
  done: boolean;
};

type OpenToolCall = {
  readonly index: number;
  readonly end: JsonEndDetector;
  form: "unknown" | "object" | "other";
  /** Arguments that are not a JSON object are held back until they are complete. */
  heldArguments: string;
};

const NOTHING: readonly BlockStep[] = [];

/**
 * Serializes content blocks: in this dialect they never overlap, while other dialects may interleave several tool
 * calls. The first block is open and its deltas are written immediately; others queue. A block closes when another
 * one waits and its content is complete.
 */
export class BlockQueue {
  readonly #queue: BlockDraft[] = [];
  readonly #allowsParallelCalls: boolean;
  #index = 0;
  #calls = 0;
  #refusal = "";
  /** Reasoning already sent and not yet confirmed by a complete block. */
  #sentReasoning = "";
  readonly #texts: BlockDraft[] = [];
  #textChars = 0;
  /** Google's signature of the last text, held back because citations of that text may follow. */
  #textSignature: ReasoningSignature | undefined;
  readonly #isWhole: boolean;
  #omitted: string[] | undefined;

  /** In a whole reply, citations can be attached to text that precedes other blocks. */
  constructor({ openAiParameters }: Pick<Call, "openAiParameters">, form: "stream" | "whole") {
    this.#allowsParallelCalls = openAiParameters?.parallel_tool_calls !== false;
    this.#isWhole = form === "whole";
  }

  /** Paths of citations whose text block was closed; undefined: none. */
  get omitted(): readonly string[] | undefined {
    return this.#omitted;
  }

  get calls(): number {
    return this.#calls;
  }

  get refusal(): string {
    return this.#refusal;
  }

  add(event: ReplyEvent): readonly BlockStep[] {
    const before = this.#textSignature !== undefined && isBlockContent(event) ? this.#sign() : NOTHING;
    const steps = this.#add(event);
    return before.length === 0 ? steps : [...before, ...steps];
  }

  #sign(): readonly BlockStep[] {
    const signature = this.#textSignature;
    this.#textSignature = undefined;
    return signature === undefined ? NOTHING : this.#encrypted(signature, "block");
  }

  #add(event: ReplyEvent): readonly BlockStep[] {
    switch (event.is) {
      case "refusal":
        this.#refusal += event.text;
        return this.#text(event.text, 0);
      case "text":
        return this.#text(event.text, event.text.length);
      case "reasoning":
        return this.#reasoning(event.text);
      case "reasoning_detail":
        return this.#detail(event.detail);
      case "tool_call":
        return this.#call(event);
      case "tool_arguments":
        return this.#arguments(event.index, event.text);
      case "citation":
        return this.#cite(event.citation, event.path);
      case "begin":
      case "usage":
      case "finish":
      case "problem":
      case "omitted":
      case "end":
        return NOTHING;
    }
  }

  /** Flushes all queued blocks in order. */
  finish(): readonly BlockStep[] {
    const signed = this.#sign();
    for (const draft of this.#queue) {
      draft.done = true;
      if (draft.call !== undefined && draft.call.form !== "object" && draft.call.heldArguments !== "")
        draft.waiting.push({ type: "input_json_delta", partial_json: unwrapObject(draft.call.heldArguments) });
    }
    return [...signed, ...this.#advance()];
  }

  /** Citations count the characters of texts only. */
  #text(text: string, chars: number): readonly BlockStep[] {
    if (text === "") return NOTHING;
    const draft = this.#tail("text", { type: "text", text: "" });
    draft.waiting.push({ type: "text_delta", text });
    this.#textChars += chars;
    return this.#advance();
  }

  #reasoning(text: string): readonly BlockStep[] {
    if (text === "") return NOTHING;
    this.#sentReasoning += text;
    this.#tail("thinking", THINKING).waiting.push({ type: "thinking_delta", thinking: text });
    return this.#advance();
  }

  #detail(detail: ReasoningDetail): readonly BlockStep[] {
    const sentReasoning = this.#sentReasoning;
    this.#sentReasoning = "";
    if (detail.is === "encrypted") {
      const isOfText = detail.signature.family === "google" && this.#queue.at(-1)?.kind === "text";
      if (!isOfText) return this.#encrypted(detail.signature, "block");
      this.#textSignature = detail.signature;
      return NOTHING;
    }
    const { text, signature } = detail;
    const last = this.#queue.at(-1);
    const isOpen = last?.kind === "thinking" && !last.done;
    if (!isOpen && signature === null && (text === "" || text === sentReasoning)) return NOTHING;
    const draft = this.#tail("thinking", THINKING);
    if (!isOpen && text !== "") draft.waiting.push({ type: "thinking_delta", thinking: text });
    if (signature !== null)
      draft.waiting.push({ type: "signature_delta", signature: encodeSignature(signature, "block") });
    draft.done = true;
    return this.#advance();
  }

  #encrypted(signature: ReasoningSignature, carrier: "block" | "call"): readonly BlockStep[] {
    const block = { type: "redacted_thinking", data: encodeSignature(signature, carrier) };
    this.#queue.push(this.#draft({ kind: "encrypted", block, done: true }));
    return this.#advance();
  }

  /** A foreign signature precedes the call in a block of its own, because tool_use has no field for it. */
  #call({ index, id, name, signature }: Extract<ReplyEvent, { is: "tool_call" }>): readonly BlockStep[] {
    this.#calls += 1;
    if (!this.#allowsParallelCalls && this.#calls > 1) return NOTHING;
    const before = signature === null ? NOTHING : this.#encrypted(signature, "call");
    const block = { type: "tool_use", id: encodeToolId(id), name, input: {} };
    const call: OpenToolCall = { index, end: new JsonEndDetector(), form: "unknown", heldArguments: "" };
    this.#queue.push(this.#draft({ kind: "tool", block, call }));
    return [...before, ...this.#advance()];
  }

  #arguments(index: number, text: string): readonly BlockStep[] {
    const draft = this.#queue.find(({ call }) => call?.index === index);
    if (draft?.call === undefined || text === "") return NOTHING;
    const { call } = draft;
    const first = call.form === "unknown" ? text.trimStart()[0] : undefined;
    if (first !== undefined) call.form = first === "{" ? "object" : "other";
    // tool_use input must be an object; it streams as soon as its opening brace is seen.
    if (call.form !== "object") {
      call.heldArguments += text;
      return NOTHING;
    }
    call.end.feed(text);
    draft.waiting.push({ type: "input_json_delta", partial_json: text });
    return this.#advance();
  }

  /** A citation attaches to the text block that it covers, or to the last one; a closed block accepts none. */
  #cite({ url, title, start, excerpt = "" }: Citation, path: string): readonly BlockStep[] {
    const covered = start === null ? undefined : this.#texts.findLast((text) => text.start <= start);
    const draft = covered ?? this.#texts.at(-1);
    const citation = {
      type: "web_search_result_location",
      url: url ?? "",
      title,
      cited_text: excerpt,
      encrypted_index: "",
    };
    const delta = { type: "citations_delta", citation };
    if (draft !== undefined && this.#queue.includes(draft)) {
      draft.waiting.push(delta);
      return this.#advance();
    }
    if (this.#isWhole && draft?.index !== undefined) return [{ is: "delta", index: draft.index, delta }];
    this.#omitted ??= [];
    if (!this.#omitted.includes(path)) this.#omitted.push(path);
    return NOTHING;
  }

  #draft(more: Pick<BlockDraft, "kind" | "block"> & Partial<BlockDraft>): BlockDraft {
    return { waiting: [], opened: false, done: false, start: this.#textChars, ...more };
  }

  /** The last block if it continues, otherwise a new one. */
  #tail(kind: BlockDraft["kind"], block: JsonObject): BlockDraft {
    const last = this.#queue.at(-1);
    if (last?.kind === kind && !last.done) return last;
    const draft = this.#draft({ kind, block });
    this.#queue.push(draft);
    if (kind === "text") this.#texts.push(draft);
    return draft;
  }

  #advance(): readonly BlockStep[] {
    const steps: BlockStep[] = [];
    for (let first = this.#queue[0]; first !== undefined; first = this.#queue[0]) {
      const index = this.#index;
      if (!first.opened) steps.push({ is: "open", index, block: first.block });
      first.opened = true;
      first.index = index;
      for (const delta of first.waiting.splice(0)) steps.push({ is: "delta", index, delta });
      const mayClose = first.call === undefined || first.call.end.isComplete;
      if (!first.done && (this.#queue.length === 1 || !mayClose)) break;
      steps.push({ is: "close", index });
      this.#index += 1;
      this.#queue.shift();
    }
    return steps;
  }
}

const THINKING: JsonObject = { type: "thinking", thinking: "", signature: "" };

/** Some models encode their arguments twice, or write null for none. Text that is not JSON becomes a JSON string. */
function unwrapObject(text: string): string {
  if (text.trim() === "") return "{}";
  const inner = tryParseJson(text);
  if (inner === null) return "{}";
  if (typeof inner === "string" && isJsonObject(tryParseJson(inner))) return inner;
  return inner === undefined ? JSON.stringify(text) : text;
}

function isBlockContent({ is }: ReplyEvent): boolean {
  return is === "text" || is === "refusal" || is === "reasoning" || is === "reasoning_detail" || is === "tool_call";
}

/** Detects the closing bracket of a JSON object that arrives in fragments. */
class JsonEndDetector {
  #depth = 0;
  #hasBegun = false;
  #inString = false;
  #escaped = false;

  get isComplete(): boolean {
    return this.#hasBegun && this.#depth === 0;
  }

  feed(text: string): void {
    // Fragments may be long, and local variables are faster than members.
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (escaped) escaped = false;
      else if (inString) {
        if (code === BACKSLASH) escaped = true;
        else if (code === QUOTE) inString = false;
      } else if (code === QUOTE) inString = true;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        depth += 1;
        this.#hasBegun = true;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
  }
}
