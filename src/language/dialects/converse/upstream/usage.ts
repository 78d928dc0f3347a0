import { areTokenCounts } from "../../../canon/token-counts.ts";
import { IMPLAUSIBLE_TOKENS, type TokenCounts, withReasoningUncounted } from "../../../canon/usage.ts";
import { WireUsage } from "../wire.ts";

/**
 * Decodes usage of the Converse dialect: inputTokens excludes cache reads and writes, outputTokens includes
 * reasoning. Undefined without counts.
 */
export function decodeUsage(value: unknown): TokenCounts | undefined {
  const parsed = WireUsage.safeParse(value);
  if (!parsed.success) return undefined;
  const wire = parsed.data;
  if (wire.inputTokens == null && wire.outputTokens == null) return undefined;
  const cachedTokens = wire.cacheReadInputTokens ?? wire.cacheReadInputTokenCount ?? 0;
  const cacheWriteTokens = wire.cacheWriteInputTokens ?? wire.cacheWriteInputTokenCount ?? writtenByTtl(wire);
  const hourLong = writtenByTtl(wire, "1h");
  const usage: TokenCounts = {
    inputTokens: (wire.inputTokens ?? 0) + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    ...(hourLong > 0 ? { cacheWrite1hTokens: Math.min(hourLong, cacheWriteTokens) } : {}),
    outputTokens: wire.outputTokens ?? 0,
    reasoningTokens: 0,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
  return isPlausible(usage) ? withReasoningUncounted(usage) : IMPLAUSIBLE_TOKENS;
}

function writtenByTtl({ cacheDetails }: WireUsage, only?: "1h"): number {
  const details = (cacheDetails ?? []).filter(({ ttl }) => only === undefined || ttl === only);
  return details.reduce((sum, { inputTokens }) => sum + (inputTokens ?? 0), 0);
}

function isPlausible(usage: TokenCounts): boolean {
  const { inputTokens, cachedTokens, cacheWriteTokens } = usage;
  if (inputTokens < cachedTokens + cacheWriteTokens) return false;
  return areTokenCounts(usage);
}
