/** Totals include their parts: input includes cached and cache-written tokens, output includes reasoning. */
export type TokenCounts = {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Part of cacheWriteTokens with a one-hour lifetime. */
  readonly cacheWrite1hTokens?: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** The provider does not count reasoning: `reasoningTokens` is 0 and not shown. */
  readonly isReasoningUncounted?: true;
  readonly audioInputTokens: number;
  readonly audioOutputTokens: number;
  /** Parts with a price of their own; absent: none. */
  readonly imageInputTokens?: number;
  readonly imageOutputTokens?: number;
};

export const REASONING_UNCOUNTED = { isReasoningUncounted: true } as const;

/** The same counts; reasoning is part of the output and was not counted. */
export function withReasoningUncounted(counts: TokenCounts): TokenCounts {
  return counts === IMPLAUSIBLE_TOKENS ? counts : { ...counts, ...REASONING_UNCOUNTED };
}

/** Usage of one reply. */
export type Usage = TokenCounts & {
  /** Prompts that the provider reported separately, such as compactions; included in the totals. */
  readonly prompts?: readonly TokenCounts[];
};

export const NO_TOKENS: TokenCounts = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

/** Marks reported usage that cannot be true: larger than any request, so billing always rejects it. */
export const IMPLAUSIBLE_TOKENS: TokenCounts = { ...NO_TOKENS, inputTokens: Number.MAX_SAFE_INTEGER };

/** Cumulative reports: the latest wins, but an implausible one does not replace a valid one. */
export function latestUsage<T extends TokenCounts>(before: T | undefined, reported: T | undefined): T | undefined {
  return reported === undefined || (reported === IMPLAUSIBLE_TOKENS && before !== undefined) ? before : reported;
}

export function combineTokens(addend: TokenCounts, other: TokenCounts, sign: 1 | -1): TokenCounts {
  const imageInput = (addend.imageInputTokens ?? 0) + sign * (other.imageInputTokens ?? 0);
  const imageOutput = (addend.imageOutputTokens ?? 0) + sign * (other.imageOutputTokens ?? 0);
  const hourLong = (addend.cacheWrite1hTokens ?? 0) + sign * (other.cacheWrite1hTokens ?? 0);
  return {
    inputTokens: addend.inputTokens + sign * other.inputTokens,
    cachedTokens: addend.cachedTokens + sign * other.cachedTokens,
    cacheWriteTokens: addend.cacheWriteTokens + sign * other.cacheWriteTokens,
    ...(hourLong === 0 ? {} : { cacheWrite1hTokens: hourLong }),
    outputTokens: addend.outputTokens + sign * other.outputTokens,
    reasoningTokens: addend.reasoningTokens + sign * other.reasoningTokens,
    ...(addend.isReasoningUncounted === true && other.isReasoningUncounted === true
      ? { isReasoningUncounted: true }
      : {}),
    audioInputTokens: addend.audioInputTokens + sign * other.audioInputTokens,
    audioOutputTokens: addend.audioOutputTokens + sign * other.audioOutputTokens,
    ...(imageInput === 0 ? {} : { imageInputTokens: imageInput }),
    ...(imageOutput === 0 ? {} : { imageOutputTokens: imageOutput }),
  };
}

export function sumTokens(all: readonly TokenCounts[]): TokenCounts {
  return all.reduce((sum, addend) => combineTokens(sum, addend, 1), NO_TOKENS);
}
