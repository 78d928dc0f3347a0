import { type Fault, fault } from "../../../contract/faults.ts";

/**
 * Why a store did not do what was asked. `conflict`: the row exists already; `rejected`: the data itself is not
 * acceptable, now or later; `unavailable`: it may work the next time.
 */
export type StoreFailure = "conflict" | "rejected" | "unavailable";

/**
 * How it ended, where that matters. `collided`: two transactions stood in each other's way, nothing of this one is left,
 * and it can be done again at once; `cut off`: it took longer than it may; `locked out`: others had for too long what it
 * needs.
 */
export type StoreErrorReason = "collided" | "cut off" | "locked out" | undefined;

export class StoreError extends Error {
  readonly failure: StoreFailure;
  readonly end: StoreErrorReason;

  constructor(failure: StoreFailure, message: string, end?: StoreErrorReason) {
    super(message);
    this.name = "StoreError";
    this.failure = failure;
    this.end = end;
  }
}

const RETRY_AFTER_SECONDS = 5;

/** What a caller is told when the store is away for now; undefined for every other error. */
export function unavailableFault(error: unknown): Fault | undefined {
  if (!(error instanceof StoreError) || error.failure !== "unavailable") return undefined;
  return fault("service_unavailable", {
    message: `The store of the gateway does not answer right now. Try again in ${RETRY_AFTER_SECONDS} s.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    detail: { cause: error.message },
  });
}
