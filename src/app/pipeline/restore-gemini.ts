import type { RewrittenText, TextRewriter } from "../../domain/data-classes/rewriter.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { parseLosslessJson } from "../../kit/lossless-json.ts";
import { Utf8Offsets } from "../../kit/utf8-offsets.ts";
import type { Delta, StreamFormat } from "./stream-delta.ts";

const EVENT_END = "\r\n\r\n";

/** Events of the Gemini dialect have only data. */
export const GEMINI_EVENTS: StreamFormat = {
  read: (text) => ({
    events: text
      .split(EVENT_END)
      .filter((block) => block !== "")
      .map((block) => ({ head: "", data: block.replace(/^data: /, ""), block: block + EVENT_END })),
    end: "",
  }),
  write: (_head, data) => `data: ${data}${EVENT_END}`,
};

/** One JSON array whose elements are the events. */
export function geminiArray(): StreamFormat {
  let hasBegun = false;
  return {
    read(text) {
      const piece = text.trim();
      const isEnd = piece.endsWith("]");
      const elements = parseLosslessJson(`[${piece.replace(/^[[,]/, "").slice(0, isEnd ? -1 : undefined)}]`);
      const events = (Array.isArray(elements) ? elements : []).map((element: unknown) => {
        const data = JSON.stringify(element);
        return { head: "", data, block: data };
      });
      const isEmpty = !hasBegun && events.length === 0;
      return { events, end: isEnd ? (isEmpty ? "[]" : "\n]") : "" };
    },
    write(_head, data) {
      const before = hasBegun ? ",\r\n" : "[";
      hasBegun = true;
      return before + data;
    },
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function partsOf(candidate: JsonObject): readonly unknown[] {
  return isJsonObject(candidate["content"]) ? listOf(candidate["content"]["parts"]) : [];
}

const indexOf = ({ index }: JsonObject) => String(index ?? 0);

/** The pieces of text in an answer of a stream: texts, thoughts, and arguments that arrive in pieces. */
export function deltasOfAnswer({ candidates }: JsonObject): Delta[] {
  return listOf(candidates).flatMap((candidate, at) =>
    isJsonObject(candidate)
      ? partsOf(candidate).flatMap((part, place) =>
          isJsonObject(part) ? deltasOfPart(candidate, at, part, place) : [],
        )
      : [],
  );
}

function deltasOfPart(candidate: JsonObject, at: number, part: JsonObject, place: number): Delta[] {
  const group = indexOf(candidate);
  const inPart = (event: JsonObject, change: (own: JsonObject) => JsonObject): JsonObject => ({
    ...event,
    candidates: replaced(event["candidates"], at, (one) => ({
      ...one,
      content: {
        ...(one["content"] as JsonObject),
        parts: replaced((one["content"] as JsonObject)["parts"], place, change),
      },
    })),
  });
  const alone = ({ usageMetadata: _usage, ...rest }: JsonObject, own: JsonObject): JsonObject => ({
    ...rest,
    candidates: [{ content: { parts: [own], role: "model" }, index: candidate["index"] ?? 0 }],
  });
  const { text, thought, functionCall } = part;
  const kind = thought === true ? { thought } : {};
  if (typeof text === "string" && text !== "")
    return [
      {
        group,
        form: undefined,
        key: `${group}/${thought === true ? "thought" : "text"}`,
        text,
        with: (event, put) => inPart(event, (own) => ({ ...own, text: put })),
        alone: (event, put) => alone(event, { text: put, ...kind }),
      },
    ];
  const pieces = isJsonObject(functionCall) ? listOf(functionCall["partialArgs"]) : [];
  return pieces.flatMap((piece, number): Delta[] => {
    if (!isJsonObject(piece) || typeof piece["stringValue"] !== "string") return [];
    const withValue = (own: JsonObject, put: string): JsonObject => ({
      ...own,
      functionCall: {
        ...(own["functionCall"] as JsonObject),
        partialArgs: replaced((own["functionCall"] as JsonObject)["partialArgs"], number, (one) => ({
          ...one,
          stringValue: put,
        })),
      },
    });
    return [
      {
        group,
        form: "text",
        key: `${group}/args/${String(piece["jsonPath"])}`,
        text: piece["stringValue"],
        with: (event, put) => inPart(event, (own) => withValue(own, put)),
        alone: (event, put) =>
          alone(event, { functionCall: { partialArgs: [{ ...piece, stringValue: put }], willContinue: true } }),
      },
    ];
  });
}

function replaced(list: unknown, at: number, change: (item: JsonObject) => JsonObject): readonly unknown[] {
  return listOf(list).map((item, place) => (place === at && isJsonObject(item) ? change(item) : item));
}

/** The candidates whose texts end before what this answer brings. */
export function groupsInAnswer({ candidates }: JsonObject): string[] {
  return listOf(candidates).flatMap((one) =>
    isJsonObject(one) && (one["finishReason"] != null || partsOf(one).some(isSubstantial)) ? [indexOf(one)] : [],
  );
}

/** Signatures and ends come with an empty text. */
const isSubstantial = (part: unknown) => isJsonObject(part) && part["text"] !== "";

export function isAnswerFinished({ candidates }: JsonObject, group: string): boolean {
  return listOf(candidates).some((one) => isJsonObject(one) && indexOf(one) === group && one["finishReason"] != null);
}

const POSITIONED = ["groundingMetadata", "citationMetadata"] as const;
const OFFSETS: ReadonlySet<string> = new Set(["startIndex", "endIndex"]);

/** Sources name a part of the text by offsets in bytes. */
export function withMovedSources(restored: JsonObject, written: string, rewriter: TextRewriter): JsonObject {
  if (!hasOwnSources(restored)) return restored;
  const channel = rewriter.open(undefined, "whole");
  const text = channel.push(written) + channel.end();
  return movedSources(restored, channel, { written, text });
}

/** `channel` has restored what was written to the text. */
export function movedSources(
  restored: JsonObject,
  channel: RewrittenText,
  { written, text }: { readonly written: string; readonly text: string },
): JsonObject {
  if (channel.shifts.length === 0) return restored;
  const [before, after] = [new Utf8Offsets(written), new Utf8Offsets(text)];
  const move = (offset: number) => after.bytesBefore(channel.moved(before.unitsBefore(offset)));
  return { ...restored, ...(moved(sourcesOf(restored), move) as JsonObject) };
}

/** A candidate with sources, whose offsets may have to move. */
export const hasOwnSources = (candidate: JsonObject) => POSITIONED.some((name) => isJsonObject(candidate[name]));

function moved(value: unknown, move: (offset: number) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => moved(item, move));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      OFFSETS.has(name) && typeof member === "number" ? move(member) : moved(member, move),
    ]),
  );
}

/** The text of a candidate as its sources count it, without thoughts. */
export function textOfCandidate(candidate: JsonObject): string {
  return partsOf(candidate)
    .map((part) =>
      isJsonObject(part) && part["thought"] !== true && typeof part["text"] === "string" ? part["text"] : "",
    )
    .join("");
}

/** Candidates of an answer, each with its number and its place. */
export function withCandidates(
  answer: JsonObject,
  change: (candidate: JsonObject, group: string, at: number) => JsonObject,
): JsonObject {
  return {
    ...answer,
    candidates: listOf(answer["candidates"]).map((one, at) =>
      isJsonObject(one) ? change(one, indexOf(one), at) : one,
    ),
  };
}

export function candidateAt({ candidates }: JsonObject, at: number): JsonObject {
  const candidate = listOf(candidates)[at];
  return isJsonObject(candidate) ? candidate : {};
}

export function sourcesOf(candidate: JsonObject): JsonObject {
  return Object.fromEntries(POSITIONED.flatMap((name) => (name in candidate ? [[name, candidate[name]]] : [])));
}

/** True for an answer with sources, whose offsets may have to move. */
export function hasSources({ candidates }: JsonObject): boolean {
  return listOf(candidates).some((one) => isJsonObject(one) && hasOwnSources(one));
}
