/** Token figures include their parts: input includes cached and written, output includes reasoning. */
export type TokenCounts = {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of cacheWriteTokens that is kept for an hour; absent where none was told. */
  readonly cacheWrite1hTokens?: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
};

/** What one answer used. */
export type Usage = TokenCounts & {
  /** Prompts that the provider told each by itself, as those that shortened the conversation. The figures include them. */
  readonly prompts?: readonly TokenCounts[];
};

/** Nothing was used, or nothing that is counted in tokens. */
export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

/** What stands for figures that cannot be true: more than any request takes, so nobody is ever billed by it. */
export const IMPLAUSIBLE_TOKENS: TokenCounts = { ...NO_TOKENS, inputTokens: Number.MAX_SAFE_INTEGER };

/** Where all figures are told again and again: the last ones count, but those that cannot be do not undo good ones. */
export function latestUsage<T extends TokenCounts>(before: T | undefined, told: T | undefined): T | undefined {
  return told === undefined || (told === IMPLAUSIBLE_TOKENS && before !== undefined) ? before : told;
}

const TOKENS_MAX = 1_000_000_000;

/** Whether a number can be one of tokens. */
export function isTokenCount(figure: number): boolean {
  return Number.isInteger(figure) && figure >= 0 && figure <= TOKENS_MAX;
}

export function sumTokens(all: readonly TokenCounts[]): TokenCounts {
  return all.reduce((sum, one) => combineTokens(sum, one, 1), NO_TOKENS);
}

/** What of the figures is of no prompt that was told by itself. */
export function tokensOutsidePrompts(usage: Usage): TokenCounts {
  if (usage.prompts === undefined) return usage;
  const { prompts, ...sum } = usage;
  return prompts.reduce((rest, one) => combineTokens(rest, one, -1), sum);
}

function combineTokens(one: TokenCounts, other: TokenCounts, sign: 1 | -1): TokenCounts {
  const hourLong = (one.cacheWrite1hTokens ?? 0) + sign * (other.cacheWrite1hTokens ?? 0);
  return {
    inputTokens: one.inputTokens + sign * other.inputTokens,
    cachedTokens: one.cachedTokens + sign * other.cachedTokens,
    cacheWriteTokens: one.cacheWriteTokens + sign * other.cacheWriteTokens,
    ...(hourLong === 0 ? {} : { cacheWrite1hTokens: hourLong }),
    outputTokens: one.outputTokens + sign * other.outputTokens,
    reasoningTokens: one.reasoningTokens + sign * other.reasoningTokens,
    audioInputTokens: one.audioInputTokens + sign * other.audioInputTokens,
    audioOutputTokens: one.audioOutputTokens + sign * other.audioOutputTokens,
  };
}
