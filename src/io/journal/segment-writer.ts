import path from "node:path";
import type { Clock } from "../../kit/clock.ts";
import type { Disk } from "./disk.ts";
import type { JournalSegment, SegmentIndex } from "./segment-index.ts";

type SegmentWriterSettings = {
  readonly dir: string;
  readonly disk: Disk;
  readonly segments: SegmentIndex;
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

/** Appends to the active segment, completely or not at all, rotates segments, and syncs in groups. */
export class SegmentWriter {
  readonly #settings: SegmentWriterSettings;
  #number: number;
  #fd = -1;
  #segment: JournalSegment | undefined;
  /** `bytes and name`: the directory entry of a new segment needs a sync as well. */
  #unsynced: "nothing" | "bytes" | "bytes and name" = "nothing";
  #timer: NodeJS.Timeout | undefined;
  #waiters: SyncWaiter[] = [];
  #syncing: Promise<void> | undefined;
  /** Of the active segment. */
  #syncedBytes = 0;
  /** Syncs of rotated segments that are in flight. */
  readonly #pendingCloses = new Set<Promise<void>>();
  /** Includes completed and failed ones. */
  readonly #closeBySegment = new WeakMap<JournalSegment, Promise<void>>();

  constructor(settings: SegmentWriterSettings) {
    this.#settings = settings;
    this.#number = settings.firstNumber;
  }

  /** Creates the first segment at once, so that an unwritable folder fails the start. */
  async open(): Promise<void> {
    this.#createSegment();
    await this.#settings.disk.syncFolder(this.#settings.dir);
  }

  /** Throws and leaves nothing behind when not all bytes can be written. */
  write(bytes: Buffer): JournalSegment {
    const segment = this.#segmentFor(bytes.length);
    const { disk } = this.#settings;
    let written = 0;
    try {
      while (written < bytes.length) {
        const count = disk.write(this.#fd, bytes.subarray(written), segment.bytes + written);
        if (count <= 0) throw new Error("the disk accepted no bytes");
        written += count;
      }
    } catch (error) {
      this.#truncateTo(segment, segment.bytes);
      throw error;
    }
    segment.bytes += bytes.length;
    if (this.#unsynced === "nothing") this.#unsynced = "bytes";
    return segment;
  }

  /** Calls `resolve` when the writes to the segment are as durable as `syncEveryMs` asks for. */
  whenDurable(segment: JournalSegment, resolve: () => void, reject: (error: unknown) => void): void {
    if (this.#settings.syncEveryMs > 0) {
      resolve();
      this.#timer ??= setTimeout(() => this.#syncByTimer(), this.#settings.syncEveryMs).unref();
      return;
    }
    this.#waiters.push({ segment, resolve, reject });
    this.#syncing ??= this.#syncWaiters();
  }

  /** Resolves when the disk has accepted and synced these bytes. */
  async probe(bytes: Buffer): Promise<void> {
    const { disk, dir } = this.#settings;
    this.write(bytes);
    await disk.sync(this.#fd);
    await disk.syncFolder(dir);
  }

  /** Closes the active segment; the next write creates another. */
  rotate(): void {
    const segment = this.#segment;
    if (segment === undefined) return;
    this.#segment = undefined;
    const closed = this.#syncAndClose(this.#fd);
    closed.catch(this.#settings.onSyncFailed);
    this.#closeBySegment.set(segment, closed);
    this.#settings.segments.close(segment);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    this.rotate();
    await Promise.allSettled(this.#pendingCloses);
  }

  /** Writes to later segments do not wait for it, but they become durable only after it. */
  #syncAndClose(fd: number): Promise<void> {
    const { disk } = this.#settings;
    const closed = disk.sync(fd).finally(() => {
      disk.close(fd);
      this.#pendingCloses.delete(closed);
    });
    this.#pendingCloses.add(closed);
    return closed;
  }

  #segmentFor(more: number): JournalSegment {
    const active = this.#segment;
    if (active === undefined) return this.#createSegment();
    const { segmentMaxBytes, segmentMaxAgeMs, clock } = this.#settings;
    const isFull = active.bytes + more > segmentMaxBytes || clock.monotonicMs() - active.openedMs > segmentMaxAgeMs;
    if (!isFull || active.bytes === 0) return active;
    this.rotate();
    return this.#createSegment();
  }

  #createSegment(): JournalSegment {
    const { dir, disk, segments, clock } = this.#settings;
    const file = path.join(dir, `segment-${String(this.#number).padStart(12, "0")}.journal`);
    this.#fd = disk.create(file);
    this.#segment = segments.add(this.#number, file, clock.monotonicMs());
    this.#number += 1;
    this.#unsynced = "bytes and name";
    this.#syncedBytes = 0;
    return this.#segment;
  }

  /** A torn frame would hide every later one from the replay. */
  #truncateTo(segment: JournalSegment, bytes: number): void {
    try {
      this.#settings.disk.truncate(segment.file, bytes);
      segment.bytes = bytes;
    } catch {
      // Nothing may follow the torn frame: the next write goes to a new segment.
      if (segment === this.#segment) this.rotate();
    }
  }

  /** Covers the active segment and the given ones. */
  async #syncAll(written: readonly JournalSegment[] = []): Promise<void> {
    const { disk, dir } = this.#settings;
    const segment = this.#segment;
    const unsynced = this.#unsynced;
    const bytes = segment?.bytes ?? 0;
    this.#unsynced = "nothing";
    try {
      await Promise.all(this.#pendingCloses);
      if (unsynced !== "nothing" && segment !== undefined) await disk.sync(this.#fd);
      if (unsynced === "bytes and name") await disk.syncFolder(dir);
      // A rotated segment is synced by its rotation alone.
      await Promise.all(written.map((rotated) => this.#closeBySegment.get(rotated)));
      if (segment === this.#segment) this.#syncedBytes = bytes;
    } catch (error) {
      // A segment that was created meanwhile has an unsynced name in any case.
      if (this.#unsynced === "nothing" || unsynced === "bytes and name") this.#unsynced = unsynced;
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

  async #syncWaiters(): Promise<void> {
    while (this.#waiters.length > 0) {
      const group = this.#waiters;
      this.#waiters = [];
      try {
        await this.#syncAll(group.map(({ segment }) => segment));
        for (const { resolve } of group) resolve();
      } catch (error) {
        this.#settings.onSyncFailed(error);
        const failed = [...group, ...this.#waiters];
        this.#waiters = [];
        // Writes that were not acknowledged must not be replayed either, also in segments that were rotated meanwhile.
        const active = this.#segment;
        if (active !== undefined) this.#truncateTo(active, this.#syncedBytes);
        for (const segment of new Set(failed.map((waiter) => waiter.segment)))
          if (segment !== active) this.#truncateTo(segment, segment.durableBytes);
        for (const { reject } of failed) reject(error);
      }
    }
    this.#syncing = undefined;
  }
}
