import type { Call } from "./call.ts";
import type { Part } from "./parts.ts";

/** Totals include their parts: input includes cached and cache-written tokens, output includes reasoning. */
export type TokenCounts = {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of cacheWriteTokens with a one-hour lifetime. */
  readonly cacheWrite1hTokens?: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
};

/** Usage of one reply. */
export type Usage = TokenCounts & {
  /** Prompts that the provider reported separately, such as compactions; included in the totals. */
  readonly prompts?: readonly TokenCounts[];
};

export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

/** Marks reported usage that cannot be true: larger than any request, so billing always rejects it. */
export const IMPLAUSIBLE_TOKENS: TokenCounts = { ...NO_TOKENS, inputTokens: Number.MAX_SAFE_INTEGER };

/** Cumulative reports: the latest wins, but an implausible one does not replace a valid one. */
export function latestUsage<T extends TokenCounts>(before: T | undefined, reported: T | undefined): T | undefined {
  return reported === undefined || (reported === IMPLAUSIBLE_TOKENS && before !== undefined) ? before : reported;
}

const TOKENS_MAX = 1_000_000_000;

export function isTokenCount(figure: number): boolean {
  return Number.isInteger(figure) && figure >= 0 && figure <= TOKENS_MAX;
}

export function sumTokens(all: readonly TokenCounts[]): TokenCounts {
  return all.reduce((sum, addend) => combineTokens(sum, addend, 1), NO_TOKENS);
}

/** Usage that belongs to no separately reported prompt. */
export function tokensOutsidePrompts(usage: Usage): TokenCounts {
  if (usage.prompts === undefined) return usage;
  const { prompts, ...sum } = usage;
  return prompts.reduce((rest, addend) => combineTokens(rest, addend, -1), sum);
}

function combineTokens(addend: TokenCounts, other: TokenCounts, sign: 1 | -1): TokenCounts {
  const hourLong = (addend.cacheWrite1hTokens ?? 0) + sign * (other.cacheWrite1hTokens ?? 0);
  return {
    inputTokens: addend.inputTokens + sign * other.inputTokens,
    cachedTokens: addend.cachedTokens + sign * other.cachedTokens,
    cacheWriteTokens: addend.cacheWriteTokens + sign * other.cacheWriteTokens,
    ...(hourLong === 0 ? {} : { cacheWrite1hTokens: hourLong }),
    outputTokens: addend.outputTokens + sign * other.outputTokens,
    reasoningTokens: addend.reasoningTokens + sign * other.reasoningTokens,
    audioInputTokens: addend.audioInputTokens + sign * other.audioInputTokens,
    audioOutputTokens: addend.audioOutputTokens + sign * other.audioOutputTokens,
  };
}

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

/** Upper bounds of plausible usage for one request. Reports above them are provider errors and are not billed. */
export type UsageCeiling = {
  readonly inputTokens: number;
  /** Output tokens not reported as reasoning. */
  readonly visibleOutputTokens: number;
  readonly outputTokens: number;
};

export const NO_CEILING: UsageCeiling = {
  inputTokens: Infinity,
  visibleOutputTokens: Infinity,
  outputTokens: Infinity,
};

/**
 * Tokenizers differ and catalogue facts age, so only a multiple counts as implausible. No tokenizer produces more
 * tokens per character than this.
 */
export const PLAUSIBLE_FACTOR = 4;

/** Prompt templates and instructions that a provider may add. */
export const PROVIDER_OVERHEAD_TOKENS = 16_384;
/** Reasoning that a model may produce beyond the limit or without reporting it separately. */
export const REASONING_ALLOWANCE_TOKENS = 65_536;
/** Search results that a model may fetch and read unasked. */
export const SEARCH_ALLOWANCE_TOKENS = 524_288;
export const IMAGE_TOKENS_MAX = 65_536;

/** Larger than any known context window. */
const DEFAULT_CONTEXT_TOKENS = 2_000_000;

/** Plausible sum of one prompt and its reply; null: unknown context window. */
export function plausibleTokensMax(contextTokens: number | null): number {
  return PLAUSIBLE_FACTOR * (contextTokens ?? DEFAULT_CONTEXT_TOKENS);
}

/** Usage as reported by a provider, with what is needed to check it. */
type ReportedUsage = {
  readonly usage: Usage;
  /** Weight of the generated text; a function because it is rarely needed. */
  readonly outputWeight: () => number;
  /** How many prompts the provider may have read; absent: one. */
  readonly promptReads?: number | undefined;
};

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
