import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import path from "node:path";

/** Makes the folder with its parents, for this user alone; answers why it cannot be used, or undefined. */
export function ensureDataDir(dataDir: string): string | undefined {
  try {
    make(dataDir);
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "it cannot be opened";
  }
}

/** One level at a time: the recursive mode of mkdir never returns where the system says ENOENT to a folder's own name. */
function make(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  if (found === undefined && path.dirname(folder) !== folder) make(path.dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another start may have made it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
