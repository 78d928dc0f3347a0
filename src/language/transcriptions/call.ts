import type { RoutingHints } from "../canon/routing-hints.ts";

/** What a transcript can be asked for as. */
export type TranscriptFormat = "json" | "text" | "srt" | "verbose_json" | "vtt";

/** Fields beside model, file and format; not every endpoint can be told each of them. */
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

/** A value as a form carries it: a text, a list of texts, or an object with one text for each name. */
export type FormValue = string | readonly string[] | Readonly<Record<string, string>>;

/** A request for a transcript, without its audio. */
export type TranscriptionCall = {
  readonly model: string;
  readonly format: TranscriptFormat;
  readonly isStreaming: boolean;
  /** Which times were asked for by name; none: what the format needs. */
  readonly granularities: readonly ("segment" | "word")[];
  readonly parameters: Readonly<Partial<Record<TranscriptionParameter, FormValue>>>;
  readonly wishes: RoutingHints | undefined;
};

/** Whether the answer cannot be made without the times of segments. */
export function needsSegments({ format }: Pick<TranscriptionCall, "format">): boolean {
  return format === "srt" || format === "vtt" || format === "verbose_json";
}

export function needsWords({ granularities }: Pick<TranscriptionCall, "granularities">): boolean {
  return granularities.includes("word");
}
