import { RANK, type ScannedText } from "./finding.ts";
import type { Kind } from "./kinds.ts";
import { TermIndex } from "./term-index.ts";

export const LIST_TERMS_MAX = 100_000;
export const TERM_CHARS_MAX = 200;

/** Terms of a class that a workspace defines: names of projects, customers, products. Case and accents do not count. */
export class TermList {
  readonly class: string;
  readonly #kind: Kind;
  readonly #index: TermIndex;

  /** Terms beyond the limits are the caller's to refuse. */
  constructor(name: string, terms: readonly string[]) {
    this.class = name;
    const label = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    this.#kind = { id: `list.${name}`, class: name, version: 1, label, name: `Terms of ${name}`, confidence: "high" };
    this.#index = new TermIndex(terms, "all");
  }

  /** Reads one slice, and returns the state for the next one. */
  match(scan: ScannedText, from: number, to: number, state: number): number {
    let at = state;
    for (let char = from; char < to; char++) {
      at = this.#index.step(at, scan.text, char);
      this.#index.each(scan.text, at, char + 1, (_, start) => scan.add(this.#kind, start, char + 1, RANK.inContext));
    }
    return at;
  }
}
