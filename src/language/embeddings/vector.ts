const FLOAT_BYTES = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** How vectors are written for the caller; `unit`: brought to length one first. */
export type VectorFormat = { readonly encoding: "float" | "base64"; readonly scale: "as_given" | "unit" };

/** A vector as the JSON that callers get. */
export type RenderedVector = { readonly json: string; readonly dimensions: number };

/**
 * A vector as a provider gave it, numbers or base64 of 32-bit floats, as it is written for the caller. Undefined when
 * it is none: empty, not finite, or bytes that are no floats.
 */
export function renderVector(given: unknown, { encoding, scale }: VectorFormat): RenderedVector | undefined {
  const numbers = typeof given === "string" ? fromBase64(given) : finiteNumbers(given);
  if (numbers === undefined) return undefined;
  const scaled = scale === "unit" ? normalize(numbers) : numbers;
  // A number that came as text goes out as the same text: shorter than the float it stands for, and no digit is lost.
  const json = encoding === "float" ? `[${scaled.join(",")}]` : `"${toBase64(scaled)}"`;
  return { json, dimensions: numbers.length };
}

type VectorValues = readonly number[] | Float32Array;

/** Finite also as the 32-bit floats that most callers read. */
function finiteNumbers(value: unknown): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  for (const one of value) if (typeof one !== "number" || !Number.isFinite(Math.fround(one))) return undefined;
  return value;
}

function normalize(vector: VectorValues): readonly number[] {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Array.from(vector, (value) => (length === 0 ? value : value / length));
}

/** Lowest byte first, as everybody who reads it expects. */
function toBase64(vector: VectorValues): string {
  const view = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (let at = 0; at < vector.length; at += 1) view.setFloat32(at * FLOAT_BYTES, vector[at] ?? 0, true);
  return Buffer.from(view.buffer).toString("base64");
}

function fromBase64(text: string): Float32Array | undefined {
  if (!BASE64.test(text)) return undefined;
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
