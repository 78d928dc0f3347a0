import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** The formats that callers can ask for. */
const FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;
const SPEED_MIN = 0.25;
const SPEED_MAX = 4;
const INSTRUCTIONS_CHARS_MAX = 4096;

/** A limit in characters is one in code points, as they are billed. */
function within(max: number): (text: string) => boolean {
  return (text) => text.length <= max || [...text].length <= max;
}

export const SpeechRequest = z
  .strictObject({
    model: ModelName.describe("A model with `speech` among its `svc_surfaces`."),
    input: z
      .string()
      .min(1, "must not be empty")
      .describe("The text to speak. `svc_max_input_chars` of the model is its maximum length."),
    voice: z.string().min(1, "must not be empty").describe("Passed to the provider unchanged; see `svc_voices`."),
    response_format: optional(z.enum(FORMATS)).describe(
      "Default: mp3. `svc_speech_params` lists the supported formats.",
    ),
    speed: optional(z.number().min(SPEED_MIN).max(SPEED_MAX)).describe("Only endpoints that support it are called."),
    instructions: optional(
      z
        .string()
        .refine(within(INSTRUCTIONS_CHARS_MAX), `must have at most ${INSTRUCTIONS_CHARS_MAX} characters`)
        .meta({ maxLength: INSTRUCTIONS_CHARS_MAX }),
    ).describe("Tone, pace, accent. Only endpoints that support it are called."),
    stream_format: optional(z.literal("audio")).describe("The response is always audio."),
    data_classes: wishFields.data_classes,
  })
  .meta({ id: "SpeechRequest" });
