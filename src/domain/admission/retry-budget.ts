/** Credit that a quiet time can save up: enough for the moment in which a provider goes down. */
const CREDIT_MAX = 100;

/**
 * How many further attempts may run at once: a share of the requests that are active, and a few in any case. Without it
 * a provider that fails makes every request cost its others several times over, exactly when they are needed most.
 * Attempts that fail at once are many although few run together, so beyond those few the share also holds by number:
 * every request earns its part of an attempt.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #minimum: number;
  #active = 0;
  #retries = 0;
  #credit = 0;

  constructor(share = 0.2, least = 3) {
    this.#share = share;
    this.#minimum = least;
  }

  /** A request begins. */
  requestStarted(): void {
    this.#active += 1;
    this.#credit = Math.min(CREDIT_MAX, this.#credit + this.#share);
  }

  requestFinished(): void {
    this.#active -= 1;
  }

  /** Takes a place for one further attempt; every place taken is given back. */
  acquire(): "taken" | "spent" {
    if (this.#retries >= Math.max(this.#minimum, Math.floor(this.#active * this.#share))) return "spent";
    if (this.#retries >= this.#minimum && this.#credit < 1) return "spent";
    // The few that need no credit are paid for by later requests, within reason.
    this.#credit = Math.max(-this.#minimum, this.#credit - 1);
    this.#retries += 1;
    return "taken";
  }

  release(): void {
    this.#retries -= 1;
  }
}
