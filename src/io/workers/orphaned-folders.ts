import type { WorkerProcess } from "./worker-supervisor.ts";

/** The slot of the very first worker. */
const RECOVERY_SLOT = 1;

/**
 * Folders of workers that are not started any more. Whoever comes into the first slot speaks for them as for those that were
 * there before: one that dies may not have ended all that they left.
 */
export class OrphanedFolders {
  readonly #folders: Set<string>;
  #recovery: "starts" | "has replayed" = "has replayed";

  constructor(folders: readonly string[]) {
    this.#folders = new Set(folders);
  }

  assignedTo(slot: number): string[] {
    return slot === RECOVERY_SLOT ? [...this.#folders] : [];
  }

  workerSpawned({ slot, ready }: Pick<WorkerProcess, "slot" | "ready">, folder: string): void {
    // From here on it is somebody's again, who ends what was left there.
    this.#folders.delete(folder);
    if (slot !== RECOVERY_SLOT) return;
    this.#recovery = "starts";
    const over = () => {
      this.#recovery = "has replayed";
    };
    ready.then(over, over);
  }

  /** Two must not be at one journal, and whatever began before the speaker did is ended by it. */
  isBeingRecovered(folder: string): boolean {
    return this.#recovery === "starts" && this.#folders.has(folder);
  }
}
