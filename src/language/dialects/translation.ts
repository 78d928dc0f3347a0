import type { ErrorEnvelope } from "../../contract/error-envelope.ts";
import { JSON_LIMITS } from "../../kit/json-document.ts";
import {
  CALL_MEMBERS_MAX,
  OversizedTextError,
  oversizedCall,
  TEXT_LIMITS,
  type TextLimits,
} from "../../kit/json-size.ts";
import { type JsonLimits, JsonStructureScanner } from "../../kit/json-structure.ts";
import type { Call } from "../canon/call.ts";
import { listOmitted } from "../canon/omitted-paths.ts";
import type { ReplyStream, ReportedCost, StreamPiece, UnusableReply, WholeReply } from "../canon/reply.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";
import { weightOf } from "../canon/tokens.ts";
import type { Usage } from "../canon/usage.ts";
import type { ClientDialect, FinishEvent, ReplyHead, ReplyWriter } from "./client-dialect.ts";
import type { ReplyEventReader, StreamFrame } from "./upstream-dialect.ts";

/** Decodes one dialect into canonical events and encodes another. */
export class TranslatedStream implements ReplyStream {
  readonly #reader: ReplyEventReader;
  readonly #writer: ReplyWriter;
  readonly #meter: ReplyMeter;
  /** Held until the end: some servers send a reason with every frame, and only the last is valid. */
  #finish: FinishEvent | undefined;

  constructor(reader: ReplyEventReader, writer: ReplyWriter, text: TextLimits = TEXT_LIMITS) {
    this.#meter = new ReplyMeter(text, "event");
    this.#reader = reader;
    this.#writer = writer;
  }

  get usage(): Usage | undefined {
    return this.#meter.usage;
  }

  get outputWeight(): number {
    return this.#meter.outputWeight;
  }

  get upstreamId(): string | null {
    return this.#meter.upstreamId;
  }

  get omitted(): readonly string[] | undefined {
    const late = this.#writer.omitted;
    return late === undefined ? this.#meter.omitted : [...(this.#meter.omitted ?? []), ...late];
  }

  /** Everything that the model generated was omitted. */
  get unusable(): string | undefined {
    return this.#meter.unusable;
  }

  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  get cutsWhenFailed(): boolean | undefined {
    return this.#writer.cutsWhenFailed;
  }

  get finalJson(): string | undefined {
    return this.#writer.finalJson;
  }

  read(frame: StreamFrame): StreamPiece {
    const events = this.#reader.read(frame);
    if (events === undefined) return { is: "malformed" };
    let text = "";
    let ended = false;
    for (const event of events) {
      if (event.is === "problem") return { is: "problem", problem: event.problem };
      if (event.is === "end") ended = true;
      this.#meter.add(event);
      if (event.is === "finish") this.#finish = event;
      else if (event.is !== "omitted") text += this.#writer.write(event);
    }
    if (ended) return { is: "end", text };
    return text === "" ? { is: "usage" } : { is: "content", text };
  }

  close(usage: Usage, cost: ReportedCost | undefined): string {
    const { omitted } = this;
    const reported = omitted === undefined ? undefined : { omitted: listOmitted(omitted) };
    return this.#writer.close({ finish: this.#finish, usage, cost, ...reported });
  }

  fail(envelope: ErrorEnvelope): string {
    return this.#writer.fail(envelope);
  }
}

export function translatedReply(
  events: readonly ReplyEvent[],
  client: ClientDialect,
  head: ReplyHead,
  call: Call,
  text: TextLimits = TEXT_LIMITS,
): WholeReply | UnusableReply {
  const meter = new ReplyMeter(text, "reply");
  for (const event of events) meter.add(event);
  for (const path of client.omitted?.(events) ?? []) meter.add({ is: "omitted", path });
  const { usage, upstreamId, outputWeight, omitted, unusable } = meter;
  if (unusable !== undefined) return { unusable };
  return {
    usage,
    upstreamId,
    outputWeight,
    omitted,
    render: (counted, shown) => client.render(events, head, call, counted, shown),
  };
}

const OMITTED_MAX = 100;
const CALL_LIMITS: JsonLimits = { ...JSON_LIMITS, membersMax: CALL_MEMBERS_MAX };

type TextUnit = "event" | "reply";

class ReplyMeter {
  readonly #limits: TextLimits;
  readonly #unit: TextUnit;
  #chars = 0;
  usage: Usage | undefined;
  outputWeight = 0;
  upstreamId: string | null = null;
  omitted: string[] | undefined;
  readonly #calls = new Map<number, JsonStructureScanner>();
  #callMembers = 0;
  #hasVisibleOutput = false;
  #hasOmittedContent = false;

  /** `unit`: which limit applies to one text. */
  constructor(limits: TextLimits, unit: TextUnit) {
    this.#limits = limits;
    this.#unit = unit;
  }

  /** A reply whose output consists of content that the caller cannot receive is no empty success. */
  get unusable(): string | undefined {
    if (!this.#hasOmittedContent || this.#hasVisibleOutput) return undefined;
    return "the response has only content that the caller's API cannot express";
  }

  /** Throws when there is more text than one turn of the event loop can write. */
  add(event: ReplyEvent): void {
    const text = textOf(event);
    if (text !== "") this.#addText(text, event.is === "tool_arguments" ? "event" : this.#unit);
    if (event.is === "tool_arguments") this.#countMembers(event.index, event.text);
    if (event.is === "usage") this.usage = event.usage;
    else if (event.is === "begin") this.upstreamId = event.upstreamId;
    else if (event.is === "omitted") {
      if (event.isContent === true) this.#hasOmittedContent = true;
      this.#addOmitted(event.path);
    } else this.#hasVisibleOutput ||= isVisible(event);
  }

  #addText(text: string, unit: TextUnit): void {
    const { eventChars, replyChars, settings } = this.#limits;
    const max = unit === "event" ? eventChars : replyChars;
    if (text.length > max) throw new OversizedTextError(max, "a text of the reply", settings?.[unit]);
    this.#chars += text.length;
    if (this.#chars > replyChars) throw new OversizedTextError(replyChars, "the text of the reply", settings?.reply);
    this.outputWeight += weightOf(text);
  }

  /** Some callers get arguments as an object, which is parsed and written at once. */
  #countMembers(index: number, text: string): void {
    let scanner = this.#calls.get(index);
    if (scanner === undefined) {
      scanner = new JsonStructureScanner(CALL_LIMITS);
      this.#calls.set(index, scanner);
    }
    const before = scanner.members;
    // What is wrong with it otherwise is up to the caller.
    scanner.scan(text);
    this.#callMembers += scanner.members - before;
    if (this.#callMembers > CALL_MEMBERS_MAX) throw oversizedCall();
  }

  /** A stream can repeat a path in every frame. */
  #addOmitted(path: string): void {
    this.omitted ??= [];
    if (this.omitted.length < OMITTED_MAX && !this.omitted.includes(path)) this.omitted.push(path);
  }
}

function isVisible(event: ReplyEvent): boolean {
  return event.is === "tool_call" || ((event.is === "text" || event.is === "refusal") && event.text !== "");
}

/** Generated text. */
function textOf(event: ReplyEvent): string {
  switch (event.is) {
    case "text":
    case "refusal":
    case "reasoning":
    case "tool_arguments":
      return event.text;
    case "tool_call":
      return event.name;
    default:
      return "";
  }
}
