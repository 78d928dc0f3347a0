import type { FileChunk } from "../../domain/batches/stored-file.ts";

/** Small chunks are shared better among processes; each costs a row. */
const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** Cuts bytes into chunks of whole lines. The last line may lack its line break. */
export class LineChunker {
  readonly #lineBytesMax: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Bytes since the last line break. */
  #openBytes = 0;
  #number = 0;
  bytes = 0;
  /** Set to the one-based number of a line that is too long; nothing more is cut then. */
  tooLongLine: number | undefined;
  #lines = 0;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The chunks that are complete. */
  add(bytes: Buffer): FileChunk[] {
    const chunks: FileChunk[] = [];
    let start = 0;
    while (this.tooLongLine === undefined) {
      const end = bytes.indexOf(LINE_FEED, start);
      if (end < 0) break;
      this.#append(bytes.subarray(start, end + 1));
      this.#checkLine();
      this.#lines += 1;
      this.#openBytes = 0;
      start = end + 1;
      if (this.#pendingBytes >= CHUNK_BYTES) chunks.push(this.#cut());
    }
    this.#append(bytes.subarray(start));
    this.#checkLine();
    return chunks;
  }

  /** The rest. */
  end(): FileChunk[] {
    return this.#pendingBytes === 0 ? [] : [this.#cut()];
  }

  #append(bytes: Buffer): void {
    if (bytes.length === 0 || this.tooLongLine !== undefined) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#openBytes += bytes.length;
    this.bytes += bytes.length;
  }

  #checkLine(): void {
    if (this.#openBytes > this.#lineBytesMax) this.tooLongLine ??= this.#lines + 1;
  }

  #cut(): FileChunk {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#number += 1;
    return { number: this.#number - 1, bytes };
  }
}

/** The lines of a chunk that are not blank. */
export function linesIn(chunk: Buffer): string[] {
  return chunk
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
}
