import { isUtf8 } from "node:buffer";
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

/** Offsets of one member of the top-level object. */
export type MemberSpan = {
  readonly key: string;
  readonly keyStart: number;
  readonly valueStart: number;
  readonly valueEnd: number;
};

export type JsonObject = { readonly [key: string]: unknown };

/** A parsed JSON object with its text, so that a member can be replaced without changing any other character. */
export type ParsedBody = {
  readonly value: JsonObject;
  readonly text: string;
  readonly members: MemberIndex;
  /** Offset of the closing brace. */
  readonly end: number;
  /** Of a long body: the long objects in it, so that their text is not searched again. */
  readonly nested?: ReadonlyMap<string, ParsedBody>;
};

/** `isLimit`: it may be JSON, but exceeds a limit. */
export type JsonProblem = { readonly problem: string; readonly isLimit?: true; readonly isSyntax?: true };

export const JSON_DEPTH_MAX = 128;

/** Limits members, items, objects and arrays together: each costs far more memory than its bytes. */
type ScanLimits = {
  readonly partsMax: number;
  /** Default: `JSON_DEPTH_MAX`. */
  readonly depthMax?: number;
  /** Depth, and top-level member, at which a key `__proto__` is data. */
  readonly protoKeys?: { readonly depth: number; readonly member?: string };
};
const NO_LIMITS: ScanLimits = { partsMax: Number.POSITIVE_INFINITY };

/**
 * Parses a body that must be a JSON object. Rejects malformed UTF-8, deep nesting, duplicate top-level keys and `__proto__`
 * keys at any depth, because parsers disagree about each of them.
 */
export function parseJsonObject(bytes: Buffer, limits = NO_LIMITS): ParsedBody | JsonProblem {
  return isUtf8(bytes) ? parseJsonText(bytes.toString("utf8"), limits) : { problem: "the body is not valid UTF-8" };
}

export function parseJsonText(text: string, limits = NO_LIMITS): ParsedBody | JsonProblem {
  try {
    // The depth is checked first: `JSON.parse` of a deeply nested body can block the process for seconds.
    const scan = scanObject(text, limits);
    if ("problem" in scan) return scan;
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return { problem: "the body must be a JSON object" };
    const { members, end } = scan;
    if (Object.keys(value).length !== members.size) return { problem: describeDuplicateKey(members) };
    return { value, text, members, end };
  } catch (error) {
    const problem = error instanceof Error ? withoutExcerpt(error.message) : "the body is not valid JSON";
    return { problem, isSyntax: true };
  }
}

/** A member that is an object, as one that can be patched itself; undefined for other values and duplicate keys. */
export function nestedBody({ value, text, members, nested }: ParsedBody, key: string): ParsedBody | undefined {
  const known = nested?.get(key);
  if (known !== undefined) return known;
  const span = members.get(key);
  const inner = value[key];
  if (span === undefined || !isJsonObject(inner)) return undefined;
  const scanned = scanMembers(text.slice(span.valueStart, span.valueEnd));
  return scanned && { ...scanned, value: inner };
}

/** Member offsets of a text that is known to be a JSON object; undefined for duplicate keys. */
export function scanMembers(text: string): Omit<ParsedBody, "value"> | undefined {
  const scan = scanObject(text, NO_LIMITS);
  if ("problem" in scan || scan.members.hasDuplicates) return undefined;
  return { text, members: scan.members, end: scan.end };
}

/** The limit that a JSON text exceeds, whatever it contains. */
export function exceededLimit(text: string, limits: ScanLimits): string | undefined {
  const scan = scanObject(text, limits);
  return "problem" in scan && scan.isLimit ? scan.problem : undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined when the text is not JSON. */
export function tryParseJson(text: string | Buffer): unknown {
  try {
    return JSON.parse(typeof text === "string" ? text : text.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Undefined when the text is not a JSON object. */
export function tryParseJsonObject(text: string | Buffer): JsonObject | undefined {
  const value = tryParseJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** Some messages of `JSON.parse` quote the text; content of the caller must not appear in errors. */
function withoutExcerpt(message: string): string {
  return message.startsWith("Unexpected token") ? "it has an unexpected character" : message;
}

/** Index just past the closing quote of the string that opens at `start`, or -1. */
function stringEnd(text: string, start: number): number {
  let at = text.indexOf('"', start + 1);
  while (at > 0) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
    at = text.indexOf('"', at + 1);
  }
  return -1;
}

const mayBeProto = (first: number) => first === UNDERSCORE || first === BACKSLASH;

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function describeDuplicateKey(members: MemberIndex): string {
  const seen = new Set<string>();
  for (const { key } of members.spans) {
    if (seen.has(key)) return `the top-level key "${key.slice(0, 64)}" occurs twice`;
    seen.add(key);
  }
  return "a top-level key occurs twice";
}

/** Up to this many members a linear search is faster: a map would intern every key. */
const LINEAR_SEARCH_MAX = 16;

/** Top-level members in text order. */
export class MemberIndex {
  readonly spans: readonly MemberSpan[];
  #index: Map<string, MemberSpan> | undefined;

  constructor(spans: readonly MemberSpan[]) {
    this.spans = spans;
  }

  get size(): number {
    return this.spans.length;
  }

  get(key: string): MemberSpan | undefined {
    if (this.spans.length > LINEAR_SEARCH_MAX) {
      this.#index ??= new Map(this.spans.map((span) => [span.key, span]));
      return this.#index.get(key);
    }
    for (const span of this.spans) if (span.key === key) return span;
    return undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  get hasDuplicates(): boolean {
    const { spans } = this;
    // Of duplicates only one is found by its key.
    return spans.some((span) => this.get(span.key) !== span);
  }
}

type ObjectScan = { readonly members: MemberIndex; readonly end: number };

/** One pass over the structure. Strings are skipped with `indexOf`, so that a large image is cheap. */
function scanObject(
  text: string,
  { partsMax, depthMax = JSON_DEPTH_MAX, protoKeys }: ScanLimits,
): ObjectScan | JsonProblem {
  const spans: MemberSpan[] = [];
  let depth = 0;
  let parts = 0;
  let end = -1;
  let openKey: string | undefined;
  let keyStart = 0;
  let valueStart = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === OPEN_BRACE || code === OPEN_BRACKET) {
      parts += 1;
      if (parts > partsMax) return { problem: `the body has more than ${partsMax} members and items`, isLimit: true };
    }
    if (code === QUOTE) {
      const after = stringEnd(text, at);
      if (after < 0) return { problem: "the body ends inside a string" };
      const next = skipSpace(text, after);
      if (text.charCodeAt(next) === COLON) {
        // Below the top level only `__proto__` matters, whose first character may be escaped.
        const key = depth === 1 || mayBeProto(text.charCodeAt(at + 1)) ? readKey(text, at, after) : undefined;
        if (key === "__proto__" && !(protoKeys?.depth === depth && protoKeys.member === openKey))
          return { problem: "the key __proto__ is not allowed" };
        if (depth === 1 && key !== undefined) {
          openKey = key;
          keyStart = at;
          valueStart = skipSpace(text, next + 1);
        }
      }
      at = after - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth > depthMax) return { problem: `the body is nested deeper than ${depthMax} levels`, isLimit: true };
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET || (code === COMMA && depth === 1)) {
      if (depth === 1 && openKey !== undefined) {
        spans.push({ key: openKey, keyStart, valueStart, valueEnd: trimEnd(text, at) });
        openKey = undefined;
      }
      if (code === COMMA) continue;
      if (depth === 1) end = at;
      depth -= 1;
    }
  }
  return { members: new MemberIndex(spans), end };
}

function trimEnd(text: string, end: number): number {
  let at = end;
  while (at > 0 && isSpace(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function readKey(text: string, start: number, after: number): string | undefined {
  const raw = text.slice(start + 1, after - 1);
  if (!raw.includes("\\")) return raw;
  const decoded: unknown = JSON.parse(`"${raw}"`);
  return typeof decoded === "string" ? decoded : undefined;
}

/** Offsets of the items of a text that is known to be a JSON array. */
export function itemSpans(text: string): readonly { readonly start: number; readonly end: number }[] {
  const spans: { start: number; end: number }[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      if (depth === 1) start = skipSpace(text, at + 1);
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET || (code === COMMA && depth === 1)) {
      const end = depth === 1 ? trimEnd(text, at) : start;
      if (end > start) spans.push({ start, end });
      if (code === COMMA) start = skipSpace(text, at + 1);
      else depth -= 1;
    }
  }
  return spans;
}

/** New JSON text of one member; null removes it. */
export type MemberPatch = { readonly key: string; readonly json: string | null };

type TextEdit = { readonly start: number; readonly end: number; readonly text: string };

/** Replaces, adds or removes top-level members and keeps every other character. */
export function patchMembers(body: Omit<ParsedBody, "value">, patches: readonly MemberPatch[]): string {
  const edits: TextEdit[] = [];
  let added = "";
  let removed: Set<string> | undefined;
  for (const { key, json } of patches) {
    const span = body.members.get(key);
    if (json === null) {
      if (span !== undefined) removed = (removed ?? new Set()).add(key);
    } else if (span === undefined) added += `${added === "" ? "" : ","}${JSON.stringify(key)}:${json}`;
    else edits.push({ start: span.valueStart, end: span.valueEnd, text: json });
  }
  if (removed !== undefined) edits.push(...removalEdits(body.members, removed));
  if (added !== "") {
    const kept = body.members.size - (removed?.size ?? 0);
    edits.push({ start: body.end, end: body.end, text: kept > 0 ? `,${added}` : added });
  }
  sortByStart(edits);
  let text = "";
  let from = 0;
  for (const edit of edits) {
    text += body.text.slice(from, edit.start) + edit.text;
    from = edit.end;
  }
  return text + body.text.slice(from);
}

/** Insertion sort: the edits are few and almost sorted. */
function sortByStart(edits: TextEdit[]): void {
  for (let next = 1; next < edits.length; next += 1) {
    const edit = edits[next];
    if (edit === undefined) return;
    let at = next;
    for (; at > 0; at -= 1) {
      const before = edits[at - 1];
      if (before === undefined || before.start <= edit.start) break;
      edits[at] = before;
    }
    edits[at] = edit;
  }
}

/** A removed member takes the comma after it; members after the last kept one take the comma before them. */
function removalEdits({ spans }: MemberIndex, removed: ReadonlySet<string>): TextEdit[] {
  const lastKept = spans.findLastIndex(({ key }) => !removed.has(key));
  const cuts: TextEdit[] = [];
  for (const [index, { key, keyStart }] of spans.entries()) {
    if (index > lastKept) break;
    const next = spans[index + 1];
    if (removed.has(key) && next !== undefined) cuts.push({ start: keyStart, end: next.keyStart, text: "" });
  }
  const tail = spans.at(-1);
  const first = spans[lastKept + 1];
  if (first !== undefined && tail !== undefined) {
    const start = spans[lastKept]?.valueEnd ?? first.keyStart;
    cuts.push({ start, end: tail.valueEnd, text: "" });
  }
  return cuts;
}
