import { DIGIT, FOREIGN, isAlnumAt, kindAt, LETTER, LOWER, wordEnd } from "./characters.ts";
import type { Scheme } from "./scheme.ts";

/**
 * All forms of all schemes in one tree. An edge is the length of a group of letters and digits and the separator after it, so
 * that a number is compared only with the forms of its own shape, however many forms there are.
 */
type Shape = { readonly next: (Shape | undefined)[]; readonly ends: (Form[] | undefined)[] };

export type Form = {
  readonly scheme: Scheme;
  /** The place of the scheme among all schemes. */
  readonly index: number;
  readonly template: string;
  /** It may be found without a context word. */
  readonly isFree: boolean;
  /** It has separators or fixed letters, which random numbers do not have. */
  readonly isShaped: boolean;
  /** A longer form of the scheme begins alike and goes on after a space. */
  readonly isBeginning: boolean;
};

const GROUP_CHARS_MAX = 34;
const SEPARATORS = " -./+";
const NO_SEPARATOR = -1;

function separatorAt(text: string, at: number): number {
  switch (text.charCodeAt(at)) {
    case 0x20:
    case 0xa0:
    case 0x202f:
      return 0;
    case 0x2d:
    case 0x2011:
    case 0x2013:
      return 1;
    case 0x2e:
      return 2;
    case 0x2f:
      return 3;
    case 0x2b:
      return 4;
    default:
      return NO_SEPARATOR;
  }
}

const newShape = (): Shape => ({ next: [], ends: [] });

export class FormTree {
  readonly #root = newShape();

  constructor(schemes: readonly Scheme[]) {
    for (const [index, scheme] of schemes.entries()) {
      const all = [...scheme.free, ...scheme.bound];
      for (const template of all) {
        const isBeginning = all.some((other) => other.startsWith(`${template} `));
        const isFree = scheme.free.includes(template);
        this.#add({ scheme, index, template, isFree, isShaped: isShaped(template), isBeginning });
      }
    }
  }

  #add(form: Form): void {
    let shape = this.#root;
    const { template } = form;
    let from = 0;
    for (let at = 0; at < template.length; at++) {
      const separator = SEPARATORS.indexOf(template.charAt(at));
      if (separator < 0) continue;
      const edge = (at - from) * SEPARATORS.length + separator;
      const next = shape.next[edge] ?? newShape();
      shape.next[edge] = next;
      shape = next;
      from = at + 1;
    }
    const length = template.length - from;
    const ends = shape.ends[length] ?? [];
    shape.ends[length] = ends;
    ends.push(form);
  }

  /** Calls back for every form whose shape the text has here, with the end of what has it; `firstEnd`: of the first group. */
  each(text: string, start: number, firstEnd: number, found: (form: Form, end: number) => void): void {
    let shape: Shape | undefined = this.#root;
    let from = start;
    let end = firstEnd;
    while (shape !== undefined) {
      const length = end - from;
      if (length === 0 || length > GROUP_CHARS_MAX) return;
      const ends = shape.ends[length];
      if (ends !== undefined) {
        for (const form of ends) if (fits(text, start, form.template)) found(form, end);
      }
      const separator = separatorAt(text, end);
      if (separator === NO_SEPARATOR || !isAlnumAt(text, end + 1)) return;
      shape = shape.next[length * SEPARATORS.length + separator];
      from = end + 1;
      end = wordEnd(text, from, from + GROUP_CHARS_MAX + 1);
    }
  }
}

function isShaped(template: string): boolean {
  return /[^9ac]/.test(template);
}

/** The shape is equal already; what is left is digit, letter or fixed letter at each place. */
function fits(text: string, start: number, template: string): boolean {
  for (let at = 0; at < template.length; at++) {
    const wanted = template.charCodeAt(at);
    const kind = kindAt(text, start + at);
    if (wanted === 0x39) {
      if (kind !== DIGIT) return false;
    } else if (wanted === 0x61) {
      if ((kind & LETTER) === 0) return false;
    } else if (
      kind === DIGIT
        ? wanted !== 0x63 && wanted !== text.charCodeAt(start + at)
        : !fitsLetter(text, start + at, wanted, kind)
    ) {
      return false;
    }
  }
  return true;
}

function fitsLetter(text: string, at: number, wanted: number, kind: number): boolean {
  // `c` takes any letter; a capital stands for itself in either case; what is no letter is the separator compared before.
  if (wanted === 0x63 || kind === 0) return true;
  const code = text.charCodeAt(at);
  return (kind === LOWER ? code - 32 : code) === wanted;
}

/** Capitals and digits alone. */
export function compactOf(text: string, start: number, end: number): string {
  let out = "";
  for (let at = start; at < end; at++) {
    const kind = kindAt(text, at);
    if (kind === 0) continue;
    out += kind === LOWER ? String.fromCharCode(text.charCodeAt(at) - 32) : text.charAt(at);
  }
  return out;
}

export type Surroundings = "free" | "context" | "part";

/** Whether what stands beside a number makes it part of something longer, or only doubtful without a context word. */
export function surroundingsOf(text: string, start: number, end: number): Surroundings {
  const [left, right] = [leftOf(text, start), rightOf(text, end)];
  if (left === "part" || right === "part") return "part";
  return left === "context" || right === "context" ? "context" : "free";
}

function leftOf(text: string, start: number): Surroundings {
  if (start === 0) return "free";
  const before = kindAt(text, start - 2);
  switch (text.charAt(start - 1)) {
    case "_":
    case "+":
    case "$":
    case "€":
    case "£":
    case "@":
    case "%":
      return "part";
    case ".":
    case "-":
    case "–":
      return before === DIGIT ? "part" : before === 0 ? "free" : "context";
    case ":":
      return before === DIGIT ? "part" : "free";
    case ",":
      return before === DIGIT ? "context" : "free";
    case "/":
      return before === DIGIT ? "part" : before === 0 ? "free" : "context";
    case "#":
      return "context";
    default:
      return kindAt(text, start - 1) === 0 ? "free" : "part";
  }
}

function rightOf(text: string, end: number): Surroundings {
  const after = kindAt(text, end + 1);
  switch (text.charAt(end)) {
    case "_":
    case "%":
    case "€":
    case "$":
    case "£":
    case "@":
    case "+":
      return "part";
    case ".":
    case "-":
    case "–":
    case "/":
      return after === DIGIT ? "part" : after === 0 ? "free" : "context";
    case ":":
      return after === DIGIT ? "part" : "free";
    case ",":
      return after === DIGIT ? "context" : "free";
    default:
      return (kindAt(text, end) & (LETTER | DIGIT | FOREIGN)) === 0 ? "free" : "part";
  }
}

/** Groups with spaces among other groups of digits: a row of numbers. */
export function isInRow(text: string, start: number, end: number): boolean {
  const before = text.charAt(start - 1) === " " && kindAt(text, start - 2) === DIGIT;
  return before || (text.charAt(end) === " " && kindAt(text, end + 1) === DIGIT);
}

export function hasSmallLetters(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (kindAt(text, at) === LOWER) return true;
  return false;
}
