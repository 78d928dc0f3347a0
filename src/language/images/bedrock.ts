import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { decodeProblem } from "../dialects/converse/upstream/errors.ts";
import { all, members } from "../dialects/reply-members.ts";
import type { ImageOrder } from "./call.ts";
import { type ImageReply, type ImageWireFormat, listIn, refusalWord, WHOLE_ONLY } from "./wire-format.ts";

const shared = {
  ...WHOLE_ONLY,
  auth: "bearer",
  path: ({ upstreamModel }: ImageOrder) => `/model/${encodeURIComponent(upstreamModel)}/invoke`,
  decodeProblem,
} as const;

/** Amazon's own models on Bedrock: Nova Canvas and Titan Image Generator. */
export const bedrockNovaImages: ImageWireFormat = {
  ...shared,
  reply: members({ images: "carried", ...all("exempt", "error", "status", "details") }),
  encode: (order) => ({ is: "json", value: encodeNova(order) }),
  decode(body) {
    if (!isJsonObject(body)) return undefined;
    const { images, error, status } = body;
    if (!Array.isArray(images) && typeof error !== "string" && typeof status !== "string") return undefined;
    return replyOf(listIn(images), refusalWord(error ?? status));
  },
};

/** Stable Diffusion 3.5, Stable Image Core and Ultra on Bedrock: one image per request. */
export const bedrockStabilityImages: ImageWireFormat = {
  ...shared,
  reply: members({ images: "carried", ...all("exempt", "seeds", "finish_reasons") }),
  encode: (order) => ({ is: "json", value: encodeStability(order) }),
  decode(body) {
    if (!isJsonObject(body) || !(Array.isArray(body["images"]) || Array.isArray(body["finish_reasons"])))
      return undefined;
    const reasons = listIn(body["finish_reasons"]);
    // A filtered image may be in the list, blurred or empty.
    const images = listIn(body["images"]).filter((_, at) => reasons[at] == null);
    return replyOf(images, refusalWord(reasons.find((reason) => reason != null)));
  },
};

function replyOf(images: readonly unknown[], refused: string | undefined): ImageReply {
  return {
    images: images.map((base64) => ({ base64, revisedPrompt: undefined })),
    facts: {},
    usage: undefined,
    id: null,
    refused: images.length > 0 ? undefined : refused,
  };
}

function encodeNova({ operation, prompt, inputs, count, size, quality }: ImageOrder): JsonObject {
  const [width, height] = size?.split("x").map(Number) ?? [];
  const config = {
    numberOfImages: count,
    ...(width === undefined || height === undefined ? {} : { width, height }),
    ...(quality === undefined ? {} : { quality }),
  };
  if (operation === "generation")
    return { taskType: "TEXT_IMAGE", textToImageParams: { text: prompt }, imageGenerationConfig: config };
  const images = inputs.map(({ bytes }) => bytes.toString("base64"));
  return {
    taskType: "IMAGE_VARIATION",
    imageVariationParams: { images, ...(prompt === "" ? {} : { text: prompt }) },
    imageGenerationConfig: config,
  };
}

/** Sizes are aspect ratios in the catalogue, such as `16:9`. */
function encodeStability({ prompt, size, parameters }: ImageOrder): JsonObject {
  const format = parameters.output_format;
  return {
    prompt,
    mode: "text-to-image",
    ...(size === undefined ? {} : { aspect_ratio: size }),
    ...(format === undefined ? {} : { output_format: format }),
  };
}
