import { constants } from "node:fs";
import { crc32 } from "node:zlib";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { Disk } from "./disk.ts";
import type { JournalEntry } from "./journal.ts";
import type { JournalSegment, SegmentBatch } from "./segment-files.ts";

/**
 * A frame is the payload's length and CRC-32, four bytes each, then the payload. A length of zero is invalid: a power cut
 * can leave a tail of zeros, which must not be read as empty frames.
 */
export const HEADER_BYTES = 8;
export const FRAME_MAX_BYTES = 16 * 1024 * 1024;

/** One UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
const FIRST_CAPACITY = 256 * 1024;

class FrameTooLarge extends Error {
  constructor(length: number) {
    super(`a journal entry of ${length} bytes exceeds the limit of ${FRAME_MAX_BYTES}`);
    this.name = "FrameTooLarge";
  }
}

/** Collects the frames of one event-loop tick for a single write. */
export class FrameBuffer {
  #bytes = Buffer.allocUnsafe(FIRST_CAPACITY);
  #length = 0;

  /** The payload is the concatenation of the three texts, without building it as one string. */
  add(head: string, body = "", tail = ""): void {
    const start = this.#length;
    this.#reserve(HEADER_BYTES + (head.length + body.length + tail.length) * BYTES_PER_UNIT_MAX);
    const bytes = this.#bytes;
    let end = start + HEADER_BYTES;
    end += bytes.write(head, end, "utf8");
    if (body.length > 0) end += bytes.write(body, end, "utf8");
    if (tail.length > 0) end += bytes.write(tail, end, "utf8");
    const length = end - start - HEADER_BYTES;
    if (length > FRAME_MAX_BYTES) throw new FrameTooLarge(length);
    bytes.writeUInt32LE(length, start);
    bytes.writeUInt32LE(crc32(bytes.subarray(start + HEADER_BYTES, end)), start + 4);
    this.#length = end;
  }

  /** Valid until the next `add` or `clear`. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    // Memory of a burst is freed.
    if (this.#bytes.length > 16 * FIRST_CAPACITY) this.#bytes = Buffer.allocUnsafe(FIRST_CAPACITY);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/**
 * The bounds of the payload of the frame at `at`, without a checksum; undefined when the header is incomplete. Only for
 * bytes that this process wrote; `readFrames` reads those of an earlier one.
 */
function payloadAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | undefined {
  const start = at + HEADER_BYTES;
  if (start > bytes.length) return undefined;
  const length = bytes.readUInt32LE(at);
  if (length === 0 || length > FRAME_MAX_BYTES) throw new Error(`no frame at byte ${at}`);
  return { start, end: start + length };
}

export const DONE_START = '{"t":"done","record":';
export const ENTRY_END = "}";

/** The store decides how records are serialized. */
export type SerializeRecord = (record: RequestRecord) => string;

/** An entry is a JSON object whose last field is the record; it is split there, so that the record is not copied. */
export function encodeEntry(
  entry: JournalEntry,
  serializeRecord: SerializeRecord,
): { readonly start: string; readonly recordJson: string } {
  const recordJson = serializeRecord(entry.record);
  if (entry.t === "done") return { start: DONE_START, recordJson };
  const { id, workspaceId, atMs } = entry;
  const head = JSON.stringify({ t: "open", id, workspaceId, atMs });
  return { start: `${head.slice(0, -1)},"record":`, recordJson };
}

const DONE_TAG = DONE_START.indexOf("done");
const DONE_TAG_BYTE = "d".charCodeAt(0);

/** The bounds of the record in the payload of a `done` entry; undefined for every other entry. */
function doneRecordIn(bytes: Buffer, start: number, end: number): [from: number, to: number] | undefined {
  if (bytes[start + DONE_TAG] !== DONE_TAG_BYTE) return undefined;
  return [start + DONE_START.length, end - ENTRY_END.length];
}

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

  /** Synchronous: recent writes are in the page cache, and a thread-pool round trip costs more. */
  #fill({ file, ingestedBytes }: JournalSegment, buffer: Buffer): Buffer {
    const fd = this.#disk.open(file, constants.O_RDONLY);
    try {
      let filled = 0;
      for (;;) {
        const count = this.#disk.readAt(fd, buffer, filled, buffer.length - filled, ingestedBytes + filled);
        filled += count;
        if (count === 0 || filled === buffer.length) return buffer.subarray(0, filled);
      }
    } finally {
      this.#disk.close(fd);
    }
  }
}

function sharedBytes(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length));
}
