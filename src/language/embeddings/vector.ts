/** A vector as a provider gave it: numbers, or the bytes of 32-bit floats, lowest byte first, as base64. */
export type Vector = readonly number[] | string;

const FLOAT_BYTES = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The length of a vector; undefined when it is none: empty, not finite, or bytes that are no floats. */
export function dimensionsOf(vector: unknown): number | undefined {
  if (typeof vector === "string") return dimensionsOfBytes(vector);
  if (!Array.isArray(vector) || vector.length === 0) return undefined;
  return vector.every((value) => typeof value === "number" && Number.isFinite(value)) ? vector.length : undefined;
}

function dimensionsOfBytes(text: string): number | undefined {
  if (!BASE64.test(text)) return undefined;
  const { length } = Buffer.from(text, "base64");
  return length > 0 && length % FLOAT_BYTES === 0 ? length / FLOAT_BYTES : undefined;
}

export function isVector(value: unknown): value is Vector {
  return dimensionsOf(value) !== undefined;
}

/** The vector in the form that was asked for. */
export function vectorAs(vector: Vector, encoding: "float" | "base64"): Vector {
  if (encoding === "base64") return typeof vector === "string" ? vector : toBase64(vector);
  return typeof vector === "string" ? fromBase64(vector) : vector;
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (let at = 0; at < vector.length; at += 1) bytes.writeFloatLE(vector[at] ?? 0, at * FLOAT_BYTES);
  return bytes.toString("base64");
}

function fromBase64(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  const vector: number[] = [];
  for (let at = 0; at + FLOAT_BYTES <= bytes.length; at += FLOAT_BYTES) vector.push(bytes.readFloatLE(at));
  return vector;
}
