import { z } from "zod";
import { ModelName } from "./model-name.ts";
import { wishFields } from "./routing-hints.ts";

/** An explicit null is the same as absent (PARAM-04); so is an empty field of a form. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

const PROMPT_CHARS_MAX = 32_000;
const IMAGES_PER_REQUEST_MAX = 10;
export const INPUT_IMAGES_MAX = 16;

const model = optional(ModelName).describe("Absent: the first model of GET /v1/models with this surface.");
const prompt = z.string().min(1).max(PROMPT_CHARS_MAX);
const n = optional(z.int().min(1).max(IMAGES_PER_REQUEST_MAX)).describe(
  "Number of images; default 1. Where a provider generates fewer per request, several requests are sent.",
);
const size = optional(
  z.string().regex(/^(?:auto|[1-9]\d{1,4}x[1-9]\d{1,4})$/, "must be auto, or such as 1024x1024"),
).describe(
  "Never rounded: an endpoint that does not generate this size is not called. `auto` is the endpoint's default.",
);
const response_format = optional(z.literal("b64_json")).describe(
  "Images are always returned as base64. `url` is refused, because the gateway stores no images.",
);

const user = optional(z.string().max(512)).describe("Sent only to endpoints that support it.");

const drawing = {
  prompt,
  model,
  n,
  size,
  quality: optional(z.enum(["auto", "low", "medium", "high", "standard", "hd"])),
  background: optional(z.enum(["auto", "transparent", "opaque"])),
  output_format: optional(z.enum(["png", "jpeg", "webp"])),
  output_compression: optional(z.int().min(0).max(100)),
  response_format,
  user,
  stream: optional(z.boolean()).describe("Stream the image as server-sent events."),
  partial_images: optional(z.int().min(0).max(3)).describe(
    "With `stream`: the most unfinished images to send before the final one. Fewer may come.",
  ),
};

const hints = { provider: wishFields.provider, data_classes: wishFields.data_classes };
const formHints = {
  provider: wishFields.provider.describe("As on the other surfaces, as one form field with JSON."),
  data_classes: wishFields.data_classes.describe("As on the other surfaces, as one form field with JSON."),
};

export const ImageGenerationRequest = z
  .strictObject({
    ...drawing,
    moderation: optional(z.enum(["auto", "low"])),
    style: optional(z.enum(["vivid", "natural"])),
    ...hints,
  })
  .meta({ id: "ImageGenerationRequest" });
export type ImageGenerationRequest = z.output<typeof ImageGenerationRequest>;

const editing = { ...drawing, input_fidelity: optional(z.enum(["high", "low"])) };
const ImageReference = z.strictObject({
  image_url: z.string().describe("A data URL of a PNG, JPEG or WebP image. Other URLs are refused: none is fetched."),
});

export const ImageEditRequest = z
  .strictObject({
    images: z.array(ImageReference).min(1).max(INPUT_IMAGES_MAX),
    mask: optional(ImageReference).describe("A PNG of the size of the first image; its transparent part is edited."),
    ...editing,
    ...hints,
  })
  .meta({ id: "ImageEditRequest" });
export type ImageEditRequest = z.output<typeof ImageEditRequest>;

const file = z.string().meta({ format: "binary" });
const files = z.array(file).min(1).max(INPUT_IMAGES_MAX);

/** The fields of the form; files are sent as `image`, or several as `image[]`, and `mask`. */
export const ImageEditForm = z
  .strictObject({
    image: files.describe("PNG, JPEG or WebP images: one as `image`, several as `image[]`."),
    mask: optional(file).describe("A PNG of the size of the first image; its transparent part is edited."),
    ...editing,
    ...formHints,
  })
  .meta({ id: "ImageEditForm" });
export type ImageEditForm = z.output<typeof ImageEditForm>;

export const ImageVariationForm = z
  .strictObject({
    image: files.max(1).describe("One PNG, JPEG or WebP image."),
    model,
    n,
    size,
    response_format,
    user,
    ...formHints,
  })
  .meta({ id: "ImageVariationForm" });
export type ImageVariationForm = z.output<typeof ImageVariationForm>;

const Details = z.looseObject({ text_tokens: z.int(), image_tokens: z.int(), cached_tokens: z.int().optional() });

const Usage = z
  .looseObject({
    input_tokens: z.int().optional().describe("Tokens are absent where the provider reports none."),
    input_tokens_details: Details.optional(),
    output_tokens: z.int().optional(),
    output_tokens_details: Details.optional(),
    total_tokens: z.int().optional(),
    cost: z.number().optional(),
    currency: z.string().optional(),
  })
  .meta({ id: "ImageUsage" });

const facts = {
  background: z.string().optional(),
  output_format: z.string().optional(),
  quality: z.string().optional(),
  size: z.string().optional(),
};

export const Images = z
  .looseObject({
    created: z.int().describe("Unix time in seconds."),
    ...facts,
    data: z
      .array(
        z.looseObject({ b64_json: z.string().describe("The image as base64."), revised_prompt: z.string().optional() }),
      )
      .describe("May have fewer images than requested; those that came are charged."),
    usage: Usage,
  })
  .meta({ id: "Images" });

export const ImageEvent = z
  .looseObject({
    type: z.enum([
      "image_generation.partial_image",
      "image_generation.completed",
      "image_edit.partial_image",
      "image_edit.completed",
    ]),
    b64_json: z.string(),
    created_at: z.int(),
    ...facts,
    partial_image_index: z.int().optional(),
    usage: Usage.optional().describe("Of the whole request, in the last event."),
  })
  .meta({ id: "ImageEvent" });
