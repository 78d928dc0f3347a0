import type { Usage } from "../../canon/usage.ts";
import { WireUsage } from "./wire.ts";

/**
 * Usage of the chat-completions dialect: prompt_tokens includes cached and written ones. Servers that leave reasoning
 * out of completion_tokens are known by their total. Undefined when a figure is missing, which is not zero, or impossible.
 */
export function decodeUsage(value: unknown): Usage | undefined {
  const parsed = WireUsage.safeParse(value);
  if (!parsed.success) return undefined;
  const wire = parsed.data;
  if (wire.prompt_tokens == null || wire.completion_tokens == null) return undefined;
  const inputTokens = wire.prompt_tokens;
  const reasoningTokens = wire.completion_tokens_details?.reasoning_tokens ?? 0;
  const stated = wire.completion_tokens;
  const usage: Usage = {
    inputTokens,
    cachedTokens: wire.prompt_tokens_details?.cached_tokens ?? wire.prompt_cache_hit_tokens ?? 0,
    cacheWriteTokens: wire.prompt_tokens_details?.cache_write_tokens ?? 0,
    outputTokens: reasoningIsExtra(wire, reasoningTokens) ? stated + reasoningTokens : stated,
    reasoningTokens,
    audioInputTokens: wire.prompt_tokens_details?.audio_tokens ?? 0,
    audioOutputTokens: wire.completion_tokens_details?.audio_tokens ?? 0,
  };
  return isPossible(usage) ? usage : undefined;
}

function reasoningIsExtra(wire: WireUsage, reasoningTokens: number): boolean {
  if (reasoningTokens === 0 || wire.total_tokens == null) return false;
  return wire.total_tokens === (wire.prompt_tokens ?? 0) + (wire.completion_tokens ?? 0) + reasoningTokens;
}

const TOKENS_MAX = 1_000_000_000;

function isPossible(usage: Usage): boolean {
  const figures = Object.values(usage);
  if (!figures.every((figure) => Number.isInteger(figure) && figure >= 0 && figure <= TOKENS_MAX)) return false;
  return (
    usage.cachedTokens + usage.cacheWriteTokens <= usage.inputTokens && usage.reasoningTokens <= usage.outputTokens
  );
}
