const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENERS: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSERS: ReadonlySet<number> = new Set([0x7d, 0x5d]);

/** Follows a JSON object that arrives in pieces, and knows when its last bracket has closed. */
export class JsonEndDetector {
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  get isComplete(): boolean {
    return this.#begun && this.#depth === 0;
  }

  feed(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (this.#escaped) this.#escaped = false;
      else if (this.#inString) {
        if (code === BACKSLASH) this.#escaped = true;
        else if (code === QUOTE) this.#inString = false;
      } else if (code === QUOTE) this.#inString = true;
      else if (OPENERS.has(code)) {
        this.#depth += 1;
        this.#begun = true;
      } else if (CLOSERS.has(code)) this.#depth -= 1;
    }
  }
}
