/** How many requests one endpoint has at once. Who finds it full asks the next one. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  /** Endpoints with requests now; bounded by the catalogue. */
  readonly #slotsInUse = new Map<string, number>();

  /** 0: no limit. */
  constructor(most: number) {
    this.#limit = most === 0 ? Infinity : most;
  }

  acquire(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit, endpointId);
  }

  /** One more for a request that has one: half of all places are left to other requests. */
  acquireExtra(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit / 2, endpointId);
  }

  #acquireWithin(most: number, endpointId: string): "taken" | "full" {
    const taken = this.inUse(endpointId);
    if (taken + 1 > most) return "full";
    this.#slotsInUse.set(endpointId, taken + 1);
    return "taken";
  }

  /** Requests at the endpoint now; one that is asked in parts counts for each that runs. */
  inUse(endpointId: string): number {
    return this.#slotsInUse.get(endpointId) ?? 0;
  }

  release(endpointId: string): void {
    // The row stays at zero: taking it out and putting it back for every request costs more than it holds.
    this.#slotsInUse.set(endpointId, (this.#slotsInUse.get(endpointId) ?? 1) - 1);
  }
}
