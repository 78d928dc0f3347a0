/**
 * `conflict`: the row exists already. `rejected`: the data is permanently unacceptable. `unavailable`: a retry may succeed.
 */
export type StoreFailure = "conflict" | "rejected" | "unavailable";

/**
 * `serialization_failure`: a deadlock or write conflict, rolled back and safe to retry at once. `statement_timeout`: the
 * statement was canceled. `lock_timeout`: a lock was not granted in time.
 */
export type StoreErrorReason = "serialization_failure" | "statement_timeout" | "lock_timeout" | undefined;

export class StoreError extends Error {
  readonly failure: StoreFailure;
  readonly reason: StoreErrorReason;

  constructor(failure: StoreFailure, message: string, reason?: StoreErrorReason) {
    super(message);
    this.name = "StoreError";
    this.failure = failure;
    this.reason = reason;
  }
}
