import { tokensOfWeight } from "./estimate.ts";
import { type TokenCounts, tokensOutsidePrompts, type Usage } from "./usage.ts";

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
