/** A name as HTTP allows it. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** What no value can hold: control characters, and so any line break; and what has no byte of its own. */
export const INVALID_HEADER_VALUE_CHAR = /[^\t\x20-\x7e\x80-\xff]/;

/** Names that were looked at before, as they were written: nearly all headers have one of a few dozen. */
const cache = new Map<string, string>();
/** Whoever calls or answers could make up new ones for ever. */
const CACHE_MAX = 512;
const CACHED_CHARS_MAX = 64;

/** The name of a header in small letters; undefined for what is no name. */
export function parseHeaderName(written: string): string | undefined {
  const before = cache.get(written);
  if (before !== undefined) return before;
  if (!HEADER_NAME.test(written)) return undefined;
  const name = written.toLowerCase();
  if (cache.size < CACHE_MAX && name.length <= CACHED_CHARS_MAX) cache.set(written, name);
  return name;
}
