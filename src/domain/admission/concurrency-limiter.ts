/** Bounds concurrent requests per endpoint; a full endpoint is skipped, not waited for. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  /** By endpoint; bounded by the catalogue. */
  readonly #slotsInUse = new Map<string, number>();

  /** 0: no limit. */
  constructor(limit: number) {
    this.#limit = limit === 0 ? Infinity : limit;
  }

  acquire(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit, endpointId);
  }

  /** A further slot for a request that already has one: half of all slots stay for other requests. */
  acquireExtra(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit / 2, endpointId);
  }

  #acquireWithin(limit: number, endpointId: string): "taken" | "full" {
    const inUse = this.inUse(endpointId);
    if (inUse + 1 > limit) return "full";
    this.#slotsInUse.set(endpointId, inUse + 1);
    return "taken";
  }

  /** A request that is sent in parts counts once per part. */
  inUse(endpointId: string): number {
    return this.#slotsInUse.get(endpointId) ?? 0;
  }

  release(endpointId: string): void {
    // The entry stays at zero: deleting and adding it for every request costs more than it saves.
    this.#slotsInUse.set(endpointId, (this.#slotsInUse.get(endpointId) ?? 1) - 1);
  }
}
