import { DIGIT, kindAt, LETTER } from "./characters.ts";
import type { Kind } from "./kinds.ts";

const PREFIX_CHARS = 3;
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
  readonly #firstChars = new Uint8Array(0x10000);
  /** By their first characters, the longest first. */
  readonly #byPrefix = new Map<string, string[]>();

  constructor(kinds: ReadonlyMap<string, Kind>) {
    this.#kinds = kinds;
    for (const text of [...kinds.keys()].toSorted((a, b) => b.length - a.length)) {
      if (text.length < PREFIX_CHARS) continue;
      this.#firstChars[text.charCodeAt(0)] = 1;
      const prefix = text.slice(0, PREFIX_CHARS);
      const others = this.#byPrefix.get(prefix);
      if (others === undefined) this.#byPrefix.set(prefix, [text]);
      else others.push(text);
    }
  }

  /** Yields the work done in characters. */
  *in(text: string): Generator<number, KnownText[]> {
    const found: KnownText[] = [];
    for (let from = 0; from < text.length; from += SLICE_CHARS) {
      const to = Math.min(text.length, from + SLICE_CHARS);
      for (let at = from; at < to; at++) {
        if (this.#firstChars[text.charCodeAt(at)] === 0 || !isEdge(text, at)) continue;
        const known = this.#at(text, at);
        const kind = known === undefined ? undefined : this.#kinds.get(known);
        if (known !== undefined && kind !== undefined) found.push({ kind, start: at, end: at + known.length });
      }
      yield to - from;
    }
    return found;
  }

  #at(text: string, at: number): string | undefined {
    return this.#byPrefix
      .get(text.slice(at, at + PREFIX_CHARS))
      ?.find((known) => text.startsWith(known, at) && isEdge(text, at + known.length));
  }
}

/** Not between two letters or digits. */
function isEdge(text: string, at: number): boolean {
  return (kindAt(text, at - 1) & WORD) === 0 || (kindAt(text, at) & WORD) === 0;
}
