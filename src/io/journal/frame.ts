import { crc32 } from "node:zlib";

/**
 * A frame is the payload's length and CRC-32, four bytes each, then the payload. A length of zero is invalid: a power cut
 * can leave a tail of zeros, which must not be read as empty frames.
 */
export const HEADER_BYTES = 8;
const FRAME_MAX_BYTES = 16 * 1024 * 1024;

/** One UTF-16 unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;
const FIRST_CAPACITY = 256 * 1024;

class FrameTooLarge extends Error {
  constructor(length: number) {
    super(`a journal entry of ${length} bytes is over the limit of ${FRAME_MAX_BYTES}`);
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
export function payloadAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | undefined {
  const start = at + HEADER_BYTES;
  if (start > bytes.length) return undefined;
  const length = bytes.readUInt32LE(at);
  if (length === 0 || length > FRAME_MAX_BYTES) throw new Error(`no frame at byte ${at}`);
  return { start, end: start + length };
}

/** `torn`: a crash interrupted the last write. `damaged`: the rest cannot come from an interrupted write. */
export type SegmentEnd =
  | { readonly is: "whole" }
  | { readonly is: "torn" | "damaged"; readonly atByte: number; readonly restBytes: number };

/** Passes every payload on in order, up to the first invalid frame. */
export function readFrames(bytes: Buffer, take: (payload: string) => void): SegmentEnd {
  let at = 0;
  while (at < bytes.length) {
    const start = at + HEADER_BYTES;
    const length = start <= bytes.length ? bytes.readUInt32LE(at) : 0;
    const end = start + length;
    const fits = length > 0 && length <= FRAME_MAX_BYTES && end <= bytes.length;
    if (!fits || crc32(bytes.subarray(start, end)) !== bytes.readUInt32LE(at + 4)) return endAt(bytes, at, end);
    take(bytes.toString("utf8", start, end));
    at = end;
  }
  return { is: "whole" };
}

function endAt(bytes: Buffer, atByte: number, frameEnd: number): SegmentEnd {
  const rest = bytes.subarray(atByte);
  const isTorn = frameEnd >= bytes.length || rest.every((byte) => byte === 0);
  return { is: isTorn ? "torn" : "damaged", atByte, restBytes: rest.length };
}
