import { z } from "zod";
import { count } from "./fields.ts";

/** What a transcript can be asked for as. */
export const TRANSCRIPT_FORMATS = ["json", "text", "srt", "verbose_json", "vtt"] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

export const TRANSCRIPTION_INTERFACES = ["openai", "mistral"] as const;

export const transcriptionsEntry = z.strictObject({
  interface: z.enum(TRANSCRIPTION_INTERFACES),
  segments: z.boolean().optional().describe("Gives the times of segments, from which subtitles are made. Absent: no."),
  words: z.boolean().optional().describe("Gives the times of words. Absent: no."),
  stream: z.boolean().optional().describe("Sends the transcript while it is made. Absent: no."),
  max_bytes: count.optional().describe("The largest file it takes. Absent: as large as callers may send."),
});

/** How an endpoint is asked for a transcript. */
export type TranscriptionFacts = {
  readonly interface: (typeof TRANSCRIPTION_INTERFACES)[number];
  readonly segments: boolean;
  readonly words: boolean;
  readonly stream: boolean;
  readonly maxBytes: number | null;
};

export function transcriptionFactsOf(entry: z.infer<typeof transcriptionsEntry>): TranscriptionFacts {
  return {
    interface: entry.interface,
    segments: entry.segments ?? false,
    words: entry.words ?? false,
    stream: entry.stream ?? false,
    maxBytes: entry.max_bytes ?? null,
  };
}
