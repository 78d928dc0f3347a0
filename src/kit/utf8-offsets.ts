/** One conversion reads no more than this. */
const PIECE_CHARS = 1024;

/** Converts between byte offsets in the UTF-8 form of a growing text and UTF-16 units, without reading it again each time. */
export class Utf8Offsets {
  #unread: string;
  readonly #pieces: { readonly text: string; readonly byte: number; readonly unit: number }[] = [];
  #bytes = 0;
  #units = 0;

  constructor(text = "") {
    this.#unread = text;
  }

  append(text: string): void {
    this.#unread += text;
  }

  /** An offset beyond the end is the end. */
  unitsBefore(byte: number): number {
    this.#split();
    if (byte >= this.#bytes) return this.#units;
    const piece = this.#pieceAt(byte, "byte");
    if (piece === undefined || byte <= 0) return 0;
    return piece.unit + Buffer.from(piece.text).toString("utf8", 0, byte - piece.byte).length;
  }

  /** An offset beyond the end is the end. */
  bytesBefore(unit: number): number {
    this.#split();
    if (unit >= this.#units) return this.#bytes;
    const piece = this.#pieceAt(unit, "unit");
    if (piece === undefined || unit <= 0) return 0;
    return piece.byte + Buffer.byteLength(piece.text.slice(0, unit - piece.unit));
  }

  /** Most replies are never asked for an offset. */
  #split(): void {
    const text = this.#unread;
    this.#unread = "";
    for (let at = 0; at < text.length; ) {
      let end = Math.min(at + PIECE_CHARS, text.length);
      if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
      const piece = text.slice(at, end);
      this.#pieces.push({ text: piece, byte: this.#bytes, unit: this.#units });
      this.#bytes += Buffer.byteLength(piece);
      this.#units += piece.length;
      at = end;
    }
  }

  #pieceAt(offset: number, by: "byte" | "unit") {
    let low = 0;
    let high = this.#pieces.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#pieces[middle]?.[by] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.#pieces[low];
  }
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;
