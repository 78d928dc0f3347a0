import { isAlnumAt } from "./characters.ts";
import { TextLookup } from "./text-lookup.ts";

/** A character of a text, or in JSON an escape, as it is written. */
type Units = {
  readonly chars: string;
  /** Where each character begins in the written text, and behind the last one where the rest does. */
  readonly starts: readonly number[] | undefined;
};

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/y;
const CUT_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;
const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WRITTEN_ESCAPE = /^\\[bfnrt]$/;
/** Stand-ins are written in Latin letters: beside others, as in Chinese or Korean, they are words of their own. */
const WORD = /[\p{Script=Latin}\p{N}]/u;

/** A place where the restored text is longer or shorter: offsets from `at` on in the text with stand-ins move by `by` in all. */
type Shift = { readonly at: number; readonly by: number };

/** Puts originals back in the place of stand-ins; anything that is not exactly a stand-in stays. */
export class Restorer {
  readonly #originals: ReadonlyMap<string, string>;
  readonly #lookup: TextLookup;

  constructor(originals: ReadonlyMap<string, string>, lookup = TextLookup.of(originals.keys())) {
    this.#originals = originals;
    this.#lookup = lookup;
  }

  /** For many stand-ins; yields the work done in characters. */
  static *build(originals: ReadonlyMap<string, string>): Generator<number, Restorer> {
    const lookup = yield* TextLookup.build(originals.keys());
    yield* lookup.sort();
    return new Restorer(originals, lookup);
  }

  /** A text that is there as a whole. */
  whole(text: string, form?: "text" | "json"): string {
    return this.open(form).end(text);
  }

  /** A text that arrives in pieces; `form` undefined: its first characters tell. */
  open(form?: "text" | "json"): RestoredText {
    return new RestoredText(this, form);
  }

  /** The first place from here on where a stand-in may begin, by its first character; else the end. */
  nextStart(chars: string, from: number): number {
    return this.#lookup.nextStart(chars, from);
  }

  /**
   * At a place of a text: the stand-in that stands there, `wait` when one may be arriving, or undefined. The longest counts.
   */
  at(chars: string, at: number, isWhole: boolean): string | "wait" | undefined {
    if (!isWhole && this.#lookup.isBegun(chars.slice(at))) return "wait";
    const found = this.#lookup.longestAt(chars, at, (end) => isEdge(chars.charAt(end - 1), chars.charAt(end)));
    return !isWhole && found !== undefined && at + found.length === chars.length ? "wait" : found;
  }

  original(standIn: string): string {
    return this.#originals.get(standIn) ?? standIn;
  }
}

/** One text of a reply. What may be the beginning of a stand-in is held back, never more than the longest one. */
export class RestoredText {
  readonly #restorer: Restorer;
  #form: "text" | "json" | undefined;
  /** Until the form is known. */
  #beginning = "";
  #pending = "";
  #before = "";
  #read = 0;
  readonly shifts: Shift[] = [];

  constructor(restorer: Restorer, form: "text" | "json" | undefined) {
    this.#restorer = restorer;
    this.#form = form;
  }

  /** Held back, as it is written. */
  get heldChars(): number {
    return this.#pending.length;
  }

  push(text: string): string {
    this.#add(text);
    return this.#advance(false);
  }

  /** The last piece, with what was held back. */
  end(text = ""): string {
    this.#add(text);
    return this.#advance(true);
  }

  #add(text: string): void {
    this.#pending += text;
    if (this.#form !== undefined) return;
    this.#beginning = (this.#beginning + text).trimStart();
    this.#form = formOf(this.#beginning);
  }

  #advance(isEnd: boolean): string {
    const written = this.#pending;
    const isJson = this.#form === "json";
    const { chars, starts } = isJson ? readUnits(written) : { chars: written, starts: undefined };
    const startOf = (unit: number) => starts?.[unit] ?? unit;
    let out = "";
    let copied = 0;
    let at = 0;
    while (at < chars.length) {
      at = this.#restorer.nextStart(chars, at);
      const found = this.#isStart(chars, at) ? this.#restorer.at(chars, at, isEnd) : undefined;
      if (found === "wait") break;
      if (found === undefined) at = Math.min(at + 1, chars.length);
      else {
        const original = this.#restorer.original(found);
        const put = isJson ? JSON.stringify(original).slice(1, -1) : original;
        out += written.slice(startOf(copied), startOf(at)) + put;
        at += found.length;
        copied = at;
        if (original.length !== found.length) {
          const by = (this.shifts.at(-1)?.by ?? 0) + original.length - found.length;
          this.shifts.push({ at: this.#read + at, by });
        }
      }
    }
    const from = startOf(at);
    out += written.slice(startOf(copied), from);
    if (at > 0) this.#before = (this.#before + chars.slice(Math.max(0, at - 2), at)).slice(-2);
    this.#read += at;
    this.#pending = isEnd ? "" : written.slice(from);
    return isEnd ? out + written.slice(from) : out;
  }

  /** Not inside a word. The letter of an escape that was not decoded, as in code, is none of the word behind it. */
  #isStart(chars: string, at: number): boolean {
    const before = at >= 2 ? chars.slice(at - 2, at) : (this.#before + chars.slice(0, at)).slice(-2);
    return isEdge(before.slice(-1), chars.charAt(at)) || WRITTEN_ESCAPE.test(before);
  }

  /** Where an offset of the text with stand-ins is in the restored one. */
  moved(offset: number): number {
    let low = 0;
    let high = this.shifts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.shifts[middle]?.at ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return offset + (this.shifts[low - 1]?.by ?? 0);
  }
}

const UNDECIDED = /^\[?\s*$/;
/** `[ADDRESS_7k3f2a]` and `[1]` begin a text. */
const JSON_BEGINS = /^(?:\{|\[\s*["{[\]])/;

export function formOf(beginning: string): "text" | "json" | undefined {
  if (UNDECIDED.test(beginning)) return undefined;
  return JSON_BEGINS.test(beginning) ? "json" : "text";
}

/** An escape that is cut off is not read yet. */
function readUnits(written: string): Units {
  if (!written.includes("\\")) return { chars: written, starts: undefined };
  const starts: number[] = [];
  let chars = "";
  let at = 0;
  while (at < written.length) {
    if (written.charAt(at) !== "\\") {
      starts.push(at);
      chars += written.charAt(at++);
      continue;
    }
    ESCAPE.lastIndex = at;
    const [code, hex, sign = ""] = ESCAPE.exec(written) ?? [];
    if (code === undefined && CUT_ESCAPE.test(written.slice(at))) break;
    starts.push(at);
    if (code === undefined) chars += written.charAt(at++);
    else {
      chars += hex === undefined ? (ESCAPED[sign] ?? sign) : String.fromCharCode(Number.parseInt(hex, 16));
      at += code.length;
    }
  }
  starts.push(at);
  return { chars, starts };
}

/** Not between two letters or digits. */
function isEdge(before: string, behind: string): boolean {
  return !isWord(before) || !isWord(behind);
}

function isWord(char: string): boolean {
  const code = char.charCodeAt(0);
  return code < 128 ? isAlnumAt(char, 0) : WORD.test(char);
}
