import { id3TagBytes } from "./id3.ts";
import { type AudioMeter, durationToleranceSeconds, SampleDuration } from "./meter.ts";
import { bytesToNext, Scanner } from "./scanner.ts";

/** A frame as its header tells of it; frames of one stream have the same kind. Without bytes: of a length it does not tell. */
export type AudioFrame = {
  readonly bytes: number;
  readonly samples: number;
  readonly rateHz: number;
  readonly kind: number;
};

/** A stream that is nothing but frames, each with a header that tells its length. */
export type FrameFormat = {
  readonly headerBytes: number;
  /** The header at `at`, of which all bytes are there; undefined when it is none. */
  frameAt(bytes: Buffer, at: number): AudioFrame | undefined;
  /** A frame that tells of the file and holds no audio; encoders write it first. */
  isMetadataFrame(bytes: Buffer, at: number, frame: AudioFrame): boolean;
};

const SYNC_BYTE = 0xff;

/** Counts whole frames. What is no frame is passed over: a header is believed where another of its kind follows. */
export class FrameMeter implements AudioMeter {
  readonly #format: FrameFormat;
  readonly #duration = new SampleDuration();
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** The kind of the frames that follow each other here; undefined between such runs. */
  #runKind: number | undefined;
  #hasStarted = false;
  #lastFrame: AudioFrame | undefined;
  #skippedBytes = 0;
  /** Of headers that were not believed: a player may hear a frame there all the same. */
  #skippedSeconds = 0;

  constructor(framing: FrameFormat) {
    this.#format = framing;
  }

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    const cut = this.#scanner.missingBytes > 0 ? (this.#lastFrame?.samples ?? 0) : 0;
    const counted = this.#duration.secondsWithout(cut);
    if (this.#skippedSeconds > durationToleranceSeconds(counted)) return undefined;
    const alone = this.#unconfirmedFrame();
    if (alone !== undefined) return counted + alone.samples / alone.rateHz;
    return this.#lastFrame === undefined ? undefined : counted;
  }

  skippedBytes(): number {
    return this.#skippedBytes;
  }

  /** A whole frame with nothing behind it yet that could confirm it. */
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

  /** Goes on to the next header. */
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
