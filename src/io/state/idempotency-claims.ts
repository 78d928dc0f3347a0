import type { ChargedKeyUse, ClaimVerdict, IdempotencyKeyUse } from "../../domain/admission/idempotency.ts";
import type { Clock } from "../../kit/clock.ts";

/** Uses of `Idempotency-Key`: those that run, which are as many as requests run, and those that were charged. */
export class MemoryIdempotencyClaims {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #running = new Map<string, { readonly body: string; readonly requestId: string }>();
  /** In the order in which they came, which is the order in which they expire. */
  readonly #chargedUses = new Map<string, ChargedKeyUse>();
  /** Until then some charged uses are only in SQL. */
  #incompleteUntilMs = 0;

  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#max = most;
  }

  claim({ key, body }: IdempotencyKeyUse, requestId: string): ClaimVerdict {
    const nowMs = this.#clock.nowMs();
    const running = this.#running.get(key);
    if (running !== undefined && running.requestId !== requestId)
      return running.body === body
        ? { is: "running", requestId: running.requestId }
        : { is: "other_body", requestId: running.requestId };
    const first = this.#chargedUses.get(key);
    if (first !== undefined && first.expiresAtMs > nowMs)
      return first.body === body ? { is: "remembered", first } : { is: "other_body", requestId: first.requestId };
    this.#running.set(key, { body, requestId });
    return { is: "claimed", known: nowMs < this.#incompleteUntilMs ? "newest" : "all" };
  }

  /** The claim ends with a charge: from now on the key answers with it. */
  record(use: ChargedKeyUse): void {
    this.release(use.key, use.requestId);
    // Out first, so that the order stays the order of expiry.
    this.#chargedUses.delete(use.key);
    this.#chargedUses.set(use.key, use);
    this.#evictOldest();
  }

  /** The claim ends without a charge: the key is free. Whoever does not have the claim changes nothing. */
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

  /** The oldest leave memory. They are in SQL, and whoever is not found here is looked for there meanwhile. */
  #evictOldest(): void {
    for (const [key, { expiresAtMs }] of this.#chargedUses) {
      if (this.#chargedUses.size <= this.#max) break;
      this.#chargedUses.delete(key);
      this.#incompleteUntilMs = Math.max(this.#incompleteUntilMs, expiresAtMs);
    }
  }
}
