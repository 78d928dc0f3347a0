import { isJsonObject, type JsonObject, tryParseJson } from "../../../../kit/json.ts";
import { parseBoundedLosslessJson } from "../../../../kit/lossless-json.ts";
import type { ReasoningDetail, ReasoningSignature } from "../../../canon/parts.ts";
import type { Citation, ReplyEvent } from "../../../canon/reply-events.ts";
import { encodeThoughtSignature } from "../thought-signatures.ts";

type ToolCallDraft = {
  readonly id: string;
  readonly name: string;
  readonly signature: ReasoningSignature | null;
  readonly details: readonly ReasoningDetail[];
  argumentsText: string;
};

const NOTHING: readonly JsonObject[] = [];

/**
 * The parts of one candidate, in order. Function calls are whole in this format, so they wait until something else follows.
 * Reasoning that must come back is sealed on the next part: some clients return no thoughts.
 */
export class PartsEncoder {
  readonly #showsThoughts: boolean;
  readonly #calls = new Map<number, ToolCallDraft>();
  #details: ReasoningDetail[] = [];
  #text = "";
  #refusal = "";
  readonly #citations: Citation[] = [];

  constructor(showsThoughts: boolean) {
    this.#showsThoughts = showsThoughts;
  }

  get refusal(): string {
    return this.#refusal;
  }

  add(event: ReplyEvent): readonly JsonObject[] {
    switch (event.is) {
      case "text":
      case "refusal":
        if (event.is === "refusal") this.#refusal += event.text;
        return event.text === "" ? NOTHING : [...this.#flushCalls(), this.#textPart(event.text)];
      case "reasoning":
        if (event.text === "" || !this.#showsThoughts) return NOTHING;
        return [...this.#flushCalls(), { text: event.text, thought: true }];
      case "reasoning_detail":
        return this.#detail(event.detail);
      case "tool_call": {
        const { id, name, signature, index } = event;
        this.#calls.set(index, { id, name, signature, details: this.#details, argumentsText: "" });
        this.#details = [];
        return NOTHING;
      }
      case "tool_arguments": {
        const call = this.#calls.get(event.index);
        if (call !== undefined) call.argumentsText += event.text;
        return NOTHING;
      }
      case "citation":
        this.#citations.push(event.citation);
        return NOTHING;
      default:
        return NOTHING;
    }
  }

  /** The remaining parts. */
  finish(): readonly JsonObject[] {
    const parts = this.#flushCalls();
    const thoughtSignature = encodeThoughtSignature({ details: this.#details });
    this.#details = [];
    return thoughtSignature === undefined ? parts : [...parts, { text: "", thoughtSignature }];
  }

  /** The sources of the whole text; positions count bytes. */
  grounding(): JsonObject {
    if (this.#citations.length === 0) return {};
    const bytesBefore = (unit: number) => Buffer.byteLength(this.#text.slice(0, unit));
    const sources = [...new Map(this.#citations.map((one) => [sourceKey(one), one])).values()];
    const groundingChunks = sources.map(({ url, title }) => ({
      web: { ...(url === null ? {} : { uri: url }), ...(title === null ? {} : { title }) },
    }));
    const groundingSupports = this.#citations.flatMap((citation) => {
      const { start, end } = citation;
      if (start === null || end === null) return [];
      const index = sources.findIndex((source) => sourceKey(source) === sourceKey(citation));
      const segment = {
        startIndex: bytesBefore(start),
        endIndex: bytesBefore(end),
        text: this.#text.slice(start, end),
      };
      return [{ segment, groundingChunkIndices: [index] }];
    });
    const supports = groundingSupports.length === 0 ? {} : { groundingSupports };
    return { groundingMetadata: { groundingChunks, ...supports } };
  }

  #textPart(text: string): JsonObject {
    this.#text += text;
    const thoughtSignature = encodeThoughtSignature({ details: this.#details });
    this.#details = [];
    return thoughtSignature === undefined ? { text } : { text, thoughtSignature };
  }

  /** Google's signature belongs to the text before it, so it follows on an empty part. */
  #detail(detail: ReasoningDetail): readonly JsonObject[] {
    if (detail.is === "encrypted" && detail.signature.family === "google" && this.#text !== "") {
      const thoughtSignature = encodeThoughtSignature({ details: [detail] });
      return [...this.#flushCalls(), { text: "", thoughtSignature }];
    }
    this.#details.push(detail);
    return NOTHING;
  }

  #flushCalls(): readonly JsonObject[] {
    if (this.#calls.size === 0) return NOTHING;
    const calls = [...this.#calls].toSorted(([a], [b]) => a - b).map(([, call]) => encodeCall(call));
    this.#calls.clear();
    return calls;
  }
}

function sourceKey({ url, title }: Citation): string {
  return JSON.stringify([url, title]);
}

function encodeCall({ id, name, signature, details, argumentsText }: ToolCallDraft): JsonObject {
  const thoughtSignature = encodeThoughtSignature({ details, ...(signature === null ? {} : { call: signature }) });
  return {
    functionCall: { id, name, args: argumentsOf(argumentsText) },
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  };
}

/** Arguments are an object in this format: truncated or other JSON is carried as text, which no function accepts by mistake. */
function argumentsOf(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = tryParseJson(text);
  if (value === null) return {};
  if (isJsonObject(value)) return exact(text) ?? value;
  if (typeof value === "string") {
    const inner = tryParseJson(value);
    if (isJsonObject(inner)) return exact(value) ?? inner;
  }
  return { _invalid_arguments: text };
}

function exact(text: string): JsonObject | undefined {
  const value = parseBoundedLosslessJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** One list of parts as a client would assemble it from a stream. */
export function mergeParts(parts: readonly JsonObject[]): readonly JsonObject[] {
  const merged: JsonObject[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    const { text, thought } = part;
    const continues =
      typeof text === "string" &&
      last !== undefined &&
      typeof last["text"] === "string" &&
      last["thought"] === thought &&
      (last["thoughtSignature"] === undefined || last["text"] !== "");
    // A signature begins its text, or has an empty part of its own.
    if (continues && part["thoughtSignature"] === undefined)
      merged[merged.length - 1] = { ...last, text: `${last["text"]}${text}` };
    else merged.push(part);
  }
  return merged;
}
