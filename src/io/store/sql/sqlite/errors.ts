const CONSTRAINT_PRIMARY_KEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** What SQLite says went wrong, in its extended numbers; 0: it was not SQLite. */
export function sqliteErrorCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
}

/** A row with the same key. */
export function isUniqueViolation(error: unknown): boolean {
  const code = sqliteErrorCode(error);
  return code === CONSTRAINT_PRIMARY_KEY || code === CONSTRAINT_UNIQUE;
}
