import { isJsonObject, type JsonObject, tryParseJsonObject } from "../kit/json.ts";
import { openAiErrorBody } from "./chat.ts";
import { geminiFormat } from "./gemini.ts";
import { countTokens } from "./tokens.ts";
import {
  bearerToken,
  type ErrorResponse,
  errorResponse,
  type SimulatedProvider,
  type SimulatedResponse,
  type WireFormat,
} from "./wire-format.ts";

/** Parameters independent of the wire format. */
type EmbeddingParameters = {
  readonly texts: readonly string[];
  readonly dimensions: number;
  readonly encoding: "float" | "base64";
};

/** OpenAI's embeddings format, or Mistral's at one of the providers. */
export const embeddingsFormat: WireFormat = {
  method: "POST",
  matches: (path) => path === "/v1/embeddings",
  readCredential: bearerToken,
  parse({ body }) {
    const value = tryParseJsonObject(body);
    if (value === undefined) return errorResponse(400, "The request body must be a JSON object.");
    const { model } = value;
    if (typeof model !== "string") return errorResponse(400, "you must provide a model parameter", { param: "model" });
    return { is: "accepted", model, respond: (provider) => respondWithList(value, model, provider) };
  },
  errorBody: openAiErrorBody,
};

const PARAMETER_NAMES = {
  openai: { dimensions: "dimensions", known: ["model", "input", "encoding_format", "dimensions", "user"] },
  mistral: {
    dimensions: "output_dimension",
    known: ["model", "input", "output_dimension", "output_dtype", "metadata"],
  },
} as const;

function respondWithList(
  value: JsonObject,
  model: string,
  provider: SimulatedProvider,
): SimulatedResponse | ErrorResponse {
  const names = provider.slug === "sandbox-fr" ? PARAMETER_NAMES.mistral : PARAMETER_NAMES.openai;
  const unknownField = Object.keys(value).find((key) => !names.known.some((item) => item === key));
  if (unknownField !== undefined)
    return errorResponse(400, `Unrecognized request argument supplied: ${unknownField}`, { param: unknownField });
  const texts = inputTexts(value["input"]);
  if (texts === undefined) return errorResponse(400, "'$.input' is invalid.", { param: "input" });
  const dimensions = parseDimensions(value[names.dimensions]);
  if (dimensions === undefined)
    return errorResponse(400, `'$.${names.dimensions}' is invalid.`, { param: names.dimensions });
  const encoding = value["encoding_format"] === "base64" ? "base64" : "float";
  const data = embedAll({ texts, dimensions, encoding }).map((embedding, index) => ({
    object: "embedding",
    index,
    embedding,
  }));
  const tokens = embeddingTokens(texts);
  return jsonResponse(
    { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } },
    texts.length,
  );
}

const PATH = /^\/v1\/models\/([^/:]+):batchEmbedContents$/;

/** Gemini's batchEmbedContents, which reports no usage. */
export const geminiEmbeddingsFormat: WireFormat = {
  ...geminiFormat,
  matches: (path) => PATH.test(path),
  parse({ path, body }) {
    const [, name = ""] = PATH.exec(path) ?? [];
    const requests = tryParseJsonObject(body)?.["requests"];
    if (!Array.isArray(requests) || requests.length === 0) return errorResponse(400, "requests: must not be empty");
    const model = decodeURIComponent(name);
    return { is: "accepted", model, respond: () => respondWithBatch(requests, model) };
  },
};

function respondWithBatch(requests: readonly unknown[], model: string): SimulatedResponse | ErrorResponse {
  const embeddings: { values: unknown }[] = [];
  for (const request of requests) {
    const item = isJsonObject(request) ? request : {};
    if (item["model"] !== `models/${model}`)
      return errorResponse(400, "model does not match the one in the parent request");
    const text = contentText(item["content"]);
    const dimensions = parseDimensions(item["outputDimensionality"]);
    if (text === undefined) return errorResponse(400, "content: must have text parts");
    if (dimensions === undefined) return errorResponse(400, "output_dimensionality: out of range");
    embeddings.push({ values: embedText(text, dimensions) });
  }
  return jsonResponse({ embeddings }, requests.length);
}

function contentText(content: unknown): string | undefined {
  const parts = isJsonObject(content) ? content["parts"] : undefined;
  if (!Array.isArray(parts)) return undefined;
  const texts = parts.map((part: unknown) => (isJsonObject(part) ? part["text"] : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === "string" && text !== "")
    ? texts.join("")
    : undefined;
}

/** Token ids are treated as text of their digits. */
function inputTexts(input: unknown): readonly string[] | undefined {
  if (typeof input === "string") return input === "" ? undefined : [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((item) => typeof item === "number")) return [input.join(" ")];
  const texts = input.map((item: unknown) => (Array.isArray(item) ? item.join(" ") : item));
  const read = texts.filter((item) => typeof item === "string").filter((item) => item !== "");
  return read.length === texts.length ? read : undefined;
}

function parseDimensions(value: unknown): number | undefined {
  if (value === undefined || value === null) return EMBEDDING_DIMENSIONS;
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= 1 && value <= EMBEDDING_DIMENSIONS_MAX ? value : undefined;
}

function embedAll({ texts, dimensions, encoding }: EmbeddingParameters): (string | number[])[] {
  return texts.map((text) => {
    const vector = embedText(text, dimensions);
    return encoding === "float" ? vector : encodeBase64(vector);
  });
}

function encodeBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString("base64");
}

/** Embeddings are not paced per word. */
function jsonResponse(body: JsonObject, inputs: number): SimulatedResponse {
  const tokens = Math.ceil(inputs / 32);
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens };
}

/** The catalogue states the same default. */
const EMBEDDING_DIMENSIONS = 256;
const EMBEDDING_DIMENSIONS_MAX = 1024;

const GRAM_CHARS = 3;
/** FNV-1a, 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** A deterministic unit vector: trigrams hashed to an index and a sign, so similar texts have similar vectors. */
function embedText(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const padded = ` ${text.toLowerCase()} `;
  for (let at = 0; at + GRAM_CHARS <= padded.length; at += 1) {
    const hash = fnv1a(padded.slice(at, at + GRAM_CHARS));
    const dimension = (hash >>> 1) % dimensions;
    vector[dimension] = (vector[dimension] ?? 0) + ((hash & 1) === 0 ? 1 : -1);
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  // All signs may cancel out; a zero vector has no direction.
  if (length === 0) vector[0] = 1;
  return vector.map((value) => Math.fround(length === 0 ? value : value / length));
}

function fnv1a(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  // The low bits of FNV-1a are weak: mix in the high ones.
  return (hash ^ (hash >>> 15)) >>> 0;
}

function embeddingTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0);
}
