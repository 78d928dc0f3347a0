import { z } from "zod";
import { TRANSCRIPTION_PARAMETERS, type TranscriptionParameter } from "../../language/transcriptions/call.ts";
import { count } from "./field-schemas.ts";

const TRANSCRIPTION_INTERFACES = ["openai", "mistral"] as const;

export const transcriptionsEntry = z.strictObject({
  interface: z.enum(TRANSCRIPTION_INTERFACES),
  segments: z.boolean().optional().describe("Gives the times of segments, from which subtitles are made. Absent: no."),
  words: z.boolean().optional().describe("Gives the times of words. Absent: no."),
  stream: z.boolean().optional().describe("Sends the transcript while it is made. Absent: no."),
  seconds: z.boolean().optional().describe("Its answers say how long the audio was. Absent: not always."),
  parameters: z
    .array(z.enum(TRANSCRIPTION_PARAMETERS))
    .optional()
    .describe("What it can be told beside model, file, format and times. Absent: nothing."),
  max_bytes: count.optional().describe("The largest file it takes. Absent: as large as callers may send."),
});

export type TranscriptionsEntry = z.infer<typeof transcriptionsEntry>;

/** Transcription support of an endpoint. */
export type TranscriptionSupport = {
  readonly interface: (typeof TRANSCRIPTION_INTERFACES)[number];
  readonly segments: boolean;
  readonly words: boolean;
  readonly stream: boolean;
  readonly seconds: boolean;
  readonly parameters: readonly TranscriptionParameter[];
  readonly maxBytes: number | null;
};

export function compileTranscriptionSupport(entry: TranscriptionsEntry): TranscriptionSupport {
  return {
    interface: entry.interface,
    segments: entry.segments ?? false,
    words: entry.words ?? false,
    stream: entry.stream ?? false,
    seconds: entry.seconds ?? false,
    parameters: entry.parameters ?? [],
    maxBytes: entry.max_bytes ?? null,
  };
}
