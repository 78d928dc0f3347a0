import { isJsonObject } from "../../kit/json.ts";
import type { Call } from "./call.ts";
import type { Part } from "./parts.ts";

const WEIGHT_PER_TOKEN = 4;
export const TOKENS_PER_TURN = 4;
/** Estimate for one image or document page. */
export const TOKENS_PER_MEDIA = 1600;

/**
 * Text length in English-character equivalents: four of them make one token in any script. The weights approximate
 * common tokenizers and are sums of powers of two, so the weights of parts add up exactly to the weight of the whole.
 */
export function weightOf(text: string): number {
  let weight = text.length;
  if (isLongAscii(text)) return weight;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) weight += extraWeight(code);
  }
  return weight;
}

/** Below this length the character loop is faster than `Buffer.byteLength`. */
const ASCII_CHECK_MIN_CHARS = 48;

function isLongAscii(text: string): boolean {
  return text.length >= ASCII_CHECK_MIN_CHARS && Buffer.byteLength(text) === text.length;
}

/** From this code point on, most characters are a whole or half word. */
const DENSE_FROM = 0x1100;
const DENSE_EXTRA = 2.25;
/** Two thirds of a token each. */
const CONSERVATIVE_EXTRA = 5 / 3;

function extraWeight(code: number): number {
  // Accented Latin letters usually occur singly.
  if (code < 0x250) return 1.625;
  // Greek, Cyrillic, Armenian, Hebrew, Arabic.
  if (code < 0x900) return 0.375;
  // The scripts of India and its neighbours, Georgian.
  return code < DENSE_FROM ? 0.75 : DENSE_EXTRA;
}

/** Best estimate, used for context limits and expected cost. */
export function expectedTextTokens(text: string): number {
  return tokensOfWeight(weightOf(text));
}

/**
 * Overestimate, never below `expectedTextTokens`: older tokenizers need twice as many tokens for some scripts. Used
 * for holds and for truncation to fit.
 */
export function conservativeTextTokens(text: string): number {
  let tokens = text.length / WEIGHT_PER_TOKEN;
  if (isLongAscii(text)) return Math.ceil(tokens);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) tokens += (code < DENSE_FROM ? CONSERVATIVE_EXTRA : DENSE_EXTRA) / WEIGHT_PER_TOKEN;
  }
  return Math.ceil(tokens);
}

export function tokensOfWeight(weight: number): number {
  return Math.ceil(weight / WEIGHT_PER_TOKEN);
}

export type TextTokenEstimator = (text: string) => number;

export function estimateInputTokens(call: Call, toolsJsonLength: number, textTokens: TextTokenEstimator): number {
  let tokens = tokensOfWeight(toolsJsonLength);
  for (const turn of call.turns) {
    tokens += TOKENS_PER_TURN;
    for (const part of turn.parts) tokens += estimatePartTokens(part, textTokens);
  }
  return tokens;
}

function estimatePartTokens(part: Part, textTokens: TextTokenEstimator): number {
  switch (part.is) {
    case "text":
    case "refusal":
      return textTokens(part.text);
    case "reasoning":
      return part.detail.is === "readable" ? textTokens(part.detail.text) : 0;
    case "tool_result":
      return part.content.reduce((sum, inner) => sum + estimatePartTokens(inner, textTokens), 0);
    case "tool_call":
      return textTokens(part.argumentsText) + textTokens(part.name);
    case "image":
    case "audio":
    case "file":
      return TOKENS_PER_MEDIA;
  }
}

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
