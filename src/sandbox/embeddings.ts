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

/** What is asked for, whatever the format. */
type EmbeddingParameters = {
  readonly texts: readonly string[];
  readonly dimensions: number;
  readonly encoding: "float" | "base64";
};

/** The embeddings format, in OpenAI's words or, at the one who speaks them, in Mistral's. */
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
  const words = provider.slug === "sandbox-fr" ? PARAMETER_NAMES.mistral : PARAMETER_NAMES.openai;
  const extra = Object.keys(value).find((key) => !words.known.some((one) => one === key));
  if (extra !== undefined)
    return errorResponse(400, `Unrecognized request argument supplied: ${extra}`, { param: extra });
  const texts = inputTexts(value["input"]);
  if (texts === undefined) return errorResponse(400, "'$.input' is invalid.", { param: "input" });
  const dimensions = parseDimensions(value[words.dimensions]);
  if (dimensions === undefined)
    return errorResponse(400, `'$.${words.dimensions}' is invalid.`, { param: words.dimensions });
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

/** Gemini's batchEmbedContents, which tells no figures. */
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
    const one = isJsonObject(request) ? request : {};
    if (one["model"] !== `models/${model}`)
      return errorResponse(400, "model does not match the one in the parent request");
    const text = contentText(one["content"]);
    const dimensions = parseDimensions(one["outputDimensionality"]);
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

/** Token numbers are read as the digits they are written in. */
function inputTexts(input: unknown): readonly string[] | undefined {
  if (typeof input === "string") return input === "" ? undefined : [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((one) => typeof one === "number")) return [input.join(" ")];
  const texts = input.map((one: unknown) => (Array.isArray(one) ? one.join(" ") : one));
  const read = texts.filter((one) => typeof one === "string").filter((one) => one !== "");
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

/** Vectors take no time word by word: a whole answer comes as soon as a first word would. */
function jsonResponse(body: JsonObject, inputs: number): SimulatedResponse {
  const tokens = Math.ceil(inputs / 32);
  return { is: "body", contentType: "application/json", body: JSON.stringify(body), tokens };
}

/** How long vectors are when nobody asks for another length; the catalogue says the same. */
const EMBEDDING_DIMENSIONS = 256;
const EMBEDDING_DIMENSIONS_MAX = 1024;

const GRAM_CHARS = 3;
/** The offset and the prime of FNV-1a for 32 bits. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A vector of length one for a text, the same at every provider: its runs of three characters, each hashed to a place
 * and a sign. Texts that share many of them are near each other, and nothing is nearer to a text than itself.
 */
function embedText(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const padded = ` ${text.toLowerCase()} `;
  for (let at = 0; at + GRAM_CHARS <= padded.length; at += 1) {
    const hash = fnv1a(padded.slice(at, at + GRAM_CHARS));
    const place = (hash >>> 1) % dimensions;
    vector[place] = (vector[place] ?? 0) + ((hash & 1) === 0 ? 1 : -1);
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  // Signs may cancel out everything; a vector of nothing has no direction.
  if (length === 0) vector[0] = 1;
  return vector.map((value) => Math.fround(length === 0 ? value : value / length));
}

function fnv1a(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME) >>> 0;
  // The low bits of it are poor: the high ones are mixed in.
  return (hash ^ (hash >>> 15)) >>> 0;
}

function embeddingTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + countTokens(text), 0);
}
