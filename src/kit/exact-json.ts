import type { ParsedBody } from "./json.ts";

/** What the engine has and the compiler's library does not list yet. */
declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/**
 * Parses so that JSON.stringify writes every number as it came: 1.0 stays 1.0, and numbers beyond what JavaScript can
 * hold keep their digits. Such numbers are opaque inside the program. Throws as JSON.parse does.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, ...[context]: { readonly source?: string }[]) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;
  });
}

/** A list among the members of a body, its numbers as they were written; undefined where there is none. */
export function exactList({ text, members }: ParsedBody, key: string): readonly unknown[] | undefined {
  const span = members.get(key);
  const value = span === undefined ? undefined : parseExactly(text.slice(span.valueStart, span.valueEnd));
  return Array.isArray(value) ? value : undefined;
}
