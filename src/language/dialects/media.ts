import { isUtf8 } from "node:buffer";
import { type Fault, fault } from "../../contract/faults.ts";
import type { MediaSource } from "../canon/parts.ts";

type InlineMedia = Extract<MediaSource, { is: "inline" }>;

/** Base64 characters that cover the longest signature below. */
const HEAD_CHARS = 24;

/** The actual type of the bytes, whatever the sender declares. */
export function sniffMediaType(base64: string): string | undefined {
  const head = Buffer.from(base64.slice(0, HEAD_CHARS), "base64").toString("latin1");
  if (head.startsWith("\x89PNG")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF8")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  return head.startsWith("%PDF") ? "application/pdf" : undefined;
}

export function dataUrl({ mediaType, base64 }: InlineMedia): string {
  return `data:${sniffMediaType(base64) ?? mediaType};base64,${base64}`;
}

type EncodedFile =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "file"; readonly filename: string; readonly file_data: string };

/** A file for OpenAI's dialects. Text files become text, because few servers accept them as files. */
export function encodeFile(source: InlineMedia, filename: string | null, param: string): EncodedFile {
  const type = sniffMediaType(source.base64) ?? source.mediaType;
  if (type.startsWith("text/")) {
    const bytes = Buffer.from(source.base64, "base64");
    if (!isUtf8(bytes)) throw unsupportedMedia(param, "a text file in UTF-8");
    return { is: "text", text: filename === null ? bytes.toString() : `${filename}:\n${bytes.toString()}` };
  }
  const name = filename ?? (type === "application/pdf" ? "document.pdf" : "document");
  return { is: "file", filename: name, file_data: dataUrl(source) };
}

export function unsupportedMedia(param: string, wanted: string): Fault {
  return fault("invalid_value", {
    message: `${param} must be ${wanted}, as the provider's API requires.`,
    param,
  });
}
