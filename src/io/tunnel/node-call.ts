import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
} from "node:http2";
import type {
  ResponseTimeouts,
  UpstreamBodyHandler,
  UpstreamCall,
  UpstreamFailure,
  UpstreamRequest,
  UpstreamResponseHandler,
} from "../upstream/transport.ts";
import { PEER_STOPPING_CODES } from "./peer-keys.ts";
import { END_TRAILER } from "./protocol.ts";

export type NodeCallLimits = ResponseTimeouts;

/** After the gateway onClosed its sessions, failures say nothing about the node. */
export type NodeCallRules = NodeCallLimits & { isStopped(): boolean };

export const HOP_BY_HOP_HEADERS: readonly string[] = [
  "connection",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
];

/** One request on the HTTP/2 session of a node or a peer. */
export class NodeCall implements UpstreamCall {
  readonly #handler: UpstreamResponseHandler;
  readonly #rules: NodeCallRules;
  readonly #timeouts: ResponseTimeouts;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #bodyHandler: UpstreamBodyHandler | undefined;
  #isAborted = false;
  #isDone = false;
  #isTimedOut = false;
  #isComplete = false;
  #chunksReceived = 0;

  constructor(
    session: ClientHttp2Session,
    path: string,
    request: UpstreamRequest,
    handler: UpstreamResponseHandler,
    rules: NodeCallRules,
    onClosed: () => void = () => {},
  ) {
    this.#handler = handler;
    this.#rules = rules;
    this.#timeouts = request.timeouts ?? rules;
    this.#session = session;
    const { method = "POST", headers, body } = request;
    const forwarded = Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADERS.includes(name.toLowerCase()));
    // Some local servers ignore a body without Content-Length.
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.bytes;
    const length = method === "GET" ? {} : { "content-length": bytes };
    this.#stream = session.request(
      { ":method": method, ":path": path, ...Object.fromEntries(forwarded), ...length },
      { endStream: method === "GET" },
    );
    this.#listen();
    this.#stream.once("close", onClosed);
    if (method === "GET") return;
    if (typeof body === "string") this.#stream.end(body);
    else this.#streamUpload(body.open());
  }

  abort(): void {
    this.#isAborted = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#fail("aborted", "aborted by the gateway");
  }

  resume(): void {
    this.#stream.setTimeout(this.#timeouts.idleTimeoutMs);
    this.#stream.resume();
  }

  #streamUpload(file: NodeJS.ReadableStream): void {
    file.once("error", () => this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    file.pipe(this.#stream);
  }

  #listen(): void {
    const stream = this.#stream;
    stream.setTimeout(this.#timeouts.firstByteTimeoutMs);
    stream.on("timeout", () => {
      const pieces = this.#chunksReceived;
      // After an event-loop stall, pending data is read before the timeout fires.
      setImmediate(() => {
        if (this.#chunksReceived === pieces) this.#timeOut();
      });
    });
    stream.once("response", (headers) => this.#onResponse(headers));
    stream.once("trailers", (trailers) => {
      this.#isComplete = trailers[END_TRAILER] === "whole";
    });
    stream.on("error", () => {});
    // Only "close" is reliable: streams of a dead session end without an error.
    stream.once("close", () => (this.#isComplete ? this.#onComplete() : this.#onIncomplete()));
  }

  #timeOut(): void {
    this.#isTimedOut = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#fail("timeout", "the node did not respond in time");
  }

  #onResponse(headers: IncomingHttpHeaders): void {
    this.#chunksReceived += 1;
    if (this.#isDone) return;
    this.#stream.setTimeout(this.#timeouts.idleTimeoutMs);
    this.#bodyHandler = this.#handler.onHeaders(Number(headers[":status"] ?? 0), withoutPseudoHeaders(headers));
    // Attached here, because data events can precede the response event.
    this.#stream.on("data", (chunk: Buffer) => this.#onData(chunk));
  }

  #onData(chunk: Buffer): void {
    this.#chunksReceived += 1;
    if (this.#isDone || this.#bodyHandler?.onData(chunk) !== "pause") return;
    // A paused handler waits for the client, not for the node.
    this.#stream.setTimeout(0);
    this.#stream.pause();
  }

  #onComplete(): void {
    if (this.#isDone || this.#bodyHandler === undefined) return;
    this.#isDone = true;
    try {
      this.#bodyHandler.onEnd();
    } catch (error) {
      this.#bodyHandler.onFailure({
        kind: "broken",
        sent: true,
        why: error instanceof Error ? error.name : "unknown fault",
      });
    }
  }

  #onIncomplete(): void {
    const { rstCode, id } = this.#stream;
    if (id === undefined) this.#fail("connect", "the connection could not be opened");
    else if (rstCode === constants.NGHTTP2_REFUSED_STREAM && this.#bodyHandler === undefined) this.#onRefused();
    else if (rstCode === constants.NGHTTP2_CONNECT_ERROR) this.#fail("connect", NOT_CONNECTED);
    else if (rstCode === PEER_STOPPING_CODES.unsent) this.#fail("leaving", LEAVING, "unsent");
    else if (rstCode === PEER_STOPPING_CODES.cut) this.#fail("leaving", LEAVING);
    else this.#fail("broken", "the connection to the node was lost");
  }

  #onRefused(): void {
    if (isSessionClosing(this.#session)) this.#fail("connect", NOT_CONNECTED);
    else this.#fail("busy", "the node accepts no more requests", "unsent");
  }

  #fail(kind: UpstreamFailure["kind"], why: string, was: "sent" | "unsent" = "sent"): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const sent = kind !== "connect" && was === "sent";
    const failure: UpstreamFailure = { kind: this.#kindOf(kind), sent, why };
    if (this.#bodyHandler === undefined) this.#handler.onFailure(failure);
    else this.#bodyHandler.onFailure(failure);
  }

  #kindOf(kind: UpstreamFailure["kind"]): UpstreamFailure["kind"] {
    if (this.#isAborted) return "aborted";
    if (this.#isTimedOut) return "timeout";
    return this.#rules.isStopped() ? "stopped" : kind;
  }
}

/** A closing session refuses new streams too, which says nothing about the node's capacity. */
export function isSessionClosing(session: Http2Session | undefined): boolean {
  return session === undefined || session.closed || session.destroyed;
}

const NOT_CONNECTED = "the node is not connected";
const LEAVING = "the gateway instance that the node is connected to is stopping";

export function failUnreachable(handler: UpstreamResponseHandler, why = NOT_CONNECTED): UpstreamCall {
  return failLater(handler, { kind: "connect", sent: false, why });
}

export function failStopped(handler: UpstreamResponseHandler): UpstreamCall {
  return failLater(handler, { kind: "stopped", sent: false, why: "not sent" });
}

function failLater(handler: UpstreamResponseHandler, failure: UpstreamFailure): UpstreamCall {
  queueMicrotask(() => handler.onFailure(failure));
  return { abort() {}, resume() {} };
}

function withoutPseudoHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":")));
}
