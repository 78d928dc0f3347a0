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
  /** Group fdatasync every so often; 0 syncs every write before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly log: Log;
  /** How the store wants records to be written; unless set, whole. */
  readonly serializeRecord?: SerializeRecord;
  readonly disk?: Disk;
  /** A segment is closed when it is this large or this old. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
  /** All segments together: past it paid work is refused until SQL has caught up. */
  readonly maxBytes?: number;
  readonly probeEveryMs?: number;
};

/** The journal as the ingester sees it: what is to be moved, and where it says that it has been. */
export type IngestableJournal = Journal & {
  readonly dir: string;
  readonly disk: Disk;
  /** Segments that an earlier process left behind, oldest first. */
  readonly leftovers: readonly string[];
  /** Finished records that are written and not yet in SQL. */
  readonly pending: number;
  /** Resolves when everything appended so far has been written or refused. */
  whenWritten(): Promise<void>;
  /** The next finished records that are not in SQL, oldest first; good until the next call. */
  nextBatch(recordsMax: number): SegmentBatch | undefined;
  /** These are in SQL now. */
  markIngested(load: SegmentBatch): void;
  /** Whether all that is finished now is in SQL, for whoever asks again later. */
  ingestWatermark(): () => boolean;
  /** Called after writes that left finished records behind. */
  onRecordsFinished(listener: () => void): void;
};

const SEGMENT_PATTERN = /^segment-(\d{12})\.journal$/;
const MIB = 1024 * 1024;

/** What one turn of the event loop appends, written at its end with one call. */
type TickAppends = {
  readonly entries: { readonly t: "open" | "done"; readonly id: string }[];
  readonly written: PromiseWithResolvers<void>;
};

/** Opens the journal in its folder, with a new segment. What an earlier process left there waits for the replay. */
export async function openJournal(settings: JournalSettings): Promise<IngestableJournal> {
  const { dir, disk = realDisk } = settings;
  disk.makeFolder(dir);
  const leftovers = segmentsIn(dir, disk);
  const last = Number(SEGMENT_PATTERN.exec(path.basename(leftovers.at(-1) ?? ""))?.[1] ?? 0);
  const journal = new SegmentedJournal(settings, disk, leftovers, last + 1);
  await journal.open();
  return journal;
}

/** The segments in a folder that is there, oldest first. */
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
  /** Over when all segments that are no longer needed are removed: the oldest first, so that no end goes before its begin. */
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
      book: this.#segments,
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

  get broken(): boolean {
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

  async written(): Promise<void> {
    await this.#tick?.written.promise.catch(() => {});
  }

  nextLoad(recordsMax: number): SegmentBatch | undefined {
    const segment = this.#segments.nextToIngest();
    return segment === undefined ? undefined : this.#reader.read(segment, recordsMax);
  }

  moved({ segment, upToBytes, batch }: SegmentBatch): void {
    this.#segments.markIngested(segment, upToBytes, batch.bounds.length / 2);
  }

  mark(): () => boolean {
    return this.#segments.ingestWatermark();
  }

  onFinished(listener: () => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#probeTimer);
    const turn = this.#tick;
    if (turn !== undefined) {
      this.#flushTick(turn);
      await turn.written.promise.catch(() => {});
    }
    await this.#writer.close();
    await this.#removals;
  }

  #beginTick(): TickAppends {
    const turn: TickAppends = { entries: [], written: Promise.withResolvers() };
    setImmediate(() => this.#flushTick(turn));
    return turn;
  }

  #flushTick(turn: TickAppends): void {
    if (this.#tick !== turn) return;
    this.#tick = undefined;
    this.#write(turn);
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
    if (!this.#isFailed)
      this.#settings.log.error({ err: error }, "the journal cannot be written: paid work is refused");
    this.#isFailed = true;
    if (this.#isClosed) return;
    this.#probeTimer ??= setInterval(() => void this.#probeDisk(), this.#settings.probeEveryMs).unref();
  }

  /** Paid work is refused meanwhile, so no request will come and try: the journal does it itself. */
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
      this.#settings.log.info({}, "the journal can be written again");
    } catch {
      // Still not well: the next try comes.
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
      // Read again at the next start, which changes nothing.
      this.#settings.log.warn({ err: error, file }, "a journal segment could not be removed");
    }
  }
}
