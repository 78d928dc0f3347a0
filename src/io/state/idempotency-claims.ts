import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type { Clock } from "../../kit/clock.ts";

/** Uses of `Idempotency-Key`: running claims, bounded by the requests in flight, and charged uses. */
export class MemoryIdempotencyClaims {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #running = new Map<string, { readonly body: string; readonly requestId: string }>();
  /** In the order of expiry. */
  readonly #chargedUses = new Map<string, ChargedKeyUse>();
  /** Until then some charged uses are only in SQL. */
  #incompleteUntilMs = 0;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  claim({ key, body }: IdempotencyKeyUse, requestId: string): ClaimVerdict {
    const nowMs = this.#clock.nowMs();
    const running = this.#running.get(key);
    if (running !== undefined && running.requestId !== requestId)
      return running.body === body
        ? { is: "running", requestId: running.requestId }
        : { is: "other_body", requestId: running.requestId };
    const charged = this.#chargedUses.get(key);
    if (charged !== undefined && charged.expiresAtMs > nowMs)
      return charged.body === body ? { is: "remembered", charged } : { is: "other_body", requestId: charged.requestId };
    this.#running.set(key, { body, requestId });
    return { is: "claimed", coverage: nowMs < this.#incompleteUntilMs ? "newest" : "all" };
  }

  /** Ends the claim with a charge. */
  record(use: ChargedKeyUse): void {
    this.release(use.key, use.requestId);
    // Deleted first, to keep the order of expiry.
    this.#chargedUses.delete(use.key);
    this.#chargedUses.set(use.key, use);
    this.#evictOldest();
  }

  /** Ends the claim without a charge. No effect for a request that does not have it. */
  release(key: string, requestId: string): void {
    if (this.#running.get(key)?.requestId === requestId) this.#running.delete(key);
  }

  dropExpired(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { expiresAtMs }] of this.#chargedUses) {
      if (expiresAtMs > nowMs) break;
      this.#chargedUses.delete(key);
    }
  }

  /** Evicted uses are still in SQL; until they expire, `claim` reports `newest`. */
  #evictOldest(): void {
    for (const [key, { expiresAtMs }] of this.#chargedUses) {
      if (this.#chargedUses.size <= this.#max) break;
      this.#chargedUses.delete(key);
      this.#incompleteUntilMs = Math.max(this.#incompleteUntilMs, expiresAtMs);
    }
  }
}
