import { z } from "zod";
import { TRANSCRIPTION_PARAMETERS, type TranscriptionParameter } from "../../language/transcriptions/call.ts";
import { count } from "./field-schemas.ts";

const TRANSCRIPTION_INTERFACES = ["openai", "mistral"] as const;

export const transcriptionsEntry = z.strictObject({
  interface: z.enum(TRANSCRIPTION_INTERFACES),
  segments: z.boolean().optional().describe("Returns segment timestamps, which subtitles need. Absent: no."),
  words: z.boolean().optional().describe("Returns word timestamps. Absent: no."),
  stream: z.boolean().optional().describe("Streams the transcript. Absent: no."),
  seconds: z.boolean().optional().describe("Responses state the audio duration. Absent: not always."),
  parameters: z
    .array(z.enum(TRANSCRIPTION_PARAMETERS))
    .optional()
    .describe("Supported parameters besides model, file, format and timestamps. Absent: none."),
  max_bytes: count.optional().describe("Maximum file size. Absent: as large as callers may send."),
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
