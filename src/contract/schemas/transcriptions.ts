import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04); so is an empty field of a form. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const TEXTS_MAX = 100;
const texts = z.array(z.string().min(1).max(1024)).min(1).max(TEXTS_MAX);

const VoiceActivity = z.strictObject({
  type: z.literal("server_vad"),
  prefix_padding_ms: optional(z.int().min(0)),
  silence_duration_ms: optional(z.int().min(0)),
  threshold: optional(z.number().min(0).max(1)),
});

/** The fields of the form. Lists are sent as `name[]`, objects as `name[key]`, booleans and numbers as text. */
export const TranscriptionRequest = z
  .strictObject({
    file: z
      .string()
      .describe("The audio, with a file name: providers detect the format by its extension.")
      .meta({ format: "binary" }),
    model: ModelName,
    response_format: optional(z.enum(["json", "text", "srt", "verbose_json", "vtt"])).describe(
      "Default: json. `srt`, `vtt` and `verbose_json` need segment timestamps, so only endpoints that return them are called.",
    ),
    language: optional(z.string().min(1).max(64)).describe("ISO-639-1, such as `en`."),
    prompt: optional(z.string().max(16_384)).describe("Text that guides the style, in the language of the audio."),
    temperature: optional(z.number().min(0).max(1)),
    timestamp_granularities: optional(
      z
        .array(z.enum(["segment", "word"]))
        .min(1)
        .max(2),
    ).describe("With `verbose_json` only. Absent: segment."),
    stream: optional(z.boolean()).describe("Stream the transcript as server-sent events; with `json` or `text`."),
    include: optional(z.array(z.literal("logprobs")).min(1).max(1)).describe("With `json` only."),
    chunking_strategy: optional(z.union([z.literal("auto"), VoiceActivity])),
    languages: optional(texts).describe("Possible languages of the audio."),
    keywords: optional(texts).describe("Words and phrases that are likely to occur."),
    known_speaker_names: optional(texts),
    known_speaker_references: optional(z.array(z.string().min(1)).min(1).max(TEXTS_MAX)),
    provider: wishFields.provider.describe("As on the other surfaces, as one form field with JSON."),
    data_classes: wishFields.data_classes.describe("As on the other surfaces, as one form field with JSON."),
  })
  .meta({ id: "TranscriptionRequest" });
export type TranscriptionRequest = z.output<typeof TranscriptionRequest>;

const Usage = z
  .looseObject({
    type: z.enum(["duration", "tokens"]).describe("Billing unit of the request."),
    seconds: z.number().optional(),
    input_tokens: z.int().optional(),
    input_token_details: z.looseObject({ text_tokens: z.int(), audio_tokens: z.int() }).optional(),
    output_tokens: z.int().optional(),
    total_tokens: z.int().optional(),
    cost: z.number().optional(),
    currency: z.string().optional(),
  })
  .meta({ id: "TranscriptionUsage" });

const Timed = { start: z.number(), end: z.number() };

export const Transcription = z
  .looseObject({
    text: z.string(),
    task: z.literal("transcribe").optional(),
    language: z.string().optional(),
    duration: z.number().optional(),
    segments: z.array(z.looseObject({ id: z.union([z.int(), z.string()]), ...Timed, text: z.string() })).optional(),
    words: z.array(z.looseObject({ ...Timed, word: z.string() })).optional(),
    usage: Usage,
  })
  .describe(
    "Timestamps, language and duration are in `verbose_json`. `text`, `srt` and `vtt` are returned as text/plain.",
  )
  .meta({ id: "Transcription" });

export const TranscriptionEvent = z
  .looseObject({
    type: z.enum(["transcript.text.delta", "transcript.text.segment", "transcript.text.done"]),
    delta: z.string().optional(),
    text: z.string().optional(),
    usage: Usage.optional(),
  })
  .meta({ id: "TranscriptionEvent" });
