import { fault } from "../../../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { parseLosslessJson } from "../../../../kit/lossless-json.ts";
import type { Call } from "../../../canon/call.ts";
import type { ConversationTurn, MediaSource, Part, ToolCallPart, ToolResultPart } from "../../../canon/parts.ts";
import { sniffMediaType } from "../../media.ts";
import { decodeCallArguments, resultText } from "../../tool-encoding.ts";

type WireContent = { readonly role: "user" | "model"; readonly parts: JsonObject[] };

/**
 * How the model expects tool calls in the history: older models by name and order, newer ones with ids and
 * signatures.
 */
type ToolCallForm = "plain" | "signed";

/** Documented placeholder for calls of other models or with a lost signature. */
const SKIP_SIGNATURE_CHECK = "skip_thought_signature_validator";

export function encodeTurns(
  turns: Call["turns"],
  form: ToolCallForm,
): { readonly system: readonly JsonObject[]; readonly contents: readonly WireContent[] } {
  const encoded = turns.findIndex(({ role }) => role !== "system" && role !== "developer");
  const writer = new ContentWriter(form);
  // Without other turns, instructions become the conversation.
  const leading = encoded < 0 ? [] : turns.slice(0, encoded);
  for (const [index, turn] of turns.entries()) if (index >= leading.length) writer.turn(turn, index);
  return { system: leading.flatMap(({ parts }) => parts.flatMap(textPart)), contents: writer.finish() };
}

function textPart(part: Part): JsonObject[] {
  return (part.is === "text" || part.is === "refusal") && part.text !== "" ? [{ text: part.text }] : [];
}

type FunctionResult = { readonly order: number; readonly parts: readonly JsonObject[] };

class ContentWriter {
  readonly #form: ToolCallForm;
  readonly #contents: WireContent[] = [];
  /** Calls by id, because results state only the id and the API requires the name. */
  readonly #calls = new Map<string, { readonly name: string; readonly order: number }>();
  /** Unanswered calls with the path of their field. */
  readonly #open = new Map<string, string>();
  #order = 0;
  /** User content between two model turns: results first, then everything else. */
  #results: FunctionResult[] = [];
  #userParts: JsonObject[] = [];

  constructor(form: ToolCallForm) {
    this.#form = form;
  }

  turn(turn: ConversationTurn, index: number): void {
    if (turn.role === "assistant") {
      if (this.#results.length + this.#userParts.length > 0) this.#checkAnswered();
      this.#flush();
      this.#push("model", this.#modelParts(turn, index));
      return;
    }
    for (const [at, part] of turn.parts.entries()) {
      if (part.is === "tool_result") this.#results.push(this.#result(part, `messages.${index}.tool_call_id`));
      else this.#userPart(part, `messages.${index}.content.${at}`);
    }
  }

  finish(): readonly WireContent[] {
    this.#checkAnswered();
    this.#flush();
    if (this.#contents.length === 0)
      throw fault("invalid_value", {
        message: "messages must have at least one turn with content.",
        param: "messages",
      });
    return this.#contents;
  }

  /** Adjacent turns of one role are merged. */
  #push(role: WireContent["role"], parts: readonly JsonObject[]): void {
    if (parts.length === 0) return;
    const last = this.#contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.#contents.push({ role, parts: [...parts] });
  }

  #userPart(part: Part, param: string): void {
    switch (part.is) {
      case "text":
      case "refusal":
        this.#userParts.push({ text: part.text });
        return;
      case "image":
      case "audio":
      case "file":
        this.#userParts.push(inlineData(part.source, param));
        return;
      case "reasoning":
      case "tool_call":
      case "tool_result":
        return;
    }
  }

  /** Results of parallel calls form one turn, in the order of the calls. */
  #flush(): void {
    const sorted = this.#results.toSorted((a, b) => a.order - b.order);
    this.#push("user", [...sorted.flatMap(({ parts }) => parts), ...this.#userParts]);
    this.#results = [];
    this.#userParts = [];
  }

  #result(part: ToolResultPart, param: string): FunctionResult {
    const knownCall = this.#calls.get(part.callId);
    if (knownCall === undefined) {
      throw fault("invalid_value", {
        message: `${param}: there is no earlier tool call with the id "${part.callId.slice(0, 64)}".`,
        param,
      });
    }
    this.#open.delete(part.callId);
    const text = resultText(part.content);
    const response = part.failed ? { error: valueIn(text) } : structOf(text);
    const images = part.content.flatMap((inner) => (inner.is === "image" ? [inlineData(inner.source, param)] : []));
    return {
      order: knownCall.order,
      parts: [{ functionResponse: { ...this.#id(part.callId), name: knownCall.name, response } }, ...images],
    };
  }

  #checkAnswered(): void {
    for (const [id, param] of this.#open)
      throw fault("invalid_value", {
        message: `${param}: the tool call ${id.slice(0, 64)} has no result. Send its result directly after it.`,
        param,
      });
  }

  #id(callId: string): JsonObject {
    return this.#form === "signed" ? { id: callId } : {};
  }

  #modelParts({ parts }: ConversationTurn, index: number): JsonObject[] {
    let calls = 0;
    const write = (call: ToolCallPart) => this.#call(call, calls, `messages.${index}.tool_calls.${calls++}`);
    if (hasExplicitOrder(parts)) return signInOrder(parts, write);
    return [...signTexts(parts), ...parts.filter((part) => part.is === "tool_call").map(write)];
  }

  #call(call: ToolCallPart, at: number, param: string): JsonObject {
    this.#calls.set(call.id, { name: call.name, order: this.#order });
    this.#open.set(call.id, param);
    this.#order += 1;
    const signatureData = call.signature?.family === "google" ? call.signature.data : undefined;
    // Only the first of parallel calls is signed.
    const signature = signatureData ?? (this.#form === "signed" && at === 0 ? SKIP_SIGNATURE_CHECK : undefined);
    return {
      functionCall: {
        ...this.#id(call.id),
        name: call.name,
        args: decodeCallArguments(call, param),
      },
      ...(signature === undefined ? {} : { thoughtSignature: signature }),
    };
  }
}

/** In chat messages reasoning, text and calls are separate fields; only other dialects have another order. */
const FIELD_ORDER: Readonly<Partial<Record<Part["is"], number>>> = { reasoning: 0, tool_call: 2 };

function hasExplicitOrder(parts: readonly Part[]): boolean {
  const ranks = parts.map(({ is }) => FIELD_ORDER[is] ?? 1);
  return ranks.some((rank, at) => rank < (ranks[at - 1] ?? 0));
}

function googleSignature(part: Part): string | undefined {
  const signature = part.is === "reasoning" ? part.detail.signature : null;
  return signature?.family === "google" ? signature.data : undefined;
}

/** Keeps the order of the model: a signature belongs to the preceding text or to an empty part. */
function signInOrder(parts: readonly Part[], write: (call: ToolCallPart) => JsonObject): JsonObject[] {
  const encoded: JsonObject[] = [];
  for (const part of parts) {
    if (part.is === "tool_call") encoded.push(write(part));
    else encoded.push(...textPart(part));
    const thoughtSignature = googleSignature(part);
    if (thoughtSignature === undefined) continue;
    const last = encoded.at(-1);
    const isOpen = last !== undefined && "text" in last && last["thoughtSignature"] === undefined;
    if (isOpen) encoded.pop();
    encoded.push({ ...(isOpen ? last : { text: "" }), thoughtSignature });
  }
  return encoded;
}

/** Without a known order the last signature goes to the last text and others to empty parts. */
function signTexts(parts: readonly Part[]): JsonObject[] {
  const texts = parts.flatMap(textPart);
  const signatures = parts.flatMap((part) => googleSignature(part) ?? []);
  const last = texts.pop() ?? (signatures.length > 0 ? { text: "" } : undefined);
  if (last === undefined) return [];
  const signatureData = signatures.pop();
  const others = signatures.map((data) => ({ text: "", thoughtSignature: data }));
  return [...texts, ...others, signatureData === undefined ? last : { ...last, thoughtSignature: signatureData }];
}

/** Lossless JSON of an object or array; otherwise undefined. */
function structIn(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return parseLosslessJson(text);
  } catch {
    return undefined;
  }
}

/** The API requires an object. */
function structOf(text: string): JsonObject {
  const value = valueIn(text);
  return isJsonObject(value) ? value : { result: value };
}

function valueIn(text: string): unknown {
  return structIn(text) ?? text;
}

/** The provider rejects names such as image/jpg, so the sniffed type wins. */
function inlineData(source: MediaSource, param: string): JsonObject {
  if (source.is === "inline") {
    const mimeType = sniffMediaType(source.base64) ?? source.mediaType;
    return { inlineData: { mimeType, data: source.base64 } };
  }
  throw fault("invalid_value", {
    message: `${param}: this model supports inline media only. Send it as a data URL.`,
    param,
  });
}
