import { readdirSync } from "node:fs";
import path from "node:path";

const FOLDER = "workers";
const SLOT = /^[1-9]\d{0,5}$/;

/** Where a worker keeps what is its own: the journal, uploads. */
export function workerFolder(dataDir: string, slot: number): string {
  return path.join(dataDir, FOLDER, String(slot));
}

/** The folders of all workers that there ever were. */
export function workerFolders(dataDir: string): string[] {
  try {
    return readdirSync(path.join(dataDir, FOLDER))
      .filter((name) => SLOT.test(name))
      .sort((a, b) => Number(a) - Number(b))
      .map((name) => path.join(dataDir, FOLDER, name));
  } catch {
    return [];
  }
}
