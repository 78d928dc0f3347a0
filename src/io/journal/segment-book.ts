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
  /** `file` once a finished record of it was not handed over in memory: then the file itself has to be read. */
  source: "memory" | "file";
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
      source: "memory",
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

  /** This many finished records of the segment, as handed over in memory, are in SQL now. */
  ingested(segment: Segment, count: number): void {
    segment.pending = Math.max(0, segment.pending - count);
    this.#review(segment);
  }

  /** The whole file is in SQL now. */
  ingestedWhole(segment: Segment): void {
    segment.pending = 0;
    segment.source = "memory";
    this.#review(segment);
  }

  close(segment: Segment): void {
    segment.state = "closed";
    this.#review(segment);
  }

  /** The oldest segment that has to be read from its file. */
  toRead(): Segment | undefined {
    for (const segment of this.#segments.values())
      if (segment.source === "file" && segment.state === "closed") return segment;
    return undefined;
  }

  #review(segment: Segment): void {
    if (segment.state === "active" || segment.pending > 0 || segment.open > 0) return;
    if (this.#segments.delete(segment.number)) this.#discard(segment);
  }
}
