import type { IncomingHttpHeaders } from "node:http";
import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../header-name.ts";
import { HttpFault } from "./http-fault.ts";

/** How the end of a body is determined. */
export type BodyFraming =
  | { readonly is: "none" }
  | { readonly is: "length"; readonly bytes: number }
  | { readonly is: "chunked" }
  | { readonly is: "until_close" };

export type ResponseHead = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly framing: BodyFraming;
  /** Whether the connection may carry another request. */
  readonly keepsAlive: boolean;
};

const VERSION_PREFIX = "HTTP/1.";
const STATUS_OFFSET = "HTTP/1.1 ".length;
const STATUS = /^[1-9]\d\d(?: |$)/;
const CONTENT_LENGTH = /^\d{1,15}$/;
const SPACE = 32;
const TAB = 9;

/** Parses everything before the empty line. Anything that two parsers could understand differently is rejected. */
export function parseResponseHead(text: string): ResponseHead {
  const lineEnd = text.indexOf("\r\n");
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const { status, isPersistent } = line === COMMON_STATUS_LINE ? COMMON_STATUS : parseStatusLine(line);
  const headers = lineEnd < 0 ? {} : parseHeaders(text, lineEnd + 2);
  const framing = framingOf(status, headers);
  const keepsAlive = isPersistent && framing.is !== "until_close" && !hasCloseOption(headers.connection);
  return { status, headers, framing, keepsAlive };
}

type StatusLine = {
  readonly status: number;
  /** The default of the HTTP version, without a Connection header. */
  readonly isPersistent: boolean;
};

const COMMON_STATUS_LINE = "HTTP/1.1 200 OK";
const COMMON_STATUS: StatusLine = { status: 200, isPersistent: true };

function parseStatusLine(line: string): StatusLine {
  const minor = line.charAt(VERSION_PREFIX.length);
  const isSupported =
    line.startsWith(VERSION_PREFIX) && (minor === "1" || minor === "0") && line.charAt(STATUS_OFFSET - 1) === " ";
  const status = line.slice(STATUS_OFFSET);
  if (!isSupported || !STATUS.test(status) || INVALID_HEADER_VALUE_CHAR.test(status))
    throw new HttpFault("HTTP_BAD_ANSWER");
  return { status: Number(status.slice(0, 3)), isPersistent: minor === "1" };
}

function hasCloseOption(connection: string | undefined): boolean {
  return connection !== undefined && connection !== "keep-alive" && /\bclose\b/i.test(connection);
}

function parseHeaders(text: string, from: number): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (let at = from; at < text.length; ) {
    const lineEnd = text.indexOf("\r\n", at);
    const end = lineEnd < 0 ? text.length : lineEnd;
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

/** Trims optional whitespace (RFC 9110: space and tab). `String.trim` removes more, which other parsers keep. */
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
  const previous = headers[name];
  if (previous === undefined) headers[name] = value;
  // Most parsers accept two equal lengths, but not all: rejected.
  else if (name === "content-length") throw new HttpFault("HTTP_BAD_ANSWER");
  else headers[name] = `${String(previous)}, ${value}`;
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
  if (!CONTENT_LENGTH.test(length)) throw new HttpFault("HTTP_BAD_ANSWER");
  return { is: "length", bytes: Number(length) };
}
