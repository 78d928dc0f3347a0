import type { RewrittenText, TextRewriter } from "../../domain/data-classes/rewriter.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { BuiltJsonDocument, JsonDocument } from "../../kit/json-document.ts";
import { parseJsonInSlices } from "../../kit/json-sliced-build.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import { runAtOnce, runInSlices, stringifySteps, type WorkSteps } from "../../kit/work-steps.ts";
import type { ReplyStream, StreamPiece, UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import { deltasOfChoice, isCiting, withMovedCitations } from "./restore-chat.ts";
import {
  candidateAt,
  deltasOfAnswer,
  GEMINI_EVENTS,
  geminiArray,
  groupsInAnswer,
  hasSources,
  isAnswerFinished,
  sourcesOf,
  textOfCandidate,
  withCandidates,
  withMovedSources,
} from "./restore-gemini.ts";
import {
  movedAnnotation,
  pushSteps,
  restoredJson,
  restoredJsonInSlices,
  restoredValue,
  restoreSteps,
} from "./restore-value.ts";
import type { Delta, StreamFormat, WrittenEvent } from "./stream-delta.ts";

export type Decoding = Pick<
  UpstreamAdapter,
  "decodeResponse" | "decodeInSlices" | "openReplyStream" | "streamResponseType"
>;

/**
 * The decoding of an adapter whose request went out with stand-ins: the originals are put back in what its caller receives, in
 * whole replies and streams.
 */
export function restoredDecoding(adapter: Decoding, rewriter: TextRewriter, surface: Surface): Decoding {
  const restored = (reply: WholeReply | UnusableReply | undefined, work?: SlicedWork) =>
    reply === undefined || "unusable" in reply ? reply : rewrittenReply(reply, rewriter, work);
  return {
    decodeResponse(source, headers) {
      // Labels of decisions are compared with those that the caller sent.
      if (surface === "decisions")
        return adapter.decodeResponse(new JsonDocument(restoredJson(JsonDocument.of(source).text, rewriter)), headers);
      return restored(adapter.decodeResponse(source, headers));
    },
    async decodeInSlices(document, headers, work) {
      if (surface === "decisions") {
        const text = await restoredJsonInSlices(document.text, rewriter, work);
        const value = await parseJsonInSlices(text, work, JSON.parse).catch(() => undefined);
        return adapter.decodeResponse(new BuiltJsonDocument(text, { value, body: NOT_PATCHED }), headers);
      }
      const reply = await (adapter.decodeInSlices?.(document, headers, work) ??
        adapter.decodeResponse(document, headers));
      return restored(reply, work);
    },
    openReplyStream: () =>
      new RewrittenStream(adapter.openReplyStream(), rewriter, formatOf(surface, adapter.streamResponseType)),
  };
}

export function formatOf(surface: Surface, contentType: string | undefined): StreamFormat {
  if (surface !== "gemini") return EVENTS;
  return contentType?.startsWith("application/json") === true ? geminiArray() : GEMINI_EVENTS;
}

/** Replies of decisions are read, never patched. */
const NOT_PATCHED = { problem: "it is not patched" };

/** `work`: of a long reply. */
export function rewrittenReply(reply: WholeReply, rewriter: TextRewriter, work: SlicedWork | undefined): WholeReply {
  const renderInSlices =
    work &&
    (async (...rendered: Parameters<WholeReply["render"]>) => {
      const text = (await reply.renderInSlices?.(...rendered)) ?? reply.render(...rendered);
      return restoredJsonInSlices(text, rewriter, work);
    });
  return {
    ...reply,
    // A getter of a class, which the copy does not have.
    get outputWeight() {
      return reply.outputWeight;
    },
    render: (...rendered) => restoredJson(reply.render(...rendered), rewriter),
    ...(renderInSlices && { renderInSlices }),
  };
}

type OpenText = {
  readonly channel: RewrittenText;
  readonly delta: Delta;
  readonly event: JsonObject;
  readonly head: string;
};

/** Rewrites the texts of a stream in the caller's dialect, wherever it is cut. */
export class RewrittenStream implements ReplyStream {
  readonly #inner: ReplyStream;
  readonly #rewriter: TextRewriter;
  readonly #format: StreamFormat;
  readonly #open = new Map<string, OpenText>();
  /** What sources of the Gemini dialect count in, by candidate. */
  readonly #answered = new Map<string, string>();
  /** Events that were added: later ones have higher numbers. */
  #added = 0;

  constructor(inner: ReplyStream, rewriter: TextRewriter, format: StreamFormat) {
    this.#inner = inner;
    this.#rewriter = rewriter;
    this.#format = format;
  }

  get usage() {
    return this.#inner.usage;
  }
  get outputWeight() {
    return this.#inner.outputWeight;
  }
  get units() {
    return this.#inner.units;
  }
  get detail() {
    return this.#inner.detail;
  }
  get estimate() {
    return this.#inner.estimate;
  }
  get isUsagePartial() {
    return this.#inner.isUsagePartial;
  }
  get extraUses() {
    return this.#inner.extraUses;
  }
  get promptCount() {
    return this.#inner.promptCount;
  }
  get upstreamId() {
    return this.#inner.upstreamId;
  }
  get omitted() {
    return this.#inner.omitted;
  }
  get isFinished() {
    return this.#inner.isFinished;
  }
  get unusable() {
    return this.#inner.unusable;
  }
  get cutsWhenFailed() {
    return this.#inner.cutsWhenFailed;
  }
  get finalJson() {
    const final = this.#inner.finalJson;
    return final === undefined ? undefined : restoredJson(final, this.#rewriter);
  }

  read(frame: Parameters<ReplyStream["read"]>[0]): StreamPiece {
    const piece = this.#inner.read(frame);
    return "text" in piece ? { ...piece, text: this.#restored(piece.text) } : piece;
  }

  async readInSlices(frame: Parameters<ReplyStream["read"]>[0], work: SlicedWork): Promise<StreamPiece> {
    const piece = this.#inner.read(frame);
    if (!("text" in piece)) return piece;
    const { events, end } = this.#format.read(piece.text);
    let text = "";
    for (const written of events) {
      const event = await readEventInSlices(written.data, work);
      text += await runInSlices(this.#event(written, event), work);
    }
    return { ...piece, text: text + end };
  }

  /** What is held back of all texts. */
  flushed(): string {
    return this.#ended(() => true);
  }

  close(...args: Parameters<ReplyStream["close"]>): string {
    const last = this.#restored(this.#inner.close(...args));
    return this.flushed() + last;
  }

  fail(...args: Parameters<ReplyStream["fail"]>): string | undefined {
    const held = this.flushed();
    const failure = this.#inner.fail(...args);
    return failure === undefined ? undefined : held + this.#failure(failure);
  }

  /** The last event of some dialects repeats what was written so far. */
  #failure(text: string): string {
    if (this.#format !== EVENTS) return text;
    const events = EVENTS.read(text).events.map(({ head, data, block }) => {
      const event = readEvent(data);
      return event === undefined
        ? block
        : this.#written(head, restoredValue(event, this.#rewriter) as JsonObject, undefined);
    });
    return events.join("");
  }

  #restored(text: string): string {
    if (text === "") return "";
    const { events, end } = this.#format.read(text);
    return (
      events.map((event) => runAtOnce(this.#event(event, readEvent(event.data)))).join("") +
      (this.#rewriter.isOver?.() === true ? "" : end)
    );
  }

  *#event({ head, data, block }: WrittenEvent, event: JsonObject | undefined): WorkSteps<string> {
    if (this.#rewriter.isOver?.() === true) return "";
    if (event === undefined || event["type"] === "ping") return block;
    const readsReasoning = this.#rewriter.scope?.reasoning === true;
    const isKept = isAudio(event) || (!readsReasoning && isSigned(event));
    const deltas = isKept ? [] : deltasOf(event, readsReasoning);
    const keys = new Set(deltas.map(({ key }) => key));
    const groups = endedGroups(event, this.#rewriter.endsLate === true);
    const before = this.#ended((key, { group }) => !keys.has(key) && (groups === "all" || groups.has(group)));
    if (this.#rewriter.isOver?.() === true) return before;
    let own = isKept ? event : yield* this.#withoutDeltas(event, deltas);
    const sent: JsonObject[] = [];
    for (const delta of deltas) {
      const channel = this.#open.get(delta.key)?.channel ?? this.#rewriter.open(delta.form);
      const pushed = yield* pushSteps(channel, delta.text);
      const text = pushed + (isLast(event, delta, deltas) ? channel.end() : "");
      this.#open.set(delta.key, { channel, delta, event, head });
      if (text !== delta.text) own = delta.with(own, text);
      if (text !== "") sent.push(delta.alone(event, text));
    }
    // The event itself may say that the reply is complete.
    if (this.#rewriter.isOver?.() === true)
      return before + sent.map((one) => this.#written(head, one, undefined)).join("");
    own = this.#withMovedSources(this.#withMovedCitations(this.#withMovedAnnotations(own)), event);
    return before + this.#written(head, own, own === event ? data : yield* stringifySteps(own));
  }

  /** Whole texts of the event; pieces of texts are left to their channels. */
  *#withoutDeltas(event: JsonObject, deltas: readonly Delta[]): WorkSteps<JsonObject> {
    const whole = deltas.reduce((own, delta) => delta.with(own, ""), event);
    const rewritten = (yield* restoreSteps(whole, this.#rewriter)) as JsonObject;
    return rewritten === whole ? event : deltas.reduce((own, delta) => delta.with(own, delta.text), rewritten);
  }

  #withMovedAnnotations(event: JsonObject): JsonObject {
    const { annotation, output_index: item, content_index: part } = event;
    const open = this.#open.get(`${String(item)}/${String(part)}/response.output_text.delta`);
    if (!isJsonObject(annotation) || open === undefined || open.channel.shifts.length === 0) return event;
    return { ...event, annotation: movedAnnotation(annotation, open.channel) };
  }

  /** Citations in a chat chunk count in the content of its choice. */
  #withMovedCitations(event: JsonObject): JsonObject {
    const { choices } = event;
    if (!Array.isArray(choices) || !choices.some(isCiting)) return event;
    const moved = choices.map((one: JsonObject) => {
      const channel = this.#open.get(`${String(one["index"])}/content`)?.channel;
      return channel === undefined || channel.shifts.length === 0 ? one : withMovedCitations(one, channel);
    });
    return { ...event, choices: moved };
  }

  #withMovedSources(event: JsonObject, original: JsonObject): JsonObject {
    if (!Array.isArray(original["candidates"])) return event;
    withCandidates(original, (one, group) => {
      this.#answered.set(group, (this.#answered.get(group) ?? "") + textOfCandidate(one));
      return one;
    });
    if (!hasSources(original)) return event;
    const sources = (one: JsonObject) => restoredValue(sourcesOf(one), this.#rewriter) as JsonObject;
    return withCandidates(event, (one, group, at) => {
      const own = { ...one, ...sources(candidateAt(original, at)) };
      return withMovedSources(own, this.#answered.get(group) ?? "", this.#rewriter);
    });
  }

  /** What texts that end here still hold. */
  #ended(isOver: (key: string, delta: Delta) => boolean): string {
    let text = "";
    for (const [key, { channel, delta, event, head }] of this.#open) {
      if (channel.heldChars === 0 || !isOver(key, delta)) continue;
      const own = delta.alone(event, channel.end());
      text += this.#written(head, own, undefined);
      this.#added += 1;
    }
    return text;
  }

  #written(head: string, event: JsonObject, data: string | undefined): string {
    const { sequence_number: number } = event;
    if (typeof number !== "number" || this.#added === 0) return this.#format.write(head, data ?? JSON.stringify(event));
    return this.#format.write(head, JSON.stringify({ ...event, sequence_number: number + this.#added }));
  }
}

const EVENT_END = "\n\n";

const EVENTS: StreamFormat = {
  read: (text) => ({
    events: text
      .split(EVENT_END)
      .filter((block) => block !== "")
      .map((block) => readBlock(block)),
    end: "",
  }),
  write: (head, data) => `${head}data: ${data}${EVENT_END}`,
};

function readBlock(block: string): WrittenEvent {
  const lines = block.split("\n");
  const isData = (line: string) => line.startsWith("data:");
  const head = lines.filter((line) => !isData(line)).map((line) => `${line}\n`);
  return {
    block: block + EVENT_END,
    head: head.join(""),
    data: lines
      .filter(isData)
      .map((line) => line.slice(5).trimStart())
      .join("\n"),
  };
}

function readEvent(data: string): JsonObject | undefined {
  if (!data.startsWith("{")) return undefined;
  try {
    const value = parseLosslessJson(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function readEventInSlices(data: string, work: SlicedWork): Promise<JsonObject | undefined> {
  if (!data.startsWith("{")) return undefined;
  const value = await parseJsonInSlices(data, work, parseLosslessJson).catch(() => undefined);
  return isJsonObject(value) ? value : undefined;
}

/** Samples as base64, which are no text. */
const isAudio = ({ type }: JsonObject) => type === "response.audio.delta" || type === "response.output_audio.delta";

function isSigned({ type, delta }: JsonObject): boolean {
  if (typeof type === "string" && type.startsWith("response.reasoning")) return true;
  return isJsonObject(delta) && (delta["type"] === "thinking_delta" || delta["type"] === "signature_delta");
}

/** The pieces of text in an event: of chat chunks, of messages, or of responses and transcripts. */
function deltasOf(event: JsonObject, readsReasoning: boolean): Delta[] {
  const { type, choices, candidates } = event;
  if (Array.isArray(candidates)) return deltasOfAnswer(event);
  if (Array.isArray(choices)) return choices.flatMap((one, at) => deltasOfChoice(one, at, readsReasoning));
  if (type === "content_block_delta") return deltasOfBlock(event);
  if (typeof type !== "string" || typeof event["delta"] !== "string") return [];
  const group = String(event["output_index"]);
  const put = (own: JsonObject, text: string) => ({ ...own, delta: text });
  return [
    {
      key: `${group}/${String(event["content_index"])}/${type}`,
      group,
      form: type.includes("arguments") ? "json" : undefined,
      text: event["delta"],
      with: put,
      alone: put,
    },
  ];
}

const BLOCK_TEXTS: Readonly<Record<string, string>> = {
  text_delta: "text",
  input_json_delta: "partial_json",
  thinking_delta: "thinking",
};

function deltasOfBlock({ index, delta }: JsonObject): Delta[] {
  if (!isJsonObject(delta)) return [];
  const name = BLOCK_TEXTS[String(delta["type"])];
  const text = name === undefined ? undefined : delta[name];
  if (name === undefined || typeof text !== "string") return [];
  const put = (event: JsonObject, own: string) => ({ ...event, delta: { type: delta["type"], [name]: own } });
  const form = name === "partial_json" ? "json" : undefined;
  return [{ key: `${String(index)}/${name}`, group: String(index), form, text, with: put, alone: put }];
}

/** The last piece of a text may come with the finish reason of its choice. */
function isLast(event: JsonObject, delta: Delta, deltas: readonly Delta[]): boolean {
  const { choices, candidates } = event;
  const { group } = delta;
  if (Array.isArray(candidates))
    return isAnswerFinished(event, group) && deltas.findLast(({ key }) => key === delta.key) === delta;
  return (
    Array.isArray(choices) &&
    choices.some((one) => isJsonObject(one) && String(one["index"]) === group && one["finish_reason"] != null)
  );
}

const NO_GROUPS: ReadonlySet<string> = new Set();
/** Behind them the text of their block or item may go on. */
const CONTINUED_EVENTS: ReadonlySet<unknown> = new Set([
  "content_block_delta",
  "response.output_text.annotation.added",
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
  "response.function_call_arguments.delta",
]);

/** Which texts end before an event: those of the same choice or block, or all. */
function endedGroups(event: JsonObject, isLate: boolean): "all" | ReadonlySet<string> {
  const { type, choices, candidates, index, output_index: item } = event;
  if (Array.isArray(candidates)) return new Set(groupsInAnswer(event));
  if (Array.isArray(choices)) {
    // Content, reasoning, a voice and calls may alternate: none of them ends where another one begins.
    const isEnd = (one: JsonObject) => one["finish_reason"] != null || (!isLate && isCiting(one));
    return new Set(choices.filter(isJsonObject).flatMap((one) => (isEnd(one) ? String(one["index"]) : [])));
  }
  if (isLate && CONTINUED_EVENTS.has(type)) return NO_GROUPS;
  if (item !== undefined) return new Set([String(item)]);
  return index === undefined ? "all" : new Set([String(index)]);
}
