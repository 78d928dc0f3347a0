import { atOnce } from "../../kit/in-turns.ts";
import { sortSteps } from "../../kit/sort-steps.ts";
import { matchAccount, mayBeAccount } from "./accounts.ts";
import { CHARACTERS, DIGIT, FOREIGN, isDigitAt, kindAt, LOWER, UPPER } from "./characters.ts";
import { matchEmail, matchHexGroups } from "./contact.ts";
import { Context, NOT_NEAR } from "./context.ts";
import { type Finding, RANK, type ScannedText } from "./finding.ts";
import { compactOf, type Form, FormTree, hasSmallLetters, isInRow, surroundingsOf } from "./forms.ts";
import { type Kind, SCHEME_KINDS, SCHEMES } from "./kinds.ts";
import { matchBirthDate, matchWord, mayBeDate } from "./people.ts";
import { matchInternational, matchNational, mayBeNational } from "./phones.ts";
import { matchAssigned, matchAzure, matchConnection, matchPrivateKey, matchToken, mayBeToken } from "./secrets.ts";
import { matchSpecial } from "./special.ts";
import type { TermList } from "./term-list.ts";
import { matchMrz } from "./travel-documents.ts";

export type ScanOptions = {
  /** Built-in classes to look for. */
  readonly classes: ReadonlySet<string>;
  /** Of classes of a workspace's own. */
  readonly lists?: readonly TermList[];
  /** They read the text themselves, after the scan, and add to its findings. */
  readonly patterns?: readonly { readonly class: string }[];
};

let forms: FormTree | undefined;

/** A large list is not in the processor's cache: reading for it may take longer than scanning. */
const LIST_WORK = 2;

const FINDINGS_AT_ONCE = 1_024;
/** What a finding costs, measured in characters. */
const FINDING_CHARS = 8;

/** Signs at which a value may be found. */
const TRIGGERS = new Uint8Array(0x10000);
for (const sign of "@+<-:=~") TRIGGERS[sign.charCodeAt(0)] = 1;

/** A number without a check digit yields to one that has it. */
const UNCHECKED_LESS = 50;

/**
 * Reads a text once, from front to back, and keeps what the detectors find. Each character is looked up in one table; only
 * what may begin an identifier is looked at more closely, for a bounded number of characters.
 */
export class Scan implements ScannedText {
  /** The most characters that one call of `next` reads. */
  static readonly sliceChars = 16_384;
  readonly text: string;
  readonly context: Context;
  readonly #classes: ReadonlySet<string>;
  readonly #findings: (Finding & { readonly rank: number })[] = [];
  readonly #forms: FormTree;
  readonly #isSpecial: boolean;
  readonly #lists: readonly TermList[];
  #at = 0;
  #formStart = 0;
  #formsRead = 0;
  readonly #onForm = (form: Form, end: number) => this.#form(form, this.#formStart, end);
  /** Up to here words belong to a secret or a travel document found already. */
  #taken = 0;

  constructor(text: string, { classes, lists = [], patterns = [] }: ScanOptions) {
    this.text = text;
    this.#classes =
      lists.length + patterns.length === 0
        ? classes
        : new Set([...classes, ...[...lists, ...patterns].map((own) => own.class)]);
    this.#lists = lists;
    this.#isSpecial = classes.has("special");
    this.context = new Context(text);
    forms ??= new FormTree(SCHEMES);
    this.#forms = forms;
  }

  add(kind: Kind, start: number, end: number, rank: number): void {
    if (!this.#classes.has(kind.class)) return;
    this.#findings.push({ kind, start, end, rank });
    if (rank >= RANK.secret) this.#taken = end;
  }

  /** How many values were found so far, before the surest of them are chosen. */
  get found(): number {
    return this.#findings.length;
  }

  /** How many groups were compared with the forms of numbers so far, which costs far more than reading them. */
  get formsRead(): number {
    return this.#formsRead;
  }

  /** Reads one slice; false when the text is read. Between slices other work may run. */
  next(): boolean {
    const from = this.#at;
    const to = Math.min(this.text.length, from + Scan.sliceChars);
    const { text } = this;
    const { length } = text;
    let at = from;
    // Every character passes here: the loop calls nothing for spaces and ordinary signs.
    while (at < to) {
      const code = text.charCodeAt(at);
      let kind = CHARACTERS[code] ?? 0;
      if (kind === 0) {
        at = TRIGGERS[code] === 1 ? this.#sign(at, code) : at + 1;
        continue;
      }
      let flags = kind;
      let end = at + 1;
      for (; end < length; end++) {
        kind = CHARACTERS[text.charCodeAt(end)] ?? 0;
        if (kind === 0) break;
        flags |= kind;
      }
      this.#word(at, end, flags);
      at = end;
    }
    this.#at = at;
    return at < length;
  }

  /** Reads all of the text for each list, in slices; yields the work done in characters. */
  *matchLists(): Generator<number, void> {
    for (const list of this.#lists) {
      let state = 0;
      for (let at = 0; at < this.text.length; at += Scan.sliceChars) {
        const to = Math.min(this.text.length, at + Scan.sliceChars);
        state = list.match(this, at, to, state);
        yield (to - at) * LIST_WORK;
      }
    }
  }

  /** What was found, in order; where findings of one class overlap, the surest, then the longest. */
  findings(): Finding[] {
    return atOnce(this.findingSteps());
  }

  /** The same in steps, for many; yields the work done in characters. */
  *findingSteps(): Generator<number, Finding[]> {
    const sorted = yield* sortSteps(this.#findings, (a, b) => a.start - b.start || b.rank - a.rank || b.end - a.end);
    const kept: (Finding & { rank: number })[] = [];
    const last = new Map<string, number>();
    for (const [at, one] of sorted.entries()) {
      if (at % FINDINGS_AT_ONCE === FINDINGS_AT_ONCE - 1) yield FINDINGS_AT_ONCE * FINDING_CHARS;
      const index = last.get(one.kind.class);
      const before = index === undefined ? undefined : kept[index];
      if (before === undefined || index === undefined || before.end <= one.start) {
        last.set(one.kind.class, kept.push(one) - 1);
      } else if (isBetter(one, before)) kept[index] = one;
    }
    return yield* sortSteps<Finding>(kept, (a, b) => a.start - b.start);
  }

  /** Returns where to go on. */
  #sign(at: number, code: number): number {
    const { text } = this;
    switch (code) {
      case 0x40:
        matchEmail(this, at);
        break;
      case 0x2b:
        matchInternational(this, at);
        break;
      case 0x3c:
        if (text.charCodeAt(at + 1) === 0x3c) return Math.max(at + 1, matchMrz(this, at));
        break;
      case 0x2d:
        if (text.startsWith("-----BEGIN ", at)) return matchPrivateKey(this, at);
        break;
      case 0x3a:
        if (text.charCodeAt(at + 1) === 0x2f) matchConnection(this, at);
        else matchAssigned(this, at);
        break;
      case 0x3d:
        matchAssigned(this, at);
        break;
      case 0x7e:
        matchAzure(this, at);
        break;
    }
    return at + 1;
  }

  #word(start: number, end: number, flags: number): void {
    const { text } = this;
    if (end > this.#taken && end - start > 1 && mayBeToken(text.charCodeAt(start), text.charCodeAt(start + 1))) {
      matchToken(this, start);
    }
    if ((flags & DIGIT) !== 0) {
      if ((flags & FOREIGN) === 0) this.#number(start, end, flags);
      return;
    }
    const isCapitals = (flags & (LOWER | FOREIGN)) === 0;
    if (isCapitals && this.#mayBeForm(start, end)) this.#schemes(start, end);
    else matchWord(this, start, end);
    if (this.#isSpecial) matchSpecial(this, start, end);
    if (end - start <= 4 && (flags & FOREIGN) === 0) matchHexGroups(this, start, end);
  }

  /** Capitals before a group of digits, or the eight or eleven of a bank's code. */
  #mayBeForm(start: number, end: number): boolean {
    const length = end - start;
    if (length === 8 || length === 11) return true;
    if (length > 3) return false;
    const next = this.text.charCodeAt(end);
    return (next === 32 || next === 45 || next === 0xa0) && (kindAt(this.text, end + 1) & (DIGIT | UPPER)) !== 0;
  }

  #number(start: number, end: number, flags: number): void {
    const { text } = this;
    if (end - start <= 4) matchHexGroups(this, start, end);
    if (flags === DIGIT) {
      if (mayBeDate(text, start, end)) matchBirthDate(this, start);
      if (mayBeNational(text, start)) matchNational(this, start);
    } else if (mayBeAccount(text, start, end)) matchAccount(this, start, end);
    // A group in the middle of a number is no beginning; one or two digits alone are none either.
    if (end - start > 2 || flags !== DIGIT || text.charCodeAt(end) !== 32 || isDigitAt(text, end + 1))
      this.#schemes(start, end);
  }

  #schemes(start: number, end: number): void {
    this.#formStart = start;
    this.#formsRead += 1;
    this.#forms.each(this.text, start, end, this.#onForm);
  }

  #form({ scheme, index, isFree, isShaped, isBeginning }: Form, start: number, end: number): void {
    const { text, context } = this;
    if (!this.#classes.has(scheme.class)) return;
    const near = surroundingsOf(text, start, end);
    if (near === "part") return;
    const isRow = isInRow(text, start, end) && (isBeginning || text.slice(start, end).includes(" "));
    if (isRow && isBeginning) return;
    const isSmall = hasSmallLetters(text, start, end);
    if (isSmall && scheme.inCapitals === true) return;
    const isFound = isFree && near === "free" && !isRow && !isSmall;
    const distance = isFound && !context.isNear(start, end) ? NOT_NEAR : context.distance(scheme.id, start, end);
    if (!isFound && distance === NOT_NEAR) return;
    const isNamed = distance !== NOT_NEAR;
    if (!scheme.check(compactOf(text, start, end), isShaped || isNamed)) return;
    const base = isNamed ? RANK.inContext - distance : isShaped ? RANK.shaped : RANK.bare;
    const rank = scheme.isUnchecked === true ? base - UNCHECKED_LESS : base;
    const kind = SCHEME_KINDS[index];
    if (kind !== undefined) this.add(kind, start, end, rank);
  }
}

function isBetter(one: Finding & { rank: number }, other: Finding & { rank: number }): boolean {
  if (one.rank !== other.rank) return one.rank > other.rank;
  return one.end - one.start > other.end - other.start;
}

/** Everything in a text at once: for texts of moderate size. */
export function scanText(text: string, options: ScanOptions): Finding[] {
  const scan = new Scan(text, options);
  while (scan.next());
  atOnce(scan.matchLists());
  return scan.findings();
}
