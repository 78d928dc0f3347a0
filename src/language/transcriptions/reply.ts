import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { isTokenCount } from "../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import { all, type MemberRule, type MemberRules, members } from "../dialects/reply-members.ts";
import type { TranscriptFormat } from "./call.ts";

/** A timed part of the transcript, in seconds, with the provider's other fields. */
export type TranscriptSegment = {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly providerFields: JsonObject;
};

/** Usage as the provider reports it; undefined when it does not. */
export type TranscriptUsage = { readonly seconds: number | undefined; readonly tokens: Usage | undefined };

/** A provider's transcript before it is rendered in the caller's format. */
export type Transcript = {
  readonly text: string;
  readonly language: string | undefined;
  /** Duration in seconds, which may differ from the billed one. */
  readonly duration: number | undefined;
  /** Undefined when the provider returns no timestamps. */
  readonly segments: readonly TranscriptSegment[] | undefined;
  readonly words: readonly JsonObject[] | undefined;
  readonly usage: TranscriptUsage;
  /** Fields that are forwarded unchanged. */
  readonly extraFields: JsonObject;
};

/** Members that only verbose_json has: other formats were not asked for them. */
const TIMED = ["task", "language", "duration", "segments", "words"] as const;

/** Which members of a reply reach callers of a format; `forwarded` are written as they came, into JSON. */
export function transcriptRules(
  format: TranscriptFormat,
  forwarded: readonly string[],
  exempt: MemberRules,
): MemberRule {
  const isJson = format === "json" || format === "verbose_json";
  return members({
    text: "carried",
    ...all(format === "verbose_json" ? "carried" : "exempt", ...TIMED),
    ...all(isJson ? "carried" : "omitted", ...forwarded),
    ...exempt,
  });
}

/** Undefined when a segment lacks text or has impossible times. */
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

/** Undefined when a word lacks text or has impossible times. */
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

/** Over thirty years: longer than any recording. */
const DURATION_MAX_SECONDS = 1e9;

export function decodeSeconds(value: unknown): number | undefined {
  const seconds = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === "number" && seconds >= 0 && seconds <= DURATION_MAX_SECONDS ? seconds : undefined;
}

/** Undefined unless both counts are reported. */
export function transcriptionUsage(input: unknown, output: unknown, audio: unknown): Usage | undefined {
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const audioTokens = typeof audio === "number" ? audio : 0;
  if (![input, output, audioTokens].every(isTokenCount)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens: input, outputTokens: output, audioInputTokens: Math.min(audioTokens, input) };
}
