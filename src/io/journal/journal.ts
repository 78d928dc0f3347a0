import path from "node:path";
import type { Clock } from "../../kit/clock.ts";
import { type Disk, realDisk } from "./disk.ts";
import { encodeEntry, FILLER } from "./entry-text.ts";
import { FrameBuffer } from "./frame.ts";
import { type Segment, SegmentBook } from "./segment-book.ts";
import { SegmentWriter } from "./segment-writer.ts";
import type { Journal, JournalEntry, JournalLog } from "./types.ts";

export type JournalSettings = {
  readonly dir: string;
  readonly clock: Clock;
  /** Group fdatasync every so often; 0 syncs every write before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly log: JournalLog;
  readonly disk?: Disk;
  /** A segment is closed when it is this large or this old. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
  /** All segments together: past it paid work is refused until SQL has caught up. */
  readonly maxBytes?: number;
  /** Finished records kept in memory for the ingester; the others are read back from their segments. */
  readonly handoverMax?: number;
  readonly probeEveryMs?: number;
};

/** A finished record on its way to SQL. */
export type Finished = { readonly recordJson: string; readonly segment: Segment };

/** The journal as the ingester sees it: what is to be moved, and where it says that it has been. */
export type JournalFile = Journal & {
  readonly dir: string;
  readonly disk: Disk;
  /** Segments that an earlier process left behind, oldest first. */
  readonly leftovers: readonly string[];
  /** Finished records that are written and not yet in SQL. */
  readonly pending: number;
  /** Resolves when everything appended so far has been written or refused. */
  written(): Promise<void>;
  take(max: number): Finished[];
  ingested(records: readonly Finished[]): void;
  /** A closed segment that has to be read from its file, because memory could not hold all of it. */
  segmentToRead(): Segment | undefined;
  ingestedWhole(segment: Segment): void;
  /** Called after writes that left finished records behind, with the number that waits in memory. */
  onFinished(listener: (waiting: number) => void): void;
};

const SEGMENT_PATTERN = /^segment-(\d{12})\.journal$/;
const MIB = 1024 * 1024;

/** What one turn of the event loop appends, written at its end with one call. */
type Turn = {
  readonly entries: { readonly t: "open" | "done"; readonly id: string; readonly recordJson: string }[];
  readonly written: PromiseWithResolvers<void>;
};

/** Opens the journal in its folder, with a new segment. What an earlier process left there waits for the replay. */
export async function openJournal(settings: JournalSettings): Promise<JournalFile> {
  const { dir, disk = realDisk } = settings;
  disk.makeFolder(dir);
  const leftovers = disk
    .list(dir)
    .filter((name) => SEGMENT_PATTERN.test(name))
    .sort();
  const last = Number(SEGMENT_PATTERN.exec(leftovers.at(-1) ?? "")?.[1] ?? 0);
  const journal = new SegmentedJournal(
    settings,
    disk,
    leftovers.map((name) => path.join(dir, name)),
    last + 1,
  );
  await journal.open();
  return journal;
}

class SegmentedJournal implements JournalFile {
  readonly dir: string;
  readonly disk: Disk;
  readonly leftovers: readonly string[];
  readonly #settings: Required<Omit<JournalSettings, "disk">>;
  readonly #book: SegmentBook;
  readonly #writer: SegmentWriter;
  readonly #frames = new FrameBuffer();
  #handover: Finished[] = [];
  #turn: Turn | undefined;
  #failed = false;
  #closed = false;
  #probe: NodeJS.Timeout | undefined;
  #probing = false;
  #listener: (waiting: number) => void = () => {};

  constructor(settings: JournalSettings, disk: Disk, leftovers: readonly string[], firstNumber: number) {
    this.#settings = {
      segmentMaxBytes: 16 * MIB,
      segmentMaxAgeMs: 60_000,
      maxBytes: 2048 * MIB,
      handoverMax: 10_000,
      probeEveryMs: 1000,
      ...settings,
    };
    this.dir = settings.dir;
    this.disk = disk;
    this.leftovers = leftovers;
    this.#book = new SegmentBook((segment) => this.#discard(segment));
    const { clock, syncEveryMs, segmentMaxBytes, segmentMaxAgeMs } = this.#settings;
    this.#writer = new SegmentWriter({
      dir: this.dir,
      disk,
      book: this.#book,
      clock,
      syncEveryMs,
      segmentMaxBytes,
      segmentMaxAgeMs,
      firstNumber,
      onSyncFailed: (error) => this.#fail(error),
    });
  }

  async open(): Promise<void> {
    await this.#writer.open();
  }

  get broken(): boolean {
    return this.#failed || this.#book.bytes > this.#settings.maxBytes;
  }

  get pending(): number {
    return this.#book.pending;
  }

  append(entry: JournalEntry): Promise<void> {
    if (this.#closed) return Promise.reject(new Error("the journal is closed"));
    const { text, recordJson } = encodeEntry(entry);
    this.#turn ??= this.#beginTurn();
    const { entries, written } = this.#turn;
    try {
      this.#frames.add(text);
    } catch (error) {
      return Promise.reject(error);
    }
    entries.push({ t: entry.t, id: entry.record.id, recordJson });
    return written.promise;
  }

  async written(): Promise<void> {
    await this.#turn?.written.promise.catch(() => {});
  }

  take(max: number): Finished[] {
    return this.#handover.splice(0, max);
  }

  ingested(records: readonly Finished[]): void {
    const counts = new Map<Segment, number>();
    for (const { segment } of records) counts.set(segment, (counts.get(segment) ?? 0) + 1);
    for (const [segment, count] of counts) this.#book.ingested(segment, count);
  }

  segmentToRead(): Segment | undefined {
    // Nobody waits in memory: then the segment being written may be the one to read, and is closed for it.
    if (this.#handover.length === 0 && this.#writer.segment?.source === "file") this.#writer.rotate();
    return this.#book.toRead();
  }

  ingestedWhole(segment: Segment): void {
    this.#book.ingestedWhole(segment);
  }

  onFinished(listener: (waiting: number) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#probe);
    const turn = this.#turn;
    if (turn !== undefined) {
      this.#endTurn(turn);
      await turn.written.promise.catch(() => {});
    }
    await this.#writer.close();
  }

  #beginTurn(): Turn {
    const turn: Turn = { entries: [], written: Promise.withResolvers() };
    setImmediate(() => this.#endTurn(turn));
    return turn;
  }

  #endTurn(turn: Turn): void {
    if (this.#turn !== turn) return;
    this.#turn = undefined;
    this.#write(turn);
    this.#frames.clear();
  }

  #write({ entries, written }: Turn): void {
    try {
      const segment = this.#writer.write(this.#frames.view());
      this.#writer.whenSafe(
        () => {
          this.#note(entries, segment);
          written.resolve();
        },
        (error) => written.reject(error),
      );
    } catch (error) {
      this.#fail(error);
      written.reject(error);
    }
  }

  #note(entries: Turn["entries"], segment: Segment): void {
    let finished = 0;
    for (const { t, id, recordJson } of entries) {
      if (t === "open") {
        this.#book.requestOpened(id, segment);
        continue;
      }
      finished += 1;
      this.#book.requestDone(id, segment);
      if (this.#handover.length < this.#settings.handoverMax) this.#handover.push({ recordJson, segment });
      else segment.source = "file";
    }
    if (finished > 0) this.#listener(this.#handover.length);
  }

  #fail(error: unknown): void {
    if (!this.#failed) this.#settings.log.error({ err: error }, "the journal cannot be written: paid work is refused");
    this.#failed = true;
    this.#probe ??= setInterval(() => void this.#tryAgain(), this.#settings.probeEveryMs).unref();
  }

  /** Paid work is refused meanwhile, so no request will come and try: the journal does it itself. */
  async #tryAgain(): Promise<void> {
    if (this.#probing) return;
    this.#probing = true;
    try {
      const filler = new FrameBuffer();
      filler.add(FILLER);
      await this.#writer.prove(filler.view());
      this.#failed = false;
      clearInterval(this.#probe);
      this.#probe = undefined;
      this.#settings.log.info({}, "the journal can be written again");
    } catch {
      // Still not well: the next try comes.
    } finally {
      this.#probing = false;
    }
  }

  #discard(segment: Segment): void {
    try {
      this.disk.remove(segment.file);
    } catch (error) {
      // Read again at the next start, which changes nothing.
      this.#settings.log.warn({ err: error, file: segment.file }, "a journal segment could not be removed");
    }
  }
}
