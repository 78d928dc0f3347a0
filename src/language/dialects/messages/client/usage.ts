import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** Figures of this dialect: what a cache gave or took is not in the input. */
function tokenFields(usage: Usage): JsonObject {
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** The figures of a whole answer, and of the head of a stream: with all fields, which some clients insist on. */
export function wholeUsage(usage: Usage, shown: ReportedCost | undefined): JsonObject {
  return {
    ...tokenFields(usage),
    cache_creation: cacheCreationByTtl(usage),
    inference_geo: null,
    service_tier: "standard",
    speed: null,
    ...shown,
  };
}

/** The figures at the end of a stream: what they do not repeat is as it was said at its beginning. */
export function finalUsage(usage: Usage, shown: ReportedCost | undefined): JsonObject {
  return {
    ...tokenFields(usage),
    ...(usage.cacheWriteTokens > 0 ? { cache_creation: cacheCreationByTtl(usage) } : {}),
    ...shown,
  };
}

function cacheCreationByTtl({ cacheWriteTokens, cacheWrite1hTokens: hourLong = 0 }: Usage): JsonObject {
  return {
    ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - hourLong),
    ephemeral_1h_input_tokens: hourLong,
  };
}

/** What is known when a stream begins: the input as the gateway counts it, and that the first token is here. */
export function firstUsage(inputTokens: number): Usage {
  return {
    inputTokens: Math.max(1, inputTokens),
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
}
