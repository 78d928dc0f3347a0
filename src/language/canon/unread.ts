import { isJsonObject } from "../../kit/json.ts";
import { estimateTextTokens, TOKENS_PER_MEDIA } from "./needs.ts";

const INLINE_MEDIA = /^data:[^,]{0,200};base64,/i;
/** No picture and no page of a document has more tokens than its base64 has hundreds of characters. */
const MEDIA_CHARS_PER_TOKEN = 100;

/** Tokens of JSON that only its reader understands: every word in it, whatever it means there. */
export function estimateJsonTokens(value: unknown): number {
  if (typeof value === "string") return INLINE_MEDIA.test(value) ? mediaTokens(value) : estimateTextTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + estimateJsonTokens(item), 0);
  if (!isJsonObject(value)) return 1;
  let tokens = 0;
  for (const [key, inner] of Object.entries(value)) {
    const isMedia = key === "data" && typeof inner === "string" && value["type"] === "base64";
    tokens += estimateTextTokens(key) + (isMedia ? mediaTokens(inner) : estimateJsonTokens(inner));
  }
  return tokens;
}

function mediaTokens(base64: string): number {
  return Math.max(TOKENS_PER_MEDIA, Math.ceil(base64.length / MEDIA_CHARS_PER_TOKEN));
}
