import { isTokenCount } from "./tokens.ts";
import type { TokenCounts } from "./usage.ts";

export function areTokenCounts(counts: TokenCounts): boolean {
  const { inputTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens = 0, outputTokens, reasoningTokens } = counts;
  return (
    isTokenCount(inputTokens) &&
    isTokenCount(cachedTokens) &&
    isTokenCount(cacheWriteTokens) &&
    isTokenCount(cacheWrite1hTokens) &&
    isTokenCount(outputTokens) &&
    isTokenCount(reasoningTokens) &&
    isTokenCount(counts.audioInputTokens) &&
    isTokenCount(counts.audioOutputTokens)
  );
}
