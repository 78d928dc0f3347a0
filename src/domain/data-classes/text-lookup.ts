import { atOnce } from "../../kit/in-turns.ts";
import { sortSteps } from "../../kit/sort-steps.ts";

const PREFIX_CHARS = 3;
const TEXTS_AT_ONCE = 1_024;
/** What a text costs, measured in characters that a scan reads in the same time. */
const TEXT_CHARS = 32;
/** So few texts are compared one by one; more are looked up. */
const COMPARED_MAX = 4;

/** Texts of one length that begin alike. */
type Group = { readonly length: number; readonly texts: ReadonlySet<string> };

/**
 * Finds which of many texts stands at a place. The time for a place does not depend on how many texts there are, but on how many
 * lengths those have that begin like it: a caller can write 100,000 phone numbers of one country.
 */
export class TextLookup {
  readonly #firstChars = new Uint8Array(0x10000);
  /** By their first characters, the longest first. */
  readonly #groups = new Map<string, Group[]>();
  readonly #texts: readonly string[];
  #sorted: readonly string[] | undefined;

  private constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  static of(texts: Iterable<string>): TextLookup {
    return atOnce(TextLookup.build(texts));
  }

  /** Texts of fewer than three characters are left out. Yields the work done in characters. */
  static *build(texts: Iterable<string>): Generator<number, TextLookup> {
    const lookup = new TextLookup([...texts]);
    yield* lookup.#fill();
    return lookup;
  }

  /** Makes ready what `isBegun` needs. */
  *sort(): Generator<number, void> {
    this.#sorted ??= yield* sortSteps(this.#texts, byCodeUnits);
  }

  *#fill(): Generator<number, void> {
    const byPrefix = new Map<string, Map<number, Set<string>>>();
    for (const [at, text] of this.#texts.entries()) {
      if (at % TEXTS_AT_ONCE === TEXTS_AT_ONCE - 1) yield TEXTS_AT_ONCE * TEXT_CHARS;
      if (text.length < PREFIX_CHARS) continue;
      this.#firstChars[text.charCodeAt(0)] = 1;
      const prefix = text.slice(0, PREFIX_CHARS);
      const byLength = byPrefix.get(prefix) ?? new Map<number, Set<string>>();
      byPrefix.set(prefix, byLength);
      byLength.set(text.length, (byLength.get(text.length) ?? new Set()).add(text));
    }
    let grouped = 0;
    for (const [prefix, byLength] of byPrefix) {
      if (++grouped % TEXTS_AT_ONCE === 0) yield TEXTS_AT_ONCE * TEXT_CHARS;
      const groups = [...byLength].map(([length, same]): Group => ({ length, texts: same }));
      this.#groups.set(
        prefix,
        groups.toSorted((a, b) => b.length - a.length),
      );
    }
  }

  /** The first place from here on where one may begin, by its first character; else the end. */
  nextStart(text: string, from: number, end = text.length): number {
    const firstChars = this.#firstChars;
    let at = from;
    while (at < end && firstChars[text.charCodeAt(at)] === 0) at++;
    return at;
  }

  /** The longest one that stands here and whose end is accepted. */
  longestAt(text: string, at: number, isEnd: (end: number) => boolean): string | undefined {
    for (const { length, texts } of this.#groups.get(text.slice(at, at + PREFIX_CHARS)) ?? []) {
      if (at + length > text.length) continue;
      const found = textIn(texts, text, at, length);
      if (found !== undefined && isEnd(at + length)) return found;
    }
    return undefined;
  }

  /** Whether one begins with this and is longer. */
  isBegun(beginning: string): boolean {
    this.#sorted ??= atOnce(sortSteps(this.#texts, byCodeUnits));
    let low = 0;
    for (let high = this.#sorted.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] ?? "") <= beginning) low = middle + 1;
      else high = middle;
    }
    return this.#sorted[low]?.startsWith(beginning) === true;
  }
}

function textIn(texts: ReadonlySet<string>, text: string, at: number, length: number): string | undefined {
  if (texts.size > COMPARED_MAX) {
    const there = text.slice(at, at + length);
    return texts.has(there) ? there : undefined;
  }
  for (const one of texts) if (text.startsWith(one, at)) return one;
  return undefined;
}

function byCodeUnits(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
