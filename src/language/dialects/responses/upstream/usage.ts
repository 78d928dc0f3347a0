import { z } from "zod";
import { areTokenCounts } from "../../../canon/token-counts.ts";
import { IMPLAUSIBLE_TOKENS, type TokenCounts, withReasoningUncounted } from "../../../canon/usage.ts";

const count = z.number().nullish();

const WireUsage = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count, cache_write_tokens: count }).nullish(),
  output_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
});

/**
 * Decodes usage of the responses dialect: input includes cache reads and writes, output includes reasoning. Servers
 * that exclude reasoning are recognized by their total. Undefined if a count is missing, which is not zero.
 */
export function decodeUsage(value: unknown): TokenCounts | undefined {
  const parsed = WireUsage.safeParse(value);
  if (!parsed.success) return undefined;
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details } = parsed.data;
  const reasoningTokens = output_tokens_details?.reasoning_tokens ?? 0;
  const isReasoningExcluded = reasoningTokens > 0 && total_tokens === input_tokens + output_tokens + reasoningTokens;
  const usage: TokenCounts = {
    inputTokens: input_tokens,
    cachedTokens: input_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: input_tokens_details?.cache_write_tokens ?? 0,
    outputTokens: isReasoningExcluded ? output_tokens + reasoningTokens : output_tokens,
    reasoningTokens,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
  if (!isPlausible(usage)) return IMPLAUSIBLE_TOKENS;
  return output_tokens_details?.reasoning_tokens == null ? withReasoningUncounted(usage) : usage;
}

function isPlausible(usage: TokenCounts): boolean {
  if (!areTokenCounts(usage)) return false;
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return cachedTokens + cacheWriteTokens <= inputTokens && reasoningTokens <= outputTokens;
}
