import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { frameObject } from "../../../../kit/json-document.ts";
import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { OmissionLog } from "../../reply-members.ts";
import type { ReplyContext, ReplyEventReader, StreamFrame } from "../../upstream-dialect.ts";
import { decodeToolId } from "../tool-ids.ts";
import { WireBlock, WireCitation, WireStart, WireStop } from "../wire.ts";
import { decodeProblem } from "./errors.ts";
import { EVENT, REPLY } from "./members.ts";
import { UsageAccumulator } from "./usage.ts";

const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

const NOTHING: readonly ReplyEvent[] = [];

/** `other`: blocks without a canonical form, such as server tools. */
type Block =
  | { readonly is: "text"; readonly start: number; readonly citations: WireCitation[] }
  | { readonly is: "thinking"; text: string; signature: string }
  | { readonly is: "tool"; readonly index: number; readonly input: unknown; written: boolean }
  | { readonly is: "other" };

/** Decodes a reply block by block; a whole block is one that opens complete. */
export class MessageReader implements ReplyEventReader {
  readonly #blocks = new Map<unknown, Block>();
  readonly #usage = new UsageAccumulator();
  #hasBegun = false;
  #calls = 0;
  #textChars = 0;
  #reason: FinishReason = "stop";
  readonly #omissions: OmissionLog;
  readonly #limits: TextLimits | undefined;

  constructor(context?: ReplyContext) {
    this.#limits = context?.text;
    this.#omissions = new OmissionLog(context?.places ?? NO_PLACES);
  }

  read(frame: StreamFrame): readonly ReplyEvent[] | undefined {
    const body = frameObject(frame);
    if (body === undefined) return undefined;
    const type = body["type"] ?? frame.event;
    if (typeof type === "string" && type !== "error")
      this.#omissions.check(body["type"] === undefined ? { ...body, type } : body, EVENT);
    const events = this.#readEvent(type, body);
    return events === undefined ? undefined : [...events, ...this.#omissions.events()];
  }

  #readEvent(type: unknown, body: JsonObject): readonly ReplyEvent[] | undefined {
    switch (type) {
      case "content_block_delta":
        return this.#grow(body["index"], body["delta"]);
      case "message_start":
        return this.begin(body["message"]);
      case "content_block_start":
        return this.open(body["index"], body["content_block"]);
      case "content_block_stop":
        return this.close(body["index"]);
      case "message_delta":
        return [...this.readUsage(body["usage"]), ...this.stop(body["delta"])];
      case "message_stop":
        // message_stop without message_start is not a reply.
        return this.#hasBegun ? this.end() : undefined;
      case "error":
        return [{ is: "problem", problem: decodeProblem(body, null) }];
      default:
        // Pings and unknown events.
        return NOTHING;
    }
  }

  /** A whole reply is checked at once, a stream event by event. */
  omitted(message: unknown): readonly ReplyEvent[] {
    this.#omissions.check(message, REPLY);
    return this.#omissions.events();
  }

  begin(message: unknown): readonly ReplyEvent[] | undefined {
    const start = WireStart.safeParse(message);
    if (!start.success) return undefined;
    this.#hasBegun = true;
    return [{ is: "begin", upstreamId: start.data.id || null }, ...this.readUsage(start.data.usage)];
  }

  readUsage(usage: unknown): readonly ReplyEvent[] {
    const reported = this.#usage.add(usage);
    return reported === undefined ? NOTHING : [{ is: "usage", usage: reported }];
  }

  open(index: unknown, content: unknown): readonly ReplyEvent[] | undefined {
    this.#hasBegun = true;
    const parsedBlock = WireBlock.safeParse(content);
    if (!parsedBlock.success) {
      this.#blocks.set(index, { is: "other" });
      return hasKnownType(content) ? undefined : NOTHING;
    }
    const block = parsedBlock.data;
    switch (block.type) {
      case "text":
        this.#blocks.set(index, { is: "text", start: this.#textChars, citations: [...(block.citations ?? [])] });
        return this.#text(block.text);
      case "thinking":
        this.#blocks.set(index, { is: "thinking", text: block.thinking ?? "", signature: block.signature ?? "" });
        return block.thinking ? [{ is: "reasoning", text: block.thinking }] : NOTHING;
      case "redacted_thinking":
        this.#blocks.set(index, { is: "other" });
        return [
          { is: "reasoning_detail", detail: { is: "encrypted", signature: { family: "anthropic", data: block.data } } },
        ];
      case "tool_use": {
        const call = this.#calls++;
        this.#blocks.set(index, { is: "tool", index: call, input: block.input ?? {}, written: false });
        return [{ is: "tool_call", index: call, id: decodeToolId(block.id), name: block.name, signature: null }];
      }
    }
  }

  #grow(index: unknown, delta: unknown): readonly ReplyEvent[] | undefined {
    if (!isJsonObject(delta)) return undefined;
    const block = this.#blocks.get(index);
    switch (delta["type"]) {
      case "text_delta":
        return this.#text(delta["text"]);
      case "thinking_delta":
        return typeof delta["thinking"] === "string" ? appendThinking(block, delta["thinking"]) : undefined;
      case "input_json_delta":
        return typeof delta["partial_json"] === "string" ? appendArguments(block, delta["partial_json"]) : undefined;
      case "signature_delta":
        if (block?.is === "thinking" && typeof delta["signature"] === "string") block.signature += delta["signature"];
        return NOTHING;
      case "citations_delta": {
        const citation = WireCitation.safeParse(delta["citation"]);
        if (block?.is === "text" && citation.success) block.citations.push(citation.data);
        return NOTHING;
      }
      default:
        return NOTHING;
    }
  }

  #text(text: unknown): readonly ReplyEvent[] {
    if (typeof text !== "string" || text === "") return NOTHING;
    this.#textChars += text.length;
    return [{ is: "text", text }];
  }

  close(index: unknown): readonly ReplyEvent[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    switch (block?.is) {
      case "thinking": {
        const { text, signature: data } = block;
        if (text === "" && data === "") return NOTHING;
        const signature = data === "" ? null : { family: "anthropic" as const, data };
        return [{ is: "reasoning_detail", detail: { is: "readable", text, signature } }];
      }
      case "tool":
        return block.written
          ? NOTHING
          : [{ is: "tool_arguments", index: block.index, text: argumentsText(block.input, this.#limits) }];
      case "text":
        return block.citations.map((citation) => this.#citation(citation, block.start));
      default:
        return NOTHING;
    }
  }

  /** A citation covers its whole block. */
  #citation({ url, source, title, document_title, cited_text }: WireCitation, start: number): ReplyEvent {
    const citation = {
      url: url ?? source ?? null,
      title: title ?? document_title ?? null,
      start,
      end: this.#textChars,
      ...(cited_text ? { excerpt: cited_text } : {}),
    };
    return { is: "citation", citation, path: "content[].citations[]" };
  }

  /** The finish event is emitted at the end of the stream only. */
  stop(delta: unknown): readonly ReplyEvent[] {
    const stop = WireStop.safeParse(delta);
    if (!stop.success) return NOTHING;
    const { stop_reason, stop_details } = stop.data;
    if (stop_reason) this.#reason = FINISHES[stop_reason] ?? "stop";
    if (!stop_details?.explanation) return NOTHING;
    if (stop_reason === "refusal") return [{ is: "refusal", text: stop_details.explanation }];
    this.#omissions.add("stop_details.explanation");
    return NOTHING;
  }

  /** Some compatible servers omit block ends. */
  end(): readonly ReplyEvent[] {
    const closed = [...this.#blocks.keys()].flatMap((index) => this.close(index));
    return [...closed, { is: "finish", reason: this.#reason }, { is: "end" }];
  }
}

/** Input that is not an object stays as it is. */
function argumentsText(input: unknown, limits: TextLimits | undefined): string {
  return typeof input === "string" ? input : stringifyArguments(input, limits);
}

const KNOWN_TYPES: ReadonlySet<unknown> = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Known block type with an invalid shape: the reply cannot be decoded. */
function hasKnownType(content: unknown): boolean {
  return !isJsonObject(content) || KNOWN_TYPES.has(content["type"]);
}

function appendThinking(block: Block | undefined, text: string): readonly ReplyEvent[] {
  if (block?.is !== "thinking" || text === "") return NOTHING;
  block.text += text;
  return [{ is: "reasoning", text }];
}

/** Arguments of server tools are ignored. */
function appendArguments(block: Block | undefined, text: string): readonly ReplyEvent[] {
  if (block?.is !== "tool" || text === "") return NOTHING;
  block.written = true;
  return [{ is: "tool_arguments", index: block.index, text }];
}
