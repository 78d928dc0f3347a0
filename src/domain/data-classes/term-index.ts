import { atOnce } from "../../kit/in-turns.ts";
import { foldedAt, foldedCode, isDigitAt, isLetterAt, kindAt, LOWER, UPPER } from "./characters.ts";

/** Words this long are found inside compounds and with endings; shorter ones only by themselves. */
const INFLECTED_CHARS_MIN = 6;
/** What building takes for one character of a term, measured in characters that a scan reads in that time. */
const CHAR_WORK = 8;
/** After so many characters of terms other work may run. */
const SLICE_CHARS = 4_096;
/** Up to here every step is one look-up in a full table; larger indexes keep their edges in a hash table. */
const TABLE_CELLS_MAX = 2 ** 21;

/** States in the order in which they were made, each with its parent, the character that leads to it, and its depth. */
type Tree = { readonly parents: Int32Array; readonly chars: Uint16Array; readonly depths: Int32Array };

/**
 * Finds many terms in one pass (Aho–Corasick): the time for a text does not depend on how many terms there are. Case and
 * accents do not count.
 */
export class TermIndex {
  /** The characters of terms, numbered from 1; every other one is 0 and leads back to the start. */
  readonly #alphabet = new Uint16Array(0x10000);
  #size = 1;
  readonly #edges: EdgeTable;
  #states = 1;
  #fail: Int32Array;
  /** The term that ends in a state, or -1. */
  #term: Int32Array;
  /** The state of the next shorter suffix that ends a term; 0 when there is none. */
  #next: Int32Array;
  readonly #lengths: Int32Array;
  readonly #whole: Uint8Array;
  #table: Int32Array | undefined;

  private constructor(terms: readonly string[], wholeWords: "all" | "short", chars: number) {
    this.#edges = new EdgeTable(chars);
    this.#fail = new Int32Array(chars + 1);
    this.#term = new Int32Array(chars + 1).fill(-1);
    this.#next = new Int32Array(chars + 1);
    this.#lengths = Int32Array.from(terms, (term) => term.length);
    this.#whole = Uint8Array.from(terms, (term) => (wholeWords === "all" || term.length < INFLECTED_CHARS_MIN ? 1 : 0));
  }

  static of(terms: readonly string[], wholeWords: "all" | "short"): TermIndex {
    return atOnce(TermIndex.build(terms, wholeWords));
  }

  /** The same in slices, for many terms; yields the work done in characters. */
  static *build(terms: readonly string[], wholeWords: "all" | "short"): Generator<number, TermIndex> {
    const chars = terms.reduce((sum, term) => sum + term.length, 0);
    const index = new TermIndex(terms, wholeWords, chars);
    yield terms.length * CHAR_WORK;
    yield* index.#number(terms);
    const tree = {
      parents: new Int32Array(chars + 1),
      chars: new Uint16Array(chars + 1),
      depths: new Int32Array(chars + 1),
    };
    yield* index.#grow(terms, tree);
    yield* index.#link(tree);
    index.#trim();
    if (index.#states * index.#size <= TABLE_CELLS_MAX) index.#table = yield* index.#tabulate();
    return index;
  }

  /** Of every character as it is written, capital and accented ones included. */
  *#number(terms: readonly string[]): Generator<number, void> {
    const numbers = new Map<number, number>();
    let chars = 0;
    for (const term of terms) {
      for (let at = 0; at < term.length; at++) {
        const code = foldedAt(term, at);
        if (!numbers.has(code)) numbers.set(code, numbers.size + 1);
      }
      chars += term.length;
      if (chars < SLICE_CHARS) continue;
      yield chars;
      chars = 0;
    }
    for (let code = 0; code < this.#alphabet.length; code++) this.#alphabet[code] = numbers.get(foldedCode(code)) ?? 0;
    this.#size = numbers.size + 1;
    yield this.#alphabet.length;
  }

  *#grow(terms: readonly string[], { parents, chars, depths }: Tree): Generator<number, void> {
    let added = 0;
    for (const [term, text] of terms.entries()) {
      let state = 0;
      for (let at = 0; at < text.length; at++) {
        const char = this.#alphabet[text.charCodeAt(at)] ?? 0;
        let target = this.#edges.get(state * this.#size + char);
        if (target < 0) {
          target = this.#states++;
          this.#edges.set(state * this.#size + char, target);
          parents[target] = state;
          chars[target] = char;
          depths[target] = at + 1;
        }
        state = target;
      }
      if (state !== 0 && this.#term[state] === -1) this.#term[state] = term;
      added += text.length;
      if (added < SLICE_CHARS) continue;
      yield added * CHAR_WORK;
      added = 0;
    }
  }

  *#link({ parents, chars, depths }: Tree): Generator<number, void> {
    const order = yield* this.#byDepth(depths);
    for (const [at, state] of order.entries()) {
      const parent = parents[state] ?? 0;
      const target = parent === 0 ? 0 : this.#follow(this.#fail[parent] ?? 0, chars[state] ?? 0);
      this.#fail[state] = target;
      this.#next[state] = (this.#term[target] ?? -1) >= 0 ? target : (this.#next[target] ?? 0);
      if (at % SLICE_CHARS === 0) yield SLICE_CHARS * CHAR_WORK;
    }
  }

  /** Every state but the start, by counting: the depths are few. */
  *#byDepth(depths: Int32Array): Generator<number, Int32Array> {
    const starts: number[] = [];
    for (let state = 1; state < this.#states; state++) {
      const depth = depths[state] ?? 0;
      starts[depth + 1] = (starts[depth + 1] ?? 0) + 1;
    }
    yield this.#states;
    for (let depth = 1; depth < starts.length; depth++) starts[depth] = (starts[depth] ?? 0) + (starts[depth - 1] ?? 0);
    const order = new Int32Array(this.#states - 1);
    for (let state = 1; state < this.#states; state++) {
      const depth = depths[state] ?? 0;
      const at = starts[depth] ?? 0;
      order[at] = state;
      starts[depth] = at + 1;
      if (state % SLICE_CHARS === 0) yield SLICE_CHARS;
    }
    return order;
  }

  /** Terms with a common beginning share states. */
  #trim(): void {
    this.#fail = this.#fail.slice(0, this.#states);
    this.#term = this.#term.slice(0, this.#states);
    this.#next = this.#next.slice(0, this.#states);
  }

  *#tabulate(): Generator<number, Int32Array> {
    const table = new Int32Array(this.#states * this.#size);
    for (let state = 0; state < this.#states; state++) {
      for (let char = 1; char < this.#size; char++) table[state * this.#size + char] = this.#follow(state, char);
      yield this.#size;
    }
    return table;
  }

  /** Failure links shorten what was read, so that a text costs at most two edges for each of its characters. */
  #follow(from: number, char: number): number {
    for (let state = from; ; state = this.#fail[state] ?? 0) {
      const target = this.#edges.get(state * this.#size + char);
      if (target >= 0) return target;
      if (state === 0) return 0;
    }
  }

  /** Reads from one place to another, and calls back with what ends before each; returns the state there. */
  read(
    text: string,
    from: number,
    to: number,
    state: number,
    found: (term: number, start: number, end: number) => void,
  ): number {
    const alphabet = this.#alphabet;
    const table = this.#table;
    const size = this.#size;
    const terms = this.#term;
    const next = this.#next;
    let current = state;
    for (let at = from; at < to; at++) {
      const char = alphabet[text.charCodeAt(at)] ?? 0;
      if (char === 0) current = 0;
      else current = table === undefined ? this.#follow(current, char) : (table[current * size + char] ?? 0);
      if (current !== 0 && ((terms[current] ?? -1) >= 0 || next[current] !== 0))
        this.each(text, current, at + 1, found);
    }
    return current;
  }

  /** Calls back for every term that ends just before `end`, the longest first. */
  each(text: string, state: number, end: number, found: (term: number, start: number, end: number) => void): void {
    let at = (this.#term[state] ?? -1) >= 0 ? state : (this.#next[state] ?? 0);
    for (; at !== 0; at = this.#next[at] ?? 0) {
      const term = this.#term[at] ?? 0;
      const start = end - (this.#lengths[term] ?? 0);
      if (this.#whole[term] === 0 || (startsWord(text, start) && endsWord(text, end))) found(term, start, end);
    }
  }
}

/** Whole numbers to whole numbers in two flat arrays: 100,000 terms take tens of megabytes, not hundreds. */
class EdgeTable {
  readonly #keys: Float64Array;
  readonly #targets: Int32Array;
  readonly #mask: number;

  constructor(entries: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(16, entries * 2)));
    this.#keys = new Float64Array(slots).fill(-1);
    this.#targets = new Int32Array(slots);
    this.#mask = slots - 1;
  }

  #slot(key: number): number {
    let slot = (Math.imul(key | 0, 0x9e3779b1) >>> 7) & this.#mask;
    while (this.#keys[slot] !== -1 && this.#keys[slot] !== key) slot = (slot + 1) & this.#mask;
    return slot;
  }

  get(key: number): number {
    const slot = this.#slot(key);
    return this.#keys[slot] === -1 ? -1 : (this.#targets[slot] ?? -1);
  }

  set(key: number, target: number): void {
    const slot = this.#slot(key);
    this.#keys[slot] = key;
    this.#targets[slot] = target;
  }
}

function isWordChar(text: string, at: number): boolean {
  return isLetterAt(text, at) || isDigitAt(text, at);
}

/** Also inside a name in camel case. */
function startsWord(text: string, start: number): boolean {
  if (start === 0 || !isWordChar(text, start - 1) || !isWordChar(text, start)) return true;
  return kindAt(text, start - 1) === LOWER && kindAt(text, start) === UPPER;
}

function endsWord(text: string, end: number): boolean {
  if (!isWordChar(text, end) || !isWordChar(text, end - 1)) return true;
  return kindAt(text, end - 1) === LOWER && kindAt(text, end) === UPPER;
}
