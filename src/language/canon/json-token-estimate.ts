import { isJsonObject } from "../../kit/json.ts";
import { type TextTokenEstimator, TOKENS_PER_MEDIA } from "./tokens.ts";

const INLINE_MEDIA = /^data:[^,]{0,200};base64,/i;
/** No image or document page has more tokens than this ratio of its base64 length implies. */
const MEDIA_CHARS_PER_TOKEN = 100;

/** Counts every string in provider-specific JSON, since the gateway cannot tell which of them reach the model. */
export function estimateJsonTokens(value: unknown, textTokens: TextTokenEstimator): number {
  if (typeof value === "string") return INLINE_MEDIA.test(value) ? mediaTokens(value) : textTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + estimateJsonTokens(item, textTokens), 0);
  if (!isJsonObject(value)) return 1;
  let tokens = 0;
  for (const [key, inner] of Object.entries(value)) {
    const isMedia = key === "data" && typeof inner === "string" && value["type"] === "base64";
    tokens += textTokens(key) + (isMedia ? mediaTokens(inner) : estimateJsonTokens(inner, textTokens));
  }
  return tokens;
}

function mediaTokens(base64: string): number {
  return Math.max(TOKENS_PER_MEDIA, Math.ceil(base64.length / MEDIA_CHARS_PER_TOKEN));
}
