import { isJsonObject } from "../../kit/json.ts";
import { stringEnd } from "../../kit/json-strings.ts";
import { EMAIL } from "./kinds.ts";
import type { KnownText } from "./known-texts.ts";
import { Reading } from "./reading.ts";

/** How far on both sides of the edge between two parts a value is looked for. */
const SIDE_CHARS = 1_024;
/** A private key or a word without spaces may reach further. */
const LONG_SIDE_CHARS = 16_384;
/** A finding so near the end of what was read may be cut there, or lack the words around it. */
const EDGE_CHARS = 128;
const KEY_BEGIN = "-----BEGIN ";
/** What formats put between parts that they join. */
export const JOINTS = ["\n", "\n\n", " "] as const;

const SENTENCE = /^\p{Lu}/u;

/** Finds values in a text; yields the work done in characters. */
type Find = (text: string) => Generator<number, readonly KnownText[]>;

/** What is found when adjacent texts are read as one. */
type SplitValue = {
  readonly kind: KnownText["kind"];
  /** The text in which it begins, and where. */
  readonly at: number;
  readonly offset: number;
  /** Its part in each text; only one: the words that name it are in the text before or behind. */
  readonly pieces: readonly string[];
};

/** What no text holds by itself, although together they do. */
export function* findSplitValues(texts: readonly string[], find: Find): Generator<number, SplitValue[]> {
  const all = texts.join("");
  const starts: number[] = [];
  let length = 0;
  for (const text of texts) {
    starts.push(length);
    length += text.length;
  }
  const values: SplitValue[] = [];
  for (const { from, to } of windowsAround(all, starts)) {
    const isCut = (start: number, end: number) =>
      (from > 0 && start < from + EDGE_CHARS) || (to < all.length && end > to - EDGE_CHARS);
    for (const { kind, start, end } of yield* find(all.slice(from, to))) {
      const value = { kind, ...piecesOf(texts, starts, from + start, from + end) };
      if (value.pieces.length === 1 ? isCut(from + start, from + end) : yield* isWholeBefore(value, find)) continue;
      values.push(value);
    }
  }
  return values;
}

/** An address at the end of a text would go on with the first word of the next one, a new sentence. */
function* isWholeBefore({ kind, pieces }: Pick<SplitValue, "kind" | "pieces">, find: Find): Generator<number, boolean> {
  const [first = "", second = ""] = pieces;
  if (kind !== EMAIL || !SENTENCE.test(second)) return false;
  return (yield* find(first)).some((one) => one.kind === kind && one.start === 0 && one.end === first.length);
}

/** Around each edge between two texts; what overlaps is read once. */
function windowsAround(all: string, starts: readonly number[]): { from: number; to: number }[] {
  const windows: { from: number; to: number }[] = [];
  for (const edge of starts.slice(1)) {
    const { from, to } = windowAround(all, edge);
    const last = windows.at(-1);
    if (last === undefined || last.to < from) windows.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return windows;
}

function windowAround(all: string, edge: number): { from: number; to: number } {
  const key = all.slice(Math.max(0, edge - LONG_SIDE_CHARS), edge + KEY_BEGIN.length).lastIndexOf(KEY_BEGIN);
  let from = key < 0 ? edge : Math.max(0, edge - LONG_SIDE_CHARS) + key;
  let to = key < 0 ? edge : edge + LONG_SIDE_CHARS;
  while (from > 0 && edge - from < LONG_SIDE_CHARS && isInWord(all, from - 1)) from--;
  while (to < all.length && to - edge < LONG_SIDE_CHARS && isInWord(all, to)) to++;
  return {
    from: Math.max(0, Math.min(from, edge - SIDE_CHARS)),
    to: Math.min(all.length, Math.max(to, edge + SIDE_CHARS)),
  };
}

const isInWord = (all: string, at: number) => all.charCodeAt(at) > 32 && all.charCodeAt(at) < 127;

function piecesOf(texts: readonly string[], starts: readonly number[], start: number, end: number) {
  let low = 0;
  for (let high = starts.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= start) low = middle + 1;
    else high = middle;
  }
  const at = low - 1;
  const offset = start - (starts[at] ?? 0);
  const pieces: string[] = [];
  for (let part = at; part < texts.length && (starts[part] ?? 0) < end; part++) {
    const begin = starts[part] ?? 0;
    pieces.push((texts[part] ?? "").slice(Math.max(0, start - begin), end - begin));
  }
  return { at, offset, pieces };
}

/** Collects the adjacent parts of a message that hold a text, as they are read one after the other. */
export class TextRuns {
  readonly #runs: { readonly at: number; readonly texts: string[] }[] = [];
  #isOpen = false;

  add(at: number, item: unknown): void {
    const text = isJsonObject(item) ? item["text"] : undefined;
    if (typeof text !== "string") this.#isOpen = false;
    else if (this.#isOpen) this.#runs.at(-1)?.texts.push(text);
    else {
      this.#runs.push({ at, texts: [text] });
      this.#isOpen = true;
    }
  }

  /** At least two texts each; `at` is the place of the first. */
  get found(): readonly { readonly at: number; readonly texts: readonly string[] }[] {
    return this.#runs.filter(({ texts }) => texts.length > 1);
  }
}

/** What is cut off a string of JSON at both ends, as it is written, and what takes its place. */
export type Cut = { head: number; tail: number; before: string; behind: string };
type WrittenText = { readonly quote: number; readonly reading: Reading };

/**
 * Where values are split over parts of a written request, by the place of the string. `replacementOf` is undefined for values
 * that stay; what takes the place of a value is split like it.
 */
export function* cutsIn(
  json: string,
  find: Find,
  replacementOf: (kind: KnownText["kind"], original: string) => string | undefined,
): Generator<number, ReadonlyMap<number, Cut>> {
  const cuts = new Map<number, Cut>();
  for (const run of yield* writtenRuns(json)) {
    const texts = run.map(({ reading }) => reading.text);
    for (const { kind, at, offset, pieces } of yield* findSplitValues(texts, find)) {
      const put = pieces.length > 1 ? replacementOf(kind, pieces.join("")) : undefined;
      if (put === undefined) continue;
      for (const [number, piece] of splitLike(put, pieces).entries()) {
        const written = run[at + number];
        if (written === undefined) continue;
        const { quote, reading } = written;
        const cut = cuts.get(quote) ?? { head: 0, tail: reading.sourceOf(reading.text.length), before: "", behind: "" };
        cuts.set(quote, cut);
        if (number === 0) {
          cut.tail = reading.sourceOf(offset);
          cut.behind = piece;
        } else {
          cut.head = reading.sourceOf(pieces[number]?.length ?? 0);
          cut.before = piece;
        }
      }
    }
  }
  return cuts;
}

/** None is empty as long as there are enough characters: providers refuse empty texts. */
function splitLike(text: string, pieces: readonly string[]): string[] {
  const chars = [...text];
  return pieces.map((piece, number) => {
    const left = pieces.length - number - 1;
    const count = left === 0 ? chars.length : Math.max(1, Math.min(piece.length, chars.length - left));
    return chars.splice(0, count).join("");
  });
}

type Open = { readonly list: number | undefined; index: number };

/** Adjacent members named `text` of objects in one list. */
function* writtenRuns(json: string): Generator<number, readonly WrittenText[][]> {
  const runs: WrittenText[][] = [];
  const open: Open[] = [];
  let lists = 0;
  let name: string | undefined;
  let last: Open | undefined;
  for (let at = 0; at < json.length; at++) {
    const sign = json.charAt(at);
    const inside = open.at(-1);
    if (sign === "[") open.push({ list: ++lists, index: 0 });
    else if (sign === "{") {
      if (inside !== undefined) inside.index++;
      open.push({ list: inside?.list === undefined ? undefined : -inside.list, index: inside?.index ?? 0 });
    } else if (sign === "]" || sign === "}") open.pop();
    if (sign !== '"') continue;
    const end = stringEnd(json, at + 1);
    yield end - at;
    const isName = /^\s*:/.test(json.slice(end + 1, end + 17));
    if (isName) name = (yield* readingOf(json.slice(at + 1, end))).text;
    else {
      if (name === "text" && inside?.list !== undefined && inside.list < 0) {
        const text = { quote: at, reading: yield* readingOf(json.slice(at + 1, end)) };
        if (last?.list === inside.list && last.index === inside.index - 1) runs.at(-1)?.push(text);
        else runs.push([text]);
        last = { ...inside };
      }
      name = undefined;
    }
    at = end;
  }
  return runs.filter((run) => run.length > 1);
}

function* readingOf(raw: string): Generator<number, Reading> {
  const written = new Reading(raw);
  return raw.includes("\\") ? yield* written.decode() : written;
}
