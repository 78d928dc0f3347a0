import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  UNDERSCORE,
} from "./json-characters.ts";
import { inParentheses } from "./json-size.ts";

/** Limits of a JSON document from outside. Members, items, objects and arrays count together: each costs memory. */
export type JsonLimits = {
  readonly depthMax: number;
  readonly membersMax: number;
  readonly stringCharsMax: number;
  /** Objects and lists that the reader of a reply handles in one event-loop turn. */
  readonly readPartsMax: number;
  /** Settings of these limits, for messages; absent: the limits are fixed. */
  readonly settings?: { readonly members: string; readonly string: string; readonly parts: string };
};

/** Values that are exempt from the member limit and kept as text: objects and lists in these members, or lists of numbers. */
export type BulkValues = { readonly members: readonly string[] } | "number-lists";

/**
 * The member that its reader walks through, and how many levels of it: the objects and lists there are limited, because each
 * costs far more than to build it. `prompt_tokens` beside it is not read that way.
 */
export type ReadMember = { readonly member: string; readonly levels: number };

/** What is special about a document. */
export type DocumentShape = { readonly bulk?: BulkValues | undefined; readonly read?: ReadMember | undefined };

const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Longest spelling of `__proto__`: every character escaped. */
const KEY_CHARS_KEPT = 54;
/** Shorter lists of numbers are ordinary values. */
const NUMBER_LIST_CHARS_MIN = 64;
/** Longer containers are built member by member, and longer strings in parts. */
const BIG_CHARS = 16_384;
/** Longest key, and longest number. */
const TOKEN_CHARS_MAX = 65_536;
const SPACE_CHARS_MAX = 262_144;
/** The member is at the top, or inside the object of a stream event. */
const READ_MEMBER_DEPTH_MAX = 2;

/**
 * Scans the structure of a JSON text that arrives in pieces and enforces its limits before any object is built. The grammar
 * is checked when the objects are built.
 */
export class JsonStructureScanner {
  readonly #limits: JsonLimits;
  readonly #bulkMembers: readonly string[] | undefined;
  readonly #hasNumberLists: boolean;
  readonly #read: ReadMember | undefined;
  /** Depth of the object whose member is read; 0: outside. */
  #readDepth = 0;
  #isReadNext = false;
  #readParts = 0;
  /** Offset of the current piece in the text. */
  #base = 0;
  #depth = 0;
  /** By depth: the start of the container, and whether it is an array. */
  readonly #starts: number[] = [];
  readonly #arrays: boolean[] = [];
  #isInString = false;
  #stringStart = 0;
  #stringChars = 0;
  /** Just past the last bracket, comma, colon or string. */
  #gapStart = 0;
  /** Of numbers and literals since then. */
  #literalChars = 0;
  #problem: string | undefined;
  /** The string began in an earlier piece: its first characters, and whether it ended there in a lone backslash. */
  #carried = "";
  #endedInBackslash = false;
  #mayBeKey = false;
  #isKey = false;
  /** The value after this colon is bulk. */
  #isBulkNext = false;
  #bulkDepth = 0;
  #bulkStart = 0;
  /** Depth of the open array if it has only numbers so far; 0: none. */
  #numbersDepth = 0;
  #numbers = 0;
  #isAfterNumber = false;
  /** What counts against the limit, and with what is exempt. */
  members = 0;
  values = 0;
  /** Ends of the long containers and strings, by their start. */
  readonly big = new Map<number, number>();
  /** Ends of the bulk values, by their start. */
  readonly bulk = new Map<number, number>();

  constructor(limits: JsonLimits, { bulk, read }: DocumentShape = {}) {
    this.#limits = limits;
    this.#read = read;
    this.#bulkMembers = typeof bulk === "object" ? bulk.members : undefined;
    this.#hasNumberLists = bulk === "number-lists";
  }

  /** Returns the limit that the document exceeds. */
  scan(piece: string): string | undefined {
    const { length } = piece;
    let at = this.#isInString ? this.#continueString(piece, 0) : 0;
    while (at < length) {
      const code = piece.charCodeAt(at);
      if (code === QUOTE) {
        this.#beginString(this.#base + at);
        at = this.#continueString(piece, at + 1);
        continue;
      }
      if (code > 0x20) {
        this.#token(code, this.#base + at);
        if (this.#problem !== undefined) return this.#problem;
      }
      at += 1;
    }
    if (this.#isInString) this.#checkString();
    this.#base += length;
    return this.#problem;
  }

  /** Objects and lists that the reader of the reply walks through. */
  get readParts(): number {
    return this.#readParts;
  }

  get isInString(): boolean {
    return this.#isInString;
  }

  /** Why the text is no whole document, or a last limit that it exceeds. */
  finish(): string | undefined {
    this.#endGap(this.#base);
    if (this.#problem !== undefined) return this.#problem;
    return this.#isInString || this.#depth > 0 ? "it ends inside a value" : undefined;
  }

  #endGap(at: number): void {
    if (this.#literalChars > TOKEN_CHARS_MAX) this.#problem ??= `a number longer than ${TOKEN_CHARS_MAX} characters`;
    if (at - this.#gapStart > SPACE_CHARS_MAX)
      this.#problem ??= `white space of more than ${SPACE_CHARS_MAX} characters`;
    this.#gapStart = at + 1;
    this.#literalChars = 0;
  }

  #beginString(at: number): void {
    this.#endGap(at);
    this.#isInString = true;
    this.#stringStart = at;
    this.#stringChars = 0;
    this.#carried = "";
    this.#endedInBackslash = false;
    this.#isKey = this.#mayBeKey;
    this.#mayBeKey = false;
    this.#isBulkNext = false;
    this.#isReadNext = false;
    this.#endNumbers();
  }

  /** Returns the index just past the string, or the end of the piece. */
  #continueString(piece: string, start: number): number {
    let from = start;
    for (;;) {
      const quote = piece.indexOf('"', from);
      const end = quote < 0 ? piece.length : quote;
      const isOdd = this.#endsInLoneBackslash(piece, start, end);
      if (quote < 0) {
        this.#endedInBackslash = isOdd;
        this.#stringChars += end - start;
        if (this.#isKey) this.#carried = (this.#carried + piece.slice(start, end)).slice(0, KEY_CHARS_KEPT + 1);
        return end;
      }
      if (!isOdd) {
        this.#stringChars += end - start;
        this.#endString(piece, start, end);
        return end + 1;
      }
      // An escaped quote costs about as much as a short value.
      this.values += 1;
      from = quote + 1;
    }
  }

  #endsInLoneBackslash(piece: string, start: number, end: number): boolean {
    let at = end;
    while (at > start && piece.charCodeAt(at - 1) === BACKSLASH) at -= 1;
    const isOdd = (end - at) % 2 === 1;
    return at === start && this.#endedInBackslash ? !isOdd : isOdd;
  }

  #endString(piece: string, start: number, end: number): void {
    this.#isInString = false;
    this.#gapStart = this.#base + end + 1;
    this.#checkString();
    if (this.#isKey) this.#checkKey(piece, start, end);
    else if (this.#stringChars >= BIG_CHARS) this.big.set(this.#stringStart, this.#gapStart);
  }

  #checkKey(piece: string, start: number, end: number): void {
    if (this.#stringChars > TOKEN_CHARS_MAX) this.#problem ??= `a key longer than ${TOKEN_CHARS_MAX} characters`;
    if (this.#stringChars > KEY_CHARS_KEPT) return;
    const isSplit = this.#carried !== "";
    const first = isSplit ? this.#carried.charCodeAt(0) : piece.charCodeAt(start);
    const is = (name: string) =>
      this.#stringChars === name.length &&
      (isSplit ? this.#carried + piece.slice(start, end) === name : piece.startsWith(name, start));
    if (this.#bulkMembers !== undefined) this.#isBulkNext = this.#bulkMembers.some(is);
    if (this.#read !== undefined && this.#readDepth === 0 && this.#depth <= READ_MEMBER_DEPTH_MAX)
      this.#isReadNext = is(this.#read.member);
    if ((first === UNDERSCORE || first === BACKSLASH) && isProto(this.#carried + piece.slice(start, end)))
      this.#problem ??= "the key __proto__";
  }

  #token(code: number, at: number): void {
    if (isStructural(code)) this.#endGap(at);
    if (code === COMMA) {
      this.#mayBeKey = this.#arrays[this.#depth] === false;
      this.values += 1;
      if (this.#numbersDepth > 0 && this.#isAfterNumber) this.#numbers += 1;
      else if (this.#bulkDepth === 0) this.members += 1;
      this.#isAfterNumber = false;
      this.#checkMembers();
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#open(code, at);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.#close(at);
    else if (code !== COLON) {
      this.#literalChars += 1;
      this.#mayBeKey = false;
      this.#isBulkNext = false;
      this.#isReadNext = false;
      if ((code >= DIGIT_0 && code <= DIGIT_9) || code === MINUS) this.#isAfterNumber = true;
      else if (!this.#isAfterNumber) this.#endNumbers();
    }
  }

  #open(code: number, at: number): void {
    this.#endNumbers();
    if (this.#isBulkNext && this.#bulkDepth === 0) {
      this.#bulkDepth = this.#depth;
      this.#bulkStart = at;
    }
    this.#isBulkNext = false;
    if (this.#isReadNext) this.#readDepth = this.#depth;
    this.#isReadNext = false;
    this.#depth += 1;
    if (this.#readDepth > 0) this.#countReadPart();
    this.#starts[this.#depth] = at;
    this.#arrays[this.#depth] = code === OPEN_BRACKET;
    this.#mayBeKey = code === OPEN_BRACE;
    this.#isAfterNumber = false;
    if (this.#hasNumberLists && code === OPEN_BRACKET) this.#numbersDepth = this.#depth;
    this.values += 1;
    if (this.#bulkDepth === 0) this.members += 1;
    if (this.#depth > this.#limits.depthMax) this.#problem ??= `nested deeper than ${this.#limits.depthMax} levels`;
    this.#checkMembers();
  }

  #close(at: number): void {
    const start = this.#starts[this.#depth] ?? at;
    const isNumberList = this.#numbersDepth > 0 && this.#isAfterNumber && at - start >= NUMBER_LIST_CHARS_MIN;
    if (isNumberList) {
      this.bulk.set(start, at + 1);
      this.#numbersDepth = 0;
      this.#numbers = 0;
    } else this.#endNumbers();
    if (at - start >= BIG_CHARS) this.big.set(start, at + 1);
    this.#isAfterNumber = false;
    this.#mayBeKey = false;
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#readDepth === this.#depth) this.#readDepth = 0;
    if (this.#bulkDepth > 0 && this.#bulkDepth === this.#depth) {
      // Readers of a reply ask whether a list of images is empty.
      if (at > this.#bulkStart + 1) this.bulk.set(this.#bulkStart, at + 1);
      this.#bulkDepth = 0;
    }
  }

  #countReadPart(): void {
    if (this.#bulkDepth > 0 || this.#depth - this.#readDepth > (this.#read?.levels ?? 0)) return;
    this.#readParts += 1;
    const { readPartsMax, settings } = this.#limits;
    if (this.#readParts > readPartsMax)
      this.#problem ??= `more than ${readPartsMax} parts in its ${this.#read?.member}${inParentheses(settings?.parts)}`;
  }

  /** The open array turned out to be an ordinary one: its numbers count. */
  #endNumbers(): void {
    if (this.#numbersDepth === 0) return;
    if (this.#bulkDepth === 0) this.members += this.#numbers;
    this.#numbersDepth = 0;
    this.#numbers = 0;
    this.#checkMembers();
  }

  #checkMembers(): void {
    const { membersMax, settings } = this.#limits;
    if (this.members > membersMax)
      this.#problem ??= `more than ${membersMax} members and items${inParentheses(settings?.members)}`;
  }

  #checkString(): void {
    const { stringCharsMax, settings } = this.#limits;
    if (this.#stringChars > stringCharsMax)
      this.#problem ??= `a string longer than ${stringCharsMax} characters${inParentheses(settings?.string)}`;
  }
}

const isStructural = (code: number) =>
  code === COMMA ||
  code === COLON ||
  code === OPEN_BRACE ||
  code === CLOSE_BRACE ||
  code === OPEN_BRACKET ||
  code === CLOSE_BRACKET;

function isProto(key: string): boolean {
  try {
    return JSON.parse(`"${key}"`) === "__proto__";
  } catch {
    return false;
  }
}
