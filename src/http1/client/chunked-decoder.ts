const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;
const SEMICOLON = 59;
/** Of a chunk's line with its extensions, and of everything behind the last chunk. */
const LINE_BYTES_MAX = 16 * 1024;
/** Hexadecimal digits of a size that is still exact. */
const DIGITS_MAX = 12;

type ChunkedDecoderStage =
  | "size"
  | "extension"
  | "size_end"
  | "data"
  | "data_cr"
  | "data_lf"
  | "trailer"
  | "trailer_lf"
  | "over"
  | "bad";

/** Takes the chunks of a body apart. It moves what they carry together, in place. */
export class ChunkedDecoder {
  #stage: ChunkedDecoderStage = "size";
  #size = 0;
  #digits = 0;
  /** Of the line that is being read. */
  #lineBytes = 0;
  #trailerBytes = 0;

  /** `bad`: what came is no chunk, and what comes behind it cannot be told. */
  get state(): "going" | "over" | "bad" {
    return this.#stage === "over" || this.#stage === "bad" ? this.#stage : "going";
  }

  /** `piece` is what the bytes from `from` on carry; behind `at` the body is over. */
  decode(bytes: Buffer, from: number): { readonly at: number; readonly piece: Buffer | undefined } {
    let at = from;
    let start = from;
    let end = from;
    while (at < bytes.length && this.state === "going") {
      if (this.#stage !== "data") {
        const data = this.#skipPlainSizeLine(bytes, at);
        if (data === at) this.#step(bytes[at] ?? 0);
        at = data === at ? at + 1 : data;
        continue;
      }
      const stop = Math.min(bytes.length, at + this.#size);
      if (start === end) start = end = at;
      if (end !== at) bytes.copyWithin(end, at, stop);
      end += stop - at;
      this.#size -= stop - at;
      at = stop;
      if (this.#size === 0) this.#stage = "data_cr";
    }
    return { at, piece: start === end ? undefined : bytes.subarray(start, end) };
  }

  /**
   * Behind the line that says a size and no more, with the end of the chunk before it; `at` itself where it is not there as a
   * whole, or anything else. Byte by byte it would cost a stream of many chunks more than all they carry.
   */
  #skipPlainSizeLine(bytes: Buffer, at: number): number {
    const isBehindData = this.#stage === "data_cr" && bytes[at] === CR && bytes[at + 1] === LF;
    if (!isBehindData && (this.#stage !== "size" || this.#digits > 0)) return at;
    const first = isBehindData ? at + 2 : at;
    let size = 0;
    let end = first;
    for (
      let digit = digitOf(bytes[end] ?? 0);
      digit >= 0 && end < first + DIGITS_MAX;
      digit = digitOf(bytes[end] ?? 0)
    ) {
      size = size * 16 + digit;
      end += 1;
    }
    if (size === 0 || bytes[end] !== CR || bytes[end + 1] !== LF) return at;
    this.#size = size;
    this.#stage = "data";
    return end + 2;
  }

  #step(byte: number): void {
    const stage = this.#stage;
    if (stage === "size") this.#sizeByte(byte);
    else if (stage === "size_end") this.#sizeEnd(byte);
    else if (stage === "data_cr") this.#expect(byte, CR, "data_lf");
    else if (stage === "data_lf") this.#expect(byte, LF, "size");
    else if (stage === "extension") this.#extensionByte(byte);
    else if (stage === "trailer") this.#trailerByte(byte);
    else this.#trailerEnd(byte);
  }

  #expect(byte: number, expected: number, next: ChunkedDecoderStage): void {
    this.#stage = byte === expected ? next : "bad";
  }

  #sizeByte(byte: number): void {
    const digit = digitOf(byte);
    if (digit >= 0) {
      this.#digits += 1;
      this.#size = this.#size * 16 + digit;
      if (this.#digits > DIGITS_MAX) this.#stage = "bad";
    } else if (this.#digits === 0) this.#stage = "bad";
    else if (byte === CR) this.#stage = "size_end";
    else if (byte === SEMICOLON || byte === SPACE || byte === TAB) this.#stage = "extension";
    else this.#stage = "bad";
  }

  /** Nobody asked for one: it is passed over. */
  #extensionByte(byte: number): void {
    this.#lineBytes += 1;
    if (byte === LF || this.#lineBytes > LINE_BYTES_MAX) this.#stage = "bad";
    else if (byte === CR) this.#stage = "size_end";
  }

  #sizeEnd(byte: number): void {
    this.#expect(byte, LF, this.#size === 0 ? "trailer" : "data");
    this.#digits = 0;
    this.#lineBytes = 0;
  }

  #trailerByte(byte: number): void {
    this.#trailerBytes += 1;
    if (byte === LF || this.#trailerBytes > LINE_BYTES_MAX) this.#stage = "bad";
    else if (byte === CR) this.#stage = "trailer_lf";
    else this.#lineBytes += 1;
  }

  #trailerEnd(byte: number): void {
    this.#expect(byte, LF, this.#lineBytes === 0 ? "over" : "trailer");
    this.#lineBytes = 0;
  }
}

/** The value of a hexadecimal digit, or -1. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
