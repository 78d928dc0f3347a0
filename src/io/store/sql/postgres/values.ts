import { TypeOverrides, types } from "pg";
import { StoreError } from "../store-error.ts";

/** Parses integers as `bigint`; `bigintPlugin` converts them to the types of the schema. */
export const integerTypes = new TypeOverrides();
integerTypes.setTypeParser(types.builtins.INT8, (text) => BigInt(text));
// The type of sum(bigint).
integerTypes.setTypeParser(types.builtins.NUMERIC, (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text)));

const NUL = /\0/g;
const REPLACEMENT = "\ufffd";

/** PostgreSQL cannot store U+0000 in text: it becomes U+FFFD. */
export function toParameter(value: unknown): unknown {
  if (typeof value === "string") return value.includes("\0") ? value.replace(NUL, REPLACEMENT) : value;
  if (value === null || typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(toParameter);
  throw new StoreError("rejected", `a value of type ${typeof value} cannot be stored`);
}

/** In this order: a surrogate pair, a lone surrogate or U+0000 (captured), any other escape. */
const ESCAPES =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u0000|\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** The same for JSON stored as text: PostgreSQL fails to extract fields when it contains an invalid escape. */
export function replaceInvalidEscapes(text: string): string {
  return text.replace(ESCAPES, (match: string, invalid: string | undefined) =>
    invalid === undefined ? match : "\\ufffd",
  );
}

export function hasOnlyValidEscapes(bytes: Buffer): boolean {
  return !bytes.includes("\\u0000") && !bytes.includes("\\ud") && !bytes.includes("\\uD");
}
