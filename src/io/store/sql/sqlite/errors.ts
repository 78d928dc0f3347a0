const CONSTRAINT_PRIMARY_KEY = 1555;
const CONSTRAINT_UNIQUE = 2067;

/** The extended result code; 0 when the error is not from SQLite. */
export function sqliteErrorCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
}

export function isUniqueViolation(error: unknown): boolean {
  const code = sqliteErrorCode(error);
  return code === CONSTRAINT_PRIMARY_KEY || code === CONSTRAINT_UNIQUE;
}
