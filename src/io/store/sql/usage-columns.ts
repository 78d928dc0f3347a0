import type { UsageSums } from "../../../domain/record/usage-sums.ts";

/** The aggregated columns of the daily and hourly roll-ups, with the fields that they hold. */
export const USAGE_FIELDS = {
  requests: "requests",
  errors: "errors",
  input_tokens: "inputTokens",
  cached_tokens: "cachedTokens",
  cache_write_tokens: "cacheWriteTokens",
  output_tokens: "outputTokens",
  reasoning_tokens: "reasoningTokens",
  characters: "characters",
  audio_ms: "audioMs",
  cost_nanos: "costNanos",
  timed: "timedRequests",
  total_ms: "totalMs",
  streamed: "streamedRequests",
  first_byte_ms: "firstByteMs",
} as const satisfies Record<string, keyof UsageSums>;

type UsageColumn = keyof typeof USAGE_FIELDS;

export const USAGE_COLUMNS = Object.keys(USAGE_FIELDS).filter((name): name is UsageColumn => name in USAGE_FIELDS);

export type UsageColumns = Record<Exclude<UsageColumn, "cost_nanos">, number> & { cost_nanos: bigint };
