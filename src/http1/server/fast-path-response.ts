import type { Socket } from "node:net";
import { EXPOSED } from "../../edge/cors.ts";
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from "../../kit/node-http.ts";
import type { AnswerHeaders, Outgoing } from "./server-message.ts";

/** The connection that an answer is written to. */
export type ResponseChannel = {
  readonly socket: Socket;
  /** What every head ends with: the date, and how long the connection stays open. */
  readonly connectionHeaders: (last: boolean) => string;
  /** All of the answer has left, or nobody takes it any more. */
  readonly onClosed: () => void;
};

/** Headers that mean nothing to a connection: they are only written down. */
const TOLD: ReadonlySet<string> = new Set([...EXPOSED.split(", "), "content-type", "cache-control"]);
const NOT_PRINTABLE_ASCII = /[^\t\x20-\x7e]/;
const CONNECTION_OWNED_HEADERS: ReadonlySet<string> = new Set(["date", "keep-alive", "transfer-encoding", "trailer"]);
const NON_ASCII_LATIN1 = /[\x80-\xff]/;
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 304]);
const LAST_CHUNK = "0\r\n\r\n";
/** Larger pieces are not copied to stand behind what is written before them. */
const COALESCED_BYTES_MAX = 64 * 1024;

/** The answer to a plain request, with the head that Node would write. What belongs together leaves with one write. */
export class FastPathResponse implements Outgoing {
  headersSent = false;
  statusCode = 200;
  destroyed = false;
  writableFinished = false;
  shouldKeepAlive = true;
  readonly #channel: ResponseChannel;
  /** Until it leaves with the first piece of the body. */
  #head = "";
  #framing: "length" | "chunks" | "none" = "none";
  #ended = false;
  /** The head has letters that are two bytes in a text, and one in a head. */
  #hasLatin1Head = false;
  readonly #closeListeners: (() => void)[] = [];
  readonly #drainListeners: (() => void)[] = [];

  constructor(line: ResponseChannel) {
    this.#channel = line;
  }

  writeHead(status: number, headers: Readonly<AnswerHeaders>): void {
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
    let framing: "length" | "chunks" | "none" = BODILESS_STATUSES.has(status) ? "none" : "chunks";
    let last = !this.shouldKeepAlive;
    for (const name in headers) {
      const value = headers[name];
      if (TOLD.has(name) && typeof value === "string" && !NOT_PRINTABLE_ASCII.test(value)) {
        head += `${name}: ${value}\r\n`;
        continue;
      }
      const lines = validatedHeaderLines(name, value);
      const known = name.toLowerCase();
      if (CONNECTION_OWNED_HEADERS.has(known)) throw new TypeError(`the header ${known} is for the connection to say`);
      // Whoever says something of the connection says that it ends.
      if (known === "connection") last = true;
      else head += lines;
      if (known === "content-length") framing = "length";
      if (NON_ASCII_LATIN1.test(lines)) this.#hasLatin1Head = true;
    }
    this.shouldKeepAlive = !last;
    this.statusCode = status;
    this.headersSent = true;
    this.#framing = framing;
    this.#head = `${head}${this.#channel.connectionHeaders(last)}${framing === "chunks" ? "Transfer-Encoding: chunked\r\n" : ""}\r\n`;
  }

  write(chunk: Buffer | string): boolean {
    if (this.#ended || !this.#channel.socket.writable) return true;
    if (chunk.length === 0 && this.#head === "") return true;
    return this.#send(chunk, "");
  }

  end(chunk: Buffer | string = ""): void {
    const { socket } = this.#channel;
    // Nobody takes it, and it is closed in a moment.
    if (this.#ended || !socket.writable) return;
    this.#ended = true;
    this.#send(chunk, this.#framing === "chunks" ? LAST_CHUNK : "");
    if (socket.writableLength === 0) this.#onFlushed(socket.errored);
    else socket.write("", (error) => this.#onFlushed(error));
  }

  /** Only the connection can be cut, and when this answer has left it is another's. */
  destroy(): void {
    if (this.destroyed) return;
    this.#channel.socket.destroy();
    this.onClose();
  }

  on(event: "close" | "drain", listener: () => void): void {
    this.#listenersOf(event).push(listener);
  }

  off(event: "close" | "drain", listener: () => void): void {
    const listeners = this.#listenersOf(event);
    const at = listeners.indexOf(listener);
    if (at >= 0) listeners.splice(at, 1);
  }

  /** There is room again. */
  onDrain(): void {
    for (const listener of [...this.#drainListeners]) listener();
  }

  /** Nothing more leaves here: the answer has, or the connection is gone. */
  onClose(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#head = "";
    for (const listener of [...this.#closeListeners]) listener();
    this.#channel.onClosed();
  }

  #listenersOf(event: "close" | "drain"): (() => void)[] {
    return event === "close" ? this.#closeListeners : this.#drainListeners;
  }

  /** What could not be written is over when the connection is closed. */
  #onFlushed(error: Error | null | undefined): void {
    if (this.destroyed || (error !== null && error !== undefined)) return;
    this.writableFinished = true;
    this.onClose();
  }

  #send(chunk: Buffer | string, tail: string): boolean {
    const { socket } = this.#channel;
    const body = this.#framing === "none" ? "" : chunk;
    const isChunk = this.#framing === "chunks" && body.length > 0;
    const before = this.#head + (isChunk ? `${Buffer.byteLength(body).toString(16)}\r\n` : "");
    const behind = (isChunk ? "\r\n" : "") + tail;
    this.#head = "";
    if (typeof body === "string" && !this.#hasLatin1Head) {
      const text = before + body + behind;
      return text === "" || socket.write(text);
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (bytes.length <= COALESCED_BYTES_MAX) return socket.write(concatLatin1(before, bytes, behind));
    socket.cork();
    if (before !== "") socket.write(before, "latin1");
    socket.write(bytes);
    if (behind !== "") socket.write(behind);
    socket.uncork();
    return !socket.writableNeedDrain;
  }
}

/** Between texts of single bytes. */
function concatLatin1(before: string, body: Buffer, behind: string): Buffer {
  if (before === "" && behind === "") return body;
  const bytes = Buffer.allocUnsafe(before.length + body.length + behind.length);
  bytes.write(before, 0, "latin1");
  body.copy(bytes, before.length);
  if (behind !== "") bytes.write(behind, before.length + body.length, "latin1");
  return bytes;
}

function validatedHeaderLines(name: string, value: string | readonly string[] | undefined): string {
  validateHeaderName(name);
  let lines = "";
  for (const one of Array.isArray(value) ? value : [value]) {
    validateHeaderValue(name, one);
    lines += `${name}: ${one}\r\n`;
  }
  return lines;
}
