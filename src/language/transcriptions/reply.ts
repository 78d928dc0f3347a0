import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { IMPLAUSIBLE_TOKENS, isTokenCount, NO_TOKENS, type Usage } from "../canon/usage.ts";

/** A stretch of speech with its times, in seconds; what else a provider says of it is kept. */
export type TranscriptSegment = {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly providerFields: JsonObject;
};

/** What a provider reports of its work; undefined is what it does not say. */
export type TranscriptUsage = { readonly seconds: number | undefined; readonly tokens: Usage | undefined };

/** A transcript as a provider gave it, before it is written in the format that the caller wants. */
export type Transcript = {
  readonly text: string;
  readonly language: string | undefined;
  /** In seconds, as the provider says it beside what it bills. */
  readonly duration: number | undefined;
  /** Undefined where the provider gives no times. */
  readonly segments: readonly TranscriptSegment[] | undefined;
  readonly words: readonly JsonObject[] | undefined;
  readonly usage: TranscriptUsage;
  /** Fields of a plain answer that are passed on as they came. */
  readonly extraFields: JsonObject;
};

/** Reads a list of segments; undefined when one of them has no text or impossible times. */
export function decodeSegments(value: unknown): TranscriptSegment[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const rows: unknown[] = value;
  const segments: TranscriptSegment[] = [];
  for (const row of rows) {
    if (!isJsonObject(row) || typeof row["text"] !== "string") return undefined;
    const [start, end] = [decodeSeconds(row["start"]), decodeSeconds(row["end"])];
    if (start === undefined || end === undefined || end < start) return undefined;
    segments.push({ start, end, text: row["text"], providerFields: row });
  }
  return segments;
}

/** Reads a list of words; undefined when one of them has no text or impossible times. */
export function decodeWords(value: unknown): JsonObject[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const rows: unknown[] = value;
  const words: JsonObject[] = [];
  for (const row of rows) {
    if (!isJsonObject(row) || typeof row["word"] !== "string") return undefined;
    if (decodeSeconds(row["start"]) === undefined || decodeSeconds(row["end"]) === undefined) return undefined;
    words.push(row);
  }
  return words;
}

/** Longer than any recording: more than thirty years. */
const DURATION_MAX_SECONDS = 1e9;

export function decodeSeconds(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds >= 0 && seconds <= DURATION_MAX_SECONDS ? seconds : undefined;
}

/** Tokens of what was heard and of what was written; undefined where they are not all told. */
export function transcriptionUsage(input: unknown, output: unknown, audio: unknown): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const heard = typeof audio === "number" ? audio : 0;
  if (![input, output, heard].every(isTokenCount)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens: input, outputTokens: output, audioInputTokens: Math.min(heard, input) };
}
