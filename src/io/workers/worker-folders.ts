import { readdirSync } from "node:fs";
import path from "node:path";
import type { WorkerAssignment } from "./rpc-protocol.ts";

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

/** Where a process keeps what is its own, and which instance it is there. */
export type ProcessHome = {
  readonly dataDir: string;
  readonly instanceId: string;
};

export type ProcessPlacement = ProcessHome & {
  /** Whether the data directory is to be taken, or another process of this gateway has it. */
  readonly directory: "take" | "taken";
  /** Nobody serves yet. */
  readonly isFirst: boolean;
  /** Homes of processes that have ended and do not come back. */
  readonly orphans: readonly ProcessHome[];
};

/** Where a process is at home: alone in the data directory, or in a folder of its own beside others of its machine. */
export function placementOf(gateway: ProcessHome, joined: WorkerAssignment | undefined): ProcessPlacement {
  const { dataDir, instanceId } = gateway;
  const homeIn = (folder: string): ProcessHome =>
    folder === dataDir ? gateway : { dataDir: folder, instanceId: `${instanceId}-${path.basename(folder)}` };
  if (joined === undefined)
    return { ...gateway, directory: "take", isFirst: true, orphans: workerFolders(dataDir).map(homeIn) };
  const { folder, origin, orphanedFolders } = joined;
  return { ...homeIn(folder), directory: "taken", isFirst: origin === null, orphans: orphanedFolders.map(homeIn) };
}
