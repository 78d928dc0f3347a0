import { DIGIT, kindAt, LETTER } from "./characters.ts";
import type { Kind } from "./kinds.ts";
import { TextLookup } from "./text-lookup.ts";

const WORD = LETTER | DIGIT;
/** After this many characters other work may run. */
const SLICE_CHARS = 16_384;

export type KnownText = { readonly kind: Kind; readonly start: number; readonly end: number };

/**
 * Texts that were found once and are found again wherever they stand as words of their own: a detector may have needed the
 * words around them, which a provider's format puts elsewhere.
 */
export class KnownTexts {
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #lookup: TextLookup;

  constructor(kinds: ReadonlyMap<string, Kind>, lookup = TextLookup.of(kinds.keys())) {
    this.#kinds = kinds;
    this.#lookup = lookup;
  }

  /** For many texts; yields the work done in characters. */
  static *build(kinds: ReadonlyMap<string, Kind>): Generator<number, KnownTexts> {
    return new KnownTexts(kinds, yield* TextLookup.build(kinds.keys()));
  }

  /** Yields the work done in characters. */
  *in(text: string): Generator<number, KnownText[]> {
    const found: KnownText[] = [];
    const isEnd = (at: number) => isEdge(text, at);
    for (let from = 0; from < text.length; from += SLICE_CHARS) {
      const to = Math.min(text.length, from + SLICE_CHARS);
      for (let at = this.#lookup.nextStart(text, from, to); at < to; at = this.#lookup.nextStart(text, at + 1, to)) {
        if (!isEdge(text, at)) continue;
        const known = this.#lookup.longestAt(text, at, isEnd);
        const kind = known === undefined ? undefined : this.#kinds.get(known);
        if (known !== undefined && kind !== undefined) found.push({ kind, start: at, end: at + known.length });
      }
      yield to - from;
    }
    return found;
  }
}

/** Not between two letters or digits. */
function isEdge(text: string, at: number): boolean {
  return (kindAt(text, at - 1) & WORD) === 0 || (kindAt(text, at) & WORD) === 0;
}

/** Several of them: one text may belong to several classes. */
export class KnownTextSets {
  readonly #sets: readonly KnownTexts[];

  private constructor(sets: readonly KnownTexts[]) {
    this.#sets = sets;
  }

  static *build(kinds: readonly ReadonlyMap<string, Kind>[]): Generator<number, KnownTextSets> {
    const sets: KnownTexts[] = [];
    for (const one of kinds) sets.push(yield* KnownTexts.build(one));
    return new KnownTextSets(sets);
  }

  *in(text: string): Generator<number, KnownText[]> {
    const found: KnownText[] = [];
    for (const one of this.#sets) for (const known of yield* one.in(text)) found.push(known);
    return found;
  }
}
