import type { Usage } from "./usage.ts";

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
export const PROVIDER_OVERHEAD_TOKENS = 16384;
/** Reasoning that a model may produce beyond the limit or without reporting it separately. */
export const REASONING_ALLOWANCE_TOKENS = 65536;
/** Search results that a model may fetch and read unasked. */
export const SEARCH_ALLOWANCE_TOKENS = 524288;
export const IMAGE_TOKENS_MAX = 65536;
/** Usage as reported by a provider, with what is needed to check it. */
export type ReportedUsage = {
  readonly usage: Usage;
  /** Weight of the generated text; a function because it is rarely needed. */
  readonly outputWeight: () => number;
  /** How many prompts the provider may have read; absent: one. */
  readonly promptReads?: number | undefined;
};
