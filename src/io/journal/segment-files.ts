import path from "node:path";
import type { RecordBatch } from "../../domain/record/record-batch.ts";
import type { Log } from "../../kit/log.ts";
import type { Disk } from "./disk.ts";

/** One file of the journal, and what still needs it. */
export type JournalSegment = {
  readonly number: number;
  readonly file: string;
  readonly openedMs: number;
  bytes: number;
  /** Finished records that are not in SQL yet. */
  pendingRecords: number;
  /** Requests with their `open` entry here and no `done` entry yet. */
  openRequests: number;
  state: "active" | "closed";
  /** Writes that are not yet durable. */
  unsyncedWrites: number;
  durableBytes: number;
  /** Up to here it is in SQL. */
  ingestedBytes: number;
};

type SegmentFilesSettings = { readonly dir: string; readonly disk: Disk; readonly log: Log };

/** Creates the files of segments, closes them after a rotation, and removes them. */
export class SegmentFiles {
  readonly #settings: SegmentFilesSettings;
  #number: number;
  /** Syncs of rotated segments that are in flight. */
  readonly pendingCloses = new Set<Promise<void>>();
  /** Includes completed and failed ones. */
  readonly #closeBySegment = new WeakMap<JournalSegment, Promise<void>>();
  /** Removals run one by one, oldest first, so that no `done` entry is removed before its `open` entry. */
  #removals: Promise<void> = Promise.resolve();

  constructor(settings: SegmentFilesSettings, firstNumber: number) {
    this.#settings = settings;
    this.#number = firstNumber;
  }

  create(openedMs: number): { readonly fd: number; readonly segment: JournalSegment } {
    const { dir, disk } = this.#settings;
    const number = this.#number;
    const file = path.join(dir, `segment-${String(number).padStart(12, "0")}.journal`);
    const fd = disk.create(file);
    this.#number += 1;
    const segment: JournalSegment = {
      number,
      file,
      openedMs,
      bytes: 0,
      pendingRecords: 0,
      openRequests: 0,
      state: "active",
      unsyncedWrites: 0,
      durableBytes: 0,
      ingestedBytes: 0,
    };
    return { fd, segment };
  }

  /** Writes to later segments do not wait for it, but they become durable only after it. */
  syncAndClose(segment: JournalSegment, fd: number): Promise<void> {
    const { disk } = this.#settings;
    const closed = disk.sync(fd).finally(() => {
      disk.close(fd);
      this.pendingCloses.delete(closed);
    });
    this.pendingCloses.add(closed);
    this.#closeBySegment.set(segment, closed);
    return closed;
  }

  /** Undefined for a segment that was not rotated. */
  whenClosed(segment: JournalSegment): Promise<void> | undefined {
    return this.#closeBySegment.get(segment);
  }

  remove({ file }: JournalSegment): void {
    this.#removals = this.#removals.then(() => this.#remove(file));
  }

  async whenRemoved(): Promise<void> {
    await this.#removals;
  }

  async #remove(file: string): Promise<void> {
    const { disk, log } = this.#settings;
    try {
      await disk.remove(file);
    } catch (error) {
      // The next start replays it, which is idempotent.
      log.warn({ err: error, file }, "journal: segment removal failed");
    }
  }
}

/** Finished records of one segment on their way to SQL. */
export type SegmentBatch = {
  readonly segment: JournalSegment;
  readonly upToBytes: number;
  readonly batch: RecordBatch;
};
