import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./private-file.ts";

export class DataDirInUseError extends Error {
  constructor(dataDir: string, holder: string) {
    super(
      `the data directory ${dataDir} is in use by another gateway${holder}: stop it first, or set DATA_DIR to another folder`,
    );
    this.name = "DataDirInUseError";
  }
}

export type DataDirLock = { release(): void };

/**
 * Locks the data directory for this process by an exclusive transaction on an empty database file. The kernel releases the
 * lock when the process ends in any way, so there are no stale locks, and process ids, which repeat and differ between
 * containers, are not relied on.
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const pidFile = path.join(dataDir, "gateway.pid");
  const lockFile = path.join(dataDir, "gateway.lock");
  // A user who can read the file could lock it and block the gateway.
  createPrivateFile(lockFile);
  const db = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    db.exec("begin exclusive");
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    throw new DataDirInUseError(dataDir, readHolder(pidFile));
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    release: () => {
      if (db.isOpen) db.close();
    },
  };
}

const PRIMARY_CODE = 0xff;
const BUSY = 5;

/** A full or failing disk does not mean that another gateway holds the lock. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & PRIMARY_CODE) === BUSY;
}

/** For the error message only. */
function readHolder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, "utf8").trim()})`;
  } catch {
    return "";
  }
}
