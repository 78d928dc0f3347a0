import { tokensOfWeight } from "./estimate.ts";
import { type TokenCounts, tokensOutsidePrompts, type Usage } from "./usage.ts";

/** The end of what can be true of a request: figures beyond it are a provider's mistake, and nobody is billed by them. */
export type UsageCeiling = {
  readonly inputTokens: number;
  /** Of the output, what is not told as thought. */
  readonly visibleOutputTokens: number;
  readonly outputTokens: number;
};

/** Nothing of the request says where its figures end. */
export const NO_CEILING: UsageCeiling = {
  inputTokens: Infinity,
  visibleOutputTokens: Infinity,
  outputTokens: Infinity,
};

/**
 * There are many ways to count, and facts of a catalogue get old: only what is many times more cannot be. Nobody makes more
 * tokens of a character than this either.
 */
export const PLAUSIBLE_FACTOR = 4;

/** What a provider may put around that which it is told: templates and instructions of its own. */
export const PROVIDER_OVERHEAD_TOKENS = 16_384;
/** What a model may think without telling it apart, and beyond a limit: not everyone counts thoughts as output there. */
export const REASONING_ALLOWANCE_TOKENS = 65_536;
/** What a model may look up by itself and read, without being asked to. */
export const SEARCH_ALLOWANCE_TOKENS = 524_288;
/** More than any provider counts for one picture. */
export const IMAGE_TOKENS_MAX = 65_536;

/** More than any model holds at once. */
const DEFAULT_CONTEXT_TOKENS = 2_000_000;

/** The end of what one prompt and its answer can be, for a model that holds so much at once; null: nobody says how much. */
export function plausibleTokensMax(contextTokens: number | null): number {
  return PLAUSIBLE_FACTOR * (contextTokens ?? DEFAULT_CONTEXT_TOKENS);
}

/** What a provider told of an answer, and what is known of it. */
export type ReportedUsage = {
  readonly usage: Usage;
  /** Everything the model wrote, as an estimate weighs it: asked for only where that decides. */
  readonly outputWeight: () => number;
  /** How often a prompt may have been read for them: once for each input of many; absent: once. */
  readonly promptReads?: number | undefined;
};

export function isImplausibleUsage(
  { usage, outputWeight, promptReads = 1 }: ReportedUsage,
  context: number | null,
  end: UsageCeiling,
): boolean {
  const most = plausibleTokensMax(context);
  const isBeyond = (one: TokenCounts, prompts: number) => one.inputTokens + one.outputTokens > most * prompts;
  if (isBeyond(tokensOutsidePrompts(usage), promptReads) || (usage.prompts ?? []).some((one) => isBeyond(one, 1)))
    return true;
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  if (inputTokens > end.inputTokens) return true;
  const writtenTokens = outputTokens - reasoningTokens;
  if (outputTokens <= end.outputTokens && writtenTokens <= end.visibleOutputTokens) return false;
  // What can be seen is true, whatever was asked for.
  const seen = PLAUSIBLE_FACTOR * tokensOfWeight(outputWeight());
  return outputTokens > Math.max(seen, end.outputTokens) || writtenTokens > Math.max(seen, end.visibleOutputTokens);
}
