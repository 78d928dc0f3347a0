import { isUtf8 } from "node:buffer";
import type { JsonObject } from "../../../../kit/json.ts";
import type { MediaSource } from "../../../canon/parts.ts";
import { sniffMediaType, unsupportedMedia } from "../../media.ts";

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

export function imageBlock(source: MediaSource, param: string): JsonObject {
  switch (source.is) {
    case "url":
      return { type: "image", source: { type: "url", url: webAddress(source.url, param) } };
    case "inline": {
      const mediaType = sniffMediaType(source.base64) ?? source.mediaType;
      if (!IMAGE_TYPES.has(mediaType)) throw unsupportedMedia(param, "a JPEG, PNG, GIF or WebP image");
      return { type: "image", source: { type: "base64", media_type: mediaType, data: source.base64 } };
    }
    case "uploaded":
      throw unsupportedMedia(param, "an image as a URL or a data URL");
  }
}

export function documentBlock(source: MediaSource, filename: string | null, param: string): JsonObject {
  const title = filename === null ? {} : { title: filename };
  return { type: "document", source: documentSource(source, param), ...title };
}

function documentSource(source: MediaSource, param: string): JsonObject {
  if (source.is === "url") return { type: "url", url: webAddress(source.url, param) };
  if (source.is === "uploaded") throw unsupportedMedia(param, "a file as a data URL");
  const { base64, mediaType } = source;
  if (sniffMediaType(base64) === "application/pdf" || mediaType === "application/pdf")
    return { type: "base64", media_type: "application/pdf", data: base64 };
  const bytes = Buffer.from(base64, "base64");
  if (!mediaType.startsWith("text/") || !isUtf8(bytes)) throw unsupportedMedia(param, "a PDF or a text file in UTF-8");
  return { type: "text", media_type: "text/plain", data: bytes.toString() };
}

function webAddress(url: string, param: string): string {
  if (!/^https?:\/\//i.test(url)) throw unsupportedMedia(param, "an http(s) URL or a base64 data URL");
  return url;
}
