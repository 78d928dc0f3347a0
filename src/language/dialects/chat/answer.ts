import type { JsonObject } from "../../../kit/json.ts";
import type { AnswerStream, Piece, ShownCost, WholeAnswer } from "../../canon/answer.ts";
import type { AnswerEvent, Citation, FinishReason } from "../../canon/events.ts";
import type { ReasoningSeal } from "../../canon/parts.ts";
import type { Usage } from "../../canon/usage.ts";
import type { EventReader, Frame } from "../dialect.ts";
import { encodeDetail } from "./details.ts";
import { encodeUsage } from "./reply.ts";

/** What stands in every object of one answer. */
export type AnswerHead = { readonly id: string; readonly createdSeconds: number; readonly model: string };

/** Canonical events as a chat-completions stream. */
class ChunkWriter {
  readonly #before: string;
  readonly #after: string;
  readonly #usageNull: string;
  #details = 0;

  constructor(head: AnswerHead, includeUsage: boolean) {
    const text = JSON.stringify({
      id: head.id,
      object: "chat.completion.chunk",
      created: head.createdSeconds,
      model: head.model,
    });
    this.#usageNull = includeUsage ? ',"usage":null' : "";
    this.#before = `data: ${text.slice(0, -1)},"choices":[{"index":0,"delta":`;
    this.#after = `,"logprobs":null,"finish_reason":null}]${this.#usageNull}}\n\n`;
  }

  role(): string {
    return `${this.#before}{"role":"assistant","content":"","refusal":null}${this.#after}`;
  }

  /** The client's text of one event; "" for events that are not shown as they come. */
  write(event: AnswerEvent): string {
    const delta = this.#delta(event);
    if (delta !== undefined) return `${this.#before}${JSON.stringify(delta)}${this.#after}`;
    if (event.is !== "finish") return "";
    return `${this.#before}{},"logprobs":null,"finish_reason":"${event.reason}"}]${this.#usageNull}}\n\n`;
  }

  #delta(event: AnswerEvent): JsonObject | undefined {
    switch (event.is) {
      case "text":
        return { content: event.text };
      case "refusal":
        return { refusal: event.text };
      case "reasoning":
        return { reasoning_content: event.text };
      case "reasoning_detail":
        return { reasoning_details: [encodeDetail(event.detail, this.#details++)] };
      case "tool_call":
        return { tool_calls: [{ index: event.index, ...toolCall(event.id, event.name, "", event.signature) }] };
      case "tool_arguments":
        return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
      case "citation":
        return { annotations: [annotation(event.citation)] };
      case "begin":
      case "figures":
      case "finish":
      case "problem":
      case "end":
        return undefined;
    }
  }
}

function toolCall(id: string, name: string, argumentsText: string, signature: ReasoningSeal | null): JsonObject {
  const extra =
    signature?.family === "google" ? { extra_content: { google: { thought_signature: signature.data } } } : {};
  return { id, type: "function", function: { name, arguments: argumentsText }, ...extra };
}

function annotation({ url, title, start, end }: Citation): JsonObject {
  return {
    type: "url_citation",
    url_citation: { url: url ?? "", title: title ?? "", start_index: start ?? 0, end_index: end ?? 0 },
  };
}

/** A stream of another dialect, read into canonical events and written as chunks of this one. */
export class TranslatedStream implements AnswerStream {
  readonly #reader: EventReader;
  readonly #head: AnswerHead;
  readonly #includeUsage: boolean;
  readonly #writer: ChunkWriter;
  #begun = false;
  #usage: Usage | undefined;
  #outputChars = 0;
  #upstreamId: string | null = null;
  /** Kept back until the end: some servers state a reason on every frame, and only the last one is true. */
  #finish: Extract<AnswerEvent, { is: "finish" }> | undefined;

  constructor(reader: EventReader, head: AnswerHead, includeUsage: boolean) {
    this.#reader = reader;
    this.#head = head;
    this.#includeUsage = includeUsage;
    this.#writer = new ChunkWriter(head, includeUsage);
  }

  get usage(): Usage | undefined {
    return this.#usage;
  }

  get outputChars(): number {
    return this.#outputChars;
  }

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  read(frame: Frame): Piece {
    const events = this.#reader.read(frame);
    if (events === undefined) return { is: "garbage" };
    let text = "";
    let ended = false;
    for (const event of events) {
      if (event.is === "problem") return { is: "problem", problem: event.problem };
      if (event.is === "end") ended = true;
      this.#meter(event);
      if (event.is !== "finish") text += this.#write(event);
    }
    if (ended) return { is: "end", text };
    return text === "" ? { is: "figures" } : { is: "content", text };
  }

  /** The role comes first, right before the first thing that is shown. */
  #write(event: AnswerEvent): string {
    const written = this.#writer.write(event);
    if (written === "" || this.#begun) return written;
    this.#begun = true;
    return this.#writer.role() + written;
  }

  #meter(event: AnswerEvent): void {
    this.#outputChars += charsOf(event);
    if (event.is === "figures") this.#usage = event.usage;
    else if (event.is === "begin") this.#upstreamId = event.upstreamId;
    else if (event.is === "finish") this.#finish = event;
  }

  close(counted: Usage, shown: ShownCost | undefined): string {
    const finish = this.#finish === undefined ? "" : this.#write(this.#finish);
    if (!this.#includeUsage) return `${finish}data: [DONE]\n\n`;
    const { id, createdSeconds, model } = this.#head;
    const usage = encodeUsage(undefined, counted, shown);
    const chunk = JSON.stringify({
      id,
      object: "chat.completion.chunk",
      created: createdSeconds,
      model,
      choices: [],
      usage,
    });
    return `${finish}data: ${chunk}\n\ndata: [DONE]\n\n`;
  }
}

function charsOf(event: AnswerEvent): number {
  switch (event.is) {
    case "text":
    case "refusal":
    case "reasoning":
    case "tool_arguments":
      return event.text.length;
    case "tool_call":
      return event.name.length;
    default:
      return 0;
  }
}

type Folded = {
  content: string | null;
  refusal: string | null;
  reasoning: string;
  readonly details: JsonObject[];
  readonly calls: { id: string; name: string; argumentsText: string; signature: ReasoningSeal | null }[];
  readonly annotations: JsonObject[];
  reason: FinishReason;
  usage: Usage | undefined;
  upstreamId: string | null;
  outputChars: number;
};

/** Folding the events gives the same message that a client would put together from the stream. */
function fold(events: readonly AnswerEvent[]): Folded {
  const folded: Folded = {
    content: null,
    refusal: null,
    reasoning: "",
    details: [],
    calls: [],
    annotations: [],
    reason: "stop",
    usage: undefined,
    upstreamId: null,
    outputChars: 0,
  };
  for (const event of events) {
    folded.outputChars += charsOf(event);
    foldOne(folded, event);
  }
  return folded;
}

function foldOne(folded: Folded, event: AnswerEvent): void {
  switch (event.is) {
    case "begin":
      folded.upstreamId = event.upstreamId;
      return;
    case "text":
      folded.content = (folded.content ?? "") + event.text;
      return;
    case "refusal":
      folded.refusal = (folded.refusal ?? "") + event.text;
      return;
    case "reasoning":
      folded.reasoning += event.text;
      return;
    case "reasoning_detail":
      folded.details.push(encodeDetail(event.detail, folded.details.length));
      return;
    case "tool_call":
      folded.calls[event.index] = { id: event.id, name: event.name, argumentsText: "", signature: event.signature };
      return;
    case "tool_arguments": {
      const call = folded.calls[event.index];
      if (call !== undefined) call.argumentsText += event.text;
      return;
    }
    case "citation":
      folded.annotations.push(annotation(event.citation));
      return;
    case "figures":
      folded.usage = event.usage;
      return;
    case "finish":
      folded.reason = event.reason;
      return;
    case "problem":
    case "end":
      return;
  }
}

/** A whole answer of another dialect as a chat completion. */
export function translatedReply(events: readonly AnswerEvent[], head: AnswerHead): WholeAnswer {
  const folded = fold(events);
  const { usage, upstreamId, outputChars } = folded;
  return {
    usage,
    upstreamId,
    outputChars,
    render: (counted, shown) => JSON.stringify(completionOf(folded, head, encodeUsage(undefined, counted, shown))),
  };
}

function completionOf(folded: Folded, head: AnswerHead, usage: JsonObject): JsonObject {
  const calls = folded.calls.map(({ id, name, argumentsText, signature }) =>
    toolCall(id, name, argumentsText, signature),
  );
  const message = {
    role: "assistant",
    content: folded.content,
    refusal: folded.refusal,
    ...(folded.reasoning === "" ? {} : { reasoning_content: folded.reasoning }),
    ...(folded.details.length === 0 ? {} : { reasoning_details: folded.details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(folded.annotations.length === 0 ? {} : { annotations: folded.annotations }),
  };
  return {
    id: head.id,
    object: "chat.completion",
    created: head.createdSeconds,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: folded.reason }],
    usage,
  };
}
