import { isUtf8 } from "node:buffer";
import { fault } from "../../../contract/faults.ts";
import type { JsonObject } from "../../../kit/json.ts";
import type { MediaSource, Part } from "../../canon/parts.ts";
import { typeByBytes } from "../messages/media.ts";

type MediaPart = Extract<Part, { is: "image" } | { is: "audio" } | { is: "file" }>;

export function mediaPart(part: MediaPart, param: string): JsonObject {
  if (part.is === "image") return { type: "image_url", image_url: { url: imageUrl(part.source, param) } };
  if (part.is === "audio") return { type: "input_audio", input_audio: audio(part.source, param) };
  return filePart(part.source, part.filename, param);
}

function imageUrl(source: MediaSource, param: string): string {
  if (source.is === "url") return source.url;
  if (source.is === "inline") return dataUrl(source);
  throw unreadable(param, "an image as a URL or inside the request");
}

/** Names of audio formats that are not the end of their media type. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  mpeg: "mp3",
  "x-wav": "wav",
  wave: "wav",
  "vnd.wave": "wav",
  mp4: "m4a",
  "x-m4a": "m4a",
};

function audio(source: MediaSource, param: string): JsonObject {
  if (source.is !== "inline") throw unreadable(param, "audio inside the request");
  const subtype = source.mediaType.split("/")[1]?.toLowerCase() ?? source.mediaType;
  return { data: source.base64, format: AUDIO_FORMATS[subtype] ?? subtype };
}

/** Text is said as text: few servers read files of it, and all of them read words. */
function filePart(source: MediaSource, filename: string | null, param: string): JsonObject {
  if (source.is === "uploaded") return { type: "file", file: { file_id: source.id } };
  if (source.is === "url") throw unreadable(param, "a file inside the request");
  const type = typeByBytes(source.base64) ?? source.mediaType;
  if (type.startsWith("text/")) {
    const bytes = Buffer.from(source.base64, "base64");
    if (!isUtf8(bytes)) throw unreadable(param, "a text file in UTF-8");
    return { type: "text", text: filename === null ? bytes.toString() : `${filename}:\n${bytes.toString()}` };
  }
  const name = filename ?? (type === "application/pdf" ? "document.pdf" : "document");
  return { type: "file", file: { filename: name, file_data: dataUrl(source) } };
}

/** The type that the bytes have, where they tell. */
function dataUrl({ mediaType, base64 }: Extract<MediaSource, { is: "inline" }>): string {
  return `data:${typeByBytes(base64) ?? mediaType};base64,${base64}`;
}

function unreadable(param: string, wanted: string) {
  return fault("invalid_value", {
    message: `${param} must be ${wanted}: the provider's API takes nothing else.`,
    param,
  });
}
