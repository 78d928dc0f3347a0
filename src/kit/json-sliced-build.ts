import type { SlicedWork } from "./event-loop-turns.ts";
import { JSON_DEPTH_MAX, type MemberSpan } from "./json.ts";
import { JsonSpan } from "./json-span.ts";
import { type JsonLimits, JsonStructureScanner } from "./json-structure.ts";

type Structure = Pick<JsonStructureScanner, "big" | "bulk">;

/** Members of a big container that are built at once, by their characters. */
const GROUP_CHARS = 4_096;
/** The top-level object of a reply has far fewer. */
const TOP_MEMBERS_MAX = 4_096;
/** A value costs so many times more to parse when its number keeps its digits. */
const LOSSLESS_COST = 3;
/** Parts in which a long string is decoded. */
const STRING_PART_CHARS = 262_144;

type BuildOptions = {
  readonly parse?: ((text: string) => unknown) | undefined;
  /** Receives the members of the top-level object. */
  readonly spans?: MemberSpan[];
  /** Receives those of the long objects in it, by their keys: all of them, unless there are very many. */
  readonly nested?: Map<string, MemberSpan[]>;
};

/**
 * Builds the value of a scanned JSON text in slices of event-loop turns: big containers member by member, everything else
 * with `parse`. Bulk values are checked and kept as text. Rejects like `JSON.parse`.
 */
export async function buildJsonInSlices(
  text: string,
  structure: Structure,
  work: SlicedWork,
  { parse = JSON.parse, spans = [], nested }: BuildOptions = {},
): Promise<unknown> {
  const builder = new SlicedBuilder(text, structure, work, { parse, spans, nested });
  const start = skipSpace(text, 0);
  const isContainer = structure.big.has(start) || structure.bulk.has(start);
  const { value, end } = isContainer ? await builder.build(start, spans) : await builder.buildSmall(start, text.length);
  if (skipSpace(text, end) < text.length) throw new SyntaxError("Unexpected text after JSON");
  return value;
}

/** Pieces in which a text is scanned. */
const SCAN_CHARS = 4_096;

/** `parse` of a long text of the gateway's own, which needs no limits. Rejects like `JSON.parse`. */
export async function parseJsonInSlices(
  text: string,
  work: SlicedWork,
  parse: (text: string) => unknown,
): Promise<unknown> {
  return buildJsonInSlices(text, await scanInSlices(text, work), work, { parse });
}

/** The structure of a long text of the gateway's own. Rejects what is no JSON. */
export async function scanInSlices(text: string, work: SlicedWork): Promise<JsonStructureScanner> {
  const scanner = new JsonStructureScanner(NO_LIMITS);
  for (let at = 0; at < text.length; at += SCAN_CHARS) {
    const piece = text.slice(at, at + SCAN_CHARS);
    if (!work.fits(piece.length, piece.length)) await work.next();
    const before = scanner.values;
    const problem = scanner.scan(piece);
    if (problem !== undefined) throw new SyntaxError(problem);
    work.add(piece.length, scanner.values - before);
  }
  const problem = scanner.finish();
  if (problem !== undefined) throw new SyntaxError(problem);
  return scanner;
}

const NO_LIMITS: JsonLimits = {
  depthMax: JSON_DEPTH_MAX,
  membersMax: Infinity,
  stringCharsMax: Infinity,
  readPartsMax: Infinity,
};

/** Collects the members of one container; `undefined` only checks them. */
type Target = { readonly list: unknown[] } | { readonly object: Record<string, unknown> } | NumberCheck | "checked";
type NumberCheck = { numbers: number; areFinite: boolean };

type KnownOptions = {
  readonly parse: (text: string) => unknown;
  readonly spans: MemberSpan[];
  readonly nested: Map<string, MemberSpan[]> | undefined;
};

class SlicedBuilder {
  readonly #text: string;
  readonly #structure: Structure;
  readonly #work: SlicedWork;
  readonly #parse: (text: string) => unknown;
  readonly #spans: MemberSpan[];
  readonly #nested: Map<string, MemberSpan[]> | undefined;

  constructor(text: string, structure: Structure, work: SlicedWork, { parse, spans, nested }: KnownOptions) {
    this.#text = text;
    this.#structure = structure;
    this.#work = work;
    this.#parse = parse;
    this.#spans = spans;
    this.#nested = nested;
  }

  async build(start: number, spans?: MemberSpan[]): Promise<{ value: unknown; end: number }> {
    const text = this.#text;
    const { big, bulk } = this.#structure;
    const spanEnd = bulk.get(start);
    if (spanEnd !== undefined) return { value: await this.#span(start, spanEnd), end: spanEnd };
    const end = big.get(start) ?? start;
    if (text[start] === '"') return { value: await this.#string(start, end), end };
    const isList = text[start] === "[";
    const list: unknown[] = [];
    const object: Record<string, unknown> = {};
    await this.#members(start, end, isList ? { list } : { object }, spans);
    return { value: isList ? list : object, end };
  }

  async buildSmall(start: number, end: number): Promise<{ value: unknown; end: number }> {
    await this.#take(end - start, 1);
    return { value: this.#parse(this.#text.slice(start, end)), end };
  }

  async #span(start: number, end: number): Promise<JsonSpan> {
    const check: NumberCheck = { numbers: 0, areFinite: true };
    await this.#members(start, end, check);
    return new JsonSpan(this.#text.slice(start, end), check.areFinite ? check.numbers : undefined);
  }

  async #string(start: number, end: number): Promise<string> {
    const text = this.#text;
    let decoded = "";
    for (let at = start + 1; at < end - 1; ) {
      const stop = endOfPart(text, at, end - 1);
      await this.#take(stop - at, 1);
      decoded += String(JSON.parse(`"${text.slice(at, stop)}"`));
      at = stop;
    }
    return decoded;
  }

  /** Builds what lies between the brackets, in groups. */
  async #members(start: number, end: number, target: Target, spans?: MemberSpan[]): Promise<void> {
    const text = this.#text;
    const { big, bulk } = this.#structure;
    const isList = text[start] === "[";
    if (text[end - 1] !== (isList ? "]" : "}")) throw new SyntaxError("Mismatched brackets in JSON");
    let from = start + 1;
    let values = 0;
    let at = skipSpace(text, from);
    if (at === end - 1) return;
    for (;;) {
      const memberStart = at;
      const valueStart = isList ? at : this.#valueStart(at);
      if (big.has(valueStart) || bulk.has(valueStart)) {
        await this.#flush(withoutComma(text.slice(from, memberStart)), values, isList, target);
        const key = isList ? undefined : this.#parse(text.slice(memberStart, stringEnd(text, memberStart)));
        const isKept = typeof target === "object" && !("numbers" in target);
        at = isKept
          ? await this.#addBuilt(valueStart, key, target, spans && this.#spansOf(valueStart, key))
          : await this.#check(valueStart, target);
        if (!isList) this.#addSpan(spans, memberStart, valueStart, at);
        at = skipSpace(text, at);
        values = 0;
        from = at;
        if (at === end - 1) return;
        if (text[at] !== ",") throw new SyntaxError("Expected ',' or the end of a JSON container");
        at = skipSpace(text, at + 1);
        from = at;
      } else {
        const skipped = skipValue(text, valueStart, end - 1);
        values += skipped.values;
        at = skipped.end;
        if (!isList) this.#addSpan(spans, memberStart, valueStart, at);
        const isLast = at >= end - 1;
        if (isLast || at - from >= GROUP_CHARS) {
          await this.#flush(text.slice(from, at), values, isList, target);
          values = 0;
          from = at + 1;
        }
        if (isLast) return;
        at = skipSpace(text, at + 1);
      }
      // A comma promises another member.
      if (at >= end - 1) throw new SyntaxError("Unexpected end of a JSON container");
    }
  }

  #addSpan(spans: MemberSpan[] | undefined, keyStart: number, valueStart: number, end: number): void {
    if (spans === undefined) return;
    if (spans.length >= TOP_MEMBERS_MAX) {
      if (spans === this.#spans) throw new SyntaxError(`more than ${TOP_MEMBERS_MAX} top-level members`);
      return;
    }
    const text = this.#text;
    let valueEnd = end;
    while (isSpace(text.charCodeAt(valueEnd - 1))) valueEnd -= 1;
    const key = String(JSON.parse(text.slice(keyStart, stringEnd(text, keyStart))));
    spans.push({ key, keyStart, valueStart, valueEnd });
  }

  #valueStart(memberStart: number): number {
    const text = this.#text;
    if (text[memberStart] !== '"') throw new SyntaxError("Expected a key in a JSON object");
    const colon = skipSpace(text, stringEnd(text, memberStart));
    if (text[colon] !== ":") throw new SyntaxError("Expected ':' after a key in a JSON object");
    return skipSpace(text, colon + 1);
  }

  /** Where the members of a long object in the top-level one are noted. */
  #spansOf(start: number, key: unknown): MemberSpan[] | undefined {
    if (this.#nested === undefined || this.#text[start] !== "{") return undefined;
    const spans: MemberSpan[] = [];
    this.#nested.set(String(key), spans);
    return spans;
  }

  async #addBuilt(
    start: number,
    key: unknown,
    target: Exclude<Target, NumberCheck | "checked">,
    spans: MemberSpan[] | undefined,
  ): Promise<number> {
    const { value, end } = await this.build(start, spans);
    if ("list" in target) target.list.push(value);
    else target.object[String(key)] = value;
    return end;
  }

  async #check(start: number, target: Target): Promise<number> {
    const end = this.#structure.big.get(start) ?? this.#structure.bulk.get(start) ?? start;
    if (this.#text[start] === '"') await this.#string(start, end);
    else await this.#members(start, end, "checked");
    if (typeof target === "object" && "numbers" in target) target.areFinite = false;
    return end;
  }

  async #flush(members: string, values: number, isList: boolean, target: Target): Promise<void> {
    if (members.trim() === "") return;
    await this.#take(members.length, values);
    const built: unknown = this.#parse(isList ? `[${members}]` : `{${members}}`);
    if (target === "checked") return;
    if ("numbers" in target) countNumbers(built, target);
    else if ("list" in target && Array.isArray(built)) for (const item of built) target.list.push(item);
    else if ("object" in target) Object.assign(target.object, built);
  }

  async #take(chars: number, parsed: number): Promise<void> {
    const values = this.#parse === JSON.parse ? parsed : LOSSLESS_COST * parsed;
    if (!this.#work.fits(chars, values)) await this.#work.next();
    this.#work.add(chars, values);
  }
}

function countNumbers(built: unknown, check: NumberCheck): void {
  if (!Array.isArray(built)) {
    check.areFinite = false;
    return;
  }
  check.numbers += built.length;
  for (const item of built)
    if (typeof item !== "number" || !Number.isFinite(Math.fround(item))) check.areFinite = false;
}

/** The members before a long one: they end with a comma, if there are any. */
function withoutComma(members: string): string {
  const text = members.trim();
  if (text === "") return "";
  if (text === ",") throw new SyntaxError("Unexpected ',' in JSON");
  return text.slice(0, -1);
}

/** An end of a part of a string that is not inside an escape sequence. */
function endOfPart(text: string, start: number, end: number): number {
  if (end - start <= STRING_PART_CHARS) return end;
  let stop = start + STRING_PART_CHARS;
  let slashes = 0;
  while (text[stop - 1 - slashes] === "\\" && slashes < stop - start) slashes += 1;
  if (slashes % 2 === 1) stop -= 1;
  // A backslash shortly before belongs to \uXXXX only if it is not escaped itself; then the part ends before it.
  for (let at = stop - 1; at > stop - UNICODE_ESCAPE_CHARS && at > start; at -= 1)
    if (text[at] === "u" && isEscaping(text, at - 1, start)) return at - 1;
  return stop;
}

const UNICODE_ESCAPE_CHARS = 6;

function isEscaping(text: string, at: number, start: number): boolean {
  let slashes = 0;
  while (at - slashes >= start && text[at - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Index just past the closing quote. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1))
    if (!isEscaping(text, quote - 1, start + 1)) return quote + 1;
  throw new SyntaxError("Unterminated string in JSON");
}

/** Index of the comma or bracket after a value that is shorter than a big container, and how many values it has. */
function skipValue(text: string, start: number, end: number): { end: number; values: number } {
  let depth = 0;
  let values = 1;
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = stringEnd(text, at);
      continue;
    }
    if (code === 0x2c) {
      if (depth === 0) break;
      values += 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      values += 1;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
    at += 1;
  }
  return { end: at, values };
}
