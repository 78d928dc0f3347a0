import { areTokenCounts } from "../../../canon/token-counts.ts";
import { isTokenCount } from "../../../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, type TokenCounts } from "../../../canon/usage.ts";
import { WireUsage } from "../wire.ts";

/**
 * Decodes usage of the Gemini dialect: promptTokenCount includes cached tokens, tool prompts come on top, and
 * candidatesTokenCount excludes reasoning. Undefined without counts.
 */
export function decodeUsage(value: unknown): TokenCounts | undefined {
  const parsed = WireUsage.safeParse(value);
  if (!parsed.success) return undefined;
  const wire = parsed.data;
  if (wire.promptTokenCount == null && wire.candidatesTokenCount == null && wire.totalTokenCount == null)
    return undefined;
  const inputTokens = (wire.promptTokenCount ?? 0) + (wire.toolUsePromptTokenCount ?? 0);
  const reasoningTokens = wire.thoughtsTokenCount ?? 0;
  const written = wire.candidatesTokenCount ?? 0;
  const usage: TokenCounts = {
    inputTokens,
    cachedTokens: wire.cachedContentTokenCount ?? 0,
    cacheWriteTokens: 0,
    outputTokens: includesThoughts(wire, inputTokens) ? written : written + reasoningTokens,
    reasoningTokens,
    audioInputTokens: audioIn(wire.promptTokensDetails) + audioIn(wire.toolUsePromptTokensDetails),
    audioOutputTokens: audioIn(wire.candidatesTokensDetails),
  };
  // Checked before summing, because a negative addend would not show in the sum.
  const areCounts =
    isTokenCount(wire.promptTokenCount ?? 0) &&
    isTokenCount(wire.toolUsePromptTokenCount ?? 0) &&
    isTokenCount(written);
  return areCounts && isPlausible(usage) ? usage : IMPLAUSIBLE_TOKENS;
}

/** Some servers include reasoning in candidatesTokenCount; the total reveals it. */
function includesThoughts(wire: WireUsage, inputTokens: number): boolean {
  const { thoughtsTokenCount: reasoning, candidatesTokenCount: written, totalTokenCount: total } = wire;
  return !!reasoning && total != null && written != null && written >= reasoning && total === inputTokens + written;
}

function audioIn(details: WireUsage["promptTokensDetails"]): number {
  let tokens = 0;
  for (const { modality, tokenCount } of details ?? []) if (modality === "AUDIO") tokens += tokenCount ?? 0;
  return tokens;
}

function isPlausible(usage: TokenCounts): boolean {
  if (!areTokenCounts(usage)) return false;
  return (
    usage.cachedTokens <= usage.inputTokens &&
    usage.audioInputTokens <= usage.inputTokens &&
    usage.audioOutputTokens <= usage.outputTokens
  );
}
