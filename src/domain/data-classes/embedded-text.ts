import { isUtf8 } from "node:buffer";

/** Shorter ones hold no text worth reading. */
const CHARS_MIN = 24;
const HEAD_CHARS = 1_024;
const PREFIX = /^data:[^,]{0,200};base64,/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Control characters that no text file has. */
const BINARY = /[^\t-\r -\xff]/;

/** A text that is written in base64, as files and the bodies of some providers are. */
export type EmbeddedText = { readonly text: string; written(text: string): string };

/** Undefined for everything else: the first bytes show that an image or audio is no text. */
export function embeddedText(value: string): EmbeddedText | undefined {
  if (value.length < CHARS_MIN) return undefined;
  const prefix = value.startsWith("data:") ? (PREFIX.exec(value)?.[0] ?? "") : "";
  const head = value.slice(prefix.length, prefix.length + HEAD_CHARS);
  if (!BASE64.test(head)) return undefined;
  // A character may be cut at the end of the head.
  const start = Buffer.from(head, "base64");
  const isText = [0, 1, 2, 3].some((cut) => isUtf8(start.subarray(0, start.length - cut)));
  if (!isText || BINARY.test(start.toString("latin1"))) return undefined;
  const encoded = value.slice(prefix.length);
  if (!BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  if (!isUtf8(bytes)) return undefined;
  const isUrlSafe = /[-_]/.test(encoded);
  return {
    text: bytes.toString(),
    written(text) {
      const again = Buffer.from(text).toString(isUrlSafe ? "base64url" : "base64");
      return prefix + (encoded.endsWith("=") || isUrlSafe ? again : again.replace(/=+$/, ""));
    },
  };
}
