const FLOAT_BYTES = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** How vectors are written for the caller; `unit`: brought to length one first. */
export type Writing = { readonly encoding: "float" | "base64"; readonly scale: "as_given" | "unit" };

/** A vector as the JSON that callers get. */
export type Written = { readonly json: string; readonly dimensions: number };

/**
 * A vector as a provider gave it, numbers or base64 of 32-bit floats, as it is written for the caller. Undefined when
 * it is none: empty, not finite, or bytes that are no floats.
 */
export function writeVector(given: unknown, { encoding, scale }: Writing): Written | undefined {
  const numbers = typeof given === "string" ? fromBase64(given) : given;
  if (!isVector(numbers)) return undefined;
  const scaled = scale === "unit" ? toUnit(numbers) : numbers;
  // A number that came as text goes out as the same text: shorter than the float it stands for, and no digit is lost.
  const json = encoding === "float" ? JSON.stringify(scaled) : `"${toBase64(scaled)}"`;
  return { json, dimensions: numbers.length };
}

/** Finite also as the 32-bit float that most callers read it as. */
function isVector(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((one) => typeof one === "number" && Number.isFinite(Math.fround(one)));
}

function toUnit(vector: readonly number[]): readonly number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Lowest byte first, as everybody who reads it expects. */
function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (let at = 0; at < vector.length; at += 1) bytes.writeFloatLE(vector[at] ?? 0, at * FLOAT_BYTES);
  return bytes.toString("base64");
}

function fromBase64(text: string): number[] | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (bytes.length % FLOAT_BYTES !== 0) return undefined;
  const vector: number[] = [];
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) vector.push(bytes.readFloatLE(at));
  return vector;
}
