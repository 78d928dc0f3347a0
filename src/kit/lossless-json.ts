import type { ParsedBody } from "./json.ts";

/** What the engine has and the compiler's library does not list yet. */
declare global {
  interface JSON {
    rawJSON(text: string): unknown;
    isRawJSON(value: unknown): boolean;
  }
}

/** Numbers that may be written in another way than they came; looking at each of them takes several times as long. */
const MAY_CHANGE_NOTATION = /\d{16}|\d[.eE]|-0/;

/**
 * Parses so that JSON.stringify writes every number as it came: 1.0 stays 1.0, and numbers beyond what JavaScript can
 * hold keep their digits. Such numbers are opaque inside the program. Throws as JSON.parse does.
 */
export function parseLosslessJson(text: string): unknown {
  if (!MAY_CHANGE_NOTATION.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, ...[context]: { readonly source?: string }[]) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
  });
}

/** Numbers that may have another value here than in the text: more than 15 digits, or an exponent of three. */
const MAY_LOSE_PRECISION = /\d(?:[\d.]{15}|[eE][+-]?\d{3})/;

export const mayLosePrecision = (text: string) => MAY_LOSE_PRECISION.test(text);

/** The same for those numbers alone that have more digits than JavaScript can hold: all others are numbers. */
export function parsePreciseJson(text: string): unknown {
  return mayLosePrecision(text) ? JSON.parse(text, preserveDigits) : JSON.parse(text);
}

function preserveDigits(_key: string, value: unknown, ...[context]: { readonly source?: string }[]): unknown {
  const source = context?.source;
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  return mayLosePrecision(source) ? JSON.rawJSON(source) : value;
}

/** A number that is opaque inside the program is an object for everybody who does not ask. */
export const isRawJsonNumber = (value: unknown) => JSON.isRawJSON(value);

/** A member of a body, its numbers as they were written; undefined where there is none. */
export function losslessMember({ text, members }: ParsedBody, key: string): unknown {
  const span = members.get(key);
  return span === undefined ? undefined : parseLosslessJson(text.slice(span.valueStart, span.valueEnd));
}

/** The same where only a list will do. */
export function losslessArray(body: ParsedBody, key: string): readonly unknown[] | undefined {
  const value = losslessMember(body, key);
  return Array.isArray(value) ? value : undefined;
}
