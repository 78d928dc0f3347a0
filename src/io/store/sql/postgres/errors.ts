import { DatabaseError } from "pg";
import { StoreError, type StoreErrorReason, type StoreFailure } from "../store-error.ts";

const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";
/** serialization_failure and deadlock_detected. */
const RETRYABLE = ["40001", "40P01"];
/** query_canceled: by the statement timeout or by an administrator. */
const QUERY_CANCELED = "57014";
/** lock_not_available: by the lock timeout. */
const LOCK_NOT_AVAILABLE = "55P03";
/** SQLSTATE classes about the data itself: data exceptions, constraint violations, exceeded limits. */
const DATA_ERROR_CLASSES = ["22", "23", "54"];

/**
 * Maps errors of the driver and the server. Only errors that are certainly about the data are `rejected`, because a rejected
 * record goes to the dead letters, while an unavailable store is retried without loss.
 */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (!(error instanceof DatabaseError)) return new StoreError("unavailable", errorText(error));
  const { code: sqlState = "", constraint } = error;
  // A partition constraint has no name. A row violates it when a partition was added while the row waited for a lock.
  const isPartitionViolation = sqlState === CHECK_VIOLATION && constraint === undefined;
  const failure = isPartitionViolation ? "unavailable" : failureOf(sqlState);
  return new StoreError(failure, errorText(error), isPartitionViolation ? "serialization_failure" : reasonOf(sqlState));
}

function reasonOf(sqlState: string): StoreErrorReason {
  if (sqlState === QUERY_CANCELED) return "statement_timeout";
  if (sqlState === LOCK_NOT_AVAILABLE) return "lock_timeout";
  return RETRYABLE.includes(sqlState) ? "serialization_failure" : undefined;
}

function failureOf(sqlState: string): StoreFailure {
  if (sqlState === UNIQUE_VIOLATION) return "conflict";
  return DATA_ERROR_CLASSES.includes(sqlState.slice(0, 2)) ? "rejected" : "unavailable";
}

/** When every address of a host refuses, the error has a code and no message. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  return "code" in error ? String(error.code) : error.name;
}

/** A network failure, or a fatal error of the server. */
export function isConnectionFatal(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC";
}
