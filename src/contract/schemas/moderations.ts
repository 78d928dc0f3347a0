import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04). */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** Texts, or parts of one input, per request. */
export const MODERATION_INPUTS_MAX = 1024;

const fields = {
  model: optional(ModelName).describe(
    "Absent: the first model of GET /v1/models with this surface; those that only moderate come before decision models.",
  ),
  provider: wishFields.provider,
  data_classes: wishFields.data_classes,
};

/** The request without its input, which has a decoder of its own. */
export const ModerationFields = z.strictObject({ ...fields, input: z.unknown() });

const text = z.string().min(1);

export const ModerationRequest = z
  .strictObject({
    ...fields,
    input: z
      .union([
        text,
        z.array(text).min(1).max(MODERATION_INPUTS_MAX),
        z
          .array(
            z.union([
              z.strictObject({ type: z.literal("text"), text }),
              z.strictObject({
                type: z.literal("image_url"),
                image_url: z.strictObject({ url: z.string().describe("A data URL of a PNG, JPEG or WebP image.") }),
              }),
            ]),
          )
          .min(1)
          .max(MODERATION_INPUTS_MAX),
      ])
      .describe("A text, texts (one result each), or the parts of one multimodal input (one result for all)."),
  })
  .meta({ id: "ModerationRequest" });

const categories = <T extends z.ZodType>(value: T) => z.record(z.string(), value);

export const Moderation = z
  .looseObject({
    id: z.string(),
    model: z.string(),
    results: z.array(
      z.looseObject({
        flagged: z.boolean().describe("At least one category applies."),
        categories: categories(z.boolean().nullable()).describe(
          "The categories of the model that judged; they differ between models.",
        ),
        category_scores: categories(z.number().nullable()).describe(
          "As the provider reports them: scores of different models do not compare.",
        ),
        category_applied_input_types: categories(z.array(z.enum(["text", "image"]))).optional(),
      }),
    ),
    usage: z.looseObject({
      prompt_tokens: z.int().optional(),
      total_tokens: z.int().optional(),
      cost: z.number().optional(),
      currency: z.string().optional(),
    }),
  })
  .meta({ id: "Moderation" });
