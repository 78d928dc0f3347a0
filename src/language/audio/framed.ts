import { tagBytes } from "./id3.ts";
import { type Meter, nearSeconds, Tally } from "./meter.ts";
import { Scanner, toNext } from "./scanner.ts";

/** A frame as its header tells of it; frames of one stream have the same kind. Without bytes: of a length it does not tell. */
export type Frame = {
  readonly bytes: number;
  readonly samples: number;
  readonly rateHz: number;
  readonly kind: number;
};

/** A stream that is nothing but frames, each with a header that tells its length. */
export type Framing = {
  readonly headerBytes: number;
  /** The header at `at`, of which all bytes are there; undefined when it is none. */
  frameAt(bytes: Buffer, at: number): Frame | undefined;
  /** A frame that tells of the file and holds no audio; encoders write it first. */
  isNote(bytes: Buffer, at: number, frame: Frame): boolean;
};

const SYNC = 0xff;

/** Counts whole frames. What is no frame is passed over: a header is believed where another of its kind follows. */
export class FrameMeter implements Meter {
  readonly #framing: Framing;
  readonly #tally = new Tally();
  readonly #scanner = new Scanner((bytes, at) => this.#read(bytes, at));
  /** The kind of the frames that follow each other here; undefined between such runs. */
  #run: number | undefined;
  #begun = false;
  #last: Frame | undefined;
  #passedBytes = 0;
  /** Of headers that were not believed: a player may hear a frame there all the same. */
  #passedSeconds = 0;

  constructor(framing: Framing) {
    this.#framing = framing;
  }

  push(chunk: Buffer): void {
    this.#scanner.push(chunk);
  }

  seconds(): number | undefined {
    const cut = this.#scanner.missingBytes > 0 ? (this.#last?.samples ?? 0) : 0;
    const counted = this.#tally.secondsWithout(cut);
    if (this.#passedSeconds > nearSeconds(counted)) return undefined;
    const alone = this.#frameAlone();
    if (alone !== undefined) return counted + alone.samples / alone.rateHz;
    return this.#last === undefined ? undefined : counted;
  }

  passedBytes(): number {
    return this.#passedBytes;
  }

  /** A whole frame with nothing behind it yet that could confirm it. */
  #frameAlone(): Frame | undefined {
    const rest = this.#scanner.rest;
    if (rest.length < this.#framing.headerBytes) return undefined;
    const frame = this.#framing.frameAt(rest, 0);
    return frame?.bytes === rest.length ? frame : undefined;
  }

  #read(bytes: Buffer, at: number): number | undefined {
    if (!this.#begun) {
      const tag = tagBytes(bytes, at);
      if (tag !== 0) return tag;
      this.#begun = true;
    }
    const here = bytes.length - at;
    if (here < this.#framing.headerBytes) return undefined;
    const frame = this.#framing.frameAt(bytes, at);
    if (frame === undefined) return this.#lost(bytes, at);
    if (frame.kind !== this.#run) {
      if (here < frame.bytes + this.#framing.headerBytes) return undefined;
      const next = frame.bytes === 0 ? undefined : this.#framing.frameAt(bytes, at + frame.bytes);
      if (next?.kind !== frame.kind) {
        this.#passedSeconds += frame.samples / frame.rateHz;
        return this.#lost(bytes, at);
      }
      this.#run = frame.kind;
      if (this.#framing.isNote(bytes, at, frame)) return frame.bytes;
    }
    this.#tally.add(frame.samples, frame.rateHz);
    this.#last = frame;
    return frame.bytes;
  }

  /** Goes on to the next header. */
  #lost(bytes: Buffer, at: number): number {
    this.#run = undefined;
    let next = at + toNext(SYNC, bytes, at);
    while (next + this.#framing.headerBytes <= bytes.length && this.#framing.frameAt(bytes, next) === undefined) {
      next += toNext(SYNC, bytes, next);
    }
    this.#passedBytes += next - at;
    return next - at;
  }
}
