import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { parseHeaderName } from "../../kit/header-name.ts";
import { FastPathResponse, type ResponseChannel } from "./fast-path-response.ts";

/**
 * Pipelined bytes are buffered up to this limit, then the socket is paused. While it is paused, a disconnect of the client
 * goes unnoticed.
 */
const PIPELINED_BYTES_MAX = 1024 * 1024;
/** A buffered segment costs at least this much memory, however short it is. */
const SEGMENT_COST_BYTES_MIN = 512;
const [CR, LF] = [13, 10];

/** Serves the requests of fast-path connections. */
export type FastPathReceiver = { receive(request: FastPathRequest, response: FastPathResponse): unknown };

type FastPathConnectionHost = Pick<ResponseChannel, "connectionHeaders" | "endToEndHeaders"> & {
  readonly receiver: FastPathReceiver;
  readonly onSocketTimeout: (socket: Socket) => void;
  readonly handOverToNode: (connection: FastPathConnection, bytes: Buffer) => void;
  readonly onClosed: (connection: FastPathConnection) => void;
  readonly idleChecks: { readonly count: number };
  readonly onRequestQueued: () => void;
  readonly onRequestDequeued: () => void;
};

/** A connection that has carried only fast-path requests so far; it serves one at a time. */
export class FastPathConnection {
  readonly channel: ResponseChannel;
  readonly #host: FastPathConnectionHost;
  readonly #pipelined: Buffer[] = [];
  #pipelinedBytes = 0;
  #response: FastPathResponse | undefined;
  /** The number of idle checks that had run when the connection was last active. */
  activeAtCheck: number;
  isUnused = true;

  constructor(socket: Socket, host: FastPathConnectionHost) {
    this.#host = host;
    this.channel = {
      socket,
      endToEndHeaders: host.endToEndHeaders,
      connectionHeaders: host.connectionHeaders,
      onClosed: () => this.#onResponseClosed(),
    };
    this.activeAtCheck = host.idleChecks.count;
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  get isIdle(): boolean {
    return this.#response === undefined && this.#pipelined.length === 0;
  }

  readonly #onData = (bytes: Buffer): void => {
    // The connection is closing: no further request is served.
    if (this.channel.socket.writableEnded) return;
    if (this.isIdle) {
      this.#read(bytes);
      return;
    }
    if (this.#pipelined.length === 0) this.#host.onRequestQueued();
    this.#pipelined.push(bytes);
    this.#pipelinedBytes += Math.max(bytes.length, SEGMENT_COST_BYTES_MIN);
    if (this.#pipelinedBytes > PIPELINED_BYTES_MAX) this.channel.socket.pause();
  };

  /** Half-close ends the connection, as in Node. */
  readonly #onEnd = (): void => {
    this.channel.socket.end();
  };

  readonly #onDrain = (): void => this.#response?.onDrain();

  readonly #onTimeout = (): void => this.#host.onSocketTimeout(this.channel.socket);

  /** "close" follows and does the work. */
  readonly #onError = (): void => {};

  readonly #onClose = (): void => {
    this.#host.onClosed(this);
    this.#response?.onClose();
    this.#takePipelined();
  };

  #read(bytes: Buffer): void {
    // Some clients send an empty line after a request body; it does not start the next request.
    if (!this.isUnused && bytes.length === 2 && bytes[0] === CR && bytes[1] === LF) return;
    const parsed = parseFastPathRequest(bytes);
    if (parsed === undefined) {
      this.#handOverToNode(bytes);
      return;
    }
    this.isUnused = false;
    this.#response = new FastPathResponse(this.channel);
    this.#host.receiver.receive(new FastPathRequest(parsed.head, parsed.body, this.channel.socket), this.#response);
  }

  #handOverToNode(bytes: Buffer): void {
    const { socket } = this.channel;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#host.handOverToNode(this, bytes);
  }

  #onResponseClosed(): void {
    const { socket } = this.channel;
    const response = this.#response;
    this.#response = undefined;
    this.activeAtCheck = this.#host.idleChecks.count;
    if (socket.destroyed) return;
    if (response?.shouldKeepAlive !== true) return void socket.destroySoon();
    if (socket.timeout) socket.setTimeout(0);
    if (this.#pipelined.length > 0) setImmediate(() => this.#readPipelined());
  }

  #readPipelined(): void {
    const { socket } = this.channel;
    if (!socket.writable || this.#response !== undefined) return;
    const bytes = this.#takePipelined();
    if (socket.isPaused()) socket.resume();
    if (bytes.length > 0) this.#read(bytes);
  }

  #takePipelined(): Buffer {
    const bytes = Buffer.concat(this.#pipelined.splice(0));
    this.#pipelinedBytes = 0;
    // One tick later: by then the request is counted where it is served, so the in-flight count never drops to zero.
    if (bytes.length > 0) setImmediate(this.#host.onRequestDequeued);
    return bytes;
  }
}

/** A complete request that arrived in one read and has only one possible interpretation. */
export class FastPathRequest {
  readonly method = "POST";
  readonly httpVersion = "1.1";
  readonly complete = true;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly socket: Socket;

  constructor(head: FastPathRequestHead, body: Buffer, socket: Socket) {
    this.url = head.url;
    this.headers = head.headers;
    this.body = body;
    this.socket = socket;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }
}

/** A request read by the fast path or by Node's server. */
export type InboundHttpRequest = IncomingMessage | FastPathRequest;

export type FastPathRequestHead = { readonly url: string; readonly headers: IncomingHttpHeaders };

const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";
/** Printable ASCII only, and every line break is CRLF. */
const PRINTABLE_LINES = /^(?:[\t\x20-\x7e]*\r\n)+$/;
const REQUEST_LINE = /^POST (\/[\w\-.~/%?&=+:,@]*) HTTP\/1\.1\r\n/;
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,8})$/;
/** Far below Node's limit, so Node decides about larger heads. */
const HEAD_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 100;

/**
 * Headers that change the framing of the request or the use of the connection, that Node represents in another form than a
 * string, or that are not safe as an object key.
 */
const UNSUPPORTED_HEADERS: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "trailer",
  "proxy-connection",
  "http2-settings",
  "set-cookie",
  "__proto__",
]);

/**
 * Parses a POST whose head and whole body are in `bytes`, with nothing after them and nothing ambiguous in them. Returns
 * undefined for anything else, which Node's own parser then accepts or rejects.
 */
export function parseFastPathRequest(
  bytes: Buffer,
): { readonly head: FastPathRequestHead; readonly body: Buffer } | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0 || end > HEAD_BYTES_MAX) return undefined;
  const head = parseHead(bytes.toString("latin1", 0, end + LINE_END.length));
  if (head === undefined) return undefined;
  const length = head.headers["content-length"] ?? "";
  const start = end + HEAD_END.length;
  if (!CONTENT_LENGTH.test(length) || bytes.length !== start + Number(length)) return undefined;
  return { head, body: bytes.subarray(start) };
}

function parseHead(text: string): FastPathRequestHead | undefined {
  const url = PRINTABLE_LINES.test(text) ? REQUEST_LINE.exec(text)?.[1] : undefined;
  if (url === undefined) return undefined;
  const headers: IncomingHttpHeaders = {};
  let count = 0;
  for (let at = text.indexOf(LINE_END) + LINE_END.length; at < text.length; ) {
    const end = text.indexOf(LINE_END, at);
    const colon = text.indexOf(":", at);
    const name = colon < 0 || colon > end ? undefined : parseHeaderName(text.slice(at, colon));
    // Node joins or drops a repeated header depending on its name. Keys inherited from Object count as repeated, too.
    if (name === undefined || UNSUPPORTED_HEADERS.has(name) || headers[name] !== undefined) return undefined;
    headers[name] = text.slice(colon + 1, end).trim();
    count += 1;
    at = end + LINE_END.length;
  }
  return count <= HEADERS_MAX && isPersistent(headers) ? { url, headers } : undefined;
}

function isPersistent({ host, connection }: IncomingHttpHeaders): boolean {
  return host !== undefined && (connection === undefined || connection.toLowerCase() === "keep-alive");
}
