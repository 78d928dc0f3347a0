/**
 * Reads the element at `at` and returns how far to advance, possibly beyond the bytes received; undefined when it needs
 * more bytes. The result must not depend on how the bytes are split.
 */
export type ScanStep = (bytes: Buffer, at: number) => number | undefined;

/** Covers the longest lookahead: an ADTS frame and the next header. */
const WINDOW_BYTES = 16 * 1024;
/** Advances beyond any file: nothing more is read. */
export const SKIP_ALL = Number.MAX_SAFE_INTEGER;

/** Runs a scan step over bytes that arrive in chunks, with a fixed window and in linear time. */
export class Scanner {
  readonly #step: ScanStep;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #start = 0;
  #end = 0;
  #pendingSkip = 0;

  constructor(step: ScanStep) {
    this.#step = step;
  }

  /** Bytes that the last step skipped and that have not arrived yet. */
  get missingBytes(): number {
    return this.#pendingSkip;
  }

  /** Bytes in the window that the step has not consumed. */
  get unread(): Buffer {
    return this.#window.subarray(this.#start, this.#end);
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#pendingSkip > 0) {
        const jump = Math.min(this.#pendingSkip, chunk.length - at);
        this.#pendingSkip -= jump;
        at += jump;
      } else {
        at += this.#fill(chunk, at);
        this.#advance();
      }
    }
  }

  #fill(chunk: Buffer, at: number): number {
    if (this.#end === WINDOW_BYTES) {
      this.#window.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    const copied = chunk.copy(this.#window, this.#end, at);
    this.#end += copied;
    return copied;
  }

  #advance(): void {
    const bytes = this.#window.subarray(0, this.#end);
    while (this.#start < this.#end) {
      let advance = this.#step(bytes, this.#start);
      if (advance === undefined) {
        // With a full window no more bytes can arrive for this step.
        if (this.#end - this.#start < WINDOW_BYTES) return;
        advance = 1;
      }
      this.#start += Math.max(1, advance);
    }
    this.#pendingSkip = this.#start - this.#end;
    this.#start = 0;
    this.#end = 0;
  }
}

/** Distance to the next occurrence of `byte` after `at`, or to the end of the buffer. */
export function bytesToNext(byte: number, bytes: Buffer, at: number): number {
  let next = at + 1;
  while (next < bytes.length && bytes[next] !== byte) next++;
  return next - at;
}

/** Undefined when too few bytes have arrived to tell. */
export function matchesAt(word: string, bytes: Buffer, at: number): boolean | undefined {
  for (let i = 0; i < word.length; i++) {
    if (at + i >= bytes.length) return undefined;
    if (bytes[at + i] !== word.charCodeAt(i)) return false;
  }
  return true;
}
