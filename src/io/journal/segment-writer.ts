import path from "node:path";
import type { Clock } from "../../kit/clock.ts";
import type { Disk } from "./disk.ts";
import type { JournalSegment, SegmentIndex } from "./segment-index.ts";

type SegmentWriterSettings = {
  readonly dir: string;
  readonly disk: Disk;
  readonly book: SegmentIndex;
  readonly clock: Clock;
  readonly syncEveryMs: number;
  readonly segmentMaxBytes: number;
  readonly segmentMaxAgeMs: number;
  readonly firstNumber: number;
  readonly onSyncFailed: (error: unknown) => void;
};

type SyncWaiter = {
  readonly segment: JournalSegment;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

/** Puts bytes at the end of the active segment, whole or not at all, begins new segments, and syncs in groups. */
export class SegmentWriter {
  readonly #settings: SegmentWriterSettings;
  #number: number;
  #fd = -1;
  #segment: JournalSegment | undefined;
  #unsynced: "nothing" | "bytes" | "bytes and name" = "nothing";
  #timer: NodeJS.Timeout | undefined;
  #waiters: SyncWaiter[] = [];
  #syncing: Promise<void> | undefined;
  /** Of the active segment: what a sync has covered. */
  #syncedBytes = 0;
  /** Syncs of segments that were ended. */
  readonly #pendingCloses = new Set<Promise<void>>();
  /** Also of those that are over, and have failed. */
  readonly #closeBySegment = new WeakMap<JournalSegment, Promise<void>>();

  constructor(settings: SegmentWriterSettings) {
    this.#settings = settings;
    this.#number = settings.firstNumber;
  }

  /** Begins the first segment, so that a folder that cannot be written is known at the start. */
  async open(): Promise<void> {
    this.#begin();
    await this.#settings.disk.syncFolder(this.#settings.dir);
  }

  /** Writes all of the bytes or throws and leaves none of them behind. */
  write(bytes: Buffer): JournalSegment {
    const segment = this.#segmentFor(bytes.length);
    const { disk } = this.#settings;
    let taken = 0;
    try {
      while (taken < bytes.length) {
        const count = disk.write(this.#fd, bytes.subarray(taken), segment.bytes + taken);
        if (count <= 0) throw new Error("the disk took no bytes");
        taken += count;
      }
    } catch (error) {
      this.#truncateTo(segment, segment.bytes);
      throw error;
    }
    segment.bytes += bytes.length;
    if (this.#unsynced === "nothing") this.#unsynced = "bytes";
    return segment;
  }

  /** Calls `resolve` when what was written to the segment is as safe as the settings ask for. */
  whenDurable(segment: JournalSegment, resolve: () => void, reject: (error: unknown) => void): void {
    if (this.#settings.syncEveryMs > 0) {
      resolve();
      this.#timer ??= setTimeout(() => this.#syncByTimer(), this.#settings.syncEveryMs).unref();
      return;
    }
    this.#waiters.push({ segment, resolve, reject });
    this.#syncing ??= this.#syncWaiting();
  }

  /** Resolves when the disk has shown that it takes these bytes and keeps them. */
  async probe(bytes: Buffer): Promise<void> {
    const { disk, dir } = this.#settings;
    this.write(bytes);
    await disk.sync(this.#fd);
    await disk.syncFolder(dir);
  }

  /** Ends the active segment; the next write begins another. */
  rotate(): void {
    const segment = this.#segment;
    if (segment === undefined) return;
    this.#segment = undefined;
    const ended = this.#syncAndClose(this.#fd);
    ended.catch(this.#settings.onSyncFailed);
    this.#closeBySegment.set(segment, ended);
    this.#settings.book.close(segment);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    this.rotate();
    await Promise.allSettled(this.#pendingCloses);
  }

  /** Later segments do not wait for an ended one, but nothing counts as synced before it. */
  #syncAndClose(fd: number): Promise<void> {
    const { disk } = this.#settings;
    const ended = disk.sync(fd).finally(() => {
      disk.close(fd);
      this.#pendingCloses.delete(ended);
    });
    this.#pendingCloses.add(ended);
    return ended;
  }

  #segmentFor(more: number): JournalSegment {
    const active = this.#segment;
    if (active === undefined) return this.#begin();
    const { segmentMaxBytes, segmentMaxAgeMs, clock } = this.#settings;
    const isFull = active.bytes + more > segmentMaxBytes || clock.monotonicMs() - active.openedMs > segmentMaxAgeMs;
    if (!isFull || active.bytes === 0) return active;
    this.rotate();
    return this.#begin();
  }

  #begin(): JournalSegment {
    const { dir, disk, book, clock } = this.#settings;
    const file = path.join(dir, `segment-${String(this.#number).padStart(12, "0")}.journal`);
    this.#fd = disk.create(file);
    this.#segment = book.add(this.#number, file, clock.monotonicMs());
    this.#number += 1;
    this.#unsynced = "bytes and name";
    this.#syncedBytes = 0;
    return this.#segment;
  }

  /** A frame cut short would hide every later one from the replay. */
  #truncateTo(segment: JournalSegment, bytes: number): void {
    try {
      this.#settings.disk.truncate(segment.file, bytes);
      segment.bytes = bytes;
    } catch {
      // Then nothing is added behind it: the next write goes to a new segment.
      if (segment === this.#segment) this.rotate();
    }
  }

  /** With all that was written to these segments. */
  async #syncAll(written: readonly JournalSegment[] = []): Promise<void> {
    const { disk, dir } = this.#settings;
    const segment = this.#segment;
    const what = this.#unsynced;
    const bytes = segment?.bytes ?? 0;
    this.#unsynced = "nothing";
    try {
      await Promise.all(this.#pendingCloses);
      if (what !== "nothing" && segment !== undefined) await disk.sync(this.#fd);
      if (what === "bytes and name") await disk.syncFolder(dir);
      // One that was ended before this, or meanwhile, was synced by that alone.
      await Promise.all(written.map((one) => this.#closeBySegment.get(one)));
      if (segment === this.#segment) this.#syncedBytes = bytes;
    } catch (error) {
      // A segment that began meanwhile has a name that is not synced, whatever this was about.
      if (this.#unsynced === "nothing" || what === "bytes and name") this.#unsynced = what;
      throw error;
    }
  }

  #syncByTimer(): void {
    this.#timer = undefined;
    this.#syncing ??= this.#syncAll()
      .catch((error) => this.#settings.onSyncFailed(error))
      .finally(() => {
        this.#syncing = undefined;
      });
  }

  async #syncWaiting(): Promise<void> {
    while (this.#waiters.length > 0) {
      const group = this.#waiters;
      this.#waiters = [];
      try {
        await this.#syncAll(group.map(({ segment }) => segment));
        for (const { resolve } of group) resolve();
      } catch (error) {
        this.#settings.onSyncFailed(error);
        const refused = [...group, ...this.#waiters];
        this.#waiters = [];
        // What nobody is told to be safe must not be found by a replay either, also in segments that were ended meanwhile.
        const active = this.#segment;
        if (active !== undefined) this.#truncateTo(active, this.#syncedBytes);
        for (const segment of new Set(refused.map((one) => one.segment)))
          if (segment !== active) this.#truncateTo(segment, segment.durableBytes);
        for (const { reject } of refused) reject(error);
      }
    }
    this.#syncing = undefined;
  }
}
