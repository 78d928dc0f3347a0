import type { Hand } from "./crew.ts";

/** The slot of the very first worker. */
const SPEAKING_SLOT = 1;

/**
 * Folders of workers that are not started any more. Whoever comes into the first slot speaks for them as for those that were
 * there before: one that dies may not have ended all that they left.
 */
export class LeftFolders {
  readonly #folders: Set<string>;
  #speaker: "starts" | "has replayed" = "has replayed";

  constructor(folders: readonly string[]) {
    this.#folders = new Set(folders);
  }

  toldTo(slot: number): string[] {
    return slot === SPEAKING_SLOT ? [...this.#folders] : [];
  }

  begun({ slot, ready }: Pick<Hand, "slot" | "ready">, folder: string): void {
    // From here on it is somebody's again, who ends what was left there.
    this.#folders.delete(folder);
    if (slot !== SPEAKING_SLOT) return;
    this.#speaker = "starts";
    const over = () => {
      this.#speaker = "has replayed";
    };
    ready.then(over, over);
  }

  /** Two must not be at one journal, and whatever began before the speaker did is ended by it. */
  areTakenUp(folder: string): boolean {
    return this.#speaker === "starts" && this.#folders.has(folder);
  }
}
