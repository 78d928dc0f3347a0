import { closeSync, openSync } from "node:fs";

/**
 * Creates an empty file with mode 0600 for SQLite, which would create it world-readable and copies the mode to its journal
 * files. An existing file is not opened, because closing it would release every POSIX lock of this process on it.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
