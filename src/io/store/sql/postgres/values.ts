import { TypeOverrides, types } from "pg";
import { StoreError } from "../store-error.ts";

/** Whole numbers as `bigint`, whatever their size; `wholeNumbers` makes of them what the schema promises. */
export const integerTypes = new TypeOverrides();
integerTypes.setTypeParser(types.builtins.INT8, (text) => BigInt(text));
// The sum of a bigint column.
integerTypes.setTypeParser(types.builtins.NUMERIC, (text) => (/^-?\d+$/.test(text) ? BigInt(text) : Number(text)));

const NUL = /\0/g;
const REPLACEMENT = "\ufffd";

/** What goes out. PostgreSQL has no place for U+0000 in a text: it becomes the mark of a character that was lost. */
export function toParameter(value: unknown): unknown {
  if (typeof value === "string") return value.includes("\0") ? value.replace(NUL, REPLACEMENT) : value;
  if (value === null || typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(toParameter);
  throw new StoreError("rejected", `a value of type ${typeof value} cannot be stored`);
}

/** A pair of surrogates, then a lone one or U+0000, then any other escape: each is looked at once, from left to right. */
const ESCAPES =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u0000|\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** The same for JSON that is kept as text: PostgreSQL reads fields out of it, and stops at characters it cannot have. */
export function replaceInvalidEscapes(text: string): string {
  return text.replace(ESCAPES, (found: string, lost: string | undefined) => (lost === undefined ? found : "\\ufffd"));
}

export function hasOnlyValidEscapes(bytes: Buffer): boolean {
  return !bytes.includes("\\u0000") && !bytes.includes("\\ud") && !bytes.includes("\\uD");
}
