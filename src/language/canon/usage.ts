/** Token figures include their parts: input includes cached and written, output includes reasoning. */
export type Tokens = {
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
export type Usage = Tokens & {
  /** Prompts that the provider told each by itself, as those that shortened the conversation. The figures include them. */
  readonly prompts?: readonly Tokens[];
};

/** Nothing was used, or nothing that is counted in tokens. */
export const NO_TOKENS: Tokens = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

export function sumOf(all: readonly Tokens[]): Tokens {
  return all.reduce((sum, one) => joined(sum, one, 1), NO_TOKENS);
}

/** What of the figures is of no prompt that was told by itself. */
export function restOf(usage: Usage): Tokens {
  if (usage.prompts === undefined) return usage;
  const { prompts, ...sum } = usage;
  return prompts.reduce((rest, one) => joined(rest, one, -1), sum);
}

function joined(one: Tokens, other: Tokens, sign: 1 | -1): Tokens {
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
