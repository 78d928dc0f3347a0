import type { JsonObject } from "../../../../kit/json.ts";
import type { ImagePart, MediaSource, Part } from "../../../canon/parts.ts";
import { dataUrl, encodeFile, unsupportedMedia } from "../../media.ts";

type MediaPart = ImagePart | Extract<Part, { is: "audio" } | { is: "file" }>;

export function mediaPart(part: MediaPart, param: string): JsonObject {
  if (part.is === "image") return { type: "image_url", image_url: image(part, param) };
  if (part.is === "audio") return { type: "input_audio", input_audio: audio(part.source, param) };
  return filePart(part.source, part.filename, param);
}

export const IMAGE_DETAILS: ReadonlySet<string> = new Set(["low", "high"]);

function image({ source, detail }: ImagePart, param: string): JsonObject {
  return { url: imageUrl(source, param), ...(detail !== undefined && IMAGE_DETAILS.has(detail) ? { detail } : {}) };
}

function imageUrl(source: MediaSource, param: string): string {
  if (source.is === "url") return source.url;
  if (source.is === "inline") return dataUrl(source);
  throw unsupportedMedia(param, "an image as a URL or inside the request");
}

/** Audio formats whose name differs from the media subtype. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
  "vnd.wave": "wav",
  mp4: "m4a",
  "x-m4a": "m4a",
};

function audio(source: MediaSource, param: string): JsonObject {
  if (source.is !== "inline") throw unsupportedMedia(param, "audio inside the request");
  const subtype = source.mediaType.split("/")[1]?.toLowerCase() ?? source.mediaType;
  return { data: source.base64, format: AUDIO_FORMATS[subtype] ?? subtype };
}

function filePart(source: MediaSource, filename: string | null, param: string): JsonObject {
  if (source.is === "uploaded") return { type: "file", file: { file_id: source.id } };
  if (source.is === "url") throw unsupportedMedia(param, "a file inside the request");
  const { is: type, ...encoded } = encodeFile(source, filename, param);
  return type === "text" ? { type, ...encoded } : { type, file: encoded };
}
