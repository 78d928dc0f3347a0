import type { JsonObject } from "../../../kit/json.ts";
import type { ShownCost } from "../../canon/answer.ts";
import type { Usage } from "../../canon/usage.ts";

/** Figures of this dialect: what a cache gave or took is not in the input. */
function figuresOf(usage: Usage): JsonObject {
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
export function wholeUsage(usage: Usage, shown: ShownCost | undefined): JsonObject {
  const hourLong = usage.cacheWrite1hTokens ?? 0;
  return {
    ...figuresOf(usage),
    cache_creation: {
      ephemeral_5m_input_tokens: Math.max(0, usage.cacheWriteTokens - hourLong),
      ephemeral_1h_input_tokens: hourLong,
    },
    inference_geo: null,
    service_tier: "standard",
    speed: null,
    ...shown,
  };
}

/** The figures at the end of a stream. */
export function finalUsage(usage: Usage, shown: ShownCost | undefined): JsonObject {
  return { ...figuresOf(usage), ...shown };
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
