const WEIGHT_OF_NEW = 0.1;
/** How long an answer is taken to be until the model has given many. */
const OUTPUT_TOKENS_ASSUMED = 512;

/** How much models write, learned from the traffic: a decayed average for each model. */
export class Learned {
  readonly #output = new Map<string, number>();

  /**
   * It begins with the assumption, so that one short answer does not make a model look cheap. An answer that its caller
   * cut short shows only that the model writes at least so much: callers who ask for one token would else make it look
   * cheap to everybody.
   */
  answered(modelId: string, outputTokens: number, outputLimit: number | undefined): void {
    // Models are catalogue rows, so the map is bounded by the catalogue.
    const before = this.#output.get(modelId) ?? OUTPUT_TOKENS_ASSUMED;
    if (outputLimit !== undefined && outputTokens >= outputLimit && outputTokens < before) return;
    this.#output.set(modelId, before + WEIGHT_OF_NEW * (outputTokens - before));
  }

  /** What an answer of the model is expected to have, never more than the request allows. */
  outputTokens(modelId: string, outputLimit: number | undefined): number {
    const expected = this.#output.get(modelId) ?? OUTPUT_TOKENS_ASSUMED;
    return outputLimit === undefined ? expected : Math.min(expected, outputLimit);
  }
}
