import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { frameObject } from "../../../../kit/json-document.ts";
import { NO_PLACES } from "../../../canon/places.ts";
import type { Citation, FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import { latestUsage, type TokenCounts } from "../../../canon/usage.ts";
import { OmissionLog } from "../../reply-members.ts";
import type { ReplyContext, ReplyEventReader, StreamFrame } from "../../upstream-dialect.ts";
import { decodeUsage } from "../usage.ts";
import { problemInChunk } from "./errors.ts";
import { REPLY } from "./members.ts";
import { ReplyNormalizer } from "./normalize.ts";
import { PrefillEcho, prefillOf, STRICT_TURNS } from "./prefill.ts";
import { ReasoningReader } from "./reasoning.ts";
import { ToolCallReader, textIn } from "./tool-calls.ts";

export const END_MARKER = "[DONE]";
const NOTHING: readonly ReplyEvent[] = [];

/** Decodes chat completions into canonical events: the chunks of a stream, or one whole reply. */
export class ChatReader implements ReplyEventReader {
  readonly #form: "delta" | "message";
  readonly #context: ReplyContext | undefined;
  readonly #reasoning: ReasoningReader;
  readonly #calls = new ToolCallReader();
  readonly #echo: PrefillEcho | undefined;
  readonly #omissions: OmissionLog;
  readonly #sources = new SourceReader();
  #normalizer: ReplyNormalizer | undefined;
  /** Index of the choice that is read. */
  #choiceIndex: unknown;
  #upstreamId: string | undefined;
  #usage: TokenCounts | undefined;
  #hasBegun = false;
  #hasContent = false;
  #statedReason: string | undefined;
  #stopSequence: string | undefined;
  #finish: FinishReason | undefined;

  constructor(form: "delta" | "message", context?: ReplyContext) {
    this.#form = form;
    this.#context = context;
    this.#omissions = new OmissionLog(context?.places ?? NO_PLACES);
    this.#reasoning = new ReasoningReader(form);
    this.#echo = prefillEchoFor(context);
  }

  read(frame: StreamFrame): readonly ReplyEvent[] | undefined {
    if (frame.data === END_MARKER) return this.end();
    const chunk = frameObject(frame);
    return chunk === undefined ? undefined : this.readChunk(chunk, frame.event);
  }

  readChunk(chunk: JsonObject, event: string | null): readonly ReplyEvent[] | undefined {
    const problem = problemInChunk(chunk, event);
    if (problem !== undefined) return [{ is: "problem", problem }];
    const { choices } = chunk;
    // Some servers omit the empty `choices` of the usage chunk.
    if (!Array.isArray(choices) && (choices != null || (choices === undefined && chunk["usage"] == null)))
      return undefined;
    this.#upstreamId ??= textIn(chunk["id"]);
    this.#omissions.check(chunk, REPLY);
    this.#sources.add(chunk);
    const choice = Array.isArray(choices) ? this.#normalizedChoice(choices) : undefined;
    const events: ReplyEvent[] = choice === undefined ? [] : [...this.#read(choice)];
    // Some servers put usage into the last choice.
    const wireUsage = chunk["usage"] ?? choice?.["usage"];
    if (wireUsage != null) this.#usage = latestUsage(this.#usage, decodeUsage(wireUsage));
    if (wireUsage != null && this.#usage !== undefined) events.push({ is: "usage", usage: this.#usage });
    if (choice !== undefined) events.push(...this.#conclude(choice));
    events.push(...this.#omissions.events());
    return this.#afterBegin(events);
  }

  /** The end marker implies "stop" if the server sent no finish reason. */
  end(): readonly ReplyEvent[] {
    const events: ReplyEvent[] = [...this.#close(), ...this.#sources.close()];
    if (this.#hasContent && this.#finish === undefined) events.push(...this.#finishEvents("stop"));
    return this.#afterBegin([...events, { is: "end" }]);
  }

  /** The reply begins with its first content, not with empty chunks. */
  #afterBegin(events: readonly ReplyEvent[]): readonly ReplyEvent[] {
    if (this.#hasBegun || events.length === 0) return events;
    this.#hasBegun = true;
    return [{ is: "begin", upstreamId: this.#upstreamId ?? null }, ...events];
  }

  /** Requests ask for one choice only: others are not merged into it. */
  #normalizedChoice(choices: readonly unknown[]): JsonObject | undefined {
    const list = choices.filter(isJsonObject);
    const [first] = list;
    if (first === undefined) return undefined;
    if (this.#choiceIndex === undefined) this.#choiceIndex = list.some(isFirstChoice) ? 0 : (first["index"] ?? 0);
    const own = list.find(({ index }) => (index ?? 0) === this.#choiceIndex);
    if (list.length > (own === undefined ? 0 : 1)) this.#omissions.add("choices[]", { isContent: true });
    if (own === undefined) return undefined;
    this.#normalizer ??= new ReplyNormalizer(this.#idSeed(), this.#form, this.#context?.text);
    const [normalized] = this.#normalizer.normalize([own]) ?? [own];
    return isJsonObject(normalized) ? normalized : undefined;
  }

  /** Without ids from the server, the number of turns keeps the ids of two replies apart. */
  #idSeed(): string {
    const upstreamId = this.#upstreamId?.replace(/[^a-zA-Z0-9_-]/g, "");
    return upstreamId || `turn${this.#context?.call.turns.length ?? 0}`;
  }

  #read(choice: JsonObject): readonly ReplyEvent[] {
    const message = choice[this.#form];
    if (!isJsonObject(message)) return NOTHING;
    const reasoning = this.#reasoning.add(message);
    const texts = [...this.#text(message["content"]), ...textEvents("refusal", message["refusal"])];
    const calls = listIn(message["tool_calls"]).flatMap((call, at) => this.#call(call, at));
    const citations = listIn(message["annotations"]).flatMap(citationsIn);
    if (reasoning.length + texts.length + calls.length + citations.length === 0) return NOTHING;
    this.#hasContent = true;
    const closed = texts.length + calls.length > 0 ? this.#reasoning.close() : NOTHING;
    return [...reasoning, ...closed, ...texts, ...calls, ...citations];
  }

  #text(content: unknown): readonly ReplyEvent[] {
    const text = textIn(content);
    return textEvents("text", text === undefined || this.#echo === undefined ? text : this.#echo.strip(text));
  }

  #close(): readonly ReplyEvent[] {
    return [...textEvents("text", this.#echo?.close()), ...this.#reasoning.close(), ...this.#calls.close()];
  }

  /** In a whole reply the position identifies a call: some servers send a meaningless index. */
  #call(call: unknown, at: number): readonly ReplyEvent[] {
    if (!isJsonObject(call)) return NOTHING;
    const statedIndex = call["index"];
    return this.#calls.add(call, this.#form === "delta" && typeof statedIndex === "number" ? statedIndex : at);
  }

  /** Some servers send the reason early and a call after it, so only changes are emitted. */
  #conclude(choice: JsonObject): readonly ReplyEvent[] {
    const statedReason = textIn(choice["finish_reason"]);
    if (statedReason !== undefined) this.#statedReason = statedReason;
    for (const name of ["stop_reason", "matched_stop"]) this.#readSequence(choice[name], `choices[].${name}`);
    return this.#statedReason === undefined ? NOTHING : this.#finishEvents(this.#statedReason);
  }

  #finishEvents(statedReason: string): readonly ReplyEvent[] {
    const closed = this.#close();
    const reason = finishReason(statedReason, { hasCalls: this.#calls.count > 0 });
    if (reason === this.#finish) return closed;
    this.#finish = reason;
    const cited = this.#sources.close();
    const sequence = reason === "stop" ? this.#stopSequence : undefined;
    return [
      ...closed,
      ...cited,
      { is: "finish", reason, ...(sequence === undefined ? {} : { stopSequence: sequence }) },
    ];
  }

  /** Some servers report the stop sequence; one that the caller did not send is not reported. */
  #readSequence(reported: unknown, path: string): void {
    if (reported == null) return;
    if (typeof reported === "string" && this.#context?.call.stop.includes(reported)) this.#stopSequence ??= reported;
    else this.#omissions.add(path);
  }
}

function prefillEchoFor(context: ReplyContext | undefined): PrefillEcho | undefined {
  const texts = context?.facts.quirks.includes(STRICT_TURNS) ? prefillOf(context.call.turns) : undefined;
  return texts === undefined ? undefined : new PrefillEcho(texts);
}

/** A reply with tool calls always finishes with "tool_calls", whatever the server states. */
function finishReason(statedReason: string, { hasCalls }: { readonly hasCalls: boolean }): FinishReason {
  if (statedReason === "length" || statedReason === "content_filter") return statedReason;
  return hasCalls ? "tool_calls" : "stop";
}

function textEvents(is: "text" | "refusal", value: unknown): ReplyEvent[] {
  const text = textIn(value);
  return text === undefined ? [] : [{ is, text }];
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function citationsIn(annotation: unknown): ReplyEvent[] {
  const wire = isJsonObject(annotation) ? annotation["url_citation"] : undefined;
  if (!isJsonObject(wire)) return [];
  const citation: Citation = {
    url: textIn(wire["url"]) ?? null,
    title: textIn(wire["title"]) ?? null,
    start: offsetIn(wire["start_index"]),
    end: offsetIn(wire["end_index"]),
  };
  return [{ is: "citation", citation, path: "choices[].message.annotations[]" }];
}

/** Sources that search services list beside the choices, in every chunk of a stream; each is cited once, at the end. */
class SourceReader {
  readonly #results = new Map<string, string | null>();
  readonly #urls = new Set<string>();
  readonly #cited = new Set<string>();

  add({ search_results, citations }: JsonObject): void {
    for (const result of listIn(search_results)) {
      const url = isJsonObject(result) ? textIn(result["url"]) : undefined;
      if (url !== undefined && isJsonObject(result)) this.#results.set(url, textIn(result["title"]) ?? null);
    }
    for (const url of listIn(citations)) if (typeof url === "string") this.#urls.add(url);
  }

  close(): readonly ReplyEvent[] {
    const results = [...this.#results].map(([url, title]) => sourceEvent(url, title, "search_results[]"));
    const others = [...this.#urls].filter((url) => !this.#results.has(url));
    const events = [...results, ...others.map((url) => sourceEvent(url, null, "citations[]"))];
    const fresh = events.filter(({ citation: { url } }) => url !== null && !this.#cited.has(url));
    for (const { citation } of fresh) if (citation.url !== null) this.#cited.add(citation.url);
    return fresh;
  }
}

function sourceEvent(url: string, title: string | null, path: string) {
  return { is: "citation", citation: { url, title, start: null, end: null }, path } as const;
}

function isFirstChoice({ index }: JsonObject): boolean {
  return index === 0;
}

function offsetIn(value: unknown): number | null {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}
