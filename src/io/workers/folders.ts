import { readdirSync } from "node:fs";
import path from "node:path";
import type { Welcome } from "./protocol.ts";

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

export type Place = {
  readonly dataDir: string;
  /** Whether the data directory is to be taken, or another process of this gateway has it. */
  readonly directory: "take" | "taken";
  /** Nobody serves yet. */
  readonly isFirst: boolean;
  /** Folders of processes that do not come back. */
  readonly left: readonly string[];
};

/** Where a process is at home: alone in the data directory, or in a folder of its own beside others of its machine. */
export function placeOf(dataDir: string, joined: Welcome | undefined): Place {
  if (joined === undefined) return { dataDir, directory: "take", isFirst: true, left: workerFolders(dataDir) };
  const { folder, origin, left } = joined;
  return { dataDir: folder, directory: "taken", isFirst: origin === null, left };
}
