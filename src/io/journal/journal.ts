import path from "node:path";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { type Disk, realDisk } from "./disk.ts";
import { ENTRY_END, encodeEntry, FILLER, type TextOf } from "./entry-text.ts";
import { FrameBuffer } from "./frame.ts";
import { type Segment, SegmentBook } from "./segment-book.ts";
import { type Load, SegmentReader } from "./segment-reader.ts";
import { SegmentWriter } from "./segment-writer.ts";
import type { Journal, JournalEntry } from "./types.ts";

export type JournalSettings = {
  readonly dir: string;
  readonly clock: Clock;
  /** Group fdatasync every so often; 0 syncs every write before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly log: Log;
  /** How the store wants records to be written; unless set, whole. */
  readonly textOf?: TextOf;
  readonly disk?: Disk;
  /** A segment is closed when it is this large or this old. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
  /** All segments together: past it paid work is refused until SQL has caught up. */
  readonly maxBytes?: number;
  readonly probeEveryMs?: number;
};

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
  /** The next finished records that are not in SQL, oldest first; good until the next call. */
  nextLoad(recordsMax: number): Load | undefined;
  /** These are in SQL now. */
  moved(load: Load): void;
  /** Whether all that is finished now is in SQL, for whoever asks again later. */
  mark(): () => boolean;
  /** Called after writes that left finished records behind. */
  onFinished(listener: () => void): void;
};

const SEGMENT_PATTERN = /^segment-(\d{12})\.journal$/;
const MIB = 1024 * 1024;

/** What one turn of the event loop appends, written at its end with one call. */
type Turn = {
  readonly entries: { readonly t: "open" | "done"; readonly id: string }[];
  readonly written: PromiseWithResolvers<void>;
};

/** Opens the journal in its folder, with a new segment. What an earlier process left there waits for the replay. */
export async function openJournal(settings: JournalSettings): Promise<JournalFile> {
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

class SegmentedJournal implements JournalFile {
  readonly dir: string;
  readonly disk: Disk;
  readonly leftovers: readonly string[];
  readonly #settings: Required<Omit<JournalSettings, "disk">>;
  readonly #book: SegmentBook;
  readonly #writer: SegmentWriter;
  readonly #frames = new FrameBuffer();
  readonly #reader: SegmentReader;
  #turn: Turn | undefined;
  #failed = false;
  #closed = false;
  #probe: NodeJS.Timeout | undefined;
  #probing = false;
  /** Over when all segments that are no longer needed are removed: the oldest first, so that no end goes before its begin. */
  #removed: Promise<void> = Promise.resolve();
  #listener: () => void = () => {};

  constructor(settings: JournalSettings, disk: Disk, leftovers: readonly string[], firstNumber: number) {
    this.#settings = {
      segmentMaxBytes: 16 * MIB,
      segmentMaxAgeMs: 60_000,
      maxBytes: 2048 * MIB,
      probeEveryMs: 1000,
      textOf: (record) => JSON.stringify(record),
      ...settings,
    };
    this.dir = settings.dir;
    this.disk = disk;
    this.leftovers = leftovers;
    this.#reader = new SegmentReader(disk);
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
    const { start, recordJson } = encodeEntry(entry, this.#settings.textOf);
    this.#turn ??= this.#beginTurn();
    const { entries, written } = this.#turn;
    try {
      this.#frames.add(start, recordJson, ENTRY_END);
    } catch (error) {
      return Promise.reject(error);
    }
    entries.push({ t: entry.t, id: entry.record.id });
    return written.promise;
  }

  async written(): Promise<void> {
    await this.#turn?.written.promise.catch(() => {});
  }

  nextLoad(recordsMax: number): Load | undefined {
    const segment = this.#book.toMove();
    return segment === undefined ? undefined : this.#reader.read(segment, recordsMax);
  }

  moved({ segment, upToBytes, batch }: Load): void {
    this.#book.moved(segment, upToBytes, batch.bounds.length / 2);
  }

  mark(): () => boolean {
    return this.#book.mark();
  }

  onFinished(listener: () => void): void {
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
    await this.#removed;
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
      const upToBytes = segment.bytes;
      this.#book.wrote(segment);
      this.#writer.whenSafe(
        segment,
        () => {
          this.#note(entries, segment, upToBytes);
          written.resolve();
        },
        (error) => {
          this.#book.undone(segment);
          written.reject(error);
        },
      );
    } catch (error) {
      this.#fail(error);
      written.reject(error);
    }
  }

  #note(entries: Turn["entries"], segment: Segment, upToBytes: number): void {
    let finished = 0;
    for (const { t, id } of entries) {
      if (t === "open") {
        this.#book.requestOpened(id, segment);
        continue;
      }
      finished += 1;
      this.#book.requestDone(id, segment);
    }
    this.#book.safe(segment, upToBytes);
    if (finished > 0) this.#listener();
  }

  #fail(error: unknown): void {
    if (!this.#failed) this.#settings.log.error({ err: error }, "the journal cannot be written: paid work is refused");
    this.#failed = true;
    if (this.#closed) return;
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

  #discard({ file }: Segment): void {
    this.#removed = this.#removed.then(() => this.#remove(file));
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
