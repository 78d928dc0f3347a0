import type { Socket } from "node:net";
import type { Clock } from "../../kit/clock.ts";
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from "../../kit/node-http.ts";
import type { OutboundHttpResponse, ResponseHeaders } from "./outbound-response.ts";

/** The connection that a response is written to. */
export type ResponseChannel = {
  readonly socket: Socket;
  readonly endToEndHeaders: ReadonlySet<string>;
  readonly connectionHeaders: ConnectionHeaders;
  /** The response is flushed, or the connection is closed. */
  readonly onClosed: () => void;
};

const NOT_PRINTABLE_ASCII = /[^\t\x20-\x7e]/;
const CONNECTION_OWNED_HEADERS: ReadonlySet<string> = new Set(["date", "keep-alive", "transfer-encoding", "trailer"]);
const NON_ASCII_LATIN1 = /[\x80-\xff]/;
const BODILESS_STATUSES: ReadonlySet<number> = new Set([204, 304]);
const LAST_CHUNK = "0\r\n\r\n";
/** Larger chunks are written separately from their framing: copying them costs more than a second write. */
const COALESCED_BYTES_MAX = 64 * 1024;

/**
 * The response to a fast-path request. The head equals Node's except for order and letter case; a head and its first
 * chunk, or a chunk and its framing, leave in one write.
 */
export class FastPathResponse implements OutboundHttpResponse {
  headersSent = false;
  statusCode = 200;
  destroyed = false;
  writableFinished = false;
  shouldKeepAlive = true;
  readonly #channel: ResponseChannel;
  /** Buffered until it leaves with the first chunk of the body. */
  #head = "";
  #framing: "length" | "chunks" | "none" = "none";
  #ended = false;
  /** The head must be written as Latin-1, not as UTF-8. */
  #hasLatin1Head = false;
  readonly #closeListeners: (() => void)[] = [];
  readonly #drainListeners: (() => void)[] = [];

  constructor(channel: ResponseChannel) {
    this.#channel = channel;
  }

  writeHead(status: number, headers: Readonly<ResponseHeaders>): void {
    const { endToEndHeaders } = this.#channel;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
    let framing: "length" | "chunks" | "none" = BODILESS_STATUSES.has(status) ? "none" : "chunks";
    let isLast = !this.shouldKeepAlive;
    for (const name in headers) {
      const value = headers[name];
      if (endToEndHeaders.has(name) && typeof value === "string" && !NOT_PRINTABLE_ASCII.test(value)) {
        head += `${name}: ${value}\r\n`;
        continue;
      }
      const lines = validatedHeaderLines(name, value);
      const lowerName = name.toLowerCase();
      if (CONNECTION_OWNED_HEADERS.has(lowerName))
        throw new TypeError(`the header ${lowerName} is set by the connection`);
      // The only `connection` option that handlers set is `close`.
      if (lowerName === "connection") isLast = true;
      else head += lines;
      if (lowerName === "content-length") framing = "length";
      if (NON_ASCII_LATIN1.test(lines)) this.#hasLatin1Head = true;
    }
    this.shouldKeepAlive = !isLast;
    this.statusCode = status;
    this.headersSent = true;
    this.#framing = framing;
    const connectionHeaders = this.#channel.connectionHeaders.lines(isLast ? "close" : "keep-alive");
    this.#head = `${head}${connectionHeaders}${framing === "chunks" ? "Transfer-Encoding: chunked\r\n" : ""}\r\n`;
  }

  write(chunk: Buffer | string): boolean {
    if (this.#ended || !this.#channel.socket.writable) return true;
    if (chunk.length === 0 && this.#head === "") return true;
    return this.#send(chunk, "");
  }

  end(chunk: Buffer | string = ""): void {
    const { socket } = this.#channel;
    // A socket that is no longer writable closes soon, which closes this response as unfinished.
    if (this.#ended || !socket.writable) return;
    this.#ended = true;
    this.#send(chunk, this.#framing === "chunks" ? LAST_CHUNK : "");
    if (socket.writableLength === 0) this.#onFlushed(socket.errored);
    else socket.write("", (error) => this.#onFlushed(error));
  }

  /** Destroys the connection, unless this response is complete: the connection then carries another response. */
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
    const index = listeners.indexOf(listener);
    if (index >= 0) listeners.splice(index, 1);
  }

  onDrain(): void {
    for (const listener of [...this.#drainListeners]) listener();
  }

  /** Called once the response is flushed or the connection is closed. */
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

  /** After a failed write the response stays unfinished until the socket closes. */
  #onFlushed(error: Error | null | undefined): void {
    if (this.destroyed || (error !== null && error !== undefined)) return;
    this.writableFinished = true;
    this.onClose();
  }

  #send(chunk: Buffer | string, terminator: string): boolean {
    const { socket } = this.#channel;
    const body = this.#framing === "none" ? "" : chunk;
    const isChunk = this.#framing === "chunks" && body.length > 0;
    const prefix = this.#head + (isChunk ? `${Buffer.byteLength(body).toString(16)}\r\n` : "");
    const suffix = (isChunk ? "\r\n" : "") + terminator;
    this.#head = "";
    if (typeof body === "string" && !this.#hasLatin1Head) {
      const text = prefix + body + suffix;
      return text === "" || socket.write(text);
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (bytes.length <= COALESCED_BYTES_MAX) return socket.write(concatLatin1(prefix, bytes, suffix));
    socket.cork();
    if (prefix !== "") socket.write(prefix, "latin1");
    socket.write(bytes);
    if (suffix !== "") socket.write(suffix);
    socket.uncork();
    return !socket.writableNeedDrain;
  }
}

/** The header lines that every head ends with: Date, Connection, Keep-Alive. Built once a second. */
export class ConnectionHeaders {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #idleSeconds: number;
  #dateMs = 0;
  #keepAlive = "";
  #close = "";

  constructor(clock: Pick<Clock, "nowMs">, idleMs: number) {
    this.#clock = clock;
    this.#idleSeconds = Math.floor(idleMs / 1_000);
  }

  lines(persistence: "keep-alive" | "close"): string {
    const nowMs = this.#clock.nowMs();
    if (Math.abs(nowMs - this.#dateMs) >= 1_000) {
      this.#dateMs = nowMs - (nowMs % 1_000);
      const date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
      this.#keepAlive = `${date}Connection: keep-alive\r\nKeep-Alive: timeout=${this.#idleSeconds}\r\n`;
      this.#close = `${date}Connection: close\r\n`;
    }
    return persistence === "close" ? this.#close : this.#keepAlive;
  }
}

function concatLatin1(prefix: string, body: Buffer, suffix: string): Buffer {
  if (prefix === "" && suffix === "") return body;
  const bytes = Buffer.allocUnsafe(prefix.length + body.length + suffix.length);
  bytes.write(prefix, 0, "latin1");
  body.copy(bytes, prefix.length);
  if (suffix !== "") bytes.write(suffix, prefix.length + body.length, "latin1");
  return bytes;
}

/** Throws the same errors as Node for an invalid name or value. */
function validatedHeaderLines(name: string, value: string | readonly string[] | undefined): string {
  validateHeaderName(name);
  let lines = "";
  for (const line of Array.isArray(value) ? value : [value]) {
    validateHeaderValue(name, line);
    lines += `${name}: ${line}\r\n`;
  }
  return lines;
}
