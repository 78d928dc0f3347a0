import { crc32 } from "node:zlib";

/**
 * A frame is the length of its payload and the payload's CRC-32, four bytes each, then the payload. A length of zero
 * is not a frame, so that a tail of zeros, as a power cut can leave it, is not read as a row of empty ones.
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

/** Frames of one turn of the event loop, side by side, so that one write takes them all. */
export class FrameBuffer {
  #bytes = Buffer.allocUnsafe(FIRST_CAPACITY);
  #length = 0;

  /** A frame whose payload is these texts one behind the other: cheaper than putting them together first. */
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

  /** The bytes so far; valid until the next `add` or `clear`. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    // A burst does not keep its memory.
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
 * Where the payload of the frame at `at` begins and ends, by its length alone; undefined when the bytes stop before its
 * end. For bytes that this process wrote; what another one left behind is read with `readFrames`.
 */
export function payloadAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | undefined {
  const start = at + HEADER_BYTES;
  if (start > bytes.length) return undefined;
  const length = bytes.readUInt32LE(at);
  if (length === 0 || length > FRAME_MAX_BYTES) throw new Error(`there is no frame at byte ${at} of what was read`);
  return { start, end: start + length };
}

/**
 * How a segment ends: whole; torn, as a process or machine that died in the middle of a write leaves it; or damaged,
 * with bytes that no write of ours could have left.
 */
export type SegmentEnd =
  | { readonly is: "whole" }
  | { readonly is: "torn" | "damaged"; readonly atByte: number; readonly restBytes: number };

/** Hands every payload out in order, up to the first frame that is not right, and says how the segment ends. */
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
