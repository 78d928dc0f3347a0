import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** input_tokens excludes cache reads and writes in this dialect. */
function tokenFields(usage: Usage): JsonObject {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    ...(usage.isReasoningUncounted === true ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    server_tool_use: null,
  };
}

/** With all fields, which some clients require. */
export function wholeUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  return {
    ...tokenFields(usage),
    cache_creation: cacheCreationByTtl(usage),
    inference_geo: null,
    service_tier: "standard",
    speed: null,
    ...cost,
  };
}

/** Usage at the end of a stream. */
export function finalUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  return {
    ...tokenFields(usage),
    ...(usage.cacheWriteTokens > 0 ? { cache_creation: cacheCreationByTtl(usage) } : {}),
    ...cost,
  };
}

function cacheCreationByTtl({ cacheWriteTokens, cacheWrite1hTokens: hourLong = 0 }: Usage): JsonObject {
  return {
    ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - hourLong),
    ephemeral_1h_input_tokens: hourLong,
  };
}

/** Usage at the start of a stream: the gateway's estimate and one output token. */
export function firstUsage(inputTokens: number): Usage {
  return {
    inputTokens: Math.max(1, inputTokens),
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    isReasoningUncounted: true,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
}
