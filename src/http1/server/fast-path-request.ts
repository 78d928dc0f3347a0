import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { parseHeaderName } from "../../kit/header-name.ts";

/** A request that came whole, in one piece, and can be read in one way only. */
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

  /** Its sender has left. */
  get destroyed(): boolean {
    return this.socket.destroyed;
  }
}

export type FastPathRequestHead = { readonly url: string; readonly headers: IncomingHttpHeaders };

const HEAD_END = "\r\n\r\n";
const LINE_END = "\r\n";
/** Nothing but printed characters, and no line break that is none. */
const PRINTABLE_LINES = /^(?:[\t\x20-\x7e]*\r\n)+$/;
const REQUEST_LINE = /^POST (\/[\w\-.~/%?&=+:,@]*) HTTP\/1\.1\r\n/;
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,8})$/;
/** Far below what Node takes. */
const HEAD_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 100;

/**
 * By these a request is more than its head and so many bytes, its connection is to be more than one for the next, or an
 * object is made to hold what it does not.
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
 * Reads a POST that is plain: its head and its whole body are in these bytes, nothing is behind them, and there is nothing
 * about it that could be understood differently. Undefined for every other, whatever is the matter with it: those are for
 * Node's own parser to read or to refuse.
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
    // One that comes twice is joined or dropped, by its name. What an object has by itself looks as if it had come.
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
