/** One file of the journal, with what is still needed of it. */
export type Segment = {
  readonly number: number;
  readonly file: string;
  readonly openedMs: number;
  bytes: number;
  /** Finished records in it that are not in SQL yet. */
  pending: number;
  /** Requests that began in it and have not ended. */
  open: number;
  state: "active" | "closed";
  /** Writes that are in it and not yet as safe as they have to be. */
  unsafe: number;
  /** Up to where it is safe, and up to where it is in SQL. */
  safeBytes: number;
  movedBytes: number;
};

/** Which segments exist and which are no longer needed: closed, every finished record in SQL, no request still open. */
export class SegmentBook {
  readonly #segments = new Map<number, Segment>();
  readonly #openedIn = new Map<string, Segment>();
  readonly #discard: (segment: Segment) => void;

  constructor(discard: (segment: Segment) => void) {
    this.#discard = discard;
  }

  get bytes(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) sum += segment.bytes;
    return sum;
  }

  get pending(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) sum += segment.pending;
    return sum;
  }

  begin(number: number, file: string, openedMs: number): Segment {
    const segment: Segment = {
      number,
      file,
      openedMs,
      bytes: 0,
      pending: 0,
      open: 0,
      state: "active",
      unsafe: 0,
      safeBytes: 0,
      movedBytes: 0,
    };
    this.#segments.set(number, segment);
    return segment;
  }

  requestOpened(id: string, segment: Segment): void {
    if (this.#openedIn.has(id)) return;
    this.#openedIn.set(id, segment);
    segment.open += 1;
  }

  requestDone(id: string, segment: Segment): void {
    segment.pending += 1;
    const opened = this.#openedIn.get(id);
    if (opened === undefined) return;
    this.#openedIn.delete(id);
    opened.open -= 1;
    this.#review(opened);
  }

  /** A write went into the segment; `safe` or `undone` follows. */
  wrote(segment: Segment): void {
    segment.unsafe += 1;
  }

  /** A write that ends here is safe, and what it said has been noted. */
  safe(segment: Segment, upToBytes: number): void {
    segment.unsafe -= 1;
    segment.safeBytes = upToBytes;
    this.#review(segment);
  }

  /** A write was taken back. */
  undone(segment: Segment): void {
    segment.unsafe -= 1;
    this.#review(segment);
  }

  /** The segment is in SQL up to here, which were this many finished records more. */
  moved(segment: Segment, upToBytes: number, records: number): void {
    segment.movedBytes = upToBytes;
    segment.pending -= records;
    this.#review(segment);
  }

  close(segment: Segment): void {
    segment.state = "closed";
    this.#review(segment);
  }

  /** The oldest segment with finished records that are not in SQL. */
  toMove(): Segment | undefined {
    for (const segment of this.#segments.values())
      if (segment.pending > 0 && segment.movedBytes < segment.safeBytes) return segment;
    return undefined;
  }

  /** Whether all that is finished now is in SQL, for whoever asks again later. */
  mark(): () => boolean {
    const marks = [...this.#segments.values()].map((segment) => ({ segment, upToBytes: segment.safeBytes }));
    return () => marks.every(({ segment, upToBytes }) => segment.pending === 0 || segment.movedBytes >= upToBytes);
  }

  #review(segment: Segment): void {
    if (segment.state === "active" || segment.unsafe > 0 || segment.pending > 0 || segment.open > 0) return;
    if (this.#segments.delete(segment.number)) this.#discard(segment);
  }
}
