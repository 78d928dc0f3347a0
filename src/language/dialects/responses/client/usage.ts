import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** The `usage` object of a response. */
export function encodeUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    ...(usage.isReasoningUncounted === true
      ? {}
      : { output_tokens_details: { reasoning_tokens: usage.reasoningTokens } }),
    total_tokens: usage.inputTokens + usage.outputTokens,
    ...(cost === undefined ? {} : { cost: cost.cost, currency: cost.currency }),
  };
}
