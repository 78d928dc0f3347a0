import { z } from "zod";
import { count, text } from "./field-schemas.ts";

export const AUDIO_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
export type AudioFormat = (typeof AUDIO_FORMATS)[number];

export const SPEECH_INTERFACES = ["openai", "gemini", "mistral"] as const;

export const speechEntry = z.strictObject({
  interface: z.enum(SPEECH_INTERFACES),
  formats: z.array(z.enum(AUDIO_FORMATS)).min(1, "must name at least one format"),
  speed: z.boolean().optional().describe("Takes `speed`. Absent: no."),
  instructions: z.boolean().optional().describe("Takes `instructions`. Absent: no."),
  max_input_chars: count.optional().describe("The longest text it takes, in characters. Absent: none is stated."),
  stream: z.boolean().optional().describe("Sends audio while it makes it, in events. Absent: no."),
  pcm: z
    .enum(["s16", "f32"])
    .optional()
    .describe("Its raw samples at 24 kHz: integers of 16 bits, or floats of 32. Absent: s16."),
  voices: z.array(text).optional().describe("Voices that the provider names. Any other is passed on all the same."),
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
