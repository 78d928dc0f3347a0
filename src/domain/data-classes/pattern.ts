import type { RE2JS } from "re2js";
import { RANK, type ScannedText } from "./finding.ts";
import { customKind, type Kind } from "./kinds.ts";

const PATTERN_CHARS_MAX = 500;
/** Instructions of a compiled pattern: the time for a text grows with their number. */
const PROGRAM_MAX = 256;
/** Of all repetitions of a pattern: more of them take long to compile before their instructions can be counted. */
const REPEATS_MAX = 512;
/** A longer match is found in parts or not at all. */
const MATCH_CHARS_MAX = 256;
/** Shorter matches are none, as with terms. */
const MATCH_CHARS_MIN = 3;
/** What one instruction costs per character, measured in characters that a scan reads in the same time. */
const INSTRUCTION_WORK = 2;
/** Bounds the characters that one call of the engine reads, times the instructions of its pattern: about six milliseconds. */
const CALL_WORK = 65_536;
/** Patterns without end read on behind each match, so their slices are short. */
const UNBOUNDED_CALL_CHARS = 512;
/** What the engine may read twice in a request, behind each match, before the rest of a text counts as one match. */
const REREAD_WORK_MAX = 200_000_000;

/** Characters of a request that patterns read, each counted for every pattern: some seconds of work, in turns. */
export const PATTERN_CHARS_READ_MAX = 20_000_000;
/** What a provider's format adds to the texts of a request. */
const FORMAT_FACTOR = 4;

/** What is left for all patterns and texts of one pass over a request. */
export type PatternBudget = {
  /** For reading behind matches. */
  left: number;
  chars: number;
};
export const patternBudget = (): PatternBudget => ({ left: REREAD_WORK_MAX, chars: PATTERN_CHARS_READ_MAX });
/** For texts that an inspection has bounded already. */
export const writingBudget = (): PatternBudget => ({
  left: REREAD_WORK_MAX,
  chars: PATTERN_CHARS_READ_MAX * FORMAT_FACTOR,
});

/** A request has more text than its patterns may read. */
export class PatternBudgetError extends Error {
  constructor() {
    super(`patterns would read more than ${PATTERN_CHARS_READ_MAX} characters`);
    this.name = "PatternBudgetError";
  }
}

/** The engine is loaded for the first pattern: without patterns it takes no memory. */
let engine: Promise<typeof RE2JS> | undefined;
export function loadPatternEngine(): Promise<typeof RE2JS> {
  engine ??= import("re2js").then((loaded) => loaded.RE2JS);
  return engine;
}

/** Why a pattern cannot be used, and where in it. */
export type PatternProblem = { readonly problem: string; readonly offset: number };

const REPEAT = /\{(\d+)(?:,(\d*))?\}/g;
/** It may also stand for itself, which costs no more than shorter slices. */
const UNBOUNDED = /[*+]|\{\d+,\}/;
/** Anchors outside of classes and escapes. */
const ANCHOR = /\\[Az]|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[\^$]/gs;

/** A pattern in the syntax of RE2, whose time for a text grows with the text's length alone. */
export class Pattern {
  readonly class: string;
  readonly #kind: Kind;
  readonly #program: RE2JS;
  readonly instructions: number;
  readonly #callChars: number;
  /** How far behind its end a match may have been looked for. */
  readonly #lookahead: number;
  /** For each character that is read. */
  readonly #work: number;

  private constructor(name: string, source: string, program: RE2JS) {
    this.class = name;
    this.#kind = customKind(`pattern.${name}`, name, `Pattern of ${name}`);
    this.#program = program;
    const instructions = program.programSize();
    this.instructions = instructions;
    this.#work = instructions * INSTRUCTION_WORK;
    const isUnbounded = UNBOUNDED.test(source);
    this.#lookahead = isUnbounded ? Number.POSITIVE_INFINITY : instructions;
    const callChars = Math.max(MATCH_CHARS_MAX, Math.floor(CALL_WORK / instructions));
    this.#callChars = isUnbounded ? Math.min(callChars, UNBOUNDED_CALL_CHARS) : callChars;
  }

  static compile(re2: typeof RE2JS, name: string, source: string): Pattern | PatternProblem {
    const problem = unsupported(source);
    if (problem !== undefined) return problem;
    let program: RE2JS;
    try {
      program = re2.compile(source);
    } catch (error) {
      return problemOf(error, source);
    }
    const size = program.programSize();
    if (size > PROGRAM_MAX)
      return { problem: `compiles to ${size} instructions; at most ${PROGRAM_MAX} are allowed`, offset: 0 };
    if (program.matcher("").find()) return { problem: "matches the empty text", offset: 0 };
    return new Pattern(name, source, program);
  }

  /** Reads the whole text of a scan; yields the work done in characters. */
  *match(scan: ScannedText, budget: PatternBudget): Generator<number, void> {
    const { text } = scan;
    budget.chars -= text.length;
    if (budget.chars < 0) throw new PatternBudgetError();
    let at = 0;
    while (at < text.length) {
      const to = Math.min(text.length, at + this.#callChars);
      // One more character in front shows whether a word begins here.
      const from = Math.max(0, at - 1);
      const window = text.slice(from, Math.min(text.length, to + MATCH_CHARS_MAX));
      const matcher = this.#program.matcher(window);
      let next = at;
      for (let isFirst = true; next < to; isFirst = false) {
        const reread = isFirst ? 0 : Math.min(window.length - (next - from), this.#lookahead) * this.#work;
        budget.left -= reread;
        yield isFirst ? window.length * this.#work : reread;
        if (!matcher.find(next - from)) break;
        const start = from + matcher.start();
        const end = from + matcher.end();
        if (start >= to) break;
        if (budget.left < 0) {
          scan.add(this.#kind, start, text.length, RANK.inContext);
          return;
        }
        if (end - start >= MATCH_CHARS_MIN) scan.add(this.#kind, start, end, RANK.inContext);
        next = Math.max(end, start + 1);
      }
      at = Math.max(to, next);
    }
  }
}

/** What the engine accepts and a search in slices of a text cannot honour. */
function unsupported(source: string): PatternProblem | undefined {
  if (source.length > PATTERN_CHARS_MAX)
    return { problem: `has more than ${PATTERN_CHARS_MAX} characters`, offset: PATTERN_CHARS_MAX };
  let repeats = 0;
  for (const { 1: least = "", 2: most, index } of source.matchAll(REPEAT)) {
    repeats += Number(most === undefined || most === "" ? least : most);
    if (repeats > REPEATS_MAX) return { problem: `repeats more than ${REPEATS_MAX} times`, offset: index };
  }
  for (const { 0: sign, index } of source.matchAll(ANCHOR))
    if (sign === "^" || sign === "$" || sign === "\\A" || sign === "\\z")
      return {
        problem: `has the anchor ${sign}; a pattern is looked for anywhere in a text, and \\b stands for the edge of a word`,
        offset: index,
      };
  return undefined;
}

/** The engine names the part that it could not read. */
function problemOf(error: unknown, source: string): PatternProblem {
  const { error: what = "cannot be read", input } = error as { error?: string; input?: string | null };
  const at = typeof input === "string" ? source.lastIndexOf(input) : -1;
  return { problem: `is not a pattern of RE2: ${what}`, offset: at < 0 ? Math.max(0, source.length - 1) : at };
}
