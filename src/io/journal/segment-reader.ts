import type { RecordBatch } from "../../domain/record/record-batch.ts";
import type { Disk } from "./disk.ts";
import { doneRecordIn } from "./entry-codec.ts";
import { HEADER_BYTES, payloadAt } from "./frame.ts";
import type { JournalSegment } from "./segment-index.ts";

/** Finished records as they stand in a segment, on their way to SQL. */
export type SegmentBatch = {
  readonly segment: JournalSegment;
  readonly upToBytes: number;
  readonly batch: RecordBatch;
};

const READ_BYTES = 2 * 1024 * 1024;

/**
 * Reads what this process wrote back from its file. Nothing waits for SQL in memory, however long SQL is away, and no
 * text is made of the bytes on the way. The memory is shared with the thread that writes to SQL, and used again and
 * again: a load is good until the next one is read.
 */
export class SegmentReader {
  readonly #disk: Disk;
  #memory = sharedBytes(0);

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  read(segment: JournalSegment, recordsMax: number): SegmentBatch {
    const bytes = this.#bytesOf(segment);
    const bounds: number[] = [];
    let at = 0;
    while (at < bytes.length && bounds.length < 2 * recordsMax) {
      const payload = payloadAt(bytes, at);
      if (payload === undefined || payload.end > bytes.length) break;
      const record = doneRecordIn(bytes, payload.start, payload.end);
      if (record !== undefined) bounds.push(...record);
      at = payload.end;
    }
    if (at === 0) throw new Error(`${segment.file} has no whole frame at byte ${segment.ingestedBytes}`);
    return { segment, upToBytes: segment.ingestedBytes + at, batch: { bytes, bounds: Uint32Array.from(bounds) } };
  }

  /** As much as fits; a frame that is larger than the memory gets its own. */
  #bytesOf(segment: JournalSegment): Buffer {
    const waitingBytes = segment.durableBytes - segment.ingestedBytes;
    const bytes = this.#fill(segment, this.#room(Math.min(waitingBytes, READ_BYTES)));
    const first = payloadAt(bytes, 0);
    if (first === undefined || first.end <= bytes.length) return bytes;
    return this.#fill(segment, sharedBytes(Math.min(waitingBytes, first.end + HEADER_BYTES)));
  }

  /** Grows with what is read, so that a quiet gateway has little of it. */
  #room(bytes: number): Buffer {
    if (this.#memory.length < bytes) this.#memory = sharedBytes(2 ** Math.ceil(Math.log2(bytes)));
    return this.#memory.subarray(0, bytes);
  }

  #fill(segment: JournalSegment, memory: Buffer): Buffer {
    return memory.subarray(0, this.#disk.readPart(segment.file, segment.ingestedBytes, memory));
  }
}

function sharedBytes(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length));
}
