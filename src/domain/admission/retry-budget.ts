/** Bounds the credit of a quiet period; enough for the moment in which a provider goes down. */
const CREDIT_MAX = 100;

/**
 * Bounds concurrent retries to a share of the active requests, with a minimum. It prevents a retry storm: a failing
 * provider must not multiply the load on the others. Retries that fail fast are many although few run concurrently, so
 * above the minimum each one also costs credit, of which every request earns its share.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #minimum: number;
  #active = 0;
  #retries = 0;
  #credit = 0;

  constructor(share = 0.2, minimum = 3) {
    this.#share = share;
    this.#minimum = minimum;
  }

  requestStarted(): void {
    this.#active += 1;
    this.#credit = Math.min(CREDIT_MAX, this.#credit + this.#share);
  }

  requestFinished(): void {
    this.#active -= 1;
  }

  /** `release` follows after the attempt. */
  acquire(): "taken" | "spent" {
    if (this.#retries >= Math.max(this.#minimum, Math.floor(this.#active * this.#share))) return "spent";
    if (this.#retries >= this.#minimum && this.#credit < 1) return "spent";
    // Retries within the minimum go into debt, which later requests repay.
    this.#credit = Math.max(-this.#minimum, this.#credit - 1);
    this.#retries += 1;
    return "taken";
  }

  release(): void {
    this.#retries -= 1;
  }
}
