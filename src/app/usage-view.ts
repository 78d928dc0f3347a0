import type { z } from "zod";
import type { UsageView } from "../contract/schemas/requests.ts";
import type { UsageRecord } from "../domain/record/record.ts";

/** Usage as the public and the management API show it. */
export function usageView(usage: UsageRecord | null): z.infer<typeof UsageView> {
  return {
    input_tokens: usage?.inputTokens ?? null,
    cached_tokens: usage?.cachedTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    characters: usage?.characters ?? null,
    seconds: usage?.seconds ?? null,
    images: usage?.images ?? null,
    search_units: usage?.searchUnits ?? null,
    estimated: usage?.estimated ?? false,
  };
}
