import type { JsonObject } from "../../kit/json.ts";
import { STEP_MAX, stringifySteps, type WorkSteps } from "../../kit/work-steps.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { TranscriptFormat, TranscriptionCall } from "./call.ts";
import type { Transcript, TranscriptSegment } from "./reply.ts";

/** The unit that a transcript is billed by, which its usage object states. */
export type TranscriptBilling = { readonly by: "seconds"; readonly seconds: number } | { readonly by: "tokens" };

export function transcriptContentType(format: TranscriptFormat): string {
  return format === "json" || format === "verbose_json" ? "application/json" : "text/plain; charset=utf-8";
}

export function renderUsage(billing: TranscriptBilling, usage: Usage, cost: ReportedCost | undefined): JsonObject {
  if (billing.by === "seconds") return { type: "duration", seconds: billing.seconds, ...cost };
  const { inputTokens, audioInputTokens, outputTokens } = usage;
  return {
    type: "tokens",
    input_tokens: inputTokens,
    input_token_details: { text_tokens: inputTokens - audioInputTokens, audio_tokens: audioInputTokens },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...cost,
  };
}

/** Segments must be present for formats made of them. */
export function* renderTranscript(
  transcript: Transcript,
  call: Pick<TranscriptionCall, "format" | "granularities" | "parameters">,
  seconds: number | undefined,
  usage: JsonObject,
): WorkSteps<string> {
  const { text, segments = [] } = transcript;
  switch (call.format) {
    case "json":
      return yield* stringifySteps({ text, ...transcript.extraFields, usage });
    case "text":
      return `${text}\n`;
    case "srt":
      return yield* renderSrt(segments);
    case "vtt":
      return yield* renderVtt(segments);
    case "verbose_json":
      return yield* stringifySteps(yield* verboseJson(transcript, call, seconds, usage));
  }
}

/** Used when neither the provider nor the caller states the language. */
const UNKNOWN_LANGUAGE = "unknown";

/**
 * With word granularity alone, segments are left out, as in OpenAI's API. Language and duration are always present
 * because typed SDKs require them.
 */
function* verboseJson(
  { text, language, duration, segments = [], words, extraFields }: Transcript,
  { granularities, parameters }: Pick<TranscriptionCall, "granularities" | "parameters">,
  seconds: number | undefined,
  usage: JsonObject,
): WorkSteps<JsonObject> {
  const wantsSegments = granularities.length === 0 || granularities.includes("segment");
  return {
    task: "transcribe",
    language: language ?? parameters.language ?? UNKNOWN_LANGUAGE,
    duration: duration ?? seconds ?? segments.reduce((latest, { end }) => Math.max(latest, end), 0),
    text,
    ...(wantsSegments ? { segments: yield* eachRow(segments, numberedSegment) } : {}),
    ...(granularities.includes("word") ? { words } : {}),
    ...extraFields,
    usage,
  };
}

function numberedSegment({ providerFields, start, end, text }: TranscriptSegment, index: number): JsonObject {
  const { type: _type, ...rest } = providerFields;
  return { id: index, ...rest, start, end, text };
}

/** SubRip: numbered cues, comma before the milliseconds. */
export function* renderSrt(segments: readonly TranscriptSegment[]): WorkSteps<string> {
  const cues = yield* eachRow(
    yield* toCues(segments),
    ({ startMs, endMs, text }, index) =>
      `${index + 1}\n${formatTimestamp(startMs, ",")} --> ${formatTimestamp(endMs, ",")}\n${text}\n\n`,
  );
  return cues.join("");
}

/** WebVTT: a header, unnumbered cues, escaped markup. */
export function* renderVtt(segments: readonly TranscriptSegment[]): WorkSteps<string> {
  const cues = yield* eachRow(
    yield* toCues(segments),
    ({ startMs, endMs, text }) =>
      `${formatTimestamp(startMs, ".")} --> ${formatTimestamp(endMs, ".")}\n${escapeMarkup(text)}\n\n`,
  );
  return `WEBVTT\n\n${cues.join("")}`;
}

type SubtitleCue = { readonly startMs: number; readonly endMs: number; readonly text: string };

/** Sorted by start, without empty or zero-length cues, which players drop. */
function* toCues(segments: readonly TranscriptSegment[]): WorkSteps<SubtitleCue[]> {
  const cues = yield* eachRow(segments, ({ start, end, text }) => {
    const startMs = Math.round(start * 1000);
    return { startMs, endMs: Math.max(startMs + 1, Math.round(end * 1000)), text: cueText(text) };
  });
  return cues.filter(({ text }) => text !== "").sort((a, b) => a.startMs - b.startMs);
}

/** Segments or cues of one step. */
const ROWS_PER_STEP = 64;
/** What a segment has beside its text. */
const ROW_VALUES = 8;

function* eachRow<Row extends { readonly text: string }, T>(
  rows: readonly Row[],
  render: (row: Row, index: number) => T,
): WorkSteps<T[]> {
  const rendered: T[] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STEP) {
    let chars = 0;
    for (const row of rows.slice(at, at + ROWS_PER_STEP)) {
      rendered.push(render(row, rendered.length));
      chars += row.text.length;
    }
    yield { chars: Math.min(chars, STEP_MAX.chars), values: ROWS_PER_STEP * ROW_VALUES };
  }
  return rendered;
}

function formatTimestamp(ms: number, separator: "," | "."): string {
  const twoDigits = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const fraction = String(ms % 1000).padStart(3, "0");
  return `${twoDigits(ms / 3_600_000)}:${twoDigits((ms / 60_000) % 60)}:${twoDigits((ms / 1000) % 60)}${separator}${fraction}`;
}

/** A blank line would end the cue and an arrow would start one. */
function cueText(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines
    .filter((line) => line !== "")
    .join("\n")
    .split(">")
    .map((piece, at, pieces) => (at < pieces.length - 1 ? withoutDashes(piece) : piece))
    .join(">");
}

/** Ends in one dash where it ended in more. A regular expression would read a long run of dashes again from each of them. */
function withoutDashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "-") end -= 1;
  return text.length - end < 2 ? text : text.slice(0, end + 1);
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
