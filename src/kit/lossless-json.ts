import { exceededLimit, type ParsedBody } from "./json.ts";

/** Supported by V8 but missing in the TypeScript library. */
declare global {
  interface JSON {
    rawJSON(text: string): unknown;
    isRawJSON(value: unknown): boolean;
  }
}

/** Cheap test for numbers whose notation `JSON.stringify` may change; the reviver below is several times slower. */
const MAY_CHANGE_NOTATION = /\d{16}|\d[.eE]|-0/;

/**
 * `JSON.stringify` of the result writes every number as it was: 1.0 stays 1.0, and large numbers keep their digits. Such
 * numbers are raw JSON objects. Throws like `JSON.parse`.
 */
export function parseLosslessJson(text: string): unknown {
  if (!MAY_CHANGE_NOTATION.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, ...[context]: { readonly source?: string }[]) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
  });
}

/** Lossless parsing is many times slower than the ordinary one. */
const LOSSLESS_PARTS_MAX = 10_000;
const LOSSLESS_LIMIT = { partsMax: LOSSLESS_PARTS_MAX };

/** The same, but with more members and items than a model writes, numbers are parsed as usual. */
export function parseBoundedLosslessJson(text: string): unknown {
  const isShort = text.length <= LOSSLESS_PARTS_MAX || exceededLimit(text, LOSSLESS_LIMIT) === undefined;
  return isShort ? parseLosslessJson(text) : JSON.parse(text);
}

/** Numbers that a double may not represent: more than 15 digits, or a three-digit exponent. */
const MAY_LOSE_PRECISION = /\d(?:[\d.]{15}|[eE][+-]?\d{3})/;

export const mayLosePrecision = (text: string) => MAY_LOSE_PRECISION.test(text);

/** Like `parseLosslessJson`, but only numbers that a double cannot represent become raw JSON objects. */
export function parsePreciseJson(text: string): unknown {
  return mayLosePrecision(text) ? JSON.parse(text, preserveDigits) : JSON.parse(text);
}

function preserveDigits(_key: string, value: unknown, ...[context]: { readonly source?: string }[]): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  return mayLosePrecision(source) ? JSON.rawJSON(source) : value;
}

export const isRawJsonNumber = (value: unknown) => JSON.isRawJSON(value);

/** One member of a body, parsed losslessly; undefined when it is missing. */
export function losslessMember({ text, members }: ParsedBody, key: string): unknown {
  const span = members.get(key);
  return span === undefined ? undefined : parseLosslessJson(text.slice(span.valueStart, span.valueEnd));
}

/** Undefined also when the member is not an array. */
export function losslessArray(body: ParsedBody, key: string): readonly unknown[] | undefined {
  const value = losslessMember(body, key);
  return Array.isArray(value) ? value : undefined;
}
