import { createHash } from "node:crypto";
import { tryParseJsonObject } from "../kit/json.ts";
import { openAiErrorBody } from "./chat.ts";
import { paintPng } from "./png.ts";
import { countTokens } from "./tokens.ts";
import { type MultipartPart, parseMultipart } from "./transcriptions.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

const PATH = /^\/v1\/images\/(generations|edits|variations)$/;
/** The provider with token prices, partial images and edits as JSON. */
const TOKENS_PROVIDER = "sandbox-us";
const SHARED = ["model", "prompt", "n", "size", "quality"];
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  "sandbox-us": [...SHARED, "output_format", "background", "stream", "partial_images", "images", "image", "mask"],
  "sandbox-de": [...SHARED, "response_format", "image", "mask"],
  "sandbox-fr": ["model", "prompt", "n", "size", "response_format", "image"],
};

type Order = {
  readonly operation: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly inputs: number;
};

/** Chequered images whose colours follow from the prompt, in OpenAI's format. */
export const imagesFormat: WireFormat = {
  method: "POST",
  matches: (path) => PATH.test(path),
  readCredential: bearerToken,
  parse({ path, headers, body }) {
    const operation = PATH.exec(path)?.[1] ?? "";
    const fields = headers["content-type"]?.startsWith("multipart/")
      ? formFields(parseMultipart(body, headers["content-type"]) ?? [])
      : tryParseJsonObject(body);
    if (fields === undefined) return errorResponse(400, "The request body must be a JSON object.");
    const { model, prompt, image, images } = fields;
    if (typeof model !== "string") return errorResponse(400, "model is required", { param: "model" });
    if (operation !== "variations" && (typeof prompt !== "string" || prompt === ""))
      return errorResponse(400, "prompt must be a string", { param: "prompt" });
    const inputs = [image, images].flat().filter((input) => input !== undefined);
    if (operation !== "generations" && inputs.length === 0)
      return errorResponse(400, "an image is required", { param: "image" });
    const order = { operation, fields, inputs: inputs.length };
    return { is: "accepted", model, respond: (provider) => respond(order, provider) };
  },
  errorBody: openAiErrorBody,
};

function formFields(parts: readonly MultipartPart[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const { name, filename, body } of parts) {
    const base = name.replace(/\[\]$/, "");
    if (filename !== undefined) fields[base] = [fields[base] ?? [], body.length].flat();
    else fields[base] = /^\d+$/.test(body.toString()) ? Number(body.toString()) : body.toString();
  }
  return fields;
}

function respond(order: Order, { slug, nowSeconds }: SimulatedProvider): SimulatedResponse | ErrorResponse {
  const { fields } = order;
  const unknown = Object.keys(fields).find((name) => KNOWN[slug]?.includes(name) !== true);
  if (unknown !== undefined)
    return errorResponse(400, `Unknown parameter: '${unknown}'.`, { param: unknown, code: "unknown_parameter" });
  const { size = "1024x1024", quality = "medium", n = 1 } = fields;
  const [width, height] = typeof size === "string" ? size.split("x").map(Number) : [];
  if (width === undefined || height === undefined || !(width * height > 0))
    return errorResponse(400, "size must be such as 1024x1024", { param: "size" });
  if (typeof n !== "number" || n < 1 || n > 10) return errorResponse(400, "n must be from 1 to 10", { param: "n" });
  const paint = (at: number) =>
    paintPng(width, height, coloursOf(`${String(fields["prompt"])}#${at}`)).toString("base64");
  const facts = { size, quality, output_format: "png", background: "opaque" };
  if (fields["stream"] === true) return streamed(order, { facts, created: nowSeconds(), base64: paint(0) });
  const images = Array.from({ length: n }, (_, at) => ({ b64_json: paint(at) }));
  const described = slug === TOKENS_PROVIDER ? { ...facts, usage: usageOf(order, n) } : {};
  const body = JSON.stringify({ created: nowSeconds(), data: images, ...described });
  return { is: "body", contentType: "application/json", body, tokens: 4 };
}

const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = { low: 272, medium: 1056, high: 4160 };
const TOKENS_PER_INPUT = 323;
const TOKENS_PER_PARTIAL = 100;

function usageOf({ fields, inputs }: Order, count: number, partials = 0) {
  const text = countTokens(String(fields["prompt"] ?? ""));
  const image = inputs * TOKENS_PER_INPUT;
  const output =
    count * (TOKENS_BY_QUALITY[String(fields["quality"] ?? "medium")] ?? 1056) + partials * TOKENS_PER_PARTIAL;
  return {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
    total_tokens: text + image + output,
  };
}

type Painted = { readonly facts: object; readonly created: number; readonly base64: string };

function streamed(order: Order, { facts, created, base64 }: Painted): SimulatedResponse {
  const prefix = order.operation === "generations" ? "image_generation" : "image_edit";
  const { partial_images: partials = 0 } = order.fields;
  const count = typeof partials === "number" ? partials : 0;
  const frame = (name: string, members: object) => {
    const type = `${prefix}.${name}`;
    return `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: base64, created_at: created, ...facts, ...members })}\n\n`;
  };
  const frames = [
    ...Array.from({ length: count }, (_, at) => frame("partial_image", { partial_image_index: at })),
    frame("completed", { usage: usageOf(order, 1, count) }),
  ];
  return { is: "frames", contentType: "text/event-stream; charset=utf-8", frames };
}

function coloursOf(seed: string): readonly [readonly [number, number, number], readonly [number, number, number]] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = createHash("sha256").update(seed).digest();
  return [
    [a, b, c],
    [d, e, f],
  ];
}
