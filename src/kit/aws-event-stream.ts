import { crc32 } from "node:zlib";

/**
 * A message of AWS's binary event stream (application/vnd.amazon.eventstream):
 *   u32 total length | u32 headers length | u32 CRC of these eight bytes | headers | payload | u32 CRC of all before
 */
type EventMessage = { readonly headers: ReadonlyMap<string, string>; readonly payload: Buffer };

/** `corrupt` and `oversized` end the stream: nothing after them can be parsed. */
export type EventStreamItem =
  | ({ readonly is: "message" } & EventMessage)
  | { readonly is: "corrupt"; readonly why: string }
  | { readonly is: "oversized"; readonly maxBytes: number };

const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const MESSAGE_BYTES_MIN = PRELUDE_BYTES + CHECKSUM_BYTES;

/** Parses a byte stream that may be split anywhere. A message above the limit is not buffered. */
export class EventStreamReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Parsing is skipped until this many bytes are buffered. */
  #needed = PRELUDE_BYTES;
  #isFinished = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Length of the unfinished message. */
  get pendingBytes(): number {
    return this.#size;
  }

  push(chunk: Buffer): EventStreamItem[] {
    if (this.#isFinished || chunk.length === 0) return [];
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    return this.#size < this.#needed ? [] : this.#take();
  }

  /** An incomplete message at the end of the stream is corrupt. */
  end(): EventStreamItem[] {
    if (this.#isFinished || this.#size === 0) return [];
    return [this.#fail("it ends inside a message")];
  }

  #take(): EventStreamItem[] {
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks, this.#size);
    const pieces: EventStreamItem[] = [];
    let at = 0;
    this.#needed = PRELUDE_BYTES;
    while (bytes.length - at >= PRELUDE_BYTES) {
      const total = this.#lengthAt(bytes, at);
      if (typeof total === "string") {
        pieces.push(this.#fail(total));
        return pieces;
      }
      if (total > this.#maxBytes) {
        this.#stop();
        return [...pieces, { is: "oversized", maxBytes: this.#maxBytes }];
      }
      this.#needed = total;
      if (bytes.length - at < total) break;
      const message = readMessage(bytes.subarray(at, at + total));
      if (typeof message === "string") {
        pieces.push(this.#fail(message));
        return pieces;
      }
      pieces.push({ is: "message", ...message });
      at += total;
      this.#needed = PRELUDE_BYTES;
    }
    const rest = bytes.subarray(at);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    return pieces;
  }

  /** The validated length of the message at `at`, or the reason why it is corrupt. */
  #lengthAt(bytes: Buffer, at: number): number | string {
    if (crc32(bytes.subarray(at, at + 8)) !== bytes.readUInt32BE(at + 8))
      return "the checksum of a message prelude is wrong";
    const total = bytes.readUInt32BE(at);
    const headers = bytes.readUInt32BE(at + 4);
    if (total < MESSAGE_BYTES_MIN || headers > total - MESSAGE_BYTES_MIN) return "a length is impossible";
    return total;
  }

  #fail(why: string): EventStreamItem {
    this.#stop();
    return { is: "corrupt", why };
  }

  #stop(): void {
    this.#isFinished = true;
    this.#chunks = [];
    this.#size = 0;
  }
}

function readMessage(bytes: Buffer): EventMessage | string {
  const end = bytes.length - CHECKSUM_BYTES;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) return "the checksum of a message is wrong";
  const headersEnd = PRELUDE_BYTES + bytes.readUInt32BE(4);
  const headers = readHeaders(bytes.subarray(PRELUDE_BYTES, headersEnd));
  return headers === undefined ? "a header is malformed" : { headers, payload: bytes.subarray(headersEnd, end) };
}

const TYPE_STRING = 7;
/** Value length by header type; types 6 and 7 have a length prefix. */
const FIXED_BYTES: ReadonlyMap<number, number> = new Map([
  [0, 0],
  [1, 0],
  [2, 1],
  [3, 2],
  [4, 4],
  [5, 8],
  [8, 8],
  [9, 16],
]);

/** String headers by name; values of other types are skipped. */
function readHeaders(bytes: Buffer): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0);
    const type = bytes[nameEnd];
    if (type === undefined) return undefined;
    const fixed = FIXED_BYTES.get(type);
    const sized = type === 6 || type === TYPE_STRING;
    if (fixed === undefined && !sized) return undefined;
    if (sized && nameEnd + 3 > bytes.length) return undefined;
    const start = nameEnd + (sized ? 3 : 1);
    const end = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1));
    if (end > bytes.length) return undefined;
    if (type === TYPE_STRING) headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", start, end));
    at = end;
  }
  return headers;
}

export function encodeEventMessage(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeHeader(name, value)));
  const body = Buffer.from(payload);
  const bytes = Buffer.alloc(MESSAGE_BYTES_MIN + head.length + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(head.length, 4);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8);
  head.copy(bytes, PRELUDE_BYTES);
  body.copy(bytes, PRELUDE_BYTES + head.length);
  const end = bytes.length - CHECKSUM_BYTES;
  bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end);
  return bytes;
}

function encodeHeader(name: string, value: string): Buffer {
  const [nameBytes, valueBytes] = [Buffer.from(name), Buffer.from(value)];
  const bytes = Buffer.alloc(1 + nameBytes.length + 3 + valueBytes.length);
  bytes.writeUInt8(nameBytes.length, 0);
  nameBytes.copy(bytes, 1);
  bytes.writeUInt8(TYPE_STRING, 1 + nameBytes.length);
  bytes.writeUInt16BE(valueBytes.length, 2 + nameBytes.length);
  valueBytes.copy(bytes, 4 + nameBytes.length);
  return bytes;
}
