/** How many requests one endpoint has at once. Who finds it full asks the next one. */
export class EndpointPlaces {
  readonly #most: number;
  /** Endpoints with requests now; bounded by the catalogue. */
  readonly #taken = new Map<string, number>();

  /** 0: no limit. */
  constructor(most: number) {
    this.#most = most;
  }

  take(endpointId: string): "taken" | "full" {
    const taken = this.#taken.get(endpointId) ?? 0;
    if (this.#most > 0 && taken >= this.#most) return "full";
    this.#taken.set(endpointId, taken + 1);
    return "taken";
  }

  /** Requests at the endpoint now. */
  at(endpointId: string): number {
    return this.#taken.get(endpointId) ?? 0;
  }

  give(endpointId: string): void {
    // The row stays at zero: taking it out and putting it back for every request costs more than it holds.
    this.#taken.set(endpointId, (this.#taken.get(endpointId) ?? 1) - 1);
  }
}
