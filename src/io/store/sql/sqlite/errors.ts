import { StoreError, type StoreFailure } from "../store-error.ts";

const CONSTRAINT_PRIMARY_KEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** The extended result code; 0 when the error is not from SQLite. */
function sqliteErrorCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
}

export function isUniqueViolation(error: unknown): boolean {
  const code = sqliteErrorCode(error);
  return code === CONSTRAINT_PRIMARY_KEY || code === CONSTRAINT_UNIQUE;
}

const PRIMARY_CODE = 0xff;
const CONSTRAINT_CODE = 19;
const MISMATCH_CODE = 20;

export function storeFailureOf(error: unknown): StoreFailure {
  if (error instanceof StoreError) return error.failure;
  // Errors of JavaScript itself (a number out of range, invalid JSON) are permanent.
  if (error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError) return "rejected";
  if (isUniqueViolation(error)) return "conflict";
  const code = sqliteErrorCode(error);
  return (code & PRIMARY_CODE) === CONSTRAINT_CODE || (code & PRIMARY_CODE) === MISMATCH_CODE
    ? "rejected"
    : "unavailable";
}
