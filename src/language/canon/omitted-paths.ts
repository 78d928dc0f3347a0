/** Paths of fields that were accepted and not carried, in request or reply; never values. */
export const NOTHING_OMITTED: readonly string[] = [];

const PATHS_MAX = 20;
/** Of the header value, with the count of further paths. */
const BYTES_MAX = 1024;
const PATH_CHARS_MAX = 200;
/** Names of fields are chosen by callers and providers, so even their count is bounded. */
const COUNTED_MAX = 1000;
const COUNT_CHARS = ",+1000".length;

/**
 * The paths as they are reported: unique, with array indices as `[]` and other characters as `_`, at most 20 and 1 kB
 * together; the number of further ones is the last entry, such as `+3`.
 */
export function listOmitted(paths: readonly string[]): string[] {
  const listed = new Set<string>();
  const more = new Set<string>();
  let bytes = 0;
  for (const path of paths) {
    const shown = omittedPath(path);
    if (shown === "" || listed.has(shown)) continue;
    const fits = listed.size < PATHS_MAX && bytes + shown.length + 1 + COUNT_CHARS <= BYTES_MAX;
    if (fits && more.size === 0) {
      listed.add(shown);
      bytes += shown.length + 1;
    } else more.add(shown);
    if (more.size === COUNTED_MAX) break;
  }
  return more.size === 0 ? [...listed] : [...listed, `+${more.size}`];
}

/** `messages.3.content.0.x-y` becomes `messages[].content[].x_y`. */
function omittedPath(path: string): string {
  return path
    .slice(0, PATH_CHARS_MAX)
    .replace(/\.\d+(?=\.|$)/g, "[]")
    .replace(/[^A-Za-z0-9_.[\]]/g, "_");
}
