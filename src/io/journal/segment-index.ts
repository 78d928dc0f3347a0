/** One file of the journal, with what is still needed of it. */
export type JournalSegment = {
  readonly number: number;
  readonly file: string;
  readonly openedMs: number;
  bytes: number;
  /** Finished records in it that are not in SQL yet. */
  pendingRecords: number;
  /** Requests that began in it and have not ended. */
  openRequests: number;
  state: "active" | "closed";
  /** Writes that are in it and not yet as safe as they have to be. */
  unsyncedWrites: number;
  /** Up to where it is safe, and up to where it is in SQL. */
  durableBytes: number;
  ingestedBytes: number;
};

/** Which segments exist and which are no longer needed: closed, every finished record in SQL, no request still open. */
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

  get pendingRecords(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) sum += segment.pendingRecords;
    return sum;
  }

  add(number: number, file: string, openedMs: number): JournalSegment {
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
    this.#segments.set(number, segment);
    return segment;
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

  /** A write went into the segment; `safe` or `undone` follows. */
  writeStarted(segment: JournalSegment): void {
    segment.unsyncedWrites += 1;
  }

  /** A write that ends here is safe, and what it said has been noted. */
  writeDurable(segment: JournalSegment, upToBytes: number): void {
    segment.unsyncedWrites -= 1;
    segment.durableBytes = upToBytes;
    this.#discardIfUnneeded(segment);
  }

  /** A write was taken back. */
  writeRolledBack(segment: JournalSegment): void {
    segment.unsyncedWrites -= 1;
    this.#discardIfUnneeded(segment);
  }

  /** The segment is in SQL up to here, which were this many finished records more. */
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

  /** Whether all that is finished now is in SQL, for whoever asks again later. */
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
