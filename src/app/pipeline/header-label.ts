import { isUtf8 } from "node:buffer";

const LABEL_CHARS_MAX = 128;

/** A header that names a caller's app or request, as it is recorded; null: nothing is left of it. */
export function sanitizeLabel(header: string): string | null {
  const clean = decodeHeader(header)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "")
    .trim()
    .slice(0, LABEL_CHARS_MAX)
    .replace(/[\ud800-\udbff]$/, "");
  return clean === "" ? null : clean;
}

/** Node decodes headers as Latin-1 while clients send UTF-8; invalid UTF-8 is left as it is. */
function decodeHeader(header: string): string {
  if (/^[\0-\x7f]*$/.test(header)) return header;
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : header;
}
