import { tokensOfWeight } from "./estimate.ts";
import { restOf, type Tokens, type Usage } from "./usage.ts";

/** The end of what can be true of a request: figures beyond it are a provider's mistake, and nobody is billed by them. */
export type UsageEnd = {
  readonly inputTokens: number;
  /** Of the output, what is not told as thought. */
  readonly writtenTokens: number;
  readonly outputTokens: number;
};

/** Nothing of the request says where its figures end. */
export const NO_END: UsageEnd = { inputTokens: Infinity, writtenTokens: Infinity, outputTokens: Infinity };

/**
 * There are many ways to count, and facts of a catalogue get old: only what is many times more cannot be. Nobody makes more
 * tokens of a character than this either.
 */
export const BEYOND_REASON_TIMES = 4;

/** What a provider may put around that which it is told: templates and instructions of its own. */
export const AROUND_TOKENS = 16_384;
/** What a model may think without telling it apart, and beyond a limit: not everyone counts thoughts as output there. */
export const THOUGHT_TOKENS = 65_536;
/** What a model may look up by itself and read, without being asked to. */
export const SOUGHT_TOKENS = 524_288;
/** More than any provider counts for one picture. */
export const PICTURE_TOKENS = 65_536;

/** More than any model holds at once. */
const UNKNOWN_CONTEXT_TOKENS = 2_000_000;

/** The end of what one prompt and its answer can be, for a model that holds so much at once; null: nobody says how much. */
export function contextEnd(contextTokens: number | null): number {
  return BEYOND_REASON_TIMES * (contextTokens ?? UNKNOWN_CONTEXT_TOKENS);
}

/** What a provider told of an answer, and what is known of it. */
export type Told = {
  readonly usage: Usage;
  /** Everything the model wrote, as an estimate weighs it: asked for only where that decides. */
  readonly outputWeight: () => number;
  /** How often a prompt may have been read for them: once for each input of many; absent: once. */
  readonly readings?: number | undefined;
};

export function isBeyondReason(
  { usage, outputWeight, readings = 1 }: Told,
  context: number | null,
  end: UsageEnd,
): boolean {
  const most = contextEnd(context);
  const isBeyond = (one: Tokens, prompts: number) => one.inputTokens + one.outputTokens > most * prompts;
  if (isBeyond(restOf(usage), readings) || (usage.prompts ?? []).some((one) => isBeyond(one, 1))) return true;
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  if (inputTokens > end.inputTokens) return true;
  const writtenTokens = outputTokens - reasoningTokens;
  if (outputTokens <= end.outputTokens && writtenTokens <= end.writtenTokens) return false;
  // What can be seen is true, whatever was asked for.
  const seen = BEYOND_REASON_TIMES * tokensOfWeight(outputWeight());
  return outputTokens > Math.max(seen, end.outputTokens) || writtenTokens > Math.max(seen, end.writtenTokens);
}
