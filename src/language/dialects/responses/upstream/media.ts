import type { JsonObject } from "../../../../kit/json.ts";
import type { ImagePart, MediaSource } from "../../../canon/parts.ts";
import { dataUrl, encodeFile } from "../../media.ts";

export const IMAGE_DETAILS: ReadonlySet<string> = new Set(["low", "high", "original"]);

export function imagePart({ source, detail: asked = "auto" }: ImagePart): JsonObject {
  const detail = IMAGE_DETAILS.has(asked) ? asked : "auto";
  switch (source.is) {
    case "url":
      return { type: "input_image", image_url: source.url, detail };
    case "uploaded":
      return { type: "input_image", file_id: source.id, detail };
    case "inline":
      return { type: "input_image", image_url: dataUrl(source), detail };
  }
}

export function filePart(source: MediaSource, filename: string | null, param: string): JsonObject {
  if (source.is === "uploaded") return { type: "input_file", file_id: source.id };
  if (source.is === "url") return { type: "input_file", file_url: source.url };
  const { is, ...said } = encodeFile(source, filename, param);
  return { type: `input_${is}`, ...said };
}
