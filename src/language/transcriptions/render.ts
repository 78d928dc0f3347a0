import type { JsonObject } from "../../kit/json.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { TranscriptFormat, TranscriptionCall } from "./call.ts";
import type { Transcript, TranscriptSegment } from "./reply.ts";
import { renderSrt, renderVtt } from "./subtitles.ts";

/** What a transcript is billed by, and so what its usage says. */
export type TranscriptBilling = { readonly by: "seconds"; readonly seconds: number } | { readonly by: "tokens" };

export function transcriptContentType(format: TranscriptFormat): string {
  return format === "json" || format === "verbose_json" ? "application/json" : "text/plain; charset=utf-8";
}

/** What the answer says of itself: a length or tokens, and what was charged. */
export function renderUsage(basis: TranscriptBilling, counted: Usage, shown: ReportedCost | undefined): JsonObject {
  if (basis.by === "seconds") return { type: "duration", seconds: basis.seconds, ...shown };
  const { inputTokens, audioInputTokens, outputTokens } = counted;
  return {
    type: "tokens",
    input_tokens: inputTokens,
    input_token_details: { text_tokens: inputTokens - audioInputTokens, audio_tokens: audioInputTokens },
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...shown,
  };
}

/** A transcript in the format that was asked for. Segments must be there where the format is made of them. */
export function renderTranscript(
  transcript: Transcript,
  ask: Pick<TranscriptionCall, "format" | "granularities" | "parameters">,
  seconds: number | undefined,
  usage: JsonObject,
): string {
  const { text, segments = [] } = transcript;
  switch (ask.format) {
    case "json":
      return JSON.stringify({ text, ...transcript.extraFields, usage });
    case "text":
      return `${text}\n`;
    case "srt":
      return renderSrt(segments);
    case "vtt":
      return renderVtt(segments);
    case "verbose_json":
      return JSON.stringify(verboseJson(transcript, ask, seconds, usage));
  }
}

/** What a transcript is said to be in where neither the provider nor the caller says it. */
const UNKNOWN_LANGUAGE = "unknown";

/**
 * With words alone asked for, words alone are given: as callers of the format know it. Language and duration are always
 * there, since clients of typed languages read no answer without them.
 */
function verboseJson(
  { text, language, duration, segments = [], words }: Transcript,
  { granularities, parameters }: Pick<TranscriptionCall, "granularities" | "parameters">,
  seconds: number | undefined,
  usage: JsonObject,
): JsonObject {
  const wantsSegments = granularities.length === 0 || granularities.includes("segment");
  return {
    task: "transcribe",
    language: language ?? parameters.language ?? UNKNOWN_LANGUAGE,
    duration: duration ?? seconds ?? Math.max(0, ...segments.map(({ end }) => end)),
    text,
    ...(wantsSegments ? { segments: segments.map(numberedSegment) } : {}),
    ...(granularities.includes("word") ? { words } : {}),
    usage,
  };
}

function numberedSegment({ providerFields, start, end, text }: TranscriptSegment, index: number): JsonObject {
  const { type: _type, ...rest } = providerFields;
  return { id: index, ...rest, start, end, text };
}
