import { isJsonObject, type JsonObject } from "../../../kit/json.ts";
import { IMPOSSIBLE_TOKENS, isCount, type Tokens } from "../../canon/usage.ts";

const FIGURES = ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens", "cached_tokens"];
const INPUT_FIGURES = ["cached_tokens", "cache_write_tokens", "cache_creation_input_tokens", "audio_tokens"];
const OUTPUT_FIGURES = ["reasoning_tokens", "audio_tokens"];
const NO_DETAILS: JsonObject = {};

/**
 * Usage of the chat-completions dialect: prompt_tokens includes cached and written ones, whatever a server calls them.
 * Servers that leave reasoning out of completion_tokens are known by their total. Undefined when a figure is missing, which is not
 * zero.
 */
export function decodeUsage(wire: unknown): Tokens | undefined {
  if (!isJsonObject(wire)) return undefined;
  const input = wire["prompt_tokens_details"] ?? NO_DETAILS;
  const output = wire["completion_tokens_details"] ?? NO_DETAILS;
  if (!hasFigures(wire, FIGURES)) return undefined;
  if (!isJsonObject(input) || !hasFigures(input, INPUT_FIGURES)) return undefined;
  if (!isJsonObject(output) || !hasFigures(output, OUTPUT_FIGURES)) return undefined;
  const inputTokens = figure(wire, "prompt_tokens");
  const stated = figure(wire, "completion_tokens");
  if (inputTokens === undefined || stated === undefined) return undefined;
  const reasoningTokens = figure(output, "reasoning_tokens") ?? 0;
  const isApart = reasoningTokens > 0 && figure(wire, "total_tokens") === inputTokens + stated + reasoningTokens;
  const usage: Tokens = {
    inputTokens,
    cachedTokens:
      figure(input, "cached_tokens") ?? figure(wire, "prompt_cache_hit_tokens") ?? figure(wire, "cached_tokens") ?? 0,
    cacheWriteTokens: figure(input, "cache_write_tokens") ?? figure(input, "cache_creation_input_tokens") ?? 0,
    outputTokens: isApart ? stated + reasoningTokens : stated,
    reasoningTokens,
    audioInputTokens: figure(input, "audio_tokens") ?? 0,
    audioOutputTokens: figure(output, "audio_tokens") ?? 0,
  };
  return isPossible(usage) ? usage : IMPOSSIBLE_TOKENS;
}

/** Whether whatever stands in the place of a figure is one. */
function hasFigures(object: JsonObject, names: readonly string[]): boolean {
  for (const name of names) {
    const value = object[name];
    if (value !== undefined && value !== null && !Number.isFinite(value)) return false;
  }
  return true;
}

function figure(object: JsonObject, name: string): number | undefined {
  const value = object[name];
  return typeof value === "number" ? value : undefined;
}

function isPossible(usage: Tokens): boolean {
  for (const tokens of Object.values(usage)) if (!isCount(tokens)) return false;
  return (
    usage.cachedTokens + usage.cacheWriteTokens <= usage.inputTokens && usage.reasoningTokens <= usage.outputTokens
  );
}
