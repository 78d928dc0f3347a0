import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** The `usage` object of a chat completion. */
export function encodeUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  const { inputTokens, outputTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    ...(cost === undefined ? {} : { cost: cost.cost, currency: cost.currency }),
  };
}
