import { DatabaseError } from "pg";
import { StoreError, type StoreErrorReason, type StoreFailure } from "../store-error.ts";

const UNIQUE_VIOLATION = "23505";
const CHECK_VIOLATION = "23514";
/** A transaction that could not be told from another order of things, and one of a circle that waited for each other. */
const RETRYABLE = ["40001", "40P01"];
/** By the time a statement may take, or by hand. */
const QUERY_CANCELED = "57014";
/** By the time that it may wait for a lock. */
const LOCK_NOT_AVAILABLE = "55P03";
/** Classes of SQLSTATE that are about the data itself: wrong values, broken rules of a table, sizes past every limit. */
const DATA_ERROR_CLASSES = ["22", "23", "54"];

/**
 * What PostgreSQL, or the way to it, says, as the stores say it. Only what is surely about the data is a rejection:
 * a record that is rejected is set aside for good, and one that waits in vain is not lost.
 */
export function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (!(error instanceof DatabaseError)) return new StoreError("unavailable", errorText(error));
  const { code: state = "", constraint } = error;
  // The rule of a partition has no name. A row breaks it when another partition was added while it waited for its place.
  const isMisplaced = state === CHECK_VIOLATION && constraint === undefined;
  const failure = isMisplaced ? "unavailable" : failureOf(state);
  return new StoreError(failure, errorText(error), isMisplaced ? "collided" : reasonOf(state));
}

function reasonOf(state: string): StoreErrorReason {
  if (state === QUERY_CANCELED) return "cut off";
  if (state === LOCK_NOT_AVAILABLE) return "locked out";
  return RETRYABLE.includes(state) ? "collided" : undefined;
}

function failureOf(state: string): StoreFailure {
  if (state === UNIQUE_VIOLATION) return "conflict";
  return DATA_ERROR_CLASSES.includes(state.slice(0, 2)) ? "rejected" : "unavailable";
}

/** Where every address of a host refuses, the error has a code and no words. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== "") return error.message;
  return "code" in error ? String(error.code) : error.name;
}

/** Whether the connection cannot be used any more: it answered nothing, or said that it ends. */
export function isConnectionFatal(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC";
}
