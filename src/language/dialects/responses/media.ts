import { isUtf8 } from "node:buffer";
import { fault } from "../../../contract/faults.ts";
import type { JsonObject } from "../../../kit/json.ts";
import type { MediaSource } from "../../canon/parts.ts";
import { typeByBytes } from "../messages/media.ts";

export function imagePart(source: MediaSource): JsonObject {
  const detail = "auto";
  switch (source.is) {
    case "url":
      return { type: "input_image", image_url: source.url, detail };
    case "uploaded":
      return { type: "input_image", file_id: source.id, detail };
    case "inline":
      return { type: "input_image", image_url: dataUrl(source), detail };
  }
}

/** Text is said as text, as it is over chat completions. */
export function filePart(source: MediaSource, filename: string | null, param: string): JsonObject {
  if (source.is === "uploaded") return { type: "input_file", file_id: source.id };
  if (source.is === "url") return { type: "input_file", file_url: source.url };
  const type = typeByBytes(source.base64) ?? source.mediaType;
  if (type.startsWith("text/")) {
    const bytes = Buffer.from(source.base64, "base64");
    if (!isUtf8(bytes))
      throw fault("invalid_value", {
        message: `${param} must be a text file in UTF-8: the provider's API takes nothing else.`,
        param,
      });
    return { type: "input_text", text: filename === null ? bytes.toString() : `${filename}:\n${bytes.toString()}` };
  }
  const name = filename ?? (type === "application/pdf" ? "document.pdf" : "document");
  return { type: "input_file", filename: name, file_data: dataUrl(source) };
}

/** The type that the bytes have, where they tell. */
function dataUrl({ mediaType, base64 }: Extract<MediaSource, { is: "inline" }>): string {
  return `data:${typeByBytes(base64) ?? mediaType};base64,${base64}`;
}
