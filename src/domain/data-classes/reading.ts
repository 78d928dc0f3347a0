import type { Detectors } from "./custom-class.ts";
import type { Finding } from "./finding.ts";
import { Scan } from "./scan.ts";

/** How often JSON in a string in JSON is read. */
const NESTED_JSON_MAX = 4;
/** What a text costs besides its characters, measured in characters. */
const SCAN_CHARS = 112;
/** What finding a value costs, measured in characters. */
const FOUND_CHARS = 96;
/** What comparing a group with the forms of numbers costs, measured in characters. */
const FORM_CHARS = 48;
const FINDINGS_AT_ONCE = 4_096;
export const JSON_START = /^\s*[[{"]/;
const HEX = /^[0-9a-fA-F]{4}$/;
const ESCAPED: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

/** A text as it stands, or with the escapes of another reading decoded; it knows where its characters came from. */
export class Reading {
  readonly text: string;
  /** How often escapes were decoded. */
  readonly depth: number;
  readonly #source: Reading | undefined;
  /** Behind each escape: where it ends here, and how much further that is in the source. */
  readonly #ends: readonly number[];
  readonly #shifts: readonly number[];

  constructor(text: string, source?: Reading, ends: readonly number[] = [], shifts: readonly number[] = []) {
    this.text = text;
    this.depth = source === undefined ? 0 : source.depth + 1;
    this.#source = source;
    this.#ends = ends;
    this.#shifts = shifts;
  }

  /** The offset in the text that was read first. */
  sourceOf(offset: number): number {
    if (this.#source === undefined) return offset;
    let low = 0;
    for (let high = this.#ends.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#source.sourceOf(offset + (low === 0 ? 0 : (this.#shifts[low - 1] ?? 0)));
  }

  /** The first offset here whose source is not before one in the text that was read first. */
  offsetFrom(source: number): number {
    let low = 0;
    for (let high = this.text.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.sourceOf(middle) < source) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Decodes the escapes of JSON; yields the work done in characters. Parsing would lose what detectors need: the name beside a
   * value, digits of long numbers, members of the same name, and all of a text that was cut off.
   */
  *decode(): Generator<number, Reading> {
    const { text } = this;
    const ends: number[] = [];
    const shifts: number[] = [];
    let decoded = "";
    let read = 0;
    let shift = 0;
    for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
      const sign = text[at + 1] ?? "";
      const hex = sign === "u" ? text.slice(at + 2, at + 6) : "";
      const char = HEX.test(hex) ? String.fromCharCode(Number.parseInt(hex, 16)) : ESCAPED[sign];
      const length = sign === "u" ? 6 : 2;
      if (char === undefined) at += sign === "u" ? 1 : 2;
      else {
        decoded += text.slice(read, at) + char;
        at += length;
        shift += length - 1;
        ends.push(decoded.length);
        shifts.push(shift);
        yield at - read;
        read = at;
      }
    }
    if (ends.length === 0) return this;
    yield text.length - read;
    return new Reading(decoded + text.slice(read), this, ends, shifts);
  }
}

/** Of a place in the text that was read first, what is left when no escape of these readings is cut. */
export function wholeEscapes(
  readings: readonly Reading[],
  place: { readonly start: number; readonly end: number },
): { start: number; end: number } {
  let { start, end } = place;
  for (const reading of readings) {
    start = reading.sourceOf(reading.offsetFrom(start));
    const behind = reading.offsetFrom(end);
    end = reading.sourceOf(behind) === end ? end : reading.sourceOf(behind - 1);
  }
  return { start, end };
}

/** In which reading of a text something was found. */
export type ReadFinding = Finding & { readonly reading: Reading };

/**
 * What the detectors find in a text as it stands and, if it begins like JSON, with its escapes decoded: each may hide what the
 * other shows. Yields the work done in characters.
 */
export function* findInText(first: Reading, detectors: Detectors): Generator<number, ReadFinding[]> {
  return yield* findIn(yield* readingsOf(first), detectors);
}

export function* findIn(readings: readonly Reading[], detectors: Detectors): Generator<number, ReadFinding[]> {
  const found: ReadFinding[] = [];
  for (const reading of readings) {
    yield SCAN_CHARS;
    const scan = new Scan(reading.text, detectors);
    for (let more = true, before = 0; more; ) {
      more = scan.next();
      const extra = scan.found * FOUND_CHARS + scan.formsRead * FORM_CHARS;
      yield (more ? Scan.sliceChars : Math.min(reading.text.length, Scan.sliceChars)) + extra - before;
      before = extra;
    }
    yield* scan.matchLists();
    for (const pattern of detectors.patterns) yield* pattern.match(scan, detectors.budget);
    for (const { kind, start, end } of yield* scan.findingSteps()) {
      found.push({ kind, start, end, reading });
      if (found.length % FINDINGS_AT_ONCE === 0) yield FINDINGS_AT_ONCE;
    }
  }
  return found;
}

export function* readingsOf(first: Reading): Generator<number, readonly Reading[]> {
  const readings = [first];
  if (!first.text.includes("\\") || !JSON_START.test(first.text)) return readings;
  for (let last = first; readings.length <= NESTED_JSON_MAX; ) {
    const next = yield* last.decode();
    if (next === last) break;
    readings.push(next);
    last = next;
  }
  return readings;
}
