/** Reads one thing that begins at `at`: how far to go on from there, which may be beyond what has come; undefined
 * when more bytes must come before it can tell. What it says must not depend on where the bytes were cut. */
export type ScanStep = (bytes: Buffer, at: number) => number | undefined;

/** Enough for the longest look ahead: a frame of ADTS and the header after it. */
const WINDOW_BYTES = 16 * 1024;
/** Goes on beyond any file: nothing more is read. */
export const SKIP_ALL = Number.MAX_SAFE_INTEGER;

/** Walks a step through bytes that come in chunks. Its memory is one window, its time is linear in the bytes. */
export class Scanner {
  readonly #step: ScanStep;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #start = 0;
  #end = 0;
  #pendingSkip = 0;

  constructor(step: ScanStep) {
    this.#step = step;
  }

  /** Bytes that the last step went over and that have not come yet. */
  get missingBytes(): number {
    return this.#pendingSkip;
  }

  /** What waits for more bytes before it can be told. */
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
      let moved = this.#step(bytes, this.#start);
      if (moved === undefined) {
        // A step that waits with a full window would wait for ever.
        if (this.#end - this.#start < WINDOW_BYTES) return;
        moved = 1;
      }
      this.#start += Math.max(1, moved);
    }
    this.#pendingSkip = this.#start - this.#end;
    this.#start = 0;
    this.#end = 0;
  }
}

/** How far it is to the next such byte after `at`, or to the end of what has come. */
export function bytesToNext(byte: number, bytes: Buffer, at: number): number {
  let next = at + 1;
  while (next < bytes.length && bytes[next] !== byte) next++;
  return next - at;
}

/** Whether a word stands at `at`; undefined when too little has come to tell. */
export function matchesAt(word: string, bytes: Buffer, at: number): boolean | undefined {
  for (let i = 0; i < word.length; i++) {
    if (at + i >= bytes.length) return undefined;
    if (bytes[at + i] !== word.charCodeAt(i)) return false;
  }
  return true;
}
