import type { IncomingHttpHeaders } from "node:http";
import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../header-name.ts";
import { HttpFault } from "./http-fault.ts";

/** How the end of a body is told. */
export type BodyFraming =
  | { readonly is: "none" }
  | { readonly is: "length"; readonly bytes: number }
  | { readonly is: "chunked" }
  | { readonly is: "until_close" };

export type ResponseHead = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly framing: BodyFraming;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
};

const VERSION = "HTTP/1.";
const STATUS_AT = "HTTP/1.1 ".length;
const STATUS = /^[1-9]\d\d(?: |$)/;
const LENGTH = /^\d{1,15}$/;
const SPACE = 32;
const TAB = 9;

/** Reads everything before the empty line. What two readers could understand differently is refused. */
export function parseResponseHead(text: string): ResponseHead {
  const lineEnd = text.indexOf("\r\n");
  const first = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const { status, isPersistent } = first === COMMON_STATUS_LINE ? COMMON_STATUS : parseStatusLine(first);
  const headers = lineEnd < 0 ? {} : parseHeaders(text, lineEnd + 2);
  const framing = framingOf(status, headers);
  const keepsAlive = isPersistent && framing.is !== "until_close" && !hasCloseOption(headers.connection);
  return { status, headers, framing, keepsAlive };
}

type StatusLine = {
  readonly status: number;
  /** Whether the connection stays open unless something else says otherwise. */
  readonly isPersistent: boolean;
};

/** What nearly every answer begins with. */
const COMMON_STATUS_LINE = "HTTP/1.1 200 OK";
const COMMON_STATUS: StatusLine = { status: 200, isPersistent: true };

function parseStatusLine(line: string): StatusLine {
  const minor = line.charAt(VERSION.length);
  const isKnown = line.startsWith(VERSION) && (minor === "1" || minor === "0") && line.charAt(STATUS_AT - 1) === " ";
  const status = line.slice(STATUS_AT);
  if (!isKnown || !STATUS.test(status) || INVALID_HEADER_VALUE_CHAR.test(status))
    throw new HttpFault("HTTP_BAD_ANSWER");
  return { status: Number(status.slice(0, 3)), isPersistent: minor === "1" };
}

function hasCloseOption(connection: string | undefined): boolean {
  return connection !== undefined && connection !== "keep-alive" && /\bclose\b/i.test(connection);
}

function parseHeaders(text: string, from: number): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (let at = from; at < text.length; ) {
    const next = text.indexOf("\r\n", at);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(":", at);
    if (colon < 0 || colon >= end) throw new HttpFault("HTTP_BAD_ANSWER");
    const name = parseHeaderName(text.slice(at, colon));
    const value = trimOws(text, colon + 1, end);
    if (name === undefined || INVALID_HEADER_VALUE_CHAR.test(value)) throw new HttpFault("HTTP_BAD_ANSWER");
    addHeader(headers, name, value);
    at = end + 2;
  }
  return headers;
}

/** Without the two characters that are space in HTTP: the language's own trim takes others, too, which other readers keep. */
function trimOws(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isOws(text.charCodeAt(start))) start += 1;
  while (end > start && isOws(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isOws(code: number): boolean {
  return code === SPACE || code === TAB;
}

function addHeader(headers: IncomingHttpHeaders, name: string, value: string): void {
  if (name === "set-cookie") {
    headers["set-cookie"] = [...(headers["set-cookie"] ?? []), value];
    return;
  }
  const before = headers[name];
  if (before === undefined) headers[name] = value;
  // The same length twice is one, for most; two readers need not be of one mind about it.
  else if (name === "content-length") throw new HttpFault("HTTP_BAD_ANSWER");
  else headers[name] = `${String(before)}, ${value}`;
}

function framingOf(status: number, headers: IncomingHttpHeaders): BodyFraming {
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  if (status < 200 || status === 204 || status === 304) return { is: "none" };
  if (coding !== undefined) {
    if (length !== undefined || coding.toLowerCase() !== "chunked") throw new HttpFault("HTTP_BAD_ANSWER");
    return { is: "chunked" };
  }
  if (length === undefined) return { is: "until_close" };
  if (!LENGTH.test(length)) throw new HttpFault("HTTP_BAD_ANSWER");
  return { is: "length", bytes: Number(length) };
}
