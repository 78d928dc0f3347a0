import { id3TagBytes } from "./id3.ts";
import { type AudioMeter, durationToleranceSeconds, SampleDuration } from "./meter.ts";
import { bytesToNext, Scanner } from "./scanner.ts";

/** A frame header. Frames of one stream have the same `kind`; `bytes` is zero when the header does not state the length. */
export type AudioFrame = {
  readonly bytes: number;
  readonly samples: number;
  readonly rateHz: number;
  readonly kind: number;
};

/** A format of consecutive frames whose headers state their length. */
export type FrameFormat = {
  readonly headerBytes: number;
  /** Requires `headerBytes` bytes at `at`; undefined when there is no header. */
  frameAt(bytes: Buffer, at: number): AudioFrame | undefined;
  /** A frame with file information instead of audio, which encoders write first. */
  isMetadataFrame(bytes: Buffer, at: number, frame: AudioFrame): boolean;
};

const SYNC_BYTE = 0xff;

/** Counts complete frames. A header counts only when another of the same kind follows its frame. */
export class FrameMeter implements AudioMeter {
  readonly #format: FrameFormat;
  readonly #duration = new SampleDuration();
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** Kind of the current run of consecutive frames; undefined between runs. */
  #runKind: number | undefined;
  #hasStarted = false;
  #lastFrame: AudioFrame | undefined;
  #skippedBytes = 0;
  /** Duration of unconfirmed headers: a player may decode those frames. */
  #skippedSeconds = 0;

  constructor(format: FrameFormat) {
    this.#format = format;
  }

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    const cut = this.#scanner.missingBytes > 0 ? (this.#lastFrame?.samples ?? 0) : 0;
    const counted = this.#duration.secondsWithout(cut);
    if (this.#skippedSeconds > durationToleranceSeconds(counted)) return undefined;
    const unconfirmed = this.#unconfirmedFrame();
    if (unconfirmed !== undefined) return counted + unconfirmed.samples / unconfirmed.rateHz;
    return this.#lastFrame === undefined ? undefined : counted;
  }

  skippedBytes(): number {
    return this.#skippedBytes;
  }

  /** A complete frame at the end, with no following header to confirm it. */
  #unconfirmedFrame(): AudioFrame | undefined {
    const rest = this.#scanner.unread;
    if (rest.length < this.#format.headerBytes) return undefined;
    const frame = this.#format.frameAt(rest, 0);
    return frame?.bytes === rest.length ? frame : undefined;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (!this.#hasStarted) {
      const tag = id3TagBytes(bytes, at);
      if (tag !== 0) return tag;
      this.#hasStarted = true;
    }
    const here = bytes.length - at;
    if (here < this.#format.headerBytes) return undefined;
    const frame = this.#format.frameAt(bytes, at);
    if (frame === undefined) return this.#skipToNextHeader(bytes, at);
    if (frame.kind !== this.#runKind) {
      if (here < frame.bytes + this.#format.headerBytes) return undefined;
      const next = frame.bytes === 0 ? undefined : this.#format.frameAt(bytes, at + frame.bytes);
      if (next?.kind !== frame.kind) {
        this.#skippedSeconds += frame.samples / frame.rateHz;
        return this.#skipToNextHeader(bytes, at);
      }
      this.#runKind = frame.kind;
      if (this.#format.isMetadataFrame(bytes, at, frame)) return frame.bytes;
    }
    this.#duration.add(frame.samples, frame.rateHz);
    this.#lastFrame = frame;
    return frame.bytes;
  }

  #skipToNextHeader(bytes: Buffer, at: number): number {
    this.#runKind = undefined;
    let next = at + bytesToNext(SYNC_BYTE, bytes, at);
    while (next + this.#format.headerBytes <= bytes.length && this.#format.frameAt(bytes, next) === undefined) {
      next += bytesToNext(SYNC_BYTE, bytes, next);
    }
    this.#skippedBytes += next - at;
    return next - at;
  }
}
