/** How many requests one endpoint has at once. Who finds it full asks the next one. */
export class EndpointPlaces {
  readonly #most: number;
  /** Endpoints with requests now; bounded by the catalogue. */
  readonly #taken = new Map<string, number>();

  /** 0: no limit. */
  constructor(most: number) {
    this.#most = most === 0 ? Infinity : most;
  }

  take(endpointId: string): "taken" | "full" {
    return this.#takeWithin(this.#most, endpointId);
  }

  /** One more for a request that has one: half of all places are left to other requests. */
  takeFurther(endpointId: string): "taken" | "full" {
    return this.#takeWithin(this.#most / 2, endpointId);
  }

  #takeWithin(most: number, endpointId: string): "taken" | "full" {
    const taken = this.at(endpointId);
    if (taken + 1 > most) return "full";
    this.#taken.set(endpointId, taken + 1);
    return "taken";
  }

  /** Requests at the endpoint now; one that is asked in parts counts for each that runs. */
  at(endpointId: string): number {
    return this.#taken.get(endpointId) ?? 0;
  }

  give(endpointId: string): void {
    // The row stays at zero: taking it out and putting it back for every request costs more than it holds.
    this.#taken.set(endpointId, (this.#taken.get(endpointId) ?? 1) - 1);
  }
}
