const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;
const SEMICOLON = 59;
/** Limit for a chunk-size line with its extensions, and for all trailers together. */
const LINE_BYTES_MAX = 16 * 1024;
/** More hexadecimal digits could exceed a safe integer. */
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
  | "done"
  | "invalid";

/** Decodes the chunked transfer coding. The data of all chunks in one read is compacted in place into one buffer. */
export class ChunkedDecoder {
  #stage: ChunkedDecoderStage = "size";
  #size = 0;
  #digits = 0;
  #lineBytes = 0;
  #trailerBytes = 0;

  get state(): "decoding" | "done" | "invalid" {
    return this.#stage === "done" || this.#stage === "invalid" ? this.#stage : "decoding";
  }

  /** `data` is the decoded data of the bytes from `from` on; the body ends at `at` when the state is `done`. */
  decode(bytes: Buffer, from: number): { readonly at: number; readonly data: Buffer | undefined } {
    let at = from;
    let start = from;
    let end = from;
    while (at < bytes.length && this.state === "decoding") {
      if (this.#stage !== "data") {
        const dataStart = this.#skipPlainSizeLine(bytes, at);
        if (dataStart === at) this.#step(bytes[at] ?? 0);
        at = dataStart === at ? at + 1 : dataStart;
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
    return { at, data: start === end ? undefined : bytes.subarray(start, end) };
  }

  /**
   * Fast path for a complete size line without extensions, together with the CRLF of the previous chunk. Returns where the
   * data starts, or `at` if the line is anything else. The byte-by-byte path costs more than the data of small chunks.
   */
  #skipPlainSizeLine(bytes: Buffer, at: number): number {
    const isAfterData = this.#stage === "data_cr" && bytes[at] === CR && bytes[at + 1] === LF;
    if (!isAfterData && (this.#stage !== "size" || this.#digits > 0)) return at;
    const first = isAfterData ? at + 2 : at;
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
    this.#stage = byte === expected ? next : "invalid";
  }

  #sizeByte(byte: number): void {
    const digit = digitOf(byte);
    if (digit >= 0) {
      this.#digits += 1;
      this.#size = this.#size * 16 + digit;
      if (this.#digits > DIGITS_MAX) this.#stage = "invalid";
    } else if (this.#digits === 0) this.#stage = "invalid";
    else if (byte === CR) this.#stage = "size_end";
    else if (byte === SEMICOLON || byte === SPACE || byte === TAB) this.#stage = "extension";
    else this.#stage = "invalid";
  }

  /** Chunk extensions are ignored. */
  #extensionByte(byte: number): void {
    this.#lineBytes += 1;
    if (byte === LF || this.#lineBytes > LINE_BYTES_MAX) this.#stage = "invalid";
    else if (byte === CR) this.#stage = "size_end";
  }

  #sizeEnd(byte: number): void {
    this.#expect(byte, LF, this.#size === 0 ? "trailer" : "data");
    this.#digits = 0;
    this.#lineBytes = 0;
  }

  #trailerByte(byte: number): void {
    this.#trailerBytes += 1;
    if (byte === LF || this.#trailerBytes > LINE_BYTES_MAX) this.#stage = "invalid";
    else if (byte === CR) this.#stage = "trailer_lf";
    else this.#lineBytes += 1;
  }

  #trailerEnd(byte: number): void {
    this.#expect(byte, LF, this.#lineBytes === 0 ? "done" : "trailer");
    this.#lineBytes = 0;
  }
}

/** The value of a hexadecimal digit, or -1. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
