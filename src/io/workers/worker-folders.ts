import { readdirSync } from "node:fs";
import path from "node:path";
import type { WorkerAssignment } from "./rpc-protocol.ts";
import type { WorkerProcess } from "./worker-supervisor.ts";

const WORKERS_DIR = "workers";
const SLOT_NAME = /^[1-9]\d{0,5}$/;

/** Folder of one slot: the worker's journal and uploads. */
export function workerFolder(dataDir: string, slot: number): string {
  return path.join(dataDir, WORKERS_DIR, String(slot));
}

/** Folders of all slots that were ever used, by slot. */
export function workerFolders(dataDir: string): string[] {
  try {
    return readdirSync(path.join(dataDir, WORKERS_DIR))
      .filter((name) => SLOT_NAME.test(name))
      .sort((a, b) => Number(a) - Number(b))
      .map((name) => path.join(dataDir, WORKERS_DIR, name));
  } catch {
    return [];
  }
}

/** Folder and instance id of one process. */
export type ProcessHome = {
  readonly dataDir: string;
  readonly instanceId: string;
};

export type ProcessPlacement = ProcessHome & {
  /** `inherited`: the primary process holds the lock of the data directory. */
  readonly directory: "acquire" | "inherited";
  /** No other process of this gateway serves yet. */
  readonly isFirst: boolean;
  /** Homes of processes that are not started any more: this process replays their journals. */
  readonly orphans: readonly ProcessHome[];
};

/** A single process lives in the data directory itself, a worker in the folder of its slot. */
export function placementOf(gateway: ProcessHome, assignment: WorkerAssignment | undefined): ProcessPlacement {
  const { dataDir, instanceId } = gateway;
  const homeIn = (folder: string): ProcessHome =>
    folder === dataDir ? gateway : { dataDir: folder, instanceId: `${instanceId}-${path.basename(folder)}` };
  if (assignment === undefined)
    return { ...gateway, directory: "acquire", isFirst: true, orphans: workerFolders(dataDir).map(homeIn) };
  const { folder, origin, orphanedFolders } = assignment;
  return { ...homeIn(folder), directory: "inherited", isFirst: origin === null, orphans: orphanedFolders.map(homeIn) };
}

/** The worker in this slot replays the journals of orphaned folders. */
const RECOVERY_SLOT = 1;

/**
 * Folders of slots that are not in use, when each worker replays its own journal (with Redis). Every worker that starts
 * in the recovery slot gets all of them, because a predecessor may have crashed before it had replayed them.
 */
export class OrphanedFolders {
  readonly #folders: Set<string>;
  #isRecovering = false;

  constructor(folders: readonly string[]) {
    this.#folders = new Set(folders);
  }

  assignedTo(slot: number): string[] {
    return slot === RECOVERY_SLOT ? [...this.#folders] : [];
  }

  workerSpawned({ slot, ready }: Pick<WorkerProcess, "slot" | "ready">, folder: string): void {
    // The new worker of that slot replays the journal itself.
    this.#folders.delete(folder);
    if (slot !== RECOVERY_SLOT) return;
    this.#isRecovering = true;
    const finish = () => {
      this.#isRecovering = false;
    };
    ready.then(finish, finish);
  }

  /** No worker may start in such a folder: two processes must not read one journal. */
  isBeingRecovered(folder: string): boolean {
    return this.#isRecovering && this.#folders.has(folder);
  }
}
