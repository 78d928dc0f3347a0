const NEW_SAMPLE_WEIGHT = 0.1;
/** How long an answer is taken to be until the model has given many. */
const DEFAULT_OUTPUT_TOKENS = 512;

/** What one instance has learned, by model. */
type OutputTokensByModel = readonly (readonly [modelId: string, outputTokens: number])[];

/** How much models write, learned from the traffic: a decayed average for each model. */
export class TrafficStats {
  readonly #local = new Map<string, number>();
  /** What other instances have learned: the assumption for a model that has not answered here. */
  #remote: ReadonlyMap<string, number> = new Map();

  /**
   * It begins with the assumption, so that one short answer does not make a model look cheap. An answer that its caller
   * cut short shows only that the model writes at least so much: callers who ask for one token would else make it look
   * cheap to everybody.
   */
  recordReply(modelId: string, outputTokens: number, outputLimit: number | undefined): void {
    // Models are catalogue rows, so the map is bounded by the catalogue.
    const before = this.#average(modelId);
    if (outputLimit !== undefined && outputTokens >= outputLimit && outputTokens < before) return;
    this.#local.set(modelId, before + NEW_SAMPLE_WEIGHT * (outputTokens - before));
  }

  /** What an answer of the model is expected to have, never more than the request allows. */
  expectedOutputTokens(modelId: string, outputLimit: number | undefined): number {
    const expected = this.#average(modelId);
    return outputLimit === undefined ? expected : Math.min(expected, outputLimit);
  }

  /** What was learned here, for other instances. */
  report(max: number): OutputTokensByModel {
    return [...this.#local].slice(0, max);
  }

  /** What this instance had learned before it was started anew. */
  restore(said: OutputTokensByModel): void {
    for (const [modelId, outputTokens] of said) if (!this.#local.has(modelId)) this.#local.set(modelId, outputTokens);
  }

  /** What every other instance has learned up to now, in place of what they said before. */
  applyReports(said: readonly OutputTokensByModel[]): void {
    const sums = new Map<string, { tokens: number; instances: number }>();
    for (const [modelId, outputTokens] of said.flat()) {
      const { tokens, instances } = sums.get(modelId) ?? { tokens: 0, instances: 0 };
      sums.set(modelId, { tokens: tokens + outputTokens, instances: instances + 1 });
    }
    this.#remote = new Map([...sums].map(([modelId, { tokens, instances }]) => [modelId, tokens / instances]));
  }

  #average(modelId: string): number {
    return this.#local.get(modelId) ?? this.#remote.get(modelId) ?? DEFAULT_OUTPUT_TOKENS;
  }
}
