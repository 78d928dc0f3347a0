import type { RoutingHints } from "../canon/routing-hints.ts";

export type TranscriptFormat = "json" | "text" | "srt" | "verbose_json" | "vtt";

/** Optional parameters; an endpoint may support only some of them. */
export const TRANSCRIPTION_PARAMETERS = [
  "language",
  "languages",
  "keywords",
  "prompt",
  "temperature",
  "include",
  "chunking_strategy",
  "known_speaker_names",
  "known_speaker_references",
] as const;
export type TranscriptionParameter = (typeof TRANSCRIPTION_PARAMETERS)[number];

/** A value of a multipart form field: a string, a list, or an object of strings. */
export type FormValue = string | readonly string[] | Readonly<Record<string, string>>;

/** The canonical transcription request, without its audio. */
export type TranscriptionCall = {
  readonly model: string;
  readonly format: TranscriptFormat;
  readonly isStreaming: boolean;
  /** Requested timestamp granularities; empty: the format's default. */
  readonly granularities: readonly ("segment" | "word")[];
  readonly parameters: Readonly<Partial<Record<TranscriptionParameter, FormValue>>>;
  readonly routingHints: RoutingHints | undefined;
};

/** The format cannot be rendered without segment timestamps. */
export function needsSegments({ format }: Pick<TranscriptionCall, "format">): boolean {
  return format === "srt" || format === "vtt" || format === "verbose_json";
}

export function needsWords({ granularities }: Pick<TranscriptionCall, "granularities">): boolean {
  return granularities.includes("word");
}
