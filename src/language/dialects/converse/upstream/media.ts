import type { JsonObject } from "../../../../kit/json.ts";
import type { MediaSource, Part } from "../../../canon/parts.ts";
import { sniffMediaType, unsupportedMedia } from "../../media.ts";

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ["image/jpeg", "jpeg"],
  ["image/jpg", "jpeg"],
  ["image/png", "png"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

export function imageBlock(source: MediaSource, param: string): JsonObject {
  const { mediaType, base64 } = requireInline(source, param);
  // The provider rejects a wrong media type, so the sniffed one wins.
  const format = IMAGE_FORMATS.get(sniffMediaType(base64) ?? "") ?? IMAGE_FORMATS.get(mediaType);
  if (format === undefined) throw unsupportedMedia(param, "a JPEG, PNG, GIF or WebP image");
  return { image: { format, source: { bytes: base64 } } };
}

const AUDIO_FORMATS: ReadonlySet<string> = new Set(["aac", "flac", "mka", "mp3", "ogg", "opus", "wav", "webm"]);

export function audioBlock(source: MediaSource, param: string): JsonObject {
  const { mediaType, base64 } = requireInline(source, param);
  const named = mediaType.replace("audio/", "");
  const format = named === "mpeg" ? "mp3" : named;
  if (!AUDIO_FORMATS.has(format)) throw unsupportedMedia(param, `audio as ${[...AUDIO_FORMATS].join(", ")}`);
  return { audio: { format, source: { bytes: base64 } } };
}

const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
]);
const EXTENSIONS: ReadonlySet<string> = new Set([...DOCUMENT_FORMATS.values()]);

/** Document names must be plain and unique within a request. */
export class DocumentEncoder {
  readonly #names = new Set<string>();

  block({ source, filename }: Extract<Part, { is: "file" }>, param: string): JsonObject {
    const { mediaType, base64 } = requireInline(source, param);
    const extension = filename?.toLowerCase().split(".").at(-1) ?? "";
    const format = DOCUMENT_FORMATS.get(mediaType) ?? (EXTENSIONS.has(extension) ? extension : undefined);
    if (format === undefined) throw unsupportedMedia(param, `a file as ${[...EXTENSIONS].join(", ")}`);
    return { document: { format, name: this.#nameFor(filename), source: { bytes: base64 } } };
  }

  /** The API allows only letters, digits, single spaces, hyphens and brackets. */
  #nameFor(filename: string | null): string {
    const plain = (filename ?? "")
      .replace(/\.[a-zA-Z0-9]{1,5}$/, "")
      .replace(/[^a-zA-Z0-9\-()[\]]+/g, " ")
      .trim()
      .slice(0, NAME_CHARS_MAX)
      .trim();
    const base = plain === "" ? "document" : plain;
    let name = base;
    for (let copy = 2; this.#names.has(name); copy += 1) name = `${base} (${copy})`;
    this.#names.add(name);
    return name;
  }
}

const NAME_CHARS_MAX = 150;

/** The gateway fetches nothing for the caller. */
function requireInline(source: MediaSource, param: string): Extract<MediaSource, { is: "inline" }> {
  if (source.is === "inline") return source;
  throw unsupportedMedia(param, "a base64 data URL");
}
