/** `token` of RFC 9110. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Matches what a header value cannot contain: control characters, line breaks, and characters beyond Latin-1. */
export const INVALID_HEADER_VALUE_CHAR = /[^\t\x20-\x7e\x80-\xff]/;

/** Lower-case names by their spelling on the wire: nearly all messages use a few dozen. */
const cache = new Map<string, string>();
/** Peers can invent names without end. */
const CACHE_MAX = 512;
const CACHED_CHARS_MAX = 64;

/** The header name in lower case, or undefined if it is invalid. */
export function parseHeaderName(name: string): string | undefined {
  const cached = cache.get(name);
  if (cached !== undefined) return cached;
  if (!HEADER_NAME.test(name)) return undefined;
  const lowerName = name.toLowerCase();
  if (cache.size < CACHE_MAX && lowerName.length <= CACHED_CHARS_MAX) cache.set(name, lowerName);
  return lowerName;
}
