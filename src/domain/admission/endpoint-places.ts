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
    if (this.#most === 0) return "taken";
    const taken = this.#taken.get(endpointId) ?? 0;
    if (taken >= this.#most) return "full";
    this.#taken.set(endpointId, taken + 1);
    return "taken";
  }

  give(endpointId: string): void {
    if (this.#most === 0) return;
    // The row stays at zero: taking it out and putting it back for every request costs more than it holds.
    this.#taken.set(endpointId, (this.#taken.get(endpointId) ?? 1) - 1);
  }
}
