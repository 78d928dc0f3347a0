import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { parseHeaderName } from "../header-name.ts";

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
