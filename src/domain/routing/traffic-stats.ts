const NEW_SAMPLE_WEIGHT = 0.1;
/** The starting value of a model's average. */
const DEFAULT_OUTPUT_TOKENS = 512;

type OutputTokensByModel = readonly (readonly [modelId: string, outputTokens: number])[];

/** Average output tokens per model, as an exponentially weighted moving average of the traffic. */
export class TrafficStats {
  readonly #local = new Map<string, number>();
  /** The mean of other instances, used for models without local traffic. */
  #remote: ReadonlyMap<string, number> = new Map();

  /**
   * The average starts at a default, so that one short reply does not make a model look cheap. A reply that hit the
   * caller's output limit is only a lower bound and never reduces the average.
   */
  recordReply(modelId: string, outputTokens: number, outputLimit: number | undefined): void {
    // Bounded by the models of the catalogue.
    const before = this.#average(modelId);
    if (outputLimit !== undefined && outputTokens >= outputLimit && outputTokens < before) return;
    this.#local.set(modelId, before + NEW_SAMPLE_WEIGHT * (outputTokens - before));
  }

  /** Never more than the request's output limit. */
  expectedOutputTokens(modelId: string, outputLimit: number | undefined): number {
    const expected = this.#average(modelId);
    return outputLimit === undefined ? expected : Math.min(expected, outputLimit);
  }

  /** The local averages, for other instances. */
  report(max: number): OutputTokensByModel {
    return [...this.#local].slice(0, max);
  }

  /** Loads what this instance reported before its restart. */
  restore(report: OutputTokensByModel): void {
    for (const [modelId, outputTokens] of report) if (!this.#local.has(modelId)) this.#local.set(modelId, outputTokens);
  }

  /** Replaces all earlier reports of the other instances. */
  applyReports(reports: readonly OutputTokensByModel[]): void {
    const sums = new Map<string, { tokens: number; instances: number }>();
    for (const [modelId, outputTokens] of reports.flat()) {
      const { tokens, instances } = sums.get(modelId) ?? { tokens: 0, instances: 0 };
      sums.set(modelId, { tokens: tokens + outputTokens, instances: instances + 1 });
    }
    this.#remote = new Map([...sums].map(([modelId, { tokens, instances }]) => [modelId, tokens / instances]));
  }

  #average(modelId: string): number {
    return this.#local.get(modelId) ?? this.#remote.get(modelId) ?? DEFAULT_OUTPUT_TOKENS;
  }
}
