import type { IngestableJournal } from "./ingestable-journal.ts";
import type { JournalEntry } from "./journal.ts";
import type { JournalParts, SegmentedJournalSettings, TickAppends } from "./journal-parts.ts";
import type { JournalSpace } from "./journal-space.ts";
import type { JournalSegment, SegmentBatch, SegmentFiles } from "./segment-files.ts";
import { ENTRY_END, encodeEntry, FrameBuffer, type SegmentReader } from "./segment-frames.ts";
import type { SegmentIndex } from "./segment-index.ts";
import type { SegmentWriter } from "./segment-writer.ts";
import type { WriteHealth } from "./write-health.ts";

export class SegmentedJournal implements IngestableJournal {
  readonly leftovers: readonly string[];
  isIngestFailing = false;
  readonly #settings: SegmentedJournalSettings;
  readonly #files: SegmentFiles;
  readonly #segments: SegmentIndex;
  readonly #writer: SegmentWriter;
  readonly #frames = new FrameBuffer();
  readonly #reader: SegmentReader;
  readonly #health: WriteHealth;
  readonly #space: JournalSpace;
  #tick: TickAppends | undefined;
  #isClosed = false;
  #listener: () => void = () => {};

  constructor(
    settings: SegmentedJournalSettings,
    leftovers: readonly string[],
    { files, segments, writer, reader, health, space }: JournalParts,
  ) {
    this.leftovers = leftovers;
    this.#settings = settings;
    this.#files = files;
    this.#segments = segments;
    this.#writer = writer;
    this.#reader = reader;
    this.#health = health;
    this.#space = space;
  }

  get isBroken(): boolean {
    return this.#health.isFailed || this.#segments.bytes > this.#settings.maxBytes;
  }

  get isBehind(): boolean {
    return this.#space.isBehind && !this.isIngestFailing;
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
    this.#checkSpace();
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
    this.#health.close();
    const tick = this.#tick;
    if (tick !== undefined) {
      this.#flushTick(tick);
      await tick.written.promise.catch(() => {});
    }
    await this.#writer.close();
    await this.#files.whenRemoved();
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
      this.#health.markFailed(error);
      written.reject(error);
    }
  }

  #checkSpace(): void {
    if (this.#segments.backlogBytes > this.#space.quietBytes) this.#space.check(this.#segments);
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
    this.#checkSpace();
    if (finished > 0) this.#listener();
  }
}
