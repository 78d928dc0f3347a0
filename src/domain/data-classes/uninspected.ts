import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { embeddedText } from "./embedded-text.ts";

/** The types of parts that hold an image, audio or a file, in every dialect that callers use. */
const MEDIA_TYPES: ReadonlySet<unknown> = new Set([
  "image",
  "image_url",
  "input_image",
  "audio",
  "input_audio",
  "video",
  "video_url",
  "input_video",
  "file",
  "input_file",
  "document",
]);
/** Members of parts that hold them in the Gemini dialect, whose parts have no type. */
const MEDIA_MEMBERS = ["inlineData", "inline_data", "fileData", "file_data"];
const DEPTH_MAX = 3;

/** True for a part whose content no detector reads: all but files of text. */
export function isUninspected(part: JsonObject): boolean {
  if (MEDIA_MEMBERS.some((name) => isJsonObject(part[name]) && !holdsText(part[name], DEPTH_MAX))) return true;
  return MEDIA_TYPES.has(part["type"]) && !holdsText(part, DEPTH_MAX);
}

function holdsText(value: unknown, depth: number): boolean {
  if (typeof value === "string") return embeddedText(value) !== undefined;
  if (!isJsonObject(value) || depth === 0) return false;
  // A document of the messages dialect can hold its text as it is.
  const { type } = value;
  if (type === "text" || type === "content") return true;
  return Object.values(value).some((member) => holdsText(member, depth - 1));
}
