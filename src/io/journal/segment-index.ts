import type { JournalSegment } from "./segment-files.ts";

/** All segments. One is discarded when it is closed, all its finished records are in SQL, and no request is open. */
export class SegmentIndex {
  readonly #segments = new Map<number, JournalSegment>();
  readonly #segmentByOpenRequest = new Map<string, JournalSegment>();
  readonly #discard: (segment: JournalSegment) => void;

  constructor(discard: (segment: JournalSegment) => void) {
    this.#discard = discard;
  }

  get bytes(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) sum += segment.bytes;
    return sum;
  }

  /**
   * What ingest has yet to read. A segment whose finished records are all in SQL counts nothing, however long an open request
   * keeps its file.
   */
  get backlogBytes(): number {
    let sum = 0;
    for (const { pendingRecords, durableBytes, ingestedBytes } of this.#segments.values())
      if (pendingRecords > 0) sum += durableBytes - ingestedBytes;
    return sum;
  }

  get pendingRecords(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) sum += segment.pendingRecords;
    return sum;
  }

  add(segment: JournalSegment): void {
    this.#segments.set(segment.number, segment);
  }

  requestOpened(id: string, segment: JournalSegment): void {
    if (this.#segmentByOpenRequest.has(id)) return;
    this.#segmentByOpenRequest.set(id, segment);
    segment.openRequests += 1;
  }

  requestDone(id: string, segment: JournalSegment): void {
    segment.pendingRecords += 1;
    const opened = this.#segmentByOpenRequest.get(id);
    if (opened === undefined) return;
    this.#segmentByOpenRequest.delete(id);
    opened.openRequests -= 1;
    this.#discardIfUnneeded(opened);
  }

  /** `writeDurable` or `writeRolledBack` follows. */
  writeStarted(segment: JournalSegment): void {
    segment.unsyncedWrites += 1;
  }

  /** Call it after the entries of the write are indexed. */
  writeDurable(segment: JournalSegment, upToBytes: number): void {
    segment.unsyncedWrites -= 1;
    segment.durableBytes = upToBytes;
    this.#discardIfUnneeded(segment);
  }

  writeRolledBack(segment: JournalSegment): void {
    segment.unsyncedWrites -= 1;
    this.#discardIfUnneeded(segment);
  }

  /** `records`: finished records since the last call. */
  markIngested(segment: JournalSegment, upToBytes: number, records: number): void {
    segment.ingestedBytes = upToBytes;
    segment.pendingRecords -= records;
    this.#discardIfUnneeded(segment);
  }

  close(segment: JournalSegment): void {
    segment.state = "closed";
    this.#discardIfUnneeded(segment);
  }

  /** The oldest segment with finished records that are not in SQL. */
  nextToIngest(): JournalSegment | undefined {
    for (const segment of this.#segments.values())
      if (segment.pendingRecords > 0 && segment.ingestedBytes < segment.durableBytes) return segment;
    return undefined;
  }

  /** Returns a predicate: whether everything that is finished now is in SQL. */
  ingestWatermark(): () => boolean {
    const marks = [...this.#segments.values()].map((segment) => ({ segment, upToBytes: segment.durableBytes }));
    return () =>
      marks.every(({ segment, upToBytes }) => segment.pendingRecords === 0 || segment.ingestedBytes >= upToBytes);
  }

  #discardIfUnneeded(segment: JournalSegment): void {
    if (
      segment.state === "active" ||
      segment.unsyncedWrites > 0 ||
      segment.pendingRecords > 0 ||
      segment.openRequests > 0
    )
      return;
    if (this.#segments.delete(segment.number)) this.#discard(segment);
  }
}
