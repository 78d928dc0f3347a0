/**
 * How many further attempts may run at once: a share of the requests that are active, and a few in any case. Without it
 * a provider that fails makes every request cost its others several times over, exactly when they are needed most.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #least: number;
  #active = 0;
  #retries = 0;

  constructor(share = 0.2, least = 3) {
    this.#share = share;
    this.#least = least;
  }

  /** A request begins. */
  enter(): void {
    this.#active += 1;
  }

  leave(): void {
    this.#active -= 1;
  }

  /** Takes a place for one further attempt; every place taken is given back. */
  take(): "taken" | "spent" {
    if (this.#retries >= Math.max(this.#least, Math.floor(this.#active * this.#share))) return "spent";
    this.#retries += 1;
    return "taken";
  }

  give(): void {
    this.#retries -= 1;
  }
}
