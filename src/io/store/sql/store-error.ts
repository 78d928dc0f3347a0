/**
 * Why a store did not do what was asked. `conflict`: the row exists already; `rejected`: the data itself is not
 * acceptable, now or later; `unavailable`: it may work the next time.
 */
export type StoreFailure = "conflict" | "rejected" | "unavailable";

export class StoreError extends Error {
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string) {
    super(message);
    this.name = "StoreError";
    this.failure = failure;
  }
}
