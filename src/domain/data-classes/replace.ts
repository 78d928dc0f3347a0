import { stringEnd } from "../../kit/json-strings.ts";
import { type Detectors, shortestText } from "./custom-class.ts";
import { embeddedText } from "./embedded-text.ts";
import type { Kind } from "./kinds.ts";
import type { KnownText, KnownTexts } from "./known-texts.ts";
import { findIn, JSON_START, Reading, readingsOf, wholeEscapes } from "./reading.ts";
import { type Cut, cutsIn } from "./split-values.ts";

/** What to do with findings of a class; undefined: they stay. */
export type Treat = {
  readonly detectors: Detectors;
  /** What was found before the text was brought into this form. */
  readonly known: Pick<KnownTexts, "in">;
  /** Values are split over adjacent parts. */
  readonly hasSplitValues?: boolean;
  /** How strict the treatment of a finding is; 0: it stays. Where findings overlap, the strictest counts. */
  strictness(kind: Kind, original: string): number;
  /** What stands for a finding. */
  replacement(kind: Kind, original: string): string;
};

/** What a replacement costs besides its characters, measured in characters. */
const PLACE_CHARS = 64;
/** Shorter numbers identify no person. */
const NUMBER_DIGITS_MIN = 8;
const NUMBER = /\d[-+.\deE]{7,}/g;

export type TreatedPlace = {
  kind: Kind;
  strictness: number;
  /** In the text that was read first. */
  start: number;
  end: number;
  reading: Reading;
};

/**
 * Replaces what is found in the strings, names of members and long numbers of a JSON text; every other byte stays as it is.
 * Yields the work done in characters.
 */
export function* replaceInJson(json: string, treat: Treat): Generator<number, string> {
  const shortest = shortestText(treat.detectors);
  const cuts = treat.hasSplitValues === true ? yield* splitValuesIn(json, treat) : NO_CUTS;
  let out = "";
  let copied = 0;
  let at = 0;
  while (at < json.length) {
    const quote = json.indexOf('"', at);
    const between = quote < 0 ? json.length : quote;
    for (const { 0: digits, index } of between - at < NUMBER_DIGITS_MIN
      ? []
      : json.slice(at, between).matchAll(NUMBER)) {
      // 4.9e9 is the same number to the provider.
      const plain = /e/i.test(digits) ? String(Math.trunc(Number(digits))) : digits.replace(/\D.*$/, "");
      const replaced = yield* replaceInText(plain, treat);
      if (replaced === plain) continue;
      const [start, end] = numberAround(json, at + index);
      out += json.slice(copied, start) + (NUMERIC.test(replaced) ? replaced : JSON.stringify(replaced));
      copied = end;
    }
    if (quote < 0) break;
    const end = stringEnd(json, quote + 1);
    yield 16;
    const cut = cuts.get(quote);
    if (cut !== undefined || end - quote > shortest) {
      const raw = json.slice(quote + 1, end);
      const replaced =
        cut === undefined ? yield* replaceInString(raw, treat) : yield* replaceAroundCut(raw, cut, treat);
      if (replaced !== raw) {
        out += json.slice(copied, quote + 1) + replaced;
        copied = end;
      }
    }
    at = end + 1;
  }
  return copied === 0 ? json : out + json.slice(copied);
}

const NO_CUTS: ReadonlyMap<number, Cut> = new Map();

function splitValuesIn(json: string, treat: Treat): ReturnType<typeof cutsIn> {
  function* find(text: string): Generator<number, KnownText[]> {
    const found = yield* findIn([new Reading(text)], treat.detectors);
    return [...found, ...(yield* treat.known.in(text))];
  }
  return cutsIn(json, find, (kind, original) =>
    treat.strictness(kind, original) === 0 ? undefined : treat.replacement(kind, original),
  );
}

function* replaceAroundCut(raw: string, { head, tail, before, behind }: Cut, treat: Treat): Generator<number, string> {
  const rest = head < tail ? yield* replaceInString(raw.slice(head, tail), treat) : "";
  return escaped(before, 1) + rest + escaped(behind, 1);
}

/** The same in a plain text. */
export function replaceInText(text: string, treat: Treat): Generator<number, string> {
  return replaceIn(text, new Reading(text), treat);
}

/** In a string of JSON as it is written: what is put in has the escapes of its place. */
function* replaceInString(raw: string, treat: Treat): Generator<number, string> {
  const written = new Reading(raw);
  const embedded = embeddedText(raw);
  if (embedded !== undefined) {
    const replaced = yield* replaceInEmbedded(embedded.text, treat);
    return replaced === embedded.text ? raw : embedded.written(replaced);
  }
  return yield* replaceIn(raw, raw.includes("\\") ? yield* written.decode() : written, treat);
}

function replaceInEmbedded(text: string, treat: Treat): Generator<number, string> {
  return JSON_START.test(text) ? replaceInJson(text, treat) : replaceInText(text, treat);
}

function* replaceIn(text: string, reading: Reading, treat: Treat): Generator<number, string> {
  const places: TreatedPlace[] = [];
  const readings = yield* readingsOf(reading);
  const add = (within: Reading, { kind, start, end }: KnownText) => {
    const strictness = treat.strictness(kind, within.text.slice(start, end));
    if (strictness === 0) return;
    const place = { start: within.sourceOf(start), end: within.sourceOf(end) };
    const whole = wholeEscapes(readings.slice(readings.indexOf(within) + 1), place);
    if (whole.start < whole.end) places.push({ kind, strictness, ...whole, reading: within });
  };
  for (const finding of yield* findIn(readings, treat.detectors)) add(finding.reading, finding);
  for (const within of readings) for (const known of yield* treat.known.in(within.text)) add(within, known);
  if (places.length === 0) return text;
  let out = "";
  let copied = 0;
  for (const { kind, start, end, reading: within } of joined(places)) {
    const original = within.text.slice(within.offsetFrom(start), within.offsetFrom(end));
    out += text.slice(copied, start) + escaped(treat.replacement(kind, original), within.depth);
    copied = end;
    yield PLACE_CHARS;
  }
  return out + text.slice(copied);
}

/** One place for all that overlap: the one around the others, or what they cover together. */
export function joined(places: readonly TreatedPlace[]): TreatedPlace[] {
  const all: TreatedPlace[] = [];
  for (const place of places.toSorted(
    (a, b) => a.start - b.start || b.end - a.end || b.reading.depth - a.reading.depth,
  )) {
    const last = all.at(-1);
    if (last === undefined || last.end <= place.start) all.push({ ...place });
    else {
      last.end = Math.max(last.end, place.end);
      if (place.reading.depth > last.reading.depth) last.reading = place.reading;
      if (place.strictness > last.strictness) Object.assign(last, { kind: place.kind, strictness: place.strictness });
    }
  }
  return all;
}

function escaped(text: string, depth: number): string {
  let out = text;
  for (let times = 0; times < depth; times++) out = JSON.stringify(out).slice(1, -1);
  return out;
}

const NUMERIC = /^[1-9]\d*$/;
const NUMBER_PART = /[-+.\deE]/;

/** The whole number that digits are part of: a text takes its place, which has no fraction and no sign. */
function numberAround(json: string, at: number): [start: number, end: number] {
  let start = at;
  let end = at;
  while (start > 0 && NUMBER_PART.test(json.charAt(start - 1))) start--;
  while (end < json.length && NUMBER_PART.test(json.charAt(end))) end++;
  return [start, end];
}
