import type { ClaimVerdict, KeyUse, RememberedUse } from "../../domain/admission/idempotency.ts";
import type { Clock } from "../../kit/clock.ts";

/** Uses of `Idempotency-Key`: those that run, which are as many as requests run, and those that were charged. */
export class Claims {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #running = new Map<string, { readonly body: string; readonly requestId: string }>();
  /** In the order in which they came, which is the order in which they expire. */
  readonly #charged = new Map<string, RememberedUse>();
  /** Until then some charged uses are only in SQL. */
  #incompleteUntilMs = 0;

  constructor(clock: Clock, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  claim({ key, body }: KeyUse, requestId: string): ClaimVerdict {
    const nowMs = this.#clock.nowMs();
    const running = this.#running.get(key);
    if (running !== undefined && running.requestId !== requestId)
      return running.body === body
        ? { is: "running", requestId: running.requestId }
        : { is: "other_body", requestId: running.requestId };
    const first = this.#charged.get(key);
    if (first !== undefined && first.expiresAtMs > nowMs)
      return first.body === body ? { is: "remembered", first } : { is: "other_body", requestId: first.requestId };
    this.#running.set(key, { body, requestId });
    return { is: "claimed", known: nowMs < this.#incompleteUntilMs ? "newest" : "all" };
  }

  /** The claim ends with a charge: from now on the key answers with it. */
  remember(use: RememberedUse): void {
    this.release(use.key, use.requestId);
    // Out first, so that the order stays the order of expiry.
    this.#charged.delete(use.key);
    this.#charged.set(use.key, use);
    this.#keepWithin();
  }

  /** The claim ends without a charge: the key is free. Whoever does not have the claim changes nothing. */
  release(key: string, requestId: string): void {
    if (this.#running.get(key)?.requestId === requestId) this.#running.delete(key);
  }

  dropExpired(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { expiresAtMs }] of this.#charged) {
      if (expiresAtMs > nowMs) break;
      this.#charged.delete(key);
    }
  }

  /** The oldest leave memory. They are in SQL, and whoever is not found here is looked for there meanwhile. */
  #keepWithin(): void {
    for (const [key, { expiresAtMs }] of this.#charged) {
      if (this.#charged.size <= this.#most) break;
      this.#charged.delete(key);
      this.#incompleteUntilMs = Math.max(this.#incompleteUntilMs, expiresAtMs);
    }
  }
}
