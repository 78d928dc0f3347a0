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
  readonly #least: number;
  #active = 0;
  #retries = 0;
  #credit = 0;

  constructor(share = 0.2, least = 3) {
    this.#share = share;
    this.#least = least;
  }

  /** A request begins. */
  enter(): void {
    this.#active += 1;
    this.#credit = Math.min(CREDIT_MAX, this.#credit + this.#share);
  }

  leave(): void {
    this.#active -= 1;
  }

  /** Takes a place for one further attempt; every place taken is given back. */
  take(): "taken" | "spent" {
    if (this.#retries >= Math.max(this.#least, Math.floor(this.#active * this.#share))) return "spent";
    if (this.#retries >= this.#least && this.#credit < 1) return "spent";
    // The few that need no credit are paid for by later requests, within reason.
    this.#credit = Math.max(-this.#least, this.#credit - 1);
    this.#retries += 1;
    return "taken";
  }

  give(): void {
    this.#retries -= 1;
  }
}
