import type { Call } from "./call.ts";
import type { Part } from "./parts.ts";
import type { MeteredUnits } from "./reply.ts";
import { combineTokens, type TokenCounts, type Usage } from "./usage.ts";
import { PLAUSIBLE_FACTOR, type ReportedUsage, type UsageCeiling } from "./usage-ceiling.ts";

const TOKENS_MAX = 1_000_000_000;

export function isTokenCount(figure: number): boolean {
  return Number.isInteger(figure) && figure >= 0 && figure <= TOKENS_MAX;
}

/** Usage that belongs to no separately reported prompt. */
export function tokensOutsidePrompts(usage: Usage): TokenCounts {
  if (usage.prompts === undefined) return usage;
  const { prompts, ...sum } = usage;
  return prompts.reduce((rest, addend) => combineTokens(rest, addend, -1), sum);
}

const WEIGHT_PER_TOKEN = 4;
export const TOKENS_PER_TURN = 4;
/** Estimate for one image or document page. */
export const TOKENS_PER_MEDIA = 1600;

/** Longer texts are weighed by samples: a loop over all characters would block the event loop. */
const EXACT_CHARS_MAX = 1024 * 1024;
const SAMPLE_CHARS = 4096;

/**
 * Text length in English-character equivalents: four of them make one token in any script. The weights approximate
 * common tokenizers and are sums of powers of two, so the weights of parts add up exactly to the weight of the whole.
 */
export function weightOf(text: string): number {
  const { length } = text;
  if (isLongAscii(text)) return length;
  if (length <= EXACT_CHARS_MAX) return length + extraWeightIn(text, 0, length);
  const samples = EXACT_CHARS_MAX / SAMPLE_CHARS;
  const distance = Math.floor(length / samples);
  let extra = 0;
  for (let at = 0; at < samples; at += 1) extra += extraWeightIn(text, at * distance, at * distance + SAMPLE_CHARS);
  return length + Math.round((extra * length) / EXACT_CHARS_MAX);
}

function extraWeightIn(text: string, start: number, end: number): number {
  let extra = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) extra += extraWeight(code);
  }
  return extra;
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

/** Larger than any known context window. */
const DEFAULT_CONTEXT_TOKENS = 2_000_000;

/** Plausible sum of one prompt and its reply; null: unknown context window. */
export function plausibleTokensMax(contextTokens: number | null): number {
  return PLAUSIBLE_FACTOR * (contextTokens ?? DEFAULT_CONTEXT_TOKENS);
}

export function isImplausibleUsage(
  { usage, outputWeight, promptReads = 1 }: ReportedUsage,
  contextTokens: number | null,
  ceiling: UsageCeiling,
): boolean {
  const tokensMax = plausibleTokensMax(contextTokens);
  const exceeds = (tokens: TokenCounts, prompts: number) =>
    tokens.inputTokens + tokens.outputTokens > tokensMax * prompts;
  if (exceeds(tokensOutsidePrompts(usage), promptReads) || (usage.prompts ?? []).some((tokens) => exceeds(tokens, 1)))
    return true;
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  if (inputTokens > ceiling.inputTokens) return true;
  const writtenTokens = outputTokens - reasoningTokens;
  if (outputTokens <= ceiling.outputTokens && writtenTokens <= ceiling.visibleOutputTokens) return false;
  // Text that was received is plausible whatever limit was requested.
  const visibleTokensMax = PLAUSIBLE_FACTOR * tokensOfWeight(outputWeight());
  return (
    outputTokens > Math.max(visibleTokensMax, ceiling.outputTokens) ||
    writtenTokens > Math.max(visibleTokensMax, ceiling.visibleOutputTokens)
  );
}

/** Counts of a record; search units and images are absent where there are none. */
export function unitCounts({ characters, seconds, searchUnits, images }: MeteredUnits = {}) {
  const counts = { characters: characters ?? null, seconds: seconds ?? null };
  if (images !== undefined) return { ...counts, images };
  return searchUnits === undefined ? counts : { ...counts, searchUnits };
}
