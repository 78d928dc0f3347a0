import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/** Creates the folder with its parents, for this user only. Returns why it cannot be used; undefined: it can. */
export function ensureDataDir(dataDir: string): string | undefined {
  try {
    createFolder(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "it cannot be opened";
  }
}

/** Without the recursive mode of mkdir, which never returns on systems that report ENOENT for the folder itself. */
function createFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined && path.dirname(folder) !== folder) createFolder(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // A concurrent start may have created it.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
