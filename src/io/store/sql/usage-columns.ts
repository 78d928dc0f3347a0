/** The aggregated columns of the daily and hourly roll-ups. */
export const USAGE_COLUMNS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "characters",
  "audio_ms",
  "cost_nanos",
  "timed",
  "total_ms",
  "streamed",
  "first_byte_ms",
] as const;
type UsageColumn = (typeof USAGE_COLUMNS)[number];

export type UsageColumns = Record<Exclude<UsageColumn, "cost_nanos">, number> & { cost_nanos: bigint };
