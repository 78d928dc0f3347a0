import path from "node:path";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { type Disk, realDisk } from "./disk.ts";
import { ENTRY_END, encodeEntry, FILLER, type SerializeRecord } from "./entry-codec.ts";
import { FrameBuffer } from "./frame.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { type JournalSegment, SegmentIndex } from "./segment-index.ts";
import { type SegmentBatch, SegmentReader } from "./segment-reader.ts";
import { SegmentWriter } from "./segment-writer.ts";

export type JournalSettings = {
  readonly dir: string;
  readonly clock: Clock;
  /** Group fdatasync at this interval; 0 syncs every write before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly log: Log;
  /** By default complete JSON. */
  readonly serializeRecord?: SerializeRecord;
  readonly disk?: Disk;
  /** A segment is rotated at this size or age. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
  /** Of all segments. Beyond it, paid work is refused until SQL has caught up. */
  readonly maxBytes?: number;
  readonly probeEveryMs?: number;
};

/** The journal with what the ingester needs. */
export type IngestableJournal = Journal & {
  readonly dir: string;
  readonly disk: Disk;
  /** Segments of an earlier process, oldest first. */
  readonly leftovers: readonly string[];
  /** Finished records that are written and not yet in SQL. */
  readonly pending: number;
  /** Resolves when everything appended so far has been written or has failed. */
  whenWritten(): Promise<void>;
  /** The next finished records that are not in SQL, oldest first; valid until the next call. */
  nextBatch(recordsMax: number): SegmentBatch | undefined;
  markIngested(load: SegmentBatch): void;
  /** Returns a predicate: whether everything that is finished now is in SQL. */
  ingestWatermark(): () => boolean;
  /** Called after writes with finished records. */
  onRecordsFinished(listener: () => void): void;
};

const SEGMENT_PATTERN = /^segment-(\d{12})\.journal$/;
const MIB = 1024 * 1024;

/** The appends of one event-loop tick, which are written with one call. */
type TickAppends = {
  readonly entries: { readonly t: "open" | "done"; readonly id: string }[];
  readonly written: PromiseWithResolvers<void>;
};

/** Starts a new segment; those of an earlier process wait for the replay. */
export async function openJournal(settings: JournalSettings): Promise<IngestableJournal> {
  const { dir, disk = realDisk } = settings;
  disk.makeFolder(dir);
  const leftovers = segmentsIn(dir, disk);
  const last = Number(SEGMENT_PATTERN.exec(path.basename(leftovers.at(-1) ?? ""))?.[1] ?? 0);
  const journal = new SegmentedJournal(settings, disk, leftovers, last + 1);
  await journal.open();
  return journal;
}

/** Oldest first. The folder must exist. */
export function segmentsIn(dir: string, disk: Disk): string[] {
  return disk
    .list(dir)
    .filter((name) => SEGMENT_PATTERN.test(name))
    .sort()
    .map((name) => path.join(dir, name));
}

class SegmentedJournal implements IngestableJournal {
  readonly dir: string;
  readonly disk: Disk;
  readonly leftovers: readonly string[];
  readonly #settings: Required<Omit<JournalSettings, "disk">>;
  readonly #segments: SegmentIndex;
  readonly #writer: SegmentWriter;
  readonly #frames = new FrameBuffer();
  readonly #reader: SegmentReader;
  #tick: TickAppends | undefined;
  #isFailed = false;
  #isClosed = false;
  #probeTimer: NodeJS.Timeout | undefined;
  #isProbing = false;
  /** Removals run one by one, oldest first, so that no `done` entry is removed before its `open` entry. */
  #removals: Promise<void> = Promise.resolve();
  #listener: () => void = () => {};

  constructor(settings: JournalSettings, disk: Disk, leftovers: readonly string[], firstNumber: number) {
    this.#settings = {
      segmentMaxBytes: 16 * MIB,
      segmentMaxAgeMs: 60_000,
      maxBytes: 2048 * MIB,
      probeEveryMs: 1000,
      serializeRecord: (record) => JSON.stringify(record),
      ...settings,
    };
    this.dir = settings.dir;
    this.disk = disk;
    this.leftovers = leftovers;
    this.#reader = new SegmentReader(disk);
    this.#segments = new SegmentIndex((segment) => this.#discard(segment));
    const { clock, syncEveryMs, segmentMaxBytes, segmentMaxAgeMs } = this.#settings;
    this.#writer = new SegmentWriter({
      dir: this.dir,
      disk,
      segments: this.#segments,
      clock,
      syncEveryMs,
      segmentMaxBytes,
      segmentMaxAgeMs,
      firstNumber,
      onSyncFailed: (error) => this.#markFailed(error),
    });
  }

  async open(): Promise<void> {
    await this.#writer.open();
  }

  get isBroken(): boolean {
    return this.#isFailed || this.#segments.bytes > this.#settings.maxBytes;
  }

  get pending(): number {
    return this.#segments.pendingRecords;
  }

  append(entry: JournalEntry): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error("the journal is closed"));
    const { start, recordJson } = encodeEntry(entry, this.#settings.serializeRecord);
    this.#tick ??= this.#beginTick();
    const { entries, written } = this.#tick;
    try {
      this.#frames.add(start, recordJson, ENTRY_END);
    } catch (error) {
      return Promise.reject(error);
    }
    entries.push({ t: entry.t, id: entry.record.id });
    return written.promise;
  }

  async whenWritten(): Promise<void> {
    await this.#tick?.written.promise.catch(() => {});
  }

  nextBatch(recordsMax: number): SegmentBatch | undefined {
    const segment = this.#segments.nextToIngest();
    return segment === undefined ? undefined : this.#reader.read(segment, recordsMax);
  }

  markIngested({ segment, upToBytes, batch }: SegmentBatch): void {
    this.#segments.markIngested(segment, upToBytes, batch.bounds.length / 2);
  }

  ingestWatermark(): () => boolean {
    return this.#segments.ingestWatermark();
  }

  onRecordsFinished(listener: () => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#probeTimer);
    const tick = this.#tick;
    if (tick !== undefined) {
      this.#flushTick(tick);
      await tick.written.promise.catch(() => {});
    }
    await this.#writer.close();
    await this.#removals;
  }

  #beginTick(): TickAppends {
    const tick: TickAppends = { entries: [], written: Promise.withResolvers() };
    setImmediate(() => this.#flushTick(tick));
    return tick;
  }

  #flushTick(tick: TickAppends): void {
    if (this.#tick !== tick) return;
    this.#tick = undefined;
    this.#write(tick);
    this.#frames.clear();
  }

  #write({ entries, written }: TickAppends): void {
    try {
      const segment = this.#writer.write(this.#frames.view());
      const upToBytes = segment.bytes;
      this.#segments.writeStarted(segment);
      this.#writer.whenDurable(
        segment,
        () => {
          this.#indexEntries(entries, segment, upToBytes);
          written.resolve();
        },
        (error) => {
          this.#segments.writeRolledBack(segment);
          written.reject(error);
        },
      );
    } catch (error) {
      this.#markFailed(error);
      written.reject(error);
    }
  }

  #indexEntries(entries: TickAppends["entries"], segment: JournalSegment, upToBytes: number): void {
    let finished = 0;
    for (const { t, id } of entries) {
      if (t === "open") {
        this.#segments.requestOpened(id, segment);
        continue;
      }
      finished += 1;
      this.#segments.requestDone(id, segment);
    }
    this.#segments.writeDurable(segment, upToBytes);
    if (finished > 0) this.#listener();
  }

  #markFailed(error: unknown): void {
    if (!this.#isFailed) this.#settings.log.error({ err: error }, "journal: write failed, paid work is refused");
    this.#isFailed = true;
    if (this.#isClosed) return;
    this.#probeTimer ??= setInterval(() => void this.#probeDisk(), this.#settings.probeEveryMs).unref();
  }

  /** Paid work is refused meanwhile, so no request would find out: the journal probes by itself. */
  async #probeDisk(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    try {
      const filler = new FrameBuffer();
      filler.add(FILLER);
      await this.#writer.probe(filler.view());
      this.#isFailed = false;
      clearInterval(this.#probeTimer);
      this.#probeTimer = undefined;
      this.#settings.log.info({}, "journal: writable again");
    } catch {
      // The next probe follows.
    } finally {
      this.#isProbing = false;
    }
  }

  #discard({ file }: JournalSegment): void {
    this.#removals = this.#removals.then(() => this.#remove(file));
  }

  async #remove(file: string): Promise<void> {
    try {
      await this.disk.remove(file);
    } catch (error) {
      // The next start replays it, which is idempotent.
      this.#settings.log.warn({ err: error, file }, "journal: segment removal failed");
    }
  }
}
