import { JsonSpan } from "../../kit/json-span.ts";
import { STEP_MAX, type WorkSteps } from "../../kit/work-steps.ts";
import { readImageHeader } from "../decisions/image.ts";

/** An image of a reply. `base64` is JSON text, with its quotes: it is checked, and never decoded as a whole. */
export type GeneratedImage = CheckedImage & { readonly revisedPrompt: string | undefined };

export type CheckedImage = { readonly base64: JsonSpan; readonly format: "png" | "jpeg" | "webp" };

const FORMATS = { "image/png": "png", "image/jpeg": "jpeg", "image/webp": "webp" } as const;
const CHARS = /^[A-Za-z0-9+/]*$/;
/** Whole groups of four, so that the header decodes to whole bytes. */
const HEADER_CHARS = 1024;

/** Undefined unless the value is base64 of a PNG, JPEG or WebP image. */
export function* checkImage(value: unknown): WorkSteps<CheckedImage | undefined> {
  if (typeof value !== "string" || value.length % 4 !== 0) return undefined;
  const padding = value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0;
  const end = value.length - padding;
  for (let at = 0; at < end; at += STEP_MAX.chars) {
    const piece = value.slice(at, Math.min(end, at + STEP_MAX.chars));
    if (!CHARS.test(piece)) return undefined;
    yield { chars: piece.length, values: 1 };
  }
  const header = Buffer.from(value.slice(0, HEADER_CHARS), "base64");
  const stated = readImageHeader(header);
  if ("problem" in stated) return undefined;
  return { base64: new JsonSpan(`"${value}"`, undefined), format: FORMATS[stated.mediaType] };
}
