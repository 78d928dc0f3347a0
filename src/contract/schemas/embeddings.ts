import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** What one request may ask for at once, as the format's own servers have it. */
export const EMBEDDING_INPUTS_MAX = 2048;

const text = z.string().min(1);
const tokens = z.array(z.int().min(0)).min(1);

const fields = {
  model: ModelName,
  encoding_format: optional(z.enum(["float", "base64"])).describe("Default: float."),
  dimensions: optional(z.int().min(1).max(65_536)).describe(
    "Only endpoints that support shorter vectors, or whose vectors have this length, are called.",
  ),
  user: optional(z.string().max(512)),
  provider: wishFields.provider,
  data_classes: wishFields.data_classes,
  cache: wishFields.cache,
};

/** The request without its inputs, which a faster parser reads. */
export const EmbeddingsFields = z.strictObject({ ...fields, input: z.unknown() });

export const EmbeddingsRequest = z
  .strictObject({
    ...fields,
    input: z
      .union([
        text,
        z.array(text).min(1).max(EMBEDDING_INPUTS_MAX),
        tokens,
        z.array(tokens).min(1).max(EMBEDDING_INPUTS_MAX),
      ])
      .describe(
        "A string, an array of strings, an array of token ids, or an array of such arrays. Token ids are from cl100k_base; endpoints without token support receive the decoded text.",
      ),
  })
  .meta({ id: "EmbeddingsRequest" });

export const EmbeddingList = z
  .looseObject({
    object: z.literal("list"),
    data: z.array(
      z.looseObject({
        object: z.literal("embedding"),
        index: z.int(),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe("An array of numbers, or base64 of 32-bit floats."),
      }),
    ),
    model: z.string(),
    usage: z.looseObject({
      prompt_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number().optional(),
      currency: z.string().optional(),
    }),
  })
  .meta({ id: "EmbeddingList" });
