import { atOnce } from "../../kit/in-turns.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { customKind, type Kind } from "./kinds.ts";
import { TermIndex } from "./term-index.ts";

/** Terms of a class that a workspace defines: names of projects, customers, products. Case and accents do not count. */
export class TermList {
  readonly class: string;
  readonly #kind: Kind;
  readonly #index: TermIndex;

  private constructor(name: string, index: TermIndex) {
    this.class = name;
    this.#kind = customKind(`list.${name}`, name, `Terms of ${name}`);
    this.#index = index;
  }

  /** Terms beyond the limits are the caller's to refuse. */
  static of(name: string, terms: readonly string[]): TermList {
    return atOnce(TermList.build(name, terms));
  }

  /** The same in slices, for many terms; yields the work done in characters. */
  static *build(name: string, terms: readonly string[]): Generator<number, TermList> {
    return new TermList(name, yield* TermIndex.build(terms, "all"));
  }

  /** Reads one slice, and returns the state for the next one. */
  match(scan: ScannedText, from: number, to: number, state: number): number {
    return this.#index.read(scan.text, from, to, state, (_, start, end) =>
      scan.add(this.#kind, start, end, RANK.inContext),
    );
  }
}
