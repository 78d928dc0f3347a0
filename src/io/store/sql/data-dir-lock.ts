import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./private-file.ts";

/** Another process has this data directory open. */
export class DataDirInUseError extends Error {
  constructor(dataDir: string, holder: string) {
    super(
      `the data directory ${dataDir} is in use by another gateway${holder}: stop it first, or set DATA_DIR to another folder`,
    );
    this.name = "DataDirInUse";
  }
}

export type DataDirLock = { release(): void };

/**
 * Takes the data directory for this process. The lock is an open exclusive transaction on an empty database file: the
 * kernel lets go of it when the process ends, however it ends, so that a killed gateway leaves nothing stale behind
 * and no process id has to be believed (ids repeat, and mean nothing across containers).
 */
export function lockDataDir(dataDir: string): DataDirLock {
  const pidFile = path.join(dataDir, "gateway.pid");
  const lockFile = path.join(dataDir, "gateway.lock");
  // Whoever can read the file can hold a lock on it that keeps the gateway out.
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

/** A disk that is full or failing is no other gateway. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & PRIMARY_CODE) === BUSY;
}

/** Only for the message. */
function readHolder(pidFile: string): string {
  try {
    return ` (process ${readFileSync(pidFile, "utf8").trim()})`;
  } catch {
    return "";
  }
}
