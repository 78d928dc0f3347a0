import { closeSync, openSync } from "node:fs";

/**
 * Makes an empty file that only its owner can read, for SQLite to fill: SQLite itself makes files that everyone may
 * read, and gives those beside a database the mode of the database. A file that exists is not even opened, because
 * closing it again would let go of every lock that this process holds on it.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
