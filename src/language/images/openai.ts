import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { isTokenCount } from "../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, type MemberRule, members } from "../dialects/reply-members.ts";
import { dataUrlFor, fileNameFor, type ImageOrder } from "./call.ts";
import type {
  ImageBody,
  ImageEvent,
  ImageFacts,
  ImageReply,
  ImageWireFormat,
  ImageWireOptions,
} from "./wire-format.ts";

const DETAILS = members(all("carried", "text_tokens", "image_tokens", "cached_tokens", "cached_tokens_details"));
const USAGE = members({
  ...all("carried", "input_tokens", "output_tokens", "total_tokens"),
  input_tokens_details: DETAILS,
  output_tokens_details: DETAILS,
  // What xAI charges; the gateway bills by its own price.
  cost_in_usd_ticks: "exempt",
});
const FACTS = all("carried", "background", "output_format", "quality", "size");

const REPLY: MemberRule = members({
  ...FACTS,
  ...all("carried", "created"),
  ...all("exempt", "id", "model", "object"),
  data: members({ ...all("carried", "b64_json", "revised_prompt"), ...all("exempt", "url", "mime_type") }, "content"),
  usage: USAGE,
});

const EVENTS: MemberRule = members({
  ...FACTS,
  ...all("carried", "type", "b64_json", "created_at", "partial_image_index"),
  ...all("exempt", "sequence_number"),
  usage: USAGE,
});

const PATHS = { generation: "/images/generations", edit: "/images/edits", variation: "/images/variations" } as const;

/** OpenAI's format, which xAI, vLLM-Omni, LocalAI and stable-diffusion.cpp serve as well. */
export const openaiImages: ImageWireFormat = {
  auth: "bearer",
  path: ({ operation }) => PATHS[operation],
  reply: REPLY,
  events: EVENTS,
  encode: encodeOrder,
  decode: decodeReply,
  decodeEvent,
  decodeProblem,
};

function encodeOrder(order: ImageOrder, options: ImageWireOptions): ImageBody {
  const fields = fieldsFor(order, options);
  if (order.operation === "generation") return { is: "json", value: fields };
  const { inputs, mask } = order;
  if (order.operation === "edit" && options.editsAs === "json") {
    const images = inputs.map((image) => ({ image_url: dataUrlFor(image) }));
    return {
      is: "json",
      value: { ...fields, images, ...(mask === undefined ? {} : { mask: { image_url: dataUrlFor(mask) } }) },
    };
  }
  const field = inputs.length > 1 ? "image[]" : "image";
  const files = inputs.map((image, at) => ({ field, filename: fileNameFor(image, `image-${at + 1}`), image }));
  const masks = mask === undefined ? [] : [{ field: "mask", filename: fileNameFor(mask, "mask"), image: mask }];
  return {
    is: "form",
    fields: Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]),
    files: [...files, ...masks],
  };
}

function fieldsFor(order: ImageOrder, { sendsResponseFormat }: ImageWireOptions): JsonObject {
  const { upstreamModel, operation, prompt, count, size, quality, parameters, isStreaming, partialImages } = order;
  return {
    model: upstreamModel,
    ...(operation === "variation" ? {} : { prompt }),
    n: count,
    ...(size === undefined ? {} : { size }),
    ...(quality === undefined ? {} : { quality }),
    ...parameters,
    ...(sendsResponseFormat ? { response_format: "b64_json" } : {}),
    ...(isStreaming ? { stream: true } : {}),
    ...(isStreaming && partialImages !== undefined ? { partial_images: partialImages } : {}),
  };
}

function decodeReply(body: unknown): ImageReply | undefined {
  if (!isJsonObject(body) || !Array.isArray(body["data"])) return undefined;
  const items: readonly unknown[] = body["data"];
  const images = items.map((item) => {
    const { b64_json: base64, revised_prompt: revised } = isJsonObject(item) ? item : {};
    return { base64, revisedPrompt: typeof revised === "string" ? revised : undefined };
  });
  const { id, created } = body;
  return {
    images,
    facts: { ...factsIn(body), created: wholeNumber(created) },
    usage: decodeUsage(body["usage"]),
    id: typeof id === "string" ? id : null,
  };
}

const WORD = /^[\w.:-]{1,32}$/;

function factsIn(body: JsonObject): ImageFacts {
  const word = (name: keyof ImageFacts) => {
    const value = body[name];
    return typeof value === "string" && WORD.test(value) ? value : undefined;
  };
  return {
    background: word("background"),
    output_format: word("output_format"),
    quality: word("quality"),
    size: word("size"),
  };
}

function wholeNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Undefined without token counts; servers and per-image models report none. */
function decodeUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const inputDetails = detailsIn(usage["input_tokens_details"]);
  const outputDetails = detailsIn(usage["output_tokens_details"]);
  const imageInput = inputDetails.image ?? 0;
  // Without details the output is images; text beside them is stated.
  const imageOutput = outputDetails.image ?? output - (outputDetails.text ?? 0);
  const cached = inputDetails.cached ?? 0;
  if (![input, output, imageInput, imageOutput, cached].every(isTokenCount)) return IMPLAUSIBLE_TOKENS;
  if (imageInput > input || imageOutput > output || cached > input) return IMPLAUSIBLE_TOKENS;
  return {
    ...NO_TOKENS,
    inputTokens: input,
    cachedTokens: cached,
    outputTokens: output,
    ...(imageInput === 0 ? {} : { imageInputTokens: imageInput }),
    ...(imageOutput === 0 ? {} : { imageOutputTokens: imageOutput }),
  };
}

function detailsIn(details: unknown): { image?: number; text?: number; cached?: number } {
  if (!isJsonObject(details)) return {};
  const { image_tokens: image, text_tokens: text, cached_tokens: cached } = details;
  return {
    ...(typeof image === "number" ? { image } : {}),
    ...(typeof text === "number" ? { text } : {}),
    ...(typeof cached === "number" ? { cached } : {}),
  };
}

function decodeEvent(data: unknown): ImageEvent {
  if (!isJsonObject(data)) return { is: "malformed" };
  const { type, b64_json: base64, error } = data;
  if (type === "error" || isJsonObject(error)) return { is: "problem", problem: decodeProblem(data, null) };
  if (typeof type !== "string") return { is: "malformed" };
  const facts = { ...factsIn(data), created: wholeNumber(data["created_at"]) };
  if (type.endsWith(".partial_image"))
    return { is: "partial", base64, index: wholeNumber(data["partial_image_index"]) ?? 0, facts };
  if (type.endsWith(".completed")) return { is: "completed", base64, facts, usage: decodeUsage(data["usage"]) };
  return { is: "malformed" };
}
