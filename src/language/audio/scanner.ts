/** Reads one thing that begins at `at`: how far to go on from there, which may be beyond what has come; undefined
 * when more bytes must come before it can tell. What it says must not depend on where the bytes were cut. */
export type Step = (bytes: Buffer, at: number) => number | undefined;

/** Enough for the longest look ahead: a frame of ADTS and the header after it. */
const WINDOW_BYTES = 16 * 1024;
/** Goes on beyond any file: nothing more is read. */
export const TO_THE_END = Number.MAX_SAFE_INTEGER;

/** Walks a step through bytes that come in chunks. Its memory is one window, its time is linear in the bytes. */
export class Scanner {
  readonly #step: Step;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #from = 0;
  #to = 0;
  #skip = 0;

  constructor(step: Step) {
    this.#step = step;
  }

  /** Bytes that the last step went over and that have not come yet. */
  get missingBytes(): number {
    return this.#skip;
  }

  /** What waits for more bytes before it can be told. */
  get rest(): Buffer {
    return this.#window.subarray(this.#from, this.#to);
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#skip > 0) {
        const jump = Math.min(this.#skip, chunk.length - at);
        this.#skip -= jump;
        at += jump;
      } else {
        at += this.#fill(chunk, at);
        this.#walk();
      }
    }
  }

  #fill(chunk: Buffer, at: number): number {
    if (this.#to === WINDOW_BYTES) {
      this.#window.copyWithin(0, this.#from, this.#to);
      this.#to -= this.#from;
      this.#from = 0;
    }
    const copied = chunk.copy(this.#window, this.#to, at);
    this.#to += copied;
    return copied;
  }

  #walk(): void {
    const bytes = this.#window.subarray(0, this.#to);
    while (this.#from < this.#to) {
      let moved = this.#step(bytes, this.#from);
      if (moved === undefined) {
        // A step that waits with a full window would wait for ever.
        if (this.#to - this.#from < WINDOW_BYTES) return;
        moved = 1;
      }
      this.#from += Math.max(1, moved);
    }
    this.#skip = this.#from - this.#to;
    this.#from = 0;
    this.#to = 0;
  }
}

/** How far it is to the next such byte after `at`, or to the end of what has come. */
export function toNext(byte: number, bytes: Buffer, at: number): number {
  let next = at + 1;
  while (next < bytes.length && bytes[next] !== byte) next++;
  return next - at;
}

/** Whether a word stands at `at`; undefined when too little has come to tell. */
export function standsAt(word: string, bytes: Buffer, at: number): boolean | undefined {
  for (let i = 0; i < word.length; i++) {
    if (at + i >= bytes.length) return undefined;
    if (bytes[at + i] !== word.charCodeAt(i)) return false;
  }
  return true;
}
