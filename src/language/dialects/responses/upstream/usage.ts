import { z } from "zod";
import { isJsonObject, type JsonObject, type MemberPatch, parseJsonText, patchMembers } from "../../../../kit/json.ts";
import type { ReportedCost } from "../../../canon/reply.ts";
import { IMPLAUSIBLE_TOKENS, isTokenCount, type TokenCounts, type Usage } from "../../../canon/usage.ts";

const count = z.number().nullish();
const WireUsage = z.looseObject({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count, cache_write_tokens: count }).nullish(),
  output_tokens_details: z.looseObject({ reasoning_tokens: count }).nullish(),
});

/**
 * Usage of the responses dialect: input includes what was read from and written to a cache, output includes the
 * reasoning, but for servers that leave it out, which are known by their total. Undefined when a figure is missing, which
 * is not zero.
 */
export function decodeUsage(value: unknown): TokenCounts | undefined {
  const parsed = WireUsage.safeParse(value);
  if (!parsed.success) return undefined;
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details } = parsed.data;
  const reasoningTokens = output_tokens_details?.reasoning_tokens ?? 0;
  const isExtra = reasoningTokens > 0 && total_tokens === input_tokens + output_tokens + reasoningTokens;
  const usage: TokenCounts = {
    inputTokens: input_tokens,
    cachedTokens: input_tokens_details?.cached_tokens ?? 0,
    cacheWriteTokens: input_tokens_details?.cache_write_tokens ?? 0,
    outputTokens: isExtra ? output_tokens + reasoningTokens : output_tokens,
    reasoningTokens,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
  return isPossible(usage) ? usage : IMPLAUSIBLE_TOKENS;
}

function isPossible(usage: TokenCounts): boolean {
  if (!Object.values(usage).every(isTokenCount)) return false;
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return cachedTokens + cacheWriteTokens <= inputTokens && reasoningTokens <= outputTokens;
}

/** The provider's own usage, as text, with the cost added; where the gateway counted otherwise, what was counted. */
export function usageText(wire: string | undefined, counted: Usage, shown: ReportedCost | undefined): string {
  const cost: MemberPatch[] =
    shown === undefined
      ? // What a provider takes is between it and the holder of its key; it is never shown as the gateway's cost.
        [
          { key: "cost", json: null },
          { key: "currency", json: null },
        ]
      : [
          { key: "cost", json: JSON.stringify(shown.cost) },
          { key: "currency", json: JSON.stringify(shown.currency) },
        ];
  const body = wire === undefined ? undefined : parseJsonText(wire);
  if (body === undefined || "problem" in body || !matchesWireUsage(body.value, counted))
    return JSON.stringify(encodeUsage(counted, shown));
  const isLiteral = body.value["output_tokens"] === counted.outputTokens;
  return patchMembers(body, isLiteral ? cost : [{ key: "output_tokens", json: String(counted.outputTokens) }, ...cost]);
}

/** Usage in words of the responses format. */
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

function matchesWireUsage(wire: unknown, counted: Usage): boolean {
  const read = isJsonObject(wire) ? decodeUsage(wire) : undefined;
  return read?.inputTokens === counted.inputTokens && read.outputTokens === counted.outputTokens;
}
