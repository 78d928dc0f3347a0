import { z } from "zod";
import type { AudioFormat } from "../../language/audio/meter.ts";
import { count, text } from "./field-schemas.ts";

export const AUDIO_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const satisfies readonly AudioFormat[];

export const SPEECH_INTERFACES = ["openai", "gemini", "mistral"] as const;

export const speechEntry = z.strictObject({
  interface: z.enum(SPEECH_INTERFACES),
  formats: z.array(z.enum(AUDIO_FORMATS)).min(1, "must name at least one format"),
  speed: z.boolean().optional().describe("Supports `speed`. Absent: no."),
  instructions: z.boolean().optional().describe("Supports `instructions`. Absent: no."),
  max_input_chars: count.optional().describe("Maximum text length in characters. Absent: no stated limit."),
  stream: z.boolean().optional().describe("Streams audio in events. Absent: no."),
  pcm: z
    .enum(["s16", "f32"])
    .optional()
    .describe("Sample type of raw PCM at 24 kHz: 16-bit integers or 32-bit floats. Absent: s16."),
  voices: z.array(text).optional().describe("Documented voices. Other names are passed on as well."),
});

/** Speech support of an endpoint. */
export type SpeechSupport = {
  readonly interface: (typeof SPEECH_INTERFACES)[number];
  readonly formats: readonly AudioFormat[];
  readonly speed: boolean;
  readonly instructions: boolean;
  readonly maxInputChars: number | null;
  /** Audio is streamed in events during synthesis; formats that stream raw bytes do not need it. */
  readonly stream: boolean;
  readonly pcm: "s16" | "f32";
  readonly voices: readonly string[];
};

export function compileSpeechSupport(entry: z.infer<typeof speechEntry>): SpeechSupport {
  return {
    interface: entry.interface,
    formats: entry.formats,
    speed: entry.speed ?? false,
    instructions: entry.instructions ?? false,
    maxInputChars: entry.max_input_chars ?? null,
    stream: entry.stream ?? false,
    pcm: entry.pcm ?? "s16",
    voices: entry.voices ?? [],
  };
}
