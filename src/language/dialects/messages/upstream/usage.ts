import { isJsonObject } from "../../../../kit/json.ts";
import { areTokenCounts } from "../../../canon/token-counts.ts";
import { isTokenCount } from "../../../canon/tokens.ts";
import {
  IMPLAUSIBLE_TOKENS,
  sumTokens,
  type TokenCounts,
  type Usage,
  withReasoningUncounted,
} from "../../../canon/usage.ts";
import { PROMPT_ITERATION_TYPES, PROMPTS_MAX } from "../../extras.ts";
import { WireUsage } from "../wire.ts";

/** Latest value of each field; input excludes cache reads and writes. */
type UsageFields = {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly read: number;
  readonly written: number;
  readonly hourLong: number;
  readonly thought: number;
};
const NO_USAGE: UsageFields = { input: undefined, output: undefined, read: 0, written: 0, hourLong: 0, thought: 0 };

/**
 * Usage fields are cumulative and arrive in several events: the last value of each counts. Compactions are reported
 * separately and added.
 */
export class UsageAccumulator {
  #fields = NO_USAGE;
  #prompts: readonly unknown[] = [];
  #isReasoningCounted = false;

  /** Undefined until any usage is reported. */
  add(value: unknown): Usage | undefined {
    const parsed = WireUsage.safeParse(value);
    if (!parsed.success) return undefined;
    this.#fields = mergeUsage(this.#fields, parsed.data);
    const { iterations } = parsed.data;
    if (Array.isArray(iterations)) this.#prompts = iterations;
    if (parsed.data.output_tokens_details?.thinking_tokens != null) this.#isReasoningCounted = true;
    const tokens = toTokenCounts(this.#fields);
    if (tokens === undefined || tokens === IMPLAUSIBLE_TOKENS) return tokens;
    const usage = this.#prompts.length === 0 ? tokens : withPrompts(tokens, this.#prompts);
    return usage === undefined || this.#isReasoningCounted ? usage : withReasoningUncounted(usage);
  }
}

function mergeUsage(before: UsageFields, wire: WireUsage): UsageFields {
  return {
    input: wire.input_tokens ?? before.input,
    output: wire.output_tokens ?? before.output,
    read: wire.cache_read_input_tokens ?? before.read,
    written: wire.cache_creation_input_tokens ?? writtenByTtl(wire) ?? before.written,
    hourLong: wire.cache_creation?.ephemeral_1h_input_tokens ?? before.hourLong,
    thought: wire.output_tokens_details?.thinking_tokens ?? before.thought,
  };
}

/** Sum by lifetime, for servers that report no total. */
function writtenByTtl({ cache_creation: ages }: WireUsage): number | undefined {
  if (!ages) return undefined;
  return (ages.ephemeral_5m_input_tokens ?? 0) + (ages.ephemeral_1h_input_tokens ?? 0);
}

function toTokenCounts({ input, output, read, written, hourLong, thought }: UsageFields): TokenCounts | undefined {
  if (input === undefined && output === undefined) return undefined;
  const tokens: TokenCounts = {
    inputTokens: (input ?? 0) + read + written,
    cachedTokens: read,
    cacheWriteTokens: written,
    ...(hourLong > 0 ? { cacheWrite1hTokens: Math.min(hourLong, written) } : {}),
    outputTokens: output ?? 0,
    reasoningTokens: thought,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };
  return isPlausible(tokens) && isTokenCount(input ?? 0) ? tokens : IMPLAUSIBLE_TOKENS;
}

function isPlausible(tokens: TokenCounts): boolean {
  return areTokenCounts(tokens) && tokens.reasoningTokens <= tokens.outputTokens;
}

/** Adds compaction prompts to the totals. Prompts of the reply are listed only if they are complete. */
function withPrompts(answer: TokenCounts, entries: readonly unknown[]): Usage | undefined {
  const compactions: TokenCounts[] = [];
  const others: TokenCounts[] = [];
  for (const entry of entries) {
    if (!isJsonObject(entry)) continue;
    const isCompaction = entry["type"] === "compaction";
    if (!isCompaction && !PROMPT_ITERATION_TYPES.has(entry["type"])) continue;
    const wire = WireUsage.safeParse(entry);
    const tokens = wire.success ? toTokenCounts(mergeUsage(NO_USAGE, wire.data)) : undefined;
    const isReported = tokens !== undefined && tokens !== IMPLAUSIBLE_TOKENS;
    if (isReported) (isCompaction ? compactions : others).push(tokens);
    else if (isCompaction) return tokens;
  }
  if (compactions.length > PROMPTS_MAX) return undefined;
  const all = [...compactions, ...others];
  // Compatible servers may already include compactions.
  const sum = isSumOf(answer, all) ? answer : sumTokens([answer, ...compactions]);
  const isComplete = others.length > 1 && all.length <= PROMPTS_MAX && isSumOf(sum, all);
  const prompts = isComplete ? all : compactions;
  if (prompts.length === 0) return answer;
  return isPlausible(sum) ? { ...sum, prompts } : IMPLAUSIBLE_TOKENS;
}

/** Reasoning may be reported only in the total. */
function isSumOf(sum: TokenCounts, parts: readonly TokenCounts[]): boolean {
  const other = sumTokens(parts);
  return (
    sum.inputTokens === other.inputTokens &&
    sum.outputTokens === other.outputTokens &&
    sum.cachedTokens === other.cachedTokens &&
    sum.cacheWriteTokens === other.cacheWriteTokens &&
    sum.cacheWrite1hTokens === other.cacheWrite1hTokens &&
    sum.reasoningTokens >= other.reasoningTokens
  );
}
