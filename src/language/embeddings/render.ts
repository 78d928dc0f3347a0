import { flattenString } from "../../kit/flatten-string.ts";
import { JsonSpan } from "../../kit/json-span.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";

const FLOAT_BYTES = 4;
/** No model returns longer vectors. */
const DIMENSIONS_MAX = 65_536;
const BASE64_CHARS_MAX = Math.ceil((DIMENSIONS_MAX * FLOAT_BYTES) / 3) * 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** How vectors are rendered for the caller; `unit` normalises them to length item. */
export type VectorFormat = { readonly encoding: "float" | "base64"; readonly scale: "as_given" | "unit" };

export type RenderedVector = { readonly json: string; readonly dimensions: number };

/**
 * Renders a provider's vector (numbers, or base64 of 32-bit floats). Undefined when it is empty, longer than any
 * model's, not finite or not base64 floats.
 */
export function renderVector(source: unknown, { encoding, scale }: VectorFormat): RenderedVector | undefined {
  if (source instanceof JsonSpan) return renderSpan(source, { encoding, scale });
  const numbers = typeof source === "string" ? floatsFromBase64(source) : finiteNumbers(source);
  if (numbers === undefined) return undefined;
  const scaled = scale === "unit" ? normalize(numbers) : numbers;
  // Decimal text is passed on as is: it is shorter than the float's expansion and loses no digit.
  const json = encoding === "float" ? `[${scaled.join(",")}]` : `"${toBase64(scaled)}"`;
  return { json, dimensions: numbers.length };
}

/** A vector of a long response: numbers that are passed on as they are stay text. */
function renderSpan({ text, numbers }: JsonSpan, format: VectorFormat): RenderedVector | undefined {
  if (numbers === undefined || numbers > DIMENSIONS_MAX) return undefined;
  if (format.encoding === "float" && format.scale === "as_given") {
    // A copy: a part of the document's text would keep all of it in memory.
    return { json: flattenString(text), dimensions: numbers };
  }
  const values: unknown = JSON.parse(text);
  return renderVector(values, format);
}

type VectorValues = readonly number[] | Float32Array;

/** Requires values that are finite as 32-bit floats, which most callers use. */
function finiteNumbers(value: unknown): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > DIMENSIONS_MAX) return undefined;
  for (const item of value) if (typeof item !== "number" || !Number.isFinite(Math.fround(item))) return undefined;
  return value;
}

function normalize(vector: VectorValues): readonly number[] {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Array.from(vector, (value) => (length === 0 ? value : value / length));
}

/** Little-endian, as in OpenAI's API. */
function toBase64(vector: VectorValues): string {
  const view = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (let at = 0; at < vector.length; at += 1) view.setFloat32(at * FLOAT_BYTES, vector[at] ?? 0, true);
  return Buffer.from(view.buffer).toString("base64");
}

function floatsFromBase64(text: string): Float32Array | undefined {
  if (text.length > BASE64_CHARS_MAX || !BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const vector = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let at = 0; at < vector.length; at += 1) {
    const value = view.getFloat32(at * FLOAT_BYTES, true);
    if (!Number.isFinite(value)) return undefined;
    vector[at] = value;
  }
  return vector;
}

/** The Gemini dialect's formats; vectors are already JSON. */
export function renderGeminiEmbeddings(
  vectors: readonly string[],
  shape: "one" | "batch",
  { inputTokens }: Usage,
  shown: ReportedCost | undefined,
): string {
  const embeddings = vectors.map((vector) => `{"values":${vector}}`);
  const usage = JSON.stringify({ promptTokenCount: inputTokens, ...shown });
  const own = shape === "one" ? `"embedding":${embeddings[0]}` : `"embeddings":[${embeddings.join(",")}]`;
  return `{${own},"usageMetadata":${usage}}`;
}

/** OpenAI's list format; vectors are already JSON. */
export function renderEmbeddings(
  vectors: readonly string[],
  model: string,
  { inputTokens }: Usage,
  shown: ReportedCost | undefined,
): string {
  const data = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`);
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens, ...shown };
  return `{"object":"list","data":[${data.join(",")}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`;
}
