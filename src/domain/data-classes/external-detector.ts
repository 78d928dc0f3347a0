import { isJsonObject } from "../../kit/json.ts";
import { ALNUM, FOREIGN, kindAt } from "./characters.ts";
import { customKind, type Kind } from "./kinds.ts";

/** An HTTP service of a workspace that finds data in texts, with the contract of Presidio's analyzer. */
export type ExternalDetector = {
  readonly url: string;
  /** Sent with every text. */
  readonly language: string;
  /** Where it runs, as the workspace declares it (ISO 3166-1 alpha-2). */
  readonly country: string;
  /** An admin's statement that it meets a level above that of its country. */
  readonly attested: {
    readonly level: "L2" | "L3" | "L4";
    readonly name: string;
    readonly reason: string;
    readonly atMs: number;
  } | null;
  readonly zeroDataRetention: boolean;
  readonly noTraining: boolean;
  /** Kinds of entities that count; null: all. */
  readonly entities: readonly string[] | null;
  /** Findings with a lower score are ignored. */
  readonly minScore: number;
  /** Sent as a bearer token. */
  readonly token: string | null;
  /** For all calls of one request. */
  readonly timeoutMs: number;
};

/** How a detector's part in one request ended. */
export const DETECTOR_RESULTS = ["read", "not_permitted", "timeout", "failed"] as const;
export type DetectorResult = (typeof DETECTOR_RESULTS)[number];

/** What one class has of it. */
export type ExternalClass = { readonly class: string; readonly detector: ExternalDetector };

/** A text of a request, or the end of one part of a message and the beginning of the next, which meet at `joint`. */
export type DetectedText = {
  readonly text: string;
  readonly path: string;
  readonly joint?: number;
  /** Before parts of it were masked. */
  readonly original?: string;
};

/** Of the texts on both sides of a joint. */
const SIDE_CHARS = 200;

/** Where adjacent texts meet: a value may be split over them. */
export function jointsOf(texts: readonly string[], path: string): DetectedText[] {
  return texts.slice(1).map((behind, at) => {
    const before = (texts[at] ?? "").slice(-SIDE_CHARS);
    return { text: before + behind.slice(0, SIDE_CHARS), path, joint: before.length };
  });
}

/** A place in a text, in UTF-16 units. */
export type DetectedPlace = { readonly from: DetectedText; readonly start: number; readonly end: number };
export type Detection = DetectedPlace & { readonly kind: Kind };

/** Characters of one call, so that no reply is long. */
const CALL_CHARS = 8_000;
/** A long text is sent in pieces that overlap: a value at an edge is whole in one of them. */
const OVERLAP_CHARS = 200;
/** Keeps the words of one text from being read as part of another. */
const SEPARATOR = "\n\n";
/** Of one call; more than this is no plausible reply. */
const FINDINGS_MAX = 8_000;
const ENTITY = /^[A-Z][A-Z0-9_]{0,31}$/;

type CallPart = { readonly from: DetectedText; readonly offset: number; readonly at: number; readonly length: number };

/** One call: parts of texts, one after the other. */
export type DetectorCall = { readonly text: string; readonly parts: readonly CallPart[] };

/** All texts in as few calls as their size allows. */
export function callsFor(texts: Iterable<DetectedText>): DetectorCall[] {
  const calls: DetectorCall[] = [];
  let text = "";
  let parts: CallPart[] = [];
  const close = () => {
    if (parts.length > 0) calls.push({ text, parts });
    text = "";
    parts = [];
  };
  for (const from of texts)
    for (const { offset, length } of piecesOf(from.text)) {
      if (text.length + SEPARATOR.length + length > CALL_CHARS) close();
      if (text !== "") text += SEPARATOR;
      parts.push({ from, offset, at: text.length, length });
      text += from.text.slice(offset, offset + length);
    }
  close();
  return calls;
}

function piecesOf(text: string): { offset: number; length: number }[] {
  const pieces: { offset: number; length: number }[] = [];
  for (let offset = 0; ; ) {
    if (text.length - offset <= CALL_CHARS) {
      pieces.push({ offset, length: text.length - offset });
      return pieces;
    }
    const end = cutBefore(text, offset + CALL_CHARS);
    pieces.push({ offset, length: end - offset });
    offset = cutBefore(text, end - OVERLAP_CHARS);
  }
}

/** Between two words, or where none ends nearby, at a whole character. */
function cutBefore(text: string, at: number): number {
  for (let near = at; near > at - OVERLAP_CHARS; near--) if (text.charCodeAt(near - 1) <= 32) return near;
  return isLowSurrogate(text.charCodeAt(at)) ? at - 1 : at;
}

const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff;

export function requestBody({ text }: Pick<DetectorCall, "text">, detector: ExternalDetector): string {
  const { language, entities, minScore } = detector;
  return JSON.stringify({
    text,
    language,
    ...(entities !== null && { entities }),
    ...(minScore > 0 && { score_threshold: minScore }),
  });
}

/** The findings in a reply, or what is wrong with it: a reply that is not understood says nothing about the text. */
export function readReply(
  reply: string,
  call: DetectorCall,
  { class: name, detector: { entities, minScore } }: ExternalClass,
): Detection[] | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(reply);
  } catch {
    return { problem: "its response is not JSON" };
  }
  if (!Array.isArray(value)) return { problem: "its response is not a list of findings" };
  if (value.length > FINDINGS_MAX) return { problem: `its response has more than ${FINDINGS_MAX} findings` };
  const unitsBefore = unitOffsets(call.text);
  const kinds = new Map<string, Kind>();
  const found: Detection[] = [];
  for (const one of value as unknown[]) {
    if (!isFinding(one)) return { problem: "a finding has no valid entity_type, start, end and score" };
    const { entity_type: entity, score } = one;
    const [start, end] = [unitsBefore(one.start), unitsBefore(one.end)];
    if (start === undefined || end === undefined) return { problem: "a finding lies beyond the end of the text" };
    if (score < minScore || entities?.includes(entity) === false) continue;
    const kind = kinds.get(entity) ?? kindOf(name, entity);
    kinds.set(entity, kind);
    for (const place of placesIn(call, start, end)) found.push({ kind, ...place });
  }
  return found;
}

type ReplyFinding = { entity_type: string; start: number; end: number; score: number };

function isFinding(value: unknown): value is ReplyFinding {
  if (!isJsonObject(value)) return false;
  const { entity_type: entity, start, end, score } = value;
  const isOffset = (offset: unknown) => typeof offset === "number" && Number.isInteger(offset) && offset >= 0;
  return (
    typeof entity === "string" && isOffset(start) && isOffset(end) && Number(start) < Number(end) && isScore(score)
  );
}

const isScore = (score: unknown) => typeof score === "number" && score >= 0 && score <= 1;

/** The name of an entity is part of markers and messages: one that is not plain is not shown. */
function kindOf(name: string, entity: string): Kind {
  const kind = customKind(`external.${name}`, name, `External detector of ${name}`);
  return ENTITY.test(entity) ? { ...kind, label: entity } : kind;
}

/** Presidio counts characters as Python does, not UTF-16 units. Undefined: beyond the end. */
function unitOffsets(text: string): (characters: number) => number | undefined {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => (offset <= text.length ? offset : undefined);
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (offset) => starts[offset];
}

/** The parts of a finding in each text that it covers, without the separators between them. */
function placesIn({ parts }: DetectorCall, start: number, end: number): DetectedPlace[] {
  return parts.flatMap(({ from, offset, at, length }) => {
    const [first, last] = [Math.max(start, at), Math.min(end, at + length)];
    if (first >= last) return [];
    const place = wholeWords(from.text, offset + first - at, offset + last - at);
    return place === undefined ? [] : [{ from, ...place }];
  });
}

const WORD = ALNUM | FOREIGN;
/** Shorter texts are not looked for again when the request is written. */
const CHARS_MIN = 3;

/** To the edges of its words, as values are looked for when a request is written; undefined: nothing but space. */
function wholeWords(text: string, from: number, to: number): { start: number; end: number } | undefined {
  let [start, end] = [from, to];
  while (start < end && text.charCodeAt(start) <= 32) start++;
  while (end > start && text.charCodeAt(end - 1) <= 32) end--;
  if (start === end) return undefined;
  const isInside = (at: number) => (kindAt(text, at - 1) & WORD) !== 0 && (kindAt(text, at) & WORD) !== 0;
  for (;;) {
    while (isInside(start) || isLowSurrogate(text.charCodeAt(start))) start--;
    while (isInside(end) || isLowSurrogate(text.charCodeAt(end))) end++;
    if (end - start >= CHARS_MIN || end - start >= text.length) return { start, end };
    if (end < text.length) end++;
    else start--;
  }
}
