import type { JournalSegment } from "./segment-files.ts";

type SyncWaiter = {
  readonly segment: JournalSegment;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

type GroupSync = {
  /** Covers the active segment and the given ones. */
  syncAll(written: readonly JournalSegment[]): Promise<void>;
  onSyncFailed(error: unknown): void;
  /** Truncates what was not synced. */
  rollBack(failed: ReadonlySet<JournalSegment>): void;
};

/** Writes that are acknowledged after their sync, synced in groups. */
export class SyncWaiters {
  readonly #sync: GroupSync;
  #waiters: SyncWaiter[] = [];
  #running: Promise<void> | undefined;

  constructor(sync: GroupSync) {
    this.#sync = sync;
  }

  add(waiter: SyncWaiter): void {
    this.#waiters.push(waiter);
    this.#running ??= this.#syncGroups();
  }

  async whenSynced(): Promise<void> {
    await this.#running;
  }

  async #syncGroups(): Promise<void> {
    while (this.#waiters.length > 0) {
      const group = this.#waiters;
      this.#waiters = [];
      try {
        await this.#sync.syncAll(group.map(({ segment }) => segment));
        for (const { resolve } of group) resolve();
      } catch (error) {
        this.#sync.onSyncFailed(error);
        const failed = [...group, ...this.#waiters];
        this.#waiters = [];
        // Writes that were not acknowledged must not be replayed either, also in segments that were rotated meanwhile.
        this.#sync.rollBack(new Set(failed.map(({ segment }) => segment)));
        for (const { reject } of failed) reject(error);
      }
    }
    this.#running = undefined;
  }
}
