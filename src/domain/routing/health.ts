/** How endpoints behave, measured from the traffic itself: exponentially decayed times to the first byte and in all. */
export type Measured = { readonly firstByteMs: number; readonly totalMs: number };

const WEIGHT_OF_NEW = 0.2;

export class Health {
  readonly #measured = new Map<string, Measured>();

  /** Endpoints are catalogue rows, so the map is bounded by the catalogue. */
  served(endpoint: string, sample: Measured): void {
    const before = this.#measured.get(endpoint);
    this.#measured.set(
      endpoint,
      before === undefined
        ? sample
        : {
            firstByteMs: before.firstByteMs + WEIGHT_OF_NEW * (sample.firstByteMs - before.firstByteMs),
            totalMs: before.totalMs + WEIGHT_OF_NEW * (sample.totalMs - before.totalMs),
          },
    );
  }

  of(endpoint: string): Measured | undefined {
    return this.#measured.get(endpoint);
  }
}
