import { isAlnumAt, isDigitAt, kindAt } from "./characters.ts";
import { RANK, type ScannedText } from "./finding.ts";
import { PHONE } from "./kinds.ts";

/** Digits of the national significant number by calling code, from libphonenumber's metadata; beside the EEA and Switzerland, +44 and +1. */
const PLANS: Readonly<Record<string, readonly [number, number]>> = {
  ...{
    43: [6, 13],
    32: [8, 9],
    359: [7, 9],
    385: [7, 9],
    357: [8, 8],
    420: [9, 9],
    45: [8, 8],
    372: [7, 8],
    358: [6, 12],
  },
  ...{
    33: [9, 9],
    49: [6, 13],
    30: [10, 10],
    36: [8, 9],
    353: [7, 10],
    39: [6, 12],
    371: [8, 8],
    370: [8, 8],
    352: [6, 11],
  },
  ...{
    356: [8, 8],
    31: [9, 9],
    48: [9, 9],
    351: [9, 9],
    40: [9, 9],
    421: [9, 9],
    386: [8, 8],
    34: [9, 9],
    46: [7, 10],
  },
  ...{ 354: [7, 9], 423: [7, 9], 47: [8, 8], 41: [9, 9], 44: [9, 10], 1: [10, 10] },
};

const DIGITS_MAX = 17;
/** Groups with spaces, dots, hyphens, slashes and brackets between them. */
const CHARS_MAX = 28;

type Dialled = { readonly digits: string; readonly end: number };

/** What can be dialled from here: every end of a group, the longest last. */
function readDialled(text: string, from: number): Dialled[] {
  const found: Dialled[] = [];
  let digits = "";
  let at = from;
  const max = Math.min(text.length, from + CHARS_MAX);
  while (at < max && digits.length < DIGITS_MAX) {
    if (isDigitAt(text, at)) {
      digits += text.charAt(at++);
      if (!isDigitAt(text, at)) found.push({ digits, end: at });
      continue;
    }
    const skip = gapAt(text, at);
    if (skip === 0) break;
    at += skip;
  }
  return isDigitAt(text, at) ? [] : found;
}

/** Characters between two groups: at most one separator, spaces around it, brackets; `(0)` is the trunk prefix. */
function gapAt(text: string, from: number): number {
  if (text.startsWith("(0)", from)) return 3 + (text.charCodeAt(from + 3) === 32 ? 1 : 0);
  if (text.startsWith(" (0)", from)) return 4 + (text.charCodeAt(from + 4) === 32 ? 1 : 0);
  let at = from;
  let signs = 0;
  while (at - from < 3) {
    const char = text.charAt(at);
    if (char === " " || char === "\u00a0" || char === "\u202f" || char === "(" || char === ")") at++;
    else if ((char === "-" || char === "." || char === "/" || char === "–") && signs++ === 0) at++;
    else break;
  }
  return isDigitAt(text, at) ? at - from : 0;
}

function fitsPlan(digits: string): boolean {
  for (let length = 3; length >= 1; length--) {
    const plan = PLANS[digits.slice(0, length)];
    if (plan === undefined) continue;
    const own = digits.length - length;
    return own >= plan[0] && own <= plan[1] && !/^(\d)\1+$/.test(digits.slice(length));
  }
  return false;
}

function touches(text: string, end: number): boolean {
  const next = text.charCodeAt(end);
  return (
    isAlnumAt(text, end) || next === 95 || ((next === 46 || next === 44 || next === 58) && isDigitAt(text, end + 1))
  );
}

/** `+49 30 901820` at its plus sign. */
export function matchInternational(scan: ScannedText, plus: number): void {
  const { text } = scan;
  const before = kindAt(text, plus - 1);
  if (before !== 0 || text.charCodeAt(plus - 1) === 43) return;
  const from = text.charCodeAt(plus + 1) === 40 ? plus + 2 : plus + 1;
  if (!isDigitAt(text, from)) return;
  const whole = readDialled(text, from).findLast(({ digits, end }) => fitsPlan(digits) && !touches(text, end));
  if (whole !== undefined) scan.add(PHONE, plus, whole.end, RANK.phone);
}

const NATIONAL_DIGITS_MIN = 7;
const NATIONAL_DIGITS_MAX = 12;
/** The word stands right before the number: "Tel.: 030 901820". */
const WORD_GAP_MAX = 14;

/** `0049 30 901820`, and what follows a word such as "Telefon". */
export function matchNational(scan: ScannedText, start: number): void {
  const { text } = scan;
  const open = text.charCodeAt(start - 1) === 40 ? start - 1 : start;
  const before = text.charCodeAt(open - 1);
  if (before === 43 || before === 46 || before === 95 || before === 47) return;
  const isFar = text.startsWith("00", start) && text.charCodeAt(start + 2) !== 48;
  const gap = scan.context.distance("phone", open, open + 1);
  if (gap > WORD_GAP_MAX && !(isFar && gap <= WORD_GAP_MAX * 3)) return;
  const all = readDialled(text, start).filter(({ end }) => !touches(text, end));
  const whole = isFar
    ? all.findLast(({ digits }) => fitsPlan(digits.slice(2)))
    : all.findLast(({ digits }) => digits.length >= NATIONAL_DIGITS_MIN && digits.length <= NATIONAL_DIGITS_MAX);
  if (whole !== undefined) scan.add(PHONE, open, whole.end, RANK.inContext - gap);
}

/** Cheap first look at a group of digits: whether enough of them follow. */
export function mayBeNational(text: string, start: number): boolean {
  let digits = 0;
  for (let at = start; at - start < CHARS_MAX && digits < NATIONAL_DIGITS_MIN; at++) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) digits++;
    // Space, brackets, hyphen, dot and slash.
    else if (code !== 32 && code !== 0xa0 && code !== 40 && code !== 41 && (code < 45 || code > 47)) return false;
  }
  return digits >= NATIONAL_DIGITS_MIN;
}
