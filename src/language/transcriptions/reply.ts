import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { IMPLAUSIBLE_TOKENS, isTokenCount, NO_TOKENS, type Usage } from "../canon/usage.ts";

/** A stretch of speech with its times, in seconds; what else a provider says of it is kept. */
export type Segment = {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly said: JsonObject;
};

/** What a provider reports of its work; undefined is what it does not say. */
export type Figures = { readonly seconds: number | undefined; readonly tokens: Usage | undefined };

/** A transcript as a provider gave it, before it is written in the format that the caller wants. */
export type Transcript = {
  readonly text: string;
  readonly language: string | undefined;
  /** In seconds, as the provider says it beside what it bills. */
  readonly duration: number | undefined;
  /** Undefined where the provider gives no times. */
  readonly segments: readonly Segment[] | undefined;
  readonly words: readonly JsonObject[] | undefined;
  readonly figures: Figures;
  /** Fields of a plain answer that are passed on as they came. */
  readonly also: JsonObject;
};

/** Reads a list of segments; undefined when one of them has no text or impossible times. */
export function segmentsOf(value: unknown): Segment[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const rows: unknown[] = value;
  const segments: Segment[] = [];
  for (const row of rows) {
    if (!isJsonObject(row) || typeof row["text"] !== "string") return undefined;
    const [start, end] = [secondsOf(row["start"]), secondsOf(row["end"])];
    if (start === undefined || end === undefined || end < start) return undefined;
    segments.push({ start, end, text: row["text"], said: row });
  }
  return segments;
}

/** Reads a list of words; undefined when one of them has no text or impossible times. */
export function wordsOf(value: unknown): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const rows: unknown[] = value;
  const words: JsonObject[] = [];
  for (const row of rows) {
    if (!isJsonObject(row) || typeof row["word"] !== "string") return undefined;
    if (secondsOf(row["start"]) === undefined || secondsOf(row["end"]) === undefined) return undefined;
    words.push(row);
  }
  return words;
}

/** Longer than any recording: more than thirty years. */
const SECONDS_MAX = 1e9;

export function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds >= 0 && seconds <= SECONDS_MAX ? seconds : undefined;
}

/** Tokens of what was heard and of what was written; undefined where they are not all told. */
export function heardUsage(input: unknown, output: unknown, audio: unknown): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const heard = typeof audio === "number" ? audio : 0;
  if (![input, output, heard].every(isTokenCount)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens: input, outputTokens: output, audioInputTokens: Math.min(heard, input) };
}
