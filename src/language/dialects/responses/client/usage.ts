import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** The `usage` object of a response. */
export function encodeUsage(counted: Usage, shown: ReportedCost | undefined): JsonObject {
  return {
    input_tokens: counted.inputTokens,
    input_tokens_details: { cached_tokens: counted.cachedTokens, cache_write_tokens: counted.cacheWriteTokens },
    output_tokens: counted.outputTokens,
    output_tokens_details: { reasoning_tokens: counted.reasoningTokens },
    total_tokens: counted.inputTokens + counted.outputTokens,
    ...(shown === undefined ? {} : { cost: shown.cost, currency: shown.currency }),
  };
}
