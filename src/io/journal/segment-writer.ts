import type { JournalSettings } from "./ingestable-journal.ts";
import type { JournalSegment, SegmentFiles } from "./segment-files.ts";
import type { SegmentIndex } from "./segment-index.ts";
import { SyncWaiters } from "./sync-waiters.ts";

type SegmentWriterSettings = Pick<
  Required<JournalSettings>,
  "dir" | "disk" | "clock" | "syncEveryMs" | "segmentMaxBytes" | "segmentMaxAgeMs"
>;

/** Appends to the active segment, completely or not at all, rotates segments, and syncs in groups. */
export class SegmentWriter {
  readonly #settings: SegmentWriterSettings;
  readonly #files: SegmentFiles;
  readonly #segments: SegmentIndex;
  readonly #onSyncFailed: (error: unknown) => void;
  readonly #waiters: SyncWaiters;
  #fd = -1;
  #segment: JournalSegment | undefined;
  /** `bytes and name`: the directory entry of a new segment needs a sync as well. */
  #unsynced: "nothing" | "bytes" | "bytes and name" = "nothing";
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> | undefined;
  /** Of the active segment. */
  #syncedBytes = 0;

  constructor(
    settings: SegmentWriterSettings,
    files: SegmentFiles,
    segments: SegmentIndex,
    onSyncFailed: (error: unknown) => void,
  ) {
    this.#settings = settings;
    this.#files = files;
    this.#segments = segments;
    this.#onSyncFailed = onSyncFailed;
    this.#waiters = new SyncWaiters({
      syncAll: (written) => this.#syncAll(written),
      onSyncFailed,
      rollBack: (failed) => this.#rollBack(failed),
    });
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
        const count = disk.write(this.#fd, bytes, written, bytes.length - written, segment.bytes + written);
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
    this.#waiters.add({ segment, resolve, reject });
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
    this.#files.syncAndClose(segment, this.#fd).catch(this.#onSyncFailed);
    this.#segments.close(segment);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#syncing;
    await this.#waiters.whenSynced();
    this.rotate();
    await Promise.allSettled(this.#files.pendingCloses);
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
    const { fd, segment } = this.#files.create(this.#settings.clock.monotonicMs());
    this.#fd = fd;
    this.#segment = segment;
    this.#segments.add(segment);
    this.#unsynced = "bytes and name";
    this.#syncedBytes = 0;
    return segment;
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

  #rollBack(failed: ReadonlySet<JournalSegment>): void {
    const active = this.#segment;
    if (active !== undefined) this.#truncateTo(active, this.#syncedBytes);
    for (const segment of failed) if (segment !== active) this.#truncateTo(segment, segment.durableBytes);
  }

  /** Covers the active segment and the given ones. */
  async #syncAll(written: readonly JournalSegment[] = []): Promise<void> {
    const { disk, dir } = this.#settings;
    const segment = this.#segment;
    const unsynced = this.#unsynced;
    const bytes = segment?.bytes ?? 0;
    this.#unsynced = "nothing";
    try {
      await Promise.all(this.#files.pendingCloses);
      if (unsynced !== "nothing" && segment !== undefined) await disk.sync(this.#fd);
      if (unsynced === "bytes and name") await disk.syncFolder(dir);
      // A rotated segment is synced by its rotation alone.
      await Promise.all(written.map((rotated) => this.#files.whenClosed(rotated)));
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
      .catch(this.#onSyncFailed)
      .finally(() => {
        this.#syncing = undefined;
      });
  }
}
