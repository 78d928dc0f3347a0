import { atOnce } from "../../kit/in-turns.ts";
import type { Detectors } from "./custom-class.ts";
import type { Kind } from "./kinds.ts";
import { patternBudget } from "./pattern.ts";
import { findIn, Reading, readingsOf } from "./reading.ts";
import { joined, type TreatedPlace } from "./replace.ts";
import { formOf } from "./restore.ts";
import type { RewriteScope, RewrittenText, TextRewriter } from "./rewriter.ts";

/** By class; replies are not read for other ones. */
export type OutputActions = ReadonlyMap<string, "report" | "redact" | "block">;

const STRICTNESS = { report: 1, redact: 2, block: 3 } as const;

/** As long as the longest value that has no form of its own, with the words that may name it behind it. */
const HELD_CHARS = 320;
/** A value without an end in sight, such as a private key, is held no longer. */
const LONG_CHARS = 16_384;
/** Words before a value that may name it. */
const CONTEXT_CHARS = 160;
/** A text is read again after so many new characters, or a quarter of what is held. */
const STEP_CHARS = 64;
/** Of all patterns together: a piece of a stream is read at once. */
export const OUTPUT_PROGRAM_MAX = 256;

/** Members that hold no text of the model: ids, types, signatures and media. */
const KEPT_MEMBERS: ReadonlySet<string> = new Set(
  (
    "id type object model role name status index created created_at call_id tool_call_id tool_use_id item_id response_id " +
    "previous_response_id finish_reason finishReason stop_reason system_fingerprint service_tier modelVersion responseId " +
    "signature encrypted_content thoughtSignature thought_signature data b64_json partial_image_b64 mimeType mime_type"
  ).split(" "),
);
/** Arguments of tools, and results of those that a provider runs: their members have any names. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(["args", "input", "attributes"]);
const SCOPE: RewriteScope = {
  reasoning: true,
  names: false,
  keeps: (name) => KEPT_MEMBERS.has(name),
  isOwn: (name) => OWN_MEMBERS.has(name),
};

/**
 * Reads the texts of one reply and changes what the rules ask for. Data that the request holds already is left alone: its
 * caller knows it.
 */
export class OutputFilter implements TextRewriter {
  readonly #detectors: Detectors;
  readonly #actions: OutputActions;
  readonly #isKnown: (original: string) => boolean;
  /** Values of each class; a final event repeats what its pieces said. */
  readonly #found = new Map<string, Set<string>>();
  /** What ended the reply. */
  blocked: Kind | undefined;
  readonly scope = SCOPE;
  readonly endsLate = true;

  constructor(
    { lists, patterns, external }: Detectors,
    actions: OutputActions,
    isKnown: (original: string) => boolean,
  ) {
    this.#detectors = {
      classes: new Set(actions.keys()),
      lists: lists.filter((list) => actions.has(list.class)),
      patterns: patterns.filter((pattern) => actions.has(pattern.class)),
      external: external.filter((one) => actions.has(one.class)),
      // Held texts are read again and again; the length of a reply is limited.
      budget: { ...patternBudget(), chars: Number.POSITIVE_INFINITY },
    };
    this.#actions = actions;
    this.#isKnown = isKnown;
  }

  /** False: reading a piece of a stream could keep other requests waiting. */
  get isBounded(): boolean {
    return this.#detectors.patterns.reduce((sum, { instructions }) => sum + instructions, 0) <= OUTPUT_PROGRAM_MAX;
  }

  /** A class with an external detector, which reads no replies. */
  get unreadable(): string | undefined {
    return this.#detectors.external[0]?.class;
  }

  /** Different values by class. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#found].map(([name, values]) => [name, values.size]));
  }

  isOver(): boolean {
    return this.blocked !== undefined;
  }

  whole(text: string, form?: "text" | "json"): string {
    return this.open(form, "whole").end(text);
  }

  open(form?: "text" | "json", extent?: "whole"): FilteredText {
    return new FilteredText(this, form, extent === "whole");
  }

  /** Where the rules ask for something, in order. */
  placesIn(text: string, isJson: boolean): TreatedPlace[] {
    const first = new Reading(text);
    const readings = isJson && text.includes("\\") ? [first, atOnce(first.decode())] : atOnce(readingsOf(first));
    const places: TreatedPlace[] = [];
    for (const { kind, start, end, reading } of atOnce(findIn(readings, this.#detectors))) {
      const action = this.#actions.get(kind.class);
      if (action === undefined || this.#isKnown(reading.text.slice(start, end))) continue;
      const place = { start: reading.sourceOf(start), end: reading.sourceOf(end) };
      places.push({ kind, strictness: STRICTNESS[action], ...place, reading });
    }
    return joined(places);
  }

  /** What takes the place of a value. */
  replacement({ kind, reading, start, end }: TreatedPlace, written: string): string {
    const values = this.#found.get(kind.class) ?? new Set();
    this.#found.set(kind.class, values.add(reading.text.slice(reading.offsetFrom(start), reading.offsetFrom(end))));
    const action = this.#actions.get(kind.class);
    if (action === "block") this.blocked ??= kind;
    return action === "report" ? written : `[${kind.label}]`;
  }
}

/** One text of a reply. What may be part of a value whose end is not there yet is held back. */
class FilteredText implements RewrittenText {
  readonly #filter: OutputFilter;
  /** Texts that are there as a whole are read once more when a reply is stored: they have markers instead of an end. */
  readonly #isWhole: boolean;
  #form: "text" | "json" | undefined;
  #before = "";
  #pending = "";
  #dueChars = HELD_CHARS + STEP_CHARS;
  #read = 0;
  readonly shifts: { at: number; by: number }[] = [];

  constructor(filter: OutputFilter, form: "text" | "json" | undefined, isWhole: boolean) {
    this.#filter = filter;
    this.#isWhole = isWhole;
    this.#form = form;
  }

  get heldChars(): number {
    return this.#pending.length;
  }

  push(text: string): string {
    this.#pending += text;
    return this.#pending.length < this.#dueChars ? "" : this.#advance(false);
  }

  end(text = ""): string {
    this.#pending += text;
    return this.#pending === "" ? "" : this.#advance(true);
  }

  #advance(isEnd: boolean): string {
    // Behind what ended the reply nothing is sent.
    if (this.#isOver) return this.#ended("");
    this.#form ??= formOf(this.#pending.trimStart()) ?? "text";
    const text = this.#before + this.#pending;
    const places = this.#filter.placesIn(text, this.#form === "json");
    const cut = isEnd ? text.length : this.#safeCut(text, places);
    let out = "";
    let at = this.#before.length;
    for (const place of places) {
      const start = Math.max(at, place.start);
      if (place.start >= cut || place.end <= start) continue;
      const end = Math.min(place.end, cut);
      const written = text.slice(start, end);
      const marker = this.#filter.replacement(place, written);
      const put = marker !== written && this.#isNumber(text, start, end) ? JSON.stringify(marker) : marker;
      out += text.slice(at, start);
      if (this.#isOver) return this.#ended(out);
      out += put;
      at = end;
      if (put.length !== written.length)
        this.shifts.push({
          at: this.#read + end - this.#before.length,
          by: (this.shifts.at(-1)?.by ?? 0) + put.length - written.length,
        });
    }
    out += text.slice(at, cut);
    this.#read += cut - this.#before.length;
    this.#pending = text.slice(cut);
    this.#before = text.slice(this.#wholeUnit(text, Math.max(0, cut - CONTEXT_CHARS)), cut);
    this.#dueChars = this.#pending.length + Math.max(STEP_CHARS, this.#pending.length >> 2);
    return out;
  }

  /** A number of JSON that is no part of a string: a marker in its place needs quotes. */
  #isNumber(text: string, start: number, end: number): boolean {
    if (this.#form !== "json" || !/^\d+$/.test(text.slice(start, end))) return false;
    return (
      /[:[,]\s*-?$/.test(text.slice(Math.max(0, start - 16), start)) && /^\s*[,}\]]/.test(text.slice(end, end + 16))
    );
  }

  /** At this place, or before the character that it would cut. */
  #wholeUnit(text: string, at: number): number {
    if (this.#form !== "json") return isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at;
    const reading = atOnce(new Reading(text).decode());
    return reading.sourceOf(Math.max(0, reading.offsetFrom(at + 1) - 1));
  }

  get #isOver(): boolean {
    return !this.#isWhole && this.#filter.isOver();
  }

  #ended(out: string): string {
    this.#pending = "";
    return out;
  }

  /** Before what may still grow: the last characters, a word without spaces, a value that was found there, an escape. */
  #safeCut(text: string, places: readonly TreatedPlace[]): number {
    const least = Math.max(this.#before.length, text.length - LONG_CHARS);
    let cut = Math.max(least, text.length - HELD_CHARS);
    while (cut > least && isInWord(text, cut) && isInWord(text, cut - 1)) cut--;
    for (const { start, end } of places) if (start < cut && end > cut) cut = Math.max(least, start);
    return Math.max(this.#before.length, this.#wholeUnit(text, cut));
  }

  moved(offset: number): number {
    return offset + (this.shifts.findLast(({ at }) => at <= offset)?.by ?? 0);
  }
}

const isInWord = (text: string, at: number) => text.charCodeAt(at) > 32 && text.charCodeAt(at) < 127;
const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;
