import type { IncomingHttpHeaders } from "node:http";
import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../../../kit/header-name.ts";
import { HttpFault } from "./fault.ts";

/** How the end of a body is told. */
export type Framing =
  | { readonly is: "none" }
  | { readonly is: "length"; readonly bytes: number }
  | { readonly is: "chunked" }
  | { readonly is: "until_close" };

export type AnswerHead = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly framing: Framing;
  /** Whether another request may follow on the connection. */
  readonly keeps: boolean;
};

const VERSION = "HTTP/1.";
const STATUS_AT = "HTTP/1.1 ".length;
const STATUS = /^[1-9]\d\d(?: |$)/;
const LENGTH = /^\d{1,15}$/;
const SPACE = 32;
const TAB = 9;

/** Reads everything before the empty line. What two readers could understand differently is refused. */
export function readHead(text: string): AnswerHead {
  const lineEnd = text.indexOf("\r\n");
  const first = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const { status, isLasting } = first === USUAL ? ANSWERED : readFirst(first);
  const headers = lineEnd < 0 ? {} : readHeaders(text, lineEnd + 2);
  const framing = framingOf(status, headers);
  const keeps = isLasting && framing.is !== "until_close" && !isClosing(headers.connection);
  return { status, headers, framing, keeps };
}

type FirstLine = {
  readonly status: number;
  /** Whether the connection stays open unless something else says otherwise. */
  readonly isLasting: boolean;
};

/** What nearly every answer begins with. */
const USUAL = "HTTP/1.1 200 OK";
const ANSWERED: FirstLine = { status: 200, isLasting: true };

function readFirst(line: string): FirstLine {
  const minor = line.charAt(VERSION.length);
  const isKnown = line.startsWith(VERSION) && (minor === "1" || minor === "0") && line.charAt(STATUS_AT - 1) === " ";
  const status = line.slice(STATUS_AT);
  if (!isKnown || !STATUS.test(status) || INVALID_HEADER_VALUE_CHAR.test(status))
    throw new HttpFault("HTTP_BAD_ANSWER");
  return { status: Number(status.slice(0, 3)), isLasting: minor === "1" };
}

function isClosing(connection: string | undefined): boolean {
  return connection !== undefined && connection !== "keep-alive" && /\bclose\b/i.test(connection);
}

function readHeaders(text: string, from: number): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {};
  for (let at = from; at < text.length; ) {
    const next = text.indexOf("\r\n", at);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(":", at);
    if (colon < 0 || colon >= end) throw new HttpFault("HTTP_BAD_ANSWER");
    const name = parseHeaderName(text.slice(at, colon));
    const value = trimmed(text, colon + 1, end);
    if (name === undefined || INVALID_HEADER_VALUE_CHAR.test(value)) throw new HttpFault("HTTP_BAD_ANSWER");
    put(headers, name, value);
    at = end + 2;
  }
  return headers;
}

/** Without the two characters that are space in HTTP: the language's own trim takes others, too, which other readers keep. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === SPACE || code === TAB;
}

function put(headers: IncomingHttpHeaders, name: string, value: string): void {
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

function framingOf(status: number, headers: IncomingHttpHeaders): Framing {
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
