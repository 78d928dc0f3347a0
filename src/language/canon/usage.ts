/** What one answer used. Token figures include their parts: input includes cached and written, output includes reasoning. */
export type Usage = {
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

/** Nothing was used, or nothing that is counted in tokens. */
export const NO_TOKENS: Usage = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};
