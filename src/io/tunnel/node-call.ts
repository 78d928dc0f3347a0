import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
} from "node:http2";
import type {
  UpstreamBodyHandler,
  UpstreamCall,
  UpstreamFailure,
  UpstreamRequest,
  UpstreamResponseHandler,
} from "../upstream/transport.ts";
import { PEER_STOPPING_CODES } from "./peer-keys.ts";
import { END_TRAILER } from "./protocol.ts";

export type NodeCallLimits = { readonly firstByteTimeoutMs: number; readonly idleTimeoutMs: number };

/** Once the gateway has ended what carries its calls, nothing is to be concluded of the node from how they end. */
export type NodeCallRules = NodeCallLimits & { isStopped(): boolean };

/** Headers of one hop, which HTTP/2 has no place for. */
export const HOP_BY_HOP_HEADERS: readonly string[] = [
  "connection",
  "host",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
];

/** One request on a node's session, in the words of every other way to an upstream. */
export class NodeCall implements UpstreamCall {
  readonly #listener: UpstreamResponseHandler;
  readonly #rules: NodeCallRules;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #reader: UpstreamBodyHandler | undefined;
  #aborted = false;
  #over = false;
  #timedOut = false;
  #whole = false;
  /** Of the answer, its head with them. */
  #pieces = 0;

  constructor(
    session: ClientHttp2Session,
    path: string,
    request: UpstreamRequest,
    listener: UpstreamResponseHandler,
    rules: NodeCallRules,
    closed: () => void = () => {},
  ) {
    this.#listener = listener;
    this.#rules = rules;
    this.#session = session;
    const { method = "POST", headers, body } = request;
    const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADERS.includes(name.toLowerCase()));
    // Small servers beside a node read nothing of a body whose length they are not told.
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.bytes;
    const length = method === "GET" ? {} : { "content-length": bytes };
    this.#stream = session.request(
      { ":method": method, ":path": path, ...Object.fromEntries(kept), ...length },
      { endStream: method === "GET" },
    );
    this.#listen();
    this.#stream.once("close", closed);
    if (method === "GET") return;
    if (typeof body === "string") this.#stream.end(body);
    else this.#upload(body.open());
  }

  abort(): void {
    this.#aborted = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#fail("aborted", "aborted by the gateway");
  }

  resume(): void {
    this.#stream.setTimeout(this.#rules.idleTimeoutMs);
    this.#stream.resume();
  }

  #upload(file: NodeJS.ReadableStream): void {
    file.once("error", () => this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    file.pipe(this.#stream);
  }

  #listen(): void {
    const stream = this.#stream;
    stream.setTimeout(this.#rules.firstByteTimeoutMs);
    stream.on("timeout", () => {
      const pieces = this.#pieces;
      // Where this process stood still, what the node said meanwhile is read first.
      setImmediate(() => {
        if (this.#pieces === pieces) this.#giveUp();
      });
    });
    stream.once("response", (headers) => this.#answered(headers));
    stream.once("trailers", (trailers) => {
      this.#whole = trailers[END_TRAILER] === "whole";
    });
    stream.on("error", () => {});
    // The only moment at which it is known how it ended: streams of a session that dies end without an error.
    stream.once("close", () => (this.#whole ? this.#ended() : this.#broke()));
  }

  #giveUp(): void {
    this.#timedOut = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#fail("timeout", "the node said nothing in time");
  }

  #answered(headers: IncomingHttpHeaders): void {
    this.#pieces += 1;
    if (this.#over) return;
    this.#stream.setTimeout(this.#rules.idleTimeoutMs);
    this.#reader = this.#listener.onHeaders(Number(headers[":status"] ?? 0), plain(headers));
    // Not before: the first bytes of a body can be heard of before the head is.
    this.#stream.on("data", (chunk: Buffer) => this.#took(chunk));
  }

  #took(chunk: Buffer): void {
    this.#pieces += 1;
    if (this.#over || this.#reader?.onData(chunk) !== "pause") return;
    // Who waits for the client is not waiting for the node.
    this.#stream.setTimeout(0);
    this.#stream.pause();
  }

  #ended(): void {
    if (this.#over || this.#reader === undefined) return;
    this.#over = true;
    try {
      this.#reader.onEnd();
    } catch (error) {
      this.#reader.onFailure({
        kind: "broken",
        sent: true,
        why: error instanceof Error ? error.name : "unknown fault",
      });
    }
  }

  #broke(): void {
    const { rstCode, id } = this.#stream;
    if (id === undefined) this.#fail("connect", "the connection could not be made");
    else if (rstCode === constants.NGHTTP2_REFUSED_STREAM && this.#reader === undefined) this.#refused();
    else if (rstCode === constants.NGHTTP2_CONNECT_ERROR) this.#fail("connect", NOT_CONNECTED);
    else if (rstCode === PEER_STOPPING_CODES.unsent) this.#fail("leaving", LEAVING, "unsent");
    else if (rstCode === PEER_STOPPING_CODES.cut) this.#fail("leaving", LEAVING);
    else this.#fail("broken", "the connection to the node broke");
  }

  #refused(): void {
    if (isSessionClosing(this.#session)) this.#fail("connect", NOT_CONNECTED);
    else this.#fail("busy", "the node takes no more requests", "unsent");
  }

  #fail(kind: UpstreamFailure["kind"], why: string, was: "sent" | "unsent" = "sent"): void {
    if (this.#over) return;
    this.#over = true;
    const sent = kind !== "connect" && was === "sent";
    const failure: UpstreamFailure = { kind: this.#kindOf(kind), sent, why };
    if (this.#reader === undefined) this.#listener.onFailure(failure);
    else this.#reader.onFailure(failure);
  }

  #kindOf(kind: UpstreamFailure["kind"]): UpstreamFailure["kind"] {
    if (this.#aborted) return "aborted";
    if (this.#timedOut) return "timeout";
    return this.#rules.isStopped() ? "stopped" : kind;
  }
}

/** What a connection did not get to before it ended is refused as well: that says nothing of the node's places. */
export function isSessionClosing(session: Http2Session | undefined): boolean {
  return session === undefined || session.closed || session.destroyed;
}

const NOT_CONNECTED = "the node is not connected";
const LEAVING = "the instance that the node is connected to was told to stop";

/** A request that has nowhere to go. */
export function failUnreachable(listener: UpstreamResponseHandler, why = NOT_CONNECTED): UpstreamCall {
  return refused(listener, { kind: "connect", sent: false, why });
}

/** A request that came after the gateway ended what would have carried it. */
export function failStopped(listener: UpstreamResponseHandler): UpstreamCall {
  return refused(listener, { kind: "stopped", sent: false, why: "not sent" });
}

function refused(listener: UpstreamResponseHandler, failure: UpstreamFailure): UpstreamCall {
  queueMicrotask(() => listener.onFailure(failure));
  return { abort() {}, resume() {} };
}

/** Without the pseudo headers of HTTP/2. */
function plain(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":")));
}
