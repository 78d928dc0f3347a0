import type { RecordBatch } from "../../domain/record/record-batch.ts";
import type { Disk } from "./disk.ts";
import { doneRecordIn } from "./entry-codec.ts";
import { HEADER_BYTES, payloadAt } from "./frame.ts";
import type { JournalSegment } from "./segment-index.ts";

/** Finished records of one segment on their way to SQL. */
export type SegmentBatch = {
  readonly segment: JournalSegment;
  readonly upToBytes: number;
  readonly batch: RecordBatch;
};

const READ_BYTES = 2 * 1024 * 1024;

/**
 * Reads records back from the segment file, so that no record waits in memory for SQL, however long SQL is unavailable.
 * The bytes are not decoded; the buffer is shared with the thread that writes to SQL and reused: a batch is valid until the
 * next one is read.
 */
export class SegmentReader {
  readonly #disk: Disk;
  #buffer = sharedBytes(0);

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  read(segment: JournalSegment, recordsMax: number): SegmentBatch {
    const bytes = this.#readBytes(segment);
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

  /** A frame that is larger than the reused buffer gets one of its own. */
  #readBytes(segment: JournalSegment): Buffer {
    const unreadBytes = segment.durableBytes - segment.ingestedBytes;
    const bytes = this.#fill(segment, this.#bufferOf(Math.min(unreadBytes, READ_BYTES)));
    const first = payloadAt(bytes, 0);
    if (first === undefined || first.end <= bytes.length) return bytes;
    return this.#fill(segment, sharedBytes(Math.min(unreadBytes, first.end + HEADER_BYTES)));
  }

  /** Grows on demand, so that a quiet gateway uses little memory. */
  #bufferOf(bytes: number): Buffer {
    if (this.#buffer.length < bytes) this.#buffer = sharedBytes(2 ** Math.ceil(Math.log2(bytes)));
    return this.#buffer.subarray(0, bytes);
  }

  #fill(segment: JournalSegment, buffer: Buffer): Buffer {
    return buffer.subarray(0, this.#disk.readPart(segment.file, segment.ingestedBytes, buffer));
  }
}

function sharedBytes(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length));
}
