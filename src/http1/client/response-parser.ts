import type { IncomingHttpHeaders } from "node:http";
import { INVALID_HEADER_VALUE_CHAR, parseHeaderName } from "../../kit/header-name.ts";
import { ChunkedDecoder } from "./chunked-decoder.ts";
import type { BodyFraming, ConnectionReuse, ResponseHead, ResponseObserver, StatusLine } from "./contract.ts";
import { HttpFault } from "./http-fault.ts";

type BodyState =
  | { readonly is: "length"; remaining: number }
  | { readonly is: "chunked"; readonly decoder: ChunkedDecoder }
  | { readonly is: "until_close" };

/** Incremental parser for the response to the one request in flight. Throws an HttpFault on invalid or ambiguous input. */
export class ResponseParser {
  readonly #observer: ResponseObserver;
  readonly #headBytesMax: number;
  #partialHead: Buffer | undefined;
  #head: ResponseHead | undefined;
  #body: BodyState | undefined;
  #stage: "idle" | "head" | "body" = "idle";

  constructor(observer: ResponseObserver, headBytesMax: number) {
    this.#observer = observer;
    this.#headBytesMax = headBytesMax;
  }

  /** A request was sent: the next bytes are its response. */
  expectResponse(): void {
    this.#stage = "head";
    this.#partialHead = undefined;
    this.#head = undefined;
    this.#body = undefined;
  }

  parse(bytes: Buffer): void {
    // Unsolicited bytes must never become the response to the next request.
    if (this.#stage === "idle") {
      this.#observer.onUnsolicitedBytes();
      throw new HttpFault("HTTP_BAD_ANSWER");
    }
    if (this.#stage === "body") this.#parseBody(bytes, 0);
    else this.#parseHeads(bytes);
  }

  /** The server closed its side, which completes a close-delimited response and truncates any other. */
  onRemoteClose(): void {
    if (this.#stage === "idle") return;
    if (this.#body?.is !== "until_close") throw new HttpFault("HTTP_CUT_OFF");
    this.#finish("exhausted");
  }

  #parseHeads(segment: Buffer): void {
    const partial = this.#partialHead;
    const bytes = partial === undefined ? segment : Buffer.concat([partial, segment]);
    let at = 0;
    // Interim (1xx) responses are skipped.
    for (let searched = partial?.length ?? 0; ; searched = at) {
      const end = bytes.indexOf("\r\n\r\n", Math.max(at, searched - 3), "latin1");
      if ((end < 0 ? bytes.length : end) - at > this.#headBytesMax) throw new HttpFault("HTTP_HEAD_TOO_LARGE");
      if (end < 0) {
        this.#partialHead = bytes.subarray(at);
        return;
      }
      const head = parseResponseHead(bytes.toString("latin1", at, end));
      at = end + 4;
      if (head.status === 101) throw new HttpFault("HTTP_BAD_ANSWER");
      if (head.status >= 200) {
        this.#startBody(head, bytes, at);
        return;
      }
    }
  }

  #startBody(head: ResponseHead, bytes: Buffer, at: number): void {
    this.#partialHead = undefined;
    this.#head = head;
    this.#stage = "body";
    this.#observer.onHead(head.status, head.headers);
    // The observer may have aborted the exchange.
    if (this.#stage !== "body") return;
    this.#body = bodyStateFor(head.framing);
    if (this.#body === undefined) this.#finishBody(bytes, at);
    else if (at < bytes.length) this.#parseBody(bytes, at);
  }

  #parseBody(bytes: Buffer, at: number): void {
    const body = this.#body;
    if (body === undefined) return;
    if (body.is === "chunked") {
      const decoded = body.decoder.decode(bytes, at);
      // Data before an invalid chunk is delivered: it may contain the usage of the response.
      if (decoded.data !== undefined) this.#observer.onData(decoded.data);
      if (body.decoder.state === "invalid") throw new HttpFault("HTTP_BAD_ANSWER");
      if (body.decoder.state === "done") this.#finishBody(bytes, decoded.at);
    } else if (body.is === "length") {
      const stop = Math.min(bytes.length, at + body.remaining);
      body.remaining -= stop - at;
      this.#observer.onData(bytes.subarray(at, stop));
      if (body.remaining === 0) this.#finishBody(bytes, stop);
    } else this.#observer.onData(bytes.subarray(at));
  }

  /** Bytes after the end belong to no request, so the connection is not used again. */
  #finishBody(bytes: Buffer, at: number): void {
    if (at < bytes.length && this.#stage === "body") this.#observer.onUnsolicitedBytes();
    this.#finish(at === bytes.length && this.#head?.keepsAlive === true ? "reusable" : "exhausted");
  }

  #finish(reuse: ConnectionReuse): void {
    if (this.#stage !== "body") return;
    this.#stage = "idle";
    this.#observer.onEnd(reuse);
  }

  /** The exchange ended locally: the observer gets no further events. */
  stop(): void {
    this.#stage = "idle";
  }
}

/** Undefined: there is no body. */
function bodyStateFor(framing: BodyFraming): BodyState | undefined {
  switch (framing.is) {
    case "none":
      return undefined;
    case "length":
      return framing.bytes === 0 ? undefined : { is: "length", remaining: framing.bytes };
    case "chunked":
      return { is: "chunked", decoder: new ChunkedDecoder() };
    case "until_close":
      return framing;
  }
}

const VERSION_PREFIX = "HTTP/1.";
const STATUS_OFFSET = "HTTP/1.1 ".length;
const STATUS = /^[1-9]\d\d(?: |$)/;
const CONTENT_LENGTH = /^\d{1,15}$/;
const SPACE = 32;
const TAB = 9;

/** Parses everything before the empty line. Anything that two parsers could understand differently is rejected. */
function parseResponseHead(text: string): ResponseHead {
  const lineEnd = text.indexOf("\r\n");
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const { status, isPersistent } = line === COMMON_STATUS_LINE ? COMMON_STATUS : parseStatusLine(line);
  const headers = lineEnd < 0 ? {} : parseHeaders(text, lineEnd + 2);
  const framing = framingOf(status, headers);
  const keepsAlive = isPersistent && framing.is !== "until_close" && !hasCloseOption(headers.connection);
  return { status, headers, framing, keepsAlive };
}

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
