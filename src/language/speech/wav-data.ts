const HEADER_MAX_BYTES = 64 * 1024;
const FILE_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;

/** Lets the samples of a WAV file through, and nothing of its headers. */
export class WavHeaderStripper {
  #header: Buffer | undefined = Buffer.alloc(0);

  /** Undefined when there are no samples where they should be. */
  push(bytes: Buffer): Buffer | undefined {
    if (this.#header === undefined) return bytes;
    const head = Buffer.concat([this.#header, bytes]);
    const at = samplesOffset(head);
    if (at === undefined) {
      this.#header = head;
      return head.length > HEADER_MAX_BYTES ? undefined : Buffer.alloc(0);
    }
    this.#header = undefined;
    return head.subarray(at);
  }
}

function samplesOffset(head: Buffer): number | undefined {
  let at = FILE_HEADER_BYTES;
  while (at + CHUNK_HEADER_BYTES <= head.length) {
    if (head.toString("latin1", at, at + 4) === "data") return at + CHUNK_HEADER_BYTES;
    const length = head.readUInt32LE(at + 4);
    at += CHUNK_HEADER_BYTES + length + (length % 2);
  }
  return undefined;
}
