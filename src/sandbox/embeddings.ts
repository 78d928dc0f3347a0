import { isJsonObject, type JsonObject, tryParseJsonObject } from "../kit/json.ts";
import { openAiError } from "./chat.ts";
import { EMBEDDING_DIMENSIONS, EMBEDDING_DIMENSIONS_MAX, embed, embeddingTokens } from "./embedding.ts";
import { geminiFormat } from "./gemini.ts";
import { bearerOf, type Delivery, type Desk, type Refusal, refusal, type WireFormat } from "./wire.ts";

/** What is asked for, whatever the format. */
type Asked = {
  readonly texts: readonly string[];
  readonly dimensions: number;
  readonly encoding: "float" | "base64";
};

/** The embeddings format, in OpenAI's words or, at the one who speaks them, in Mistral's. */
export const embeddingsFormat: WireFormat = {
  method: "POST",
  claims: (path) => path === "/v1/embeddings",
  tokenOf: bearerOf,
  open({ body }) {
    const value = tryParseJsonObject(body);
    if (value === undefined) return refusal(400, "The request body must be a JSON object.");
    const { model } = value;
    if (typeof model !== "string") return refusal(400, "you must provide a model parameter", { param: "model" });
    return { is: "opened", model, deliver: (desk) => list(value, model, desk) };
  },
  refusalBody: openAiError,
};

const WORDS = {
  openai: { dimensions: "dimensions", known: ["model", "input", "encoding_format", "dimensions", "user"] },
  mistral: {
    dimensions: "output_dimension",
    known: ["model", "input", "output_dimension", "output_dtype", "metadata"],
  },
} as const;

function list(value: JsonObject, model: string, desk: Desk): Delivery | Refusal {
  const words = desk.provider === "sandbox-fr" ? WORDS.mistral : WORDS.openai;
  const extra = Object.keys(value).find((key) => !words.known.some((one) => one === key));
  if (extra !== undefined) return refusal(400, `Unrecognized request argument supplied: ${extra}`, { param: extra });
  const texts = textsOf(value["input"]);
  if (texts === undefined) return refusal(400, "'$.input' is invalid.", { param: "input" });
  const dimensions = dimensionsOf(value[words.dimensions]);
  if (dimensions === undefined) return refusal(400, `'$.${words.dimensions}' is invalid.`, { param: words.dimensions });
  const encoding = value["encoding_format"] === "base64" ? "base64" : "float";
  const data = vectorsOf({ texts, dimensions, encoding }).map((embedding, index) => ({
    object: "embedding",
    index,
    embedding,
  }));
  const tokens = embeddingTokens(texts);
  return whole({ object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } }, texts.length);
}

const PATH = /^\/v1\/models\/([^/:]+):batchEmbedContents$/;

/** Gemini's batchEmbedContents, which tells no figures. */
export const geminiEmbeddingsFormat: WireFormat = {
  ...geminiFormat,
  claims: (path) => PATH.test(path),
  open({ path, body }) {
    const [, name = ""] = PATH.exec(path) ?? [];
    const requests = tryParseJsonObject(body)?.["requests"];
    if (!Array.isArray(requests) || requests.length === 0) return refusal(400, "requests: must not be empty");
    const model = decodeURIComponent(name);
    return { is: "opened", model, deliver: () => batch(requests, model) };
  },
};

function batch(requests: readonly unknown[], model: string): Delivery | Refusal {
  const embeddings: { values: unknown }[] = [];
  for (const request of requests) {
    const one = isJsonObject(request) ? request : {};
    if (one["model"] !== `models/${model}`) return refusal(400, "model does not match the one in the parent request");
    const text = textOf(one["content"]);
    const dimensions = dimensionsOf(one["outputDimensionality"]);
    if (text === undefined) return refusal(400, "content: must have text parts");
    if (dimensions === undefined) return refusal(400, "output_dimensionality: out of range");
    embeddings.push({ values: embed(text, dimensions) });
  }
  return whole({ embeddings }, requests.length);
}

function textOf(content: unknown): string | undefined {
  const parts = isJsonObject(content) ? content["parts"] : undefined;
  if (!Array.isArray(parts)) return undefined;
  const texts = parts.map((part: unknown) => (isJsonObject(part) ? part["text"] : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === "string" && text !== "")
    ? texts.join("")
    : undefined;
}

/** Token numbers are read as the digits they are written in. */
function textsOf(input: unknown): readonly string[] | undefined {
  if (typeof input === "string") return input === "" ? undefined : [input];
  if (!Array.isArray(input) || input.length === 0) return undefined;
  if (input.every((one) => typeof one === "number")) return [input.join(" ")];
  const texts = input.map((one: unknown) => (Array.isArray(one) ? one.join(" ") : one));
  const read = texts.filter((one) => typeof one === "string").filter((one) => one !== "");
  return read.length === texts.length ? read : undefined;
}

function dimensionsOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return EMBEDDING_DIMENSIONS;
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= 1 && value <= EMBEDDING_DIMENSIONS_MAX ? value : undefined;
}

function vectorsOf({ texts, dimensions, encoding }: Asked): (string | number[])[] {
  return texts.map((text) => {
    const vector = embed(text, dimensions);
    return encoding === "float" ? vector : base64Of(vector);
  });
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * Float32Array.BYTES_PER_ELEMENT);
  return bytes.toString("base64");
}

/** Vectors take no time word by word: a whole answer comes as soon as a first word would. */
function whole(body: JsonObject, inputs: number): Delivery {
  const tokens = Math.ceil(inputs / 32);
  return { is: "whole", contentType: "application/json", body: JSON.stringify(body), tokens };
}
