import { id3TagBytes } from "./id3.ts";
import { type AudioMeter, durationToleranceSeconds, SampleDuration } from "./meter.ts";
import { bytesToNext, matchesAt, Scanner, SKIP_ALL } from "./scanner.ts";

/** A FLAC frame header; `rateHz` is zero when the header refers to the stream's rate. */
export type FlacFrame = {
  readonly headerBytes: number;
  readonly samples: number;
  readonly rateHz: number;
  /** Header bits that are equal in all frames of a stream. */
  readonly kind: number;
};

const SYNC = 0xff;
const SAMPLE_RATES_HZ = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const CHANNEL_CODE_MAX = 10;
const RESERVED_SAMPLE_SIZE = 3;
const STREAMINFO = 0;
const INVALID_BLOCK_TYPE = 127;

const CRC8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80) === 0 ? crc << 1 : (crc << 1) ^ 0x107;
  return crc;
});

export function crc8(bytes: Buffer, from: number, to: number): number {
  let crc = 0;
  for (let i = from; i < to; i++) crc = CRC8[crc ^ (bytes[i] ?? 0)] ?? 0;
  return crc;
}

/** Undefined when there is no frame header at `at`; "more" when more bytes are needed to tell. */
export function flacFrameAt(bytes: Buffer, at: number): FlacFrame | "more" | undefined {
  const here = bytes.length - at;
  if (bytes[at] !== SYNC) return undefined;
  if (here < 5) return here > 1 && ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8 ? undefined : "more";
  const word = bytes.readUInt32BE(at);
  const [blockCode, rateCode] = [(word >>> 12) & 15, (word >>> 8) & 15];
  if (word >>> 17 !== 0x7ffc || blockCode === 0 || rateCode === 15 || (word & 1) !== 0) return undefined;
  if (((word >>> 4) & 15) > CHANNEL_CODE_MAX || ((word >>> 1) & 7) === RESERVED_SAMPLE_SIZE) return undefined;
  const numberBytes = codedNumberBytes(bytes.readUInt8(at + 4));
  if (numberBytes === undefined) return undefined;
  const blockAt = at + 4 + numberBytes;
  const rateAt = blockAt + (blockCode === 6 ? 1 : blockCode === 7 ? 2 : 0);
  const crcAt = rateAt + (rateCode < 12 ? 0 : rateCode === 12 ? 1 : 2);
  if (crcAt >= bytes.length) return "more";
  if (crc8(bytes, at, crcAt) !== bytes[crcAt]) return undefined;
  return {
    headerBytes: crcAt + 1 - at,
    samples: blockSamples(blockCode, bytes, blockAt),
    rateHz: sampleRateHz(rateCode, bytes, rateAt),
    // Blocking strategy and sample size; channel coupling may change from frame to frame.
    kind: word & 0x0001000e,
  };
}

function bytesToNextFrame(bytes: Buffer, at: number): number {
  let next = at + bytesToNext(SYNC, bytes, at);
  while (next < bytes.length && flacFrameAt(bytes, next) === undefined) next += bytesToNext(SYNC, bytes, next);
  return next - at;
}

/** Length of a UTF-8 coded number, by its first byte. */
function codedNumberBytes(first: number): number | undefined {
  if (first < 0x80) return 1;
  const ones = Math.clz32((~first & 0xff) << 24);
  return first < 0xc0 || first === 0xff ? undefined : ones;
}

function blockSamples(code: number, bytes: Buffer, at: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 576 << (code - 2);
  if (code === 6) return bytes.readUInt8(at) + 1;
  if (code === 7) return bytes.readUInt16BE(at) + 1;
  return 256 << (code - 8);
}

function sampleRateHz(code: number, bytes: Buffer, at: number): number {
  if (code === 12) return bytes.readUInt8(at) * 1000;
  if (code === 13) return bytes.readUInt16BE(at);
  if (code === 14) return bytes.readUInt16BE(at) * 10;
  return SAMPLE_RATES_HZ[code] ?? 0;
}

/** A long file contains a few false sync words. */
const FALSE_SYNCS_MAX = 8;

/** Counts frame headers. The total in STREAMINFO is not used, because streaming encoders do not know it. */
export class FlacMeter implements AudioMeter {
  readonly #duration = new SampleDuration();
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  #state: "start" | "blocks" | "frames" = "start";
  #isFlac = false;
  #streamRateHz = 0;
  /** A frame header contradicted STREAMINFO: players then use that rate for later frames without one. */
  #isStreamRateUnreliable = false;
  #firstFrame: Pick<FlacFrame, "kind" | "rateHz"> | undefined;
  /** Duration of headers unlike the first frame: false syncs, or frames that a player decodes anyway. */
  #mismatchedSeconds = 0;
  /** Mismatched headers whose rate is unknown. */
  #unknownRateFrames = 0;
  /** Bytes from each mismatched header to the next counted frame. */
  #skippedBytes = 0;
  #isAfterMismatch = false;

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    const { seconds } = this.#duration;
    const isMixed =
      this.#mismatchedSeconds > durationToleranceSeconds(seconds) || this.#unknownRateFrames > FALSE_SYNCS_MAX;
    return this.#isFlac && !isMixed ? seconds : undefined;
  }

  skippedBytes(): number {
    return this.#skippedBytes;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (this.#state === "start") return this.#readStart(bytes, at);
    if (this.#state === "blocks") return this.#readMetadataBlock(bytes, at);
    return this.#readFrame(bytes, at);
  }

  #readStart(bytes: Buffer, at: number): number | undefined {
    const tag = id3TagBytes(bytes, at);
    if (tag !== 0) return tag;
    const named = matchesAt("fLaC", bytes, at);
    if (named !== true) return named === false ? SKIP_ALL : undefined;
    this.#isFlac = true;
    this.#state = "blocks";
    return 4;
  }

  #readMetadataBlock(bytes: Buffer, at: number): number | undefined {
    const here = bytes.length - at;
    if (here < 4) return undefined;
    const word = bytes.readUInt32BE(at);
    const type = (word >>> 24) & 0x7f;
    const length = word & 0xffffff;
    if (type === INVALID_BLOCK_TYPE) {
      // No metadata block was marked as last; frames start here anyway.
      this.#state = "frames";
      return this.#readFrame(bytes, at);
    }
    if (type === STREAMINFO && length >= 14) {
      if (here < 4 + 14) return undefined;
      this.#streamRateHz = bytes.readUInt32BE(at + 14) >>> 12;
    }
    if (word >>> 31 === 1) this.#state = "frames";
    return 4 + length;
  }

  #readFrame(bytes: Buffer, at: number): number | undefined {
    const frame = flacFrameAt(bytes, at);
    if (frame === "more") return undefined;
    if (frame === undefined) return this.#skipToNextFrame(bytes, at);
    const { kind, samples } = frame;
    const rateHz = this.#frameRateHz(frame);
    this.#firstFrame ??= { kind, rateHz };
    if (rateHz === 0 || kind !== this.#firstFrame.kind || rateHz !== this.#firstFrame.rateHz) {
      if (rateHz === 0) this.#unknownRateFrames += 1;
      else this.#mismatchedSeconds += samples / rateHz;
      this.#isAfterMismatch = true;
      return this.#skipToNextFrame(bytes, at);
    }
    this.#isAfterMismatch = false;
    this.#duration.add(samples, rateHz);
    return frame.headerBytes;
  }

  /** Zero when unknown. */
  #frameRateHz({ kind, rateHz }: FlacFrame): number {
    if (rateHz === 0) return this.#isStreamRateUnreliable ? 0 : this.#streamRateHz;
    // False syncs rarely have the same kind.
    const isSameKind = this.#firstFrame === undefined || this.#firstFrame.kind === kind;
    this.#isStreamRateUnreliable ||= isSameKind && rateHz !== this.#streamRateHz;
    return rateHz;
  }

  #skipToNextFrame(bytes: Buffer, at: number): number {
    const passed = bytesToNextFrame(bytes, at);
    if (this.#isAfterMismatch) this.#skippedBytes += passed;
    return passed;
  }
}
