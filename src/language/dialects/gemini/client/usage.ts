import type { JsonObject } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import type { Usage } from "../../../canon/usage.ts";

/** The prompt includes cached tokens; candidates exclude reasoning, which has a count of its own. */
export function encodeUsage(usage: Usage, cost: ReportedCost | undefined): JsonObject {
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens, audioInputTokens, audioOutputTokens } = usage;
  const candidates = Math.max(0, outputTokens - reasoningTokens);
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens > 0 ? { cachedContentTokenCount: cachedTokens } : {}),
    candidatesTokenCount: candidates,
    ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    totalTokenCount: inputTokens + outputTokens,
    ...(audioInputTokens > 0 ? { promptTokensDetails: modalities(inputTokens, audioInputTokens) } : {}),
    ...(audioOutputTokens > 0 ? { candidatesTokensDetails: modalities(candidates, audioOutputTokens) } : {}),
    ...cost,
  };
}

function modalities(all: number, audio: number): JsonObject[] {
  return [
    { modality: "TEXT", tokenCount: Math.max(0, all - audio) },
    { modality: "AUDIO", tokenCount: audio },
  ];
}
