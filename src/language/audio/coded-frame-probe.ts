import { adtsFrameAt } from "./adts.ts";
import { mpegFrameAt } from "./mp3.ts";
import { Scanner, SKIP_ALL } from "./scanner.ts";

const HEADER_BYTES = 12;
/** Longest frame that the probe follows. */
const LOOKAHEAD_BYTES = 16 * 1024;
/** Consecutive frames that rule out coincidence; a run at the very start needs fewer. */
const RUN_MIN_FRAMES = 6;
const FIRST_RUN_MIN_FRAMES = 3;

/** Decoders do not probe further. */
const PROBE_MAX_BYTES = 8 * 1024 * 1024;
/** First bytes of all sync words. */
const SYNC_FIRST_BYTES = new Uint8Array(256);
for (const byte of [0xff, 0x56, 0x0b, 0x77, 0x7f, 0xfe, 0x1f]) SYNC_FIRST_BYTES[byte] = 1;

/** Detects coded frames in data declared as raw samples: players detect and play them, so the raw length would be wrong. */
export class CodedFrameProbe {
  readonly #scanner = new Scanner((bytes, at) => this.#step(bytes, at));
  /** One-based, so that zero in `#expectedAt` means empty. */
  #position = 1;
  #hasStarted = false;
  /** Ring buffers indexed by position: where the next frame is expected, and the length of the run before it. */
  readonly #expectedAt = new Uint32Array(LOOKAHEAD_BYTES);
  readonly #runLengths = new Uint8Array(LOOKAHEAD_BYTES);
  isFound = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  #step(bytes: Buffer, at: number): number | undefined {
    if (this.isFound || this.#position > PROBE_MAX_BYTES) return SKIP_ALL;
    const moved = this.#read(bytes, at);
    this.#position += moved ?? 0;
    return moved;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < HEADER_BYTES) return undefined;
    const isFirst = !this.#hasStarted;
    if (isFirst && bytes[at] === 0) return bytesToNonZero(bytes, at);
    this.#hasStarted = true;
    const frameBytes = codedFrameBytesAt(bytes, at);
    if (frameBytes !== undefined) this.#recordFrame(frameBytes, isFirst ? RUN_MIN_FRAMES - FIRST_RUN_MIN_FRAMES : 0);
    return bytesToSyncCandidate(bytes, at);
  }

  #recordFrame(frameBytes: number, credit: number): void {
    const here = this.#position % LOOKAHEAD_BYTES;
    const run = 1 + (this.#expectedAt[here] === this.#position ? (this.#runLengths[here] ?? 0) : credit);
    const next = this.#position + frameBytes;
    const there = next % LOOKAHEAD_BYTES;
    this.#runLengths[there] = this.#expectedAt[there] === next ? Math.max(run, this.#runLengths[there] ?? 0) : run;
    this.#expectedAt[there] = next;
    this.isFound = run >= RUN_MIN_FRAMES;
  }
}

function bytesToNonZero(bytes: Buffer, at: number): number {
  let next = at + 1;
  while (next < bytes.length && bytes[next] === 0) next++;
  return next - at;
}

/** Skips samples that cannot start a header by their first two or three bytes. */
function bytesToSyncCandidate(bytes: Buffer, at: number): number {
  const last = bytes.length - 2;
  let next = at + 1;
  while (next < last && (SYNC_FIRST_BYTES[bytes[next] ?? 0] === 0 || !maySync(bytes, next))) next++;
  return next - at;
}

function maySync(bytes: Buffer, at: number): boolean {
  const second = bytes[at + 1] ?? 0;
  switch (bytes[at]) {
    case 0xff: {
      if (second === 0x1f || (second & 0xf6) === 0xf0) return true;
      const third = bytes[at + 2] ?? 0;
      return second > 0xe0 && third >= 0x10 && third < 0xf0 && (third & 0x0c) !== 0x0c;
    }
    case 0x56:
      return second >= 0xe0;
    case 0x0b:
      return second === 0x77;
    case 0x77:
      return second === 0x0b;
    case 0x7f:
      return second === 0xfe;
    case 0xfe:
      return second === 0x7f;
    default:
      return second === 0xff;
  }
}

/** Length of an MPEG audio, AAC, AC-3 or DTS frame; undefined when there is none. */
function codedFrameBytesAt(bytes: Buffer, at: number): number | undefined {
  const start = bytes.readUInt16BE(at);
  if (start >= 0xffe0) return mpegFrameAt(bytes, at)?.bytes ?? adtsFrameAt(bytes, at)?.bytes;
  if (start >>> 5 === 0x2b7) return 3 + (bytes.readUInt16BE(at + 1) & 0x1fff);
  if (start === 0x0b77) return ac3FrameBytes((index) => bytes.readUInt8(at + index));
  if (start === 0x770b) return ac3FrameBytes((index) => bytes.readUInt8(at + (index ^ 1)));
  return dtsFrameBytes(bytes, at);
}

const AC3_KBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];

/** E-AC-3 states its length; AC-3 derives it from bit rate and sample rate. */
function ac3FrameBytes(byte: (index: number) => number): number | undefined {
  const version = byte(5) >>> 3;
  if (version > 16) return undefined;
  if (version > 10) return ((((byte(2) & 7) << 8) | byte(3)) + 1) * 2;
  const [rate, size] = [byte(4) >>> 6, byte(4) & 63];
  const kbits = AC3_KBITS[size >>> 1];
  if (kbits === undefined || rate === 3) return undefined;
  if (rate === 1) return (Math.floor((kbits * 1_536_000) / 44_100 / 16) + (size & 1)) * 2;
  return kbits * (rate === 0 ? 4 : 6);
}

/** DTS sync words: 16-bit or 14-bit words, big or little endian. */
const DTS_SYNC_FORMATS = new Map([
  [0x7ffe8001, { bits: 16, read: (bytes: Buffer, at: number) => bytes.readUInt16BE(at) }],
  [0xfe7f0180, { bits: 16, read: (bytes: Buffer, at: number) => bytes.readUInt16LE(at) }],
  [0x1fffe800, { bits: 14, read: (bytes: Buffer, at: number) => bytes.readUInt16BE(at) & 0x3fff }],
  [0xff1f00e8, { bits: 14, read: (bytes: Buffer, at: number) => bytes.readUInt16LE(at) & 0x3fff }],
]);
const DTS_WORDS = 5;
/** The 14-bit length field ends at this bit. */
const DTS_LENGTH_END_BIT = 60;
const DTS_MIN_BYTES = 96;

function dtsFrameBytes(bytes: Buffer, at: number): number | undefined {
  const form = DTS_SYNC_FORMATS.get(bytes.readUInt32BE(at));
  if (form === undefined) return undefined;
  let head = 0n;
  for (let word = 0; word < DTS_WORDS; word++)
    head = (head << BigInt(form.bits)) | BigInt(form.read(bytes, at + word * 2));
  const length = Number((head >> BigInt(DTS_WORDS * form.bits - DTS_LENGTH_END_BIT)) & 0x3fffn) + 1;
  if (length < DTS_MIN_BYTES) return undefined;
  return form.bits === 16 ? length : Math.ceil((length * 8) / 14) * 2;
}
