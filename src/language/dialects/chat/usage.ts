import { isJsonObject, type JsonObject } from "../../../kit/json.ts";
import type { ReportedCost } from "../../canon/reply.ts";
import { isTokenCount } from "../../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, REASONING_UNCOUNTED, type TokenCounts, type Usage } from "../../canon/usage.ts";

const NO_DETAILS: JsonObject = {};

/**
 * Decodes usage of the chat-completions dialect: prompt_tokens includes cached and cache-written tokens. Servers that
 * exclude reasoning from completion_tokens are recognized by their total. Undefined if a count is missing, which is
 * not zero.
 */
export function decodeUsage(wire: unknown): TokenCounts | undefined {
  if (!isJsonObject(wire)) return undefined;
  const input = wire["prompt_tokens_details"] ?? NO_DETAILS;
  const output = wire["completion_tokens_details"] ?? NO_DETAILS;
  if (!isJsonObject(input) || !isJsonObject(output)) return undefined;
  const { prompt_tokens, completion_tokens, total_tokens, prompt_cache_hit_tokens, cached_tokens } = wire;
  const { cached_tokens: cached, cache_write_tokens, cache_creation_input_tokens, audio_tokens: audioInput } = input;
  const { reasoning_tokens, audio_tokens: audioOutput } = output;
  const areTotalsValid =
    isOptionalNumber(total_tokens) &&
    isOptionalNumber(prompt_cache_hit_tokens) &&
    isOptionalNumber(cached_tokens) &&
    isOptionalNumber(cached);
  const areDetailsValid =
    isOptionalNumber(cache_write_tokens) &&
    isOptionalNumber(cache_creation_input_tokens) &&
    isOptionalNumber(audioInput);
  if (!areTotalsValid || !areDetailsValid || !isOptionalNumber(reasoning_tokens) || !isOptionalNumber(audioOutput))
    return undefined;
  if (!isOptionalNumber(prompt_tokens) || !isOptionalNumber(completion_tokens)) return undefined;
  if (prompt_tokens == null || completion_tokens == null) return undefined;
  const reasoningTokens = reasoning_tokens ?? 0;
  const isReasoningExcluded =
    reasoningTokens > 0 && total_tokens === prompt_tokens + completion_tokens + reasoningTokens;
  const usage: TokenCounts = {
    inputTokens: prompt_tokens,
    cachedTokens: cached ?? prompt_cache_hit_tokens ?? cached_tokens ?? 0,
    cacheWriteTokens: cache_write_tokens ?? cache_creation_input_tokens ?? 0,
    outputTokens: isReasoningExcluded ? completion_tokens + reasoningTokens : completion_tokens,
    reasoningTokens,
    audioInputTokens: audioInput ?? 0,
    audioOutputTokens: audioOutput ?? 0,
    ...(reasoning_tokens == null ? REASONING_UNCOUNTED : {}),
  };
  return isPlausible(usage) ? usage : IMPLAUSIBLE_TOKENS;
}

/** A number, or absent. */
function isOptionalNumber(value: unknown): value is number | null | undefined {
  return value === undefined || value === null || Number.isFinite(value);
}

function isPlausible(usage: TokenCounts): boolean {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return (
    isTokenCount(inputTokens) &&
    isTokenCount(cachedTokens) &&
    isTokenCount(cacheWriteTokens) &&
    isTokenCount(outputTokens) &&
    isTokenCount(reasoningTokens) &&
    isTokenCount(usage.audioInputTokens) &&
    isTokenCount(usage.audioOutputTokens) &&
    cachedTokens + cacheWriteTokens <= inputTokens &&
    reasoningTokens <= outputTokens
  );
}

/** The `usage` object of a chat completion. */
export function encodeUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  const cache = { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens };
  const reasoning = usage.isReasoningUncounted === true ? undefined : { reasoning_tokens: reasoningTokens };
  const audio = usage.audioOutputTokens > 0 ? { audio_tokens: usage.audioOutputTokens } : undefined;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: usage.audioInputTokens > 0 ? { ...cache, audio_tokens: usage.audioInputTokens } : cache,
    ...(reasoning || audio ? { completion_tokens_details: { ...reasoning, ...audio } } : {}),
    ...(cost === undefined ? {} : { cost: cost.cost, currency: cost.currency }),
  };
}
