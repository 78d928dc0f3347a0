import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { frameObject } from "../../../../kit/json-document.ts";
import { stringifyArguments, type TextLimits } from "../../../../kit/json-size.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { OmissionLog } from "../../reply-members.ts";
import type { ReplyContext, ReplyEventReader, StreamFrame } from "../../upstream-dialect.ts";
import { providerSignature } from "../reasoning-signatures.ts";
import { decodeStreamProblem } from "./errors.ts";
import { EVENT, REPLY } from "./members.ts";
import { decodeUsage } from "./usage.ts";

const NOTHING: readonly ReplyEvent[] = [];
const UNCHECKED_EVENTS: ReadonlySet<unknown> = new Set(["error", "response.failed", "response.cancelled", null]);
const BETWEEN_PARTS = "\n\n";

/** Text offset of each part, for parts that were streamed. */
type OpenMessage = { readonly is: "message"; readonly starts: Map<unknown, number>; cited: boolean };
/** Servers stream a summary or the reasoning itself; of both, the first wins. */
type OpenReasoning = { readonly is: "reasoning"; text: string; part: unknown; from: "summary" | "content" | undefined };
type OpenItem =
  | OpenMessage
  | OpenReasoning
  | { readonly is: "function_call"; readonly index: number; written: boolean }
  /** Item types without a canonical form. */
  | { readonly is: "other" };

/** Decodes a response item by item; a whole item is one that opens complete. */
export class ResponseReader implements ReplyEventReader {
  /** Provider name for signatures; null: no encrypted reasoning. */
  readonly #provider: string | null;
  /** By output index, because some servers change item ids between events. */
  readonly #items = new Map<unknown, OpenItem>();
  #hasBegun = false;
  #opened = 0;
  readonly #openedTypes = new Map<unknown, number>();
  #calls = 0;
  readonly #calledAt = new Set<unknown>();
  #textChars = 0;
  readonly #omissions: OmissionLog;
  readonly #text: TextLimits | undefined;

  constructor(context?: ReplyContext) {
    this.#text = context?.text;
    this.#provider = context?.facts.reasoningEncryptedBy ?? null;
    this.#omissions = new OmissionLog(context?.places ?? NO_PLACES);
  }

  read(frame: StreamFrame): readonly ReplyEvent[] | undefined {
    const body = frameObject(frame);
    if (body === undefined) return undefined;
    const { type = frame.event } = body;
    if (!UNCHECKED_EVENTS.has(type)) this.#omissions.check(body["type"] === type ? body : { ...body, type }, EVENT);
    const events = this.#readEvent(type, body);
    return events === undefined ? undefined : [...this.#omissions.events(), ...events];
  }

  #readEvent(type: unknown, body: JsonObject): readonly ReplyEvent[] | undefined {
    const { output_index: at, item, response, delta } = body;
    switch (type) {
      case "response.output_text.delta":
        return this.#addText("text", this.#message(at), body["content_index"], delta);
      case "response.refusal.delta":
        return this.#addText("refusal", this.#message(at), body["content_index"], delta);
      case "response.function_call_arguments.delta":
        return this.#addArguments(at, delta);
      case "response.reasoning_summary_text.delta":
        return this.#addReasoning("summary", at, body["summary_index"], delta);
      case "response.reasoning_text.delta":
        return this.#addReasoning("content", at, body["content_index"], delta);
      case "response.output_text.annotation.added":
        return this.#addCitation(at, body["content_index"], body["annotation"]);
      case "response.output_item.added":
        return this.#open(at, item);
      case "response.output_item.done":
        return this.#done(at, item);
      case "response.created":
      case "response.in_progress":
      case "response.queued":
        return this.#begin(response);
      case "response.completed":
        return this.end(response, "completed");
      case "response.incomplete":
        return this.end(response, "incomplete");
      case "response.failed":
      case "response.cancelled":
      case "error":
        return [{ is: "problem", problem: decodeStreamProblem(body) }];
      case null:
        return body["error"] == null ? undefined : [{ is: "problem", problem: decodeStreamProblem(body) }];
      default:
        // Part ends, keep-alives and unknown events.
        return NOTHING;
    }
  }

  #begin(response: unknown): readonly ReplyEvent[] {
    if (this.#hasBegun) return NOTHING;
    this.#hasBegun = true;
    const id = isJsonObject(response) ? textIn(response["id"]) : "";
    return [{ is: "begin", upstreamId: id || null }];
  }

  /** Undefined for a known item type with an invalid shape. */
  #open(at: unknown, item: unknown): readonly ReplyEvent[] | undefined {
    if (!isJsonObject(item)) return undefined;
    this.#opened += 1;
    const { type } = item;
    this.#openedTypes.set(type, (this.#openedTypes.get(type) ?? 0) + 1);
    if (type !== "function_call") {
      this.#items.set(at, newItem(type));
      return NOTHING;
    }
    const name = textIn(item["name"]);
    if (name === "") return undefined;
    const index = this.#calls++;
    this.#calledAt.add(at);
    this.#items.set(at, { is: "function_call", index, written: false });
    const id = textIn(item["call_id"]) || textIn(item["id"]) || `call_${index}`;
    return [{ is: "tool_call", index, id, name, signature: null }];
  }

  #addText(is: "text" | "refusal", message: OpenMessage, part: unknown, value: unknown): readonly ReplyEvent[] {
    const text = textIn(value);
    if (text === "") return NOTHING;
    this.#start(message, part);
    if (is === "text") this.#textChars += text.length;
    return [{ is, text }];
  }

  #start({ starts }: OpenMessage, part: unknown): number {
    const start = starts.get(part) ?? this.#textChars;
    starts.set(part, start);
    return start;
  }

  /** Some compatible servers omit the opening event. */
  #message(at: unknown): OpenMessage {
    const known = this.#items.get(at);
    return known?.is === "message" ? known : this.#forgotten(at, newMessage());
  }

  #forgotten<Forgotten extends OpenItem>(at: unknown, item: Forgotten): Forgotten {
    this.#opened += 1;
    this.#openedTypes.set(item.is, (this.#openedTypes.get(item.is) ?? 0) + 1);
    this.#items.set(at, item);
    return item;
  }

  #addReasoning(from: "summary" | "content", at: unknown, part: unknown, value: unknown): readonly ReplyEvent[] {
    const known = this.#items.get(at);
    const item = known?.is === "reasoning" ? known : this.#forgotten(at, newReasoning());
    const piece = textIn(value);
    item.from ??= from;
    if (piece === "") return NOTHING;
    if (item.from !== from) {
      this.#omissions.add(`output[].${from}`);
      return NOTHING;
    }
    const text = item.text === "" || item.part === part ? piece : BETWEEN_PARTS + piece;
    item.part = part;
    item.text += text;
    return [{ is: "reasoning", text }];
  }

  /** Deltas of unnamed calls are ignored; their arguments follow with the completed item. */
  #addArguments(at: unknown, value: unknown): readonly ReplyEvent[] {
    const item = this.#items.get(at);
    const text = textIn(value);
    if (item?.is !== "function_call" || text === "") return NOTHING;
    item.written = true;
    return [{ is: "tool_arguments", index: item.index, text }];
  }

  #addCitation(at: unknown, part: unknown, annotation: unknown): readonly ReplyEvent[] {
    const message = this.#message(at);
    message.cited = true;
    return citationIn(annotation, this.#start(message, part));
  }

  /** Emits what the deltas did not contain. */
  #done(at: unknown, item: unknown): readonly ReplyEvent[] | undefined {
    const opened = this.#items.has(at) ? NOTHING : this.#open(at, item);
    if (opened === undefined || !isJsonObject(item)) return undefined;
    return [...opened, ...this.#close(at, item)];
  }

  #close(at: unknown, whole: JsonObject): readonly ReplyEvent[] {
    const item = this.#items.get(at);
    this.#items.delete(at);
    switch (item?.is) {
      case "message":
        return this.#closeMessage(item, whole);
      case "reasoning":
        return this.#closeThoughts(item, whole);
      case "function_call":
        if (item.written) return NOTHING;
        return [{ is: "tool_arguments", index: item.index, text: argumentsText(whole["arguments"], this.#text) }];
      default:
        return NOTHING;
    }
  }

  #closeMessage(message: OpenMessage, { content }: JsonObject): readonly ReplyEvent[] {
    const isStreamed = message.starts.size > 0;
    return objectsIn(content).flatMap((part, partIndex) => {
      const value = isStreamed ? NOTHING : this.#part(message, partIndex, part);
      if (message.cited) return value;
      const start = this.#start(message, partIndex);
      return [...value, ...listIn(part["annotations"]).flatMap((annotation) => citationIn(annotation, start))];
    });
  }

  #part(message: OpenMessage, partIndex: number, part: JsonObject): readonly ReplyEvent[] {
    if (part["type"] === "refusal") return this.#addText("refusal", message, partIndex, part["refusal"]);
    return part["type"] === "output_text" ? this.#addText("text", message, partIndex, part["text"]) : NOTHING;
  }

  #closeThoughts(item: OpenReasoning, { summary, content, encrypted_content }: JsonObject): readonly ReplyEvent[] {
    const [summaryText, contentText] = [joinTexts(summary), joinTexts(content)];
    if (summaryText !== "" && contentText !== "") this.#omissions.add("output[].content");
    const unstreamed = item.text === "" ? summaryText || contentText : "";
    const text = item.text + unstreamed;
    const encrypted = textIn(encrypted_content);
    if (this.#provider === null && encrypted !== "") this.#omissions.add("output[].encrypted_content");
    const signature = this.#provider === null || encrypted === "" ? null : providerSignature(this.#provider, encrypted);
    const emitted: ReplyEvent[] = unstreamed === "" ? [] : [{ is: "reasoning", text: unstreamed }];
    if (text !== "") return [...emitted, { is: "reasoning_detail", detail: { is: "readable", text, signature } }];
    return signature === null ? NOTHING : [{ is: "reasoning_detail", detail: { is: "encrypted", signature } }];
  }

  /** A whole response is checked at once, a stream event by event. */
  whole(response: JsonObject): readonly ReplyEvent[] | undefined {
    this.#omissions.check(response, REPLY);
    const events = this.end(response, "completed");
    return events === undefined
      ? undefined
      : [...events.slice(0, -1), ...this.#omissions.events(), ...events.slice(-1)];
  }

  /** Undefined if the final event has no valid response. */
  end(response: unknown, how: "completed" | "incomplete"): readonly ReplyEvent[] | undefined {
    if (!isJsonObject(response) || !isCompleteResponse(response)) return undefined;
    const output = listIn(response["output"]);
    const events: ReplyEvent[] = [...this.#begin(response)];
    for (const [at, item] of this.#unstreamed(output)) {
      const emitted = this.#done(at, item);
      if (emitted === undefined) return undefined;
      events.push(...emitted);
    }
    for (const [at, { is }] of [...this.#items]) events.push(...this.#close(at, itemAt(output, at, is)));
    const usage = decodeUsage(response["usage"]);
    if (usage !== undefined) events.push({ is: "usage", usage });
    const isIncomplete = how === "incomplete" || response["status"] === "incomplete";
    const reason = isIncomplete
      ? incompleteReason(response["incomplete_details"])
      : this.#calls > 0
        ? "tool_calls"
        : "stop";
    return [...events, { is: "finish", reason }, { is: "end" }];
  }

  /** All items if nothing was streamed, otherwise only tool calls that were not. */
  #unstreamed(output: readonly unknown[]): readonly (readonly [number, unknown])[] {
    const entries = [...output.entries()];
    if (this.#opened === 0) return entries;
    // Items are not matched by id or position, so a message that was not streamed cannot be told from one that was.
    for (const [type, count] of countTypes(output))
      if (type !== "function_call" && count > (this.#openedTypes.get(type) ?? 0))
        this.#omissions.add("output[]", { isContent: true });
    const calls = entries.filter(([, item]) => isCall(item));
    return calls.length > this.#calls ? calls.filter(([at]) => !this.#calledAt.has(at)) : [];
  }
}

function countTypes(output: readonly unknown[]): ReadonlyMap<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const { type } of objectsIn(output)) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

function isCall(item: unknown): boolean {
  return isJsonObject(item) && item["type"] === "function_call";
}

function newMessage(): OpenMessage {
  return { is: "message", starts: new Map(), cited: false };
}

function newReasoning(): OpenReasoning {
  return { is: "reasoning", text: "", part: undefined, from: undefined };
}

function newItem(type: unknown): OpenItem {
  if (type === "message") return newMessage();
  return type === "reasoning" ? newReasoning() : { is: "other" };
}

function itemAt(output: readonly unknown[], at: unknown, is: OpenItem["is"]): JsonObject {
  const item = typeof at === "number" ? output[at] : undefined;
  return isJsonObject(item) && item["type"] === is ? item : {};
}

function incompleteReason(details: unknown): FinishReason {
  return isJsonObject(details) && details["reason"] === "content_filter" ? "content_filter" : "length";
}

function citationIn(annotation: unknown, start: number): readonly ReplyEvent[] {
  if (!isJsonObject(annotation) || annotation["type"] !== "url_citation") return NOTHING;
  const { url, title, start_index, end_index } = annotation;
  const citation = {
    url: textIn(url) || null,
    title: textIn(title) || null,
    start: offsetIn(start_index, start),
    end: offsetIn(end_index, start),
  };
  return [{ is: "citation", citation, path: "output[].content[].annotations[]" }];
}

function offsetIn(value: unknown, start: number): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? start + value : null;
}

/** A call without arguments has an empty object; anything but text is kept as JSON. */
function argumentsText(value: unknown, limits: TextLimits | undefined): string {
  return typeof value === "object" && value !== null ? stringifyArguments(value, limits) : textIn(value) || "{}";
}

function joinTexts(parts: unknown): string {
  const texts = objectsIn(parts).map(({ text }) => textIn(text));
  return texts.filter((text) => text !== "").join(BETWEEN_PARTS);
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectsIn(value: unknown): readonly JsonObject[] {
  return listIn(value).filter(isJsonObject);
}

/** Servers may omit the status. */
const COMPLETE_STATUSES: ReadonlySet<unknown> = new Set(["completed", "incomplete", null, undefined]);

export function isCompleteResponse({ output, status, error }: JsonObject): boolean {
  return Array.isArray(output) && COMPLETE_STATUSES.has(status) && error == null;
}
