import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { systemClock } from "../../kit/clock.ts";
import { cancelTimer } from "../../kit/timers.ts";
import type {
  ConnectionLimits,
  ConnectionReuse,
  HttpBody,
  RequestFailure,
  RequestHandle,
  ResponseBodyHandler,
  ResponseHandler,
  ResponseObserver,
  ResponseTimeouts,
  SerializedHead,
  StreamedBody,
} from "./contract.ts";
import { type DialTarget, dial, type TlsSessionCache } from "./dial.ts";
import { errorCodeOf, failureKindOf, HttpFault } from "./http-fault.ts";
import type { IdleCheckable, IdleWatchdog } from "./idle-watchdog.ts";
import { ResponseParser } from "./response-parser.ts";
import { streamUpload } from "./stream-upload.ts";

/** The queue or the connection that an exchange currently belongs to. */
export type ExchangeOwner = {
  /** The exchange ended: release everything held for it. */
  drop(exchange: HttpExchange): void;
  resume(): void;
};

const ABORTED = new Error("aborted by the gateway");

/** One request and its response, queued or on a connection. Its handler is notified of exactly one end. */
export class HttpExchange implements RequestHandle {
  readonly head: SerializedHead;
  readonly body: HttpBody | undefined;
  readonly timeouts: ResponseTimeouts | undefined;
  readonly #handler: ResponseHandler;
  #owner: ExchangeOwner | undefined;
  #bodyHandler: ResponseBodyHandler | undefined;
  #isSent = false;
  #isDone = false;

  constructor(head: SerializedHead, body: HttpBody | undefined, handler: ResponseHandler, timeouts?: ResponseTimeouts) {
    this.head = head;
    this.body = body;
    this.timeouts = timeouts;
    this.#handler = handler;
  }

  assignTo(owner: ExchangeOwner): void {
    this.#owner = owner;
  }

  /** From here on the server may have received the request. */
  markSent(): void {
    this.#isSent = true;
  }

  /** Ends the exchange synchronously, also while it is queued. */
  abort(): void {
    if (this.#isDone) return;
    // Leaves its owner first: the handler may send another request, which must not start this one.
    this.#owner?.drop(this);
    this.#fail("aborted", ABORTED);
  }

  /** Ignored after the end: the connection may carry another exchange by then. */
  resume(): void {
    if (!this.#isDone) this.#owner?.resume();
  }

  get hasResponse(): boolean {
    return this.#bodyHandler !== undefined;
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    if (!this.#isDone) this.#bodyHandler = this.#handler.onHeaders(status, headers);
  }

  onData(bytes: Buffer): "more" | "pause" {
    return this.#isDone || this.#bodyHandler === undefined ? "more" : this.#bodyHandler.onData(bytes);
  }

  onEnd(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    try {
      this.#bodyHandler?.onEnd();
    } catch (error) {
      // A handler that throws has not ended its request, which would otherwise wait forever.
      this.#bodyHandler?.onFailure({ kind: "broken", sent: true, why: errorCodeOf(error) });
    }
  }

  onFailure(error: unknown): void {
    this.#fail(failureKindOf(error, this.#isSent), error);
  }

  #fail(kind: RequestFailure["kind"], error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const failure: RequestFailure = { kind, sent: this.#isSent, why: errorCodeOf(error) };
    if (this.#bodyHandler === undefined) this.#handler.onFailure(failure);
    else this.#bodyHandler.onFailure(failure);
  }
}

/** The pool that a connection belongs to. */
export type ConnectionOwner = TlsSessionCache & {
  readonly dialTarget: DialTarget;
  readonly limits: ConnectionLimits;
  readonly watchdog: IdleWatchdog;
  onIdle(connection: ClientConnection): void;
  onUnsolicitedBytes(): void;
  onClosed(connection: ClientConnection): void;
};

/** How long an idle connection is kept, unless the server announces less. */
const KEEP_ALIVE_MS_MAX = 30_000;
/** A request sent when the server is about to close would be lost. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

/**
 * All connections read into this one buffer and copy at once. A buffer per connection would be most of the memory of an
 * open stream.
 */
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One connection to a server; it carries one exchange at a time. */
export class ClientConnection implements ResponseObserver, ExchangeOwner, IdleCheckable {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  #exchange: HttpExchange | undefined;
  #stage: "connecting" | "open" | "closed" = "connecting";
  #upload: Disposable | undefined;
  #isPaused = false;
  /** The end of a response whose handler is paused; delivered on resume. */
  #deferredEnd: ConnectionReuse | undefined;
  #keepAliveMs = KEEP_ALIVE_MS_MAX;
  #keepAliveHeader: string | string[] | undefined;
  /** Counts progress in both directions; the watchdog compares it with the value it saw last. */
  #activity = 0;
  #activitySeen = 0;
  #idleSinceMs: number;

  constructor(owner: ConnectionOwner, exchange: HttpExchange) {
    this.#owner = owner;
    this.#parser = new ResponseParser(this, owner.limits.headBytesMax);
    this.#exchange = exchange;
    this.#idleSinceMs = systemClock.monotonicMs();
    exchange.assignTo(this);
    this.#socket = this.#dial();
    owner.watchdog.watch(this);
  }

  #dial(): Socket {
    const { dialTarget } = this.#owner;
    const onread = { buffer: SHARED_READ_BUFFER, callback: (bytes: number) => this.#read(bytes) };
    const socket = dial(dialTarget, onread, this.#owner, () => this.#onConnected());
    socket.on("error", (error) => this.#fail(error));
    socket.on("end", () => this.#onRemoteEnd());
    socket.on("close", () => this.#fail(new HttpFault("HTTP_CUT_OFF")));
    return socket;
  }

  #onConnected(): void {
    if (this.#stage !== "connecting") return;
    this.#stage = "open";
    if (this.#exchange !== undefined) this.#send(this.#exchange);
  }

  /** Only for an idle connection. */
  start(exchange: HttpExchange): void {
    exchange.assignTo(this);
    this.#exchange = exchange;
    this.#send(exchange);
  }

  #send(exchange: HttpExchange): void {
    exchange.markSent();
    this.#parser.expectResponse();
    this.#activity += 1;
    const { head, body } = exchange;
    // One write of one string is the cheapest.
    if (typeof body === "string" && head.isAscii) this.#socket.write(head.text + body, "utf8");
    else {
      this.#socket.write(head.text, "latin1");
      if (typeof body === "string") this.#socket.write(body, "utf8");
      else if (body !== undefined) this.#startUpload(body);
    }
  }

  #startUpload(body: StreamedBody): void {
    const onProgress = () => {
      this.#activity += 1;
    };
    const onDone = (fault: HttpFault | undefined) => {
      this.#upload = undefined;
      if (fault !== undefined) this.#fail(fault);
    };
    try {
      this.#upload = streamUpload(body, this.#socket, { onProgress, onDone });
    } catch (error) {
      this.#fail(error);
    }
  }

  #read(bytes: number): boolean {
    try {
      this.#parser.parse(Buffer.from(SHARED_READ_BUFFER.subarray(0, bytes)));
    } catch (error) {
      this.#fail(error);
    }
    return true;
  }

  #onRemoteEnd(): void {
    try {
      this.#parser.onRemoteClose();
    } catch (error) {
      this.#fail(error);
    }
    this.#close();
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.#activity += 1;
    const header = headers["keep-alive"];
    // A server sends the same value every time, so it is parsed once.
    if (header !== this.#keepAliveHeader) {
      this.#keepAliveHeader = header;
      this.#keepAliveMs = keepAliveMsOf(header);
    }
    this.#exchange?.onHead(status, headers);
  }

  onData(bytes: Buffer): void {
    this.#activity += 1;
    if (this.#exchange?.onData(bytes) !== "pause" || this.#stage !== "open") return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  onEnd(reuse: ConnectionReuse): void {
    if (this.#isPaused) this.#deferredEnd = reuse;
    else this.#finishExchange(reuse);
  }

  /** Not after a local close: then they are the rest of an aborted response. */
  onUnsolicitedBytes(): void {
    if (this.#stage === "open") this.#owner.onUnsolicitedBytes();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#activity += 1;
    const deferred = this.#deferredEnd;
    this.#deferredEnd = undefined;
    if (deferred !== undefined) this.#finishExchange(deferred);
    if (this.#stage === "open") this.#socket.resume();
  }

  /** The connection becomes available before the handler is notified, which may send the next request at once. */
  #finishExchange(reuse: ConnectionReuse): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    // A response before the end of its request: the server would parse the rest as the next request, or never read it.
    const isRequestIncomplete = this.#upload !== undefined || this.#socket.writableLength > 0;
    const isExhausted = reuse === "exhausted" || isRequestIncomplete || this.#keepAliveMs <= 0;
    if (isExhausted) this.#close();
    else if (this.#stage === "open") {
      this.#idleSinceMs = systemClock.monotonicMs();
      this.#owner.onIdle(this);
    }
    exchange?.onEnd();
  }

  drop(exchange: HttpExchange): void {
    if (this.#exchange !== exchange) return;
    this.#exchange = undefined;
    this.#close();
  }

  /** Closes the connection and fails its exchange. */
  abort(error: unknown): void {
    this.#fail(error);
  }

  checkIdle(nowMs: number): void {
    const isIdle = this.#stage === "open" && this.#exchange === undefined;
    if (isIdle) {
      if (nowMs - this.#idleSinceMs >= this.#keepAliveMs) this.#close();
    } else if (this.#activity !== this.#activitySeen || this.#isPaused) {
      this.#activitySeen = this.#activity;
      this.#idleSinceMs = nowMs;
    } else if (nowMs - this.#idleSinceMs >= this.#timeoutMs) this.#fail(new HttpFault(this.#timeoutCode));
  }

  get #timeoutMs(): number {
    const { limits } = this.#owner;
    if (this.#stage === "connecting") return limits.connectTimeoutMs;
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#exchange?.timeouts ?? limits;
    return this.#exchange?.hasResponse === true ? idleTimeoutMs : firstByteTimeoutMs;
  }

  get #timeoutCode() {
    if (this.#stage === "connecting") return "HTTP_CONNECT_TIMEOUT";
    return this.#exchange?.hasResponse === true ? "HTTP_IDLE_TIMEOUT" : "HTTP_FIRST_BYTE_TIMEOUT";
  }

  /** Only the first failure counts; later socket events concern a closed connection. */
  #fail(error: unknown): void {
    // A response with a deferred end is complete: only its handler is paused.
    const exchange = this.#deferredEnd === undefined ? this.#exchange : undefined;
    if (exchange !== undefined) this.#exchange = undefined;
    this.#close();
    exchange?.onFailure(error);
  }

  #close(): void {
    if (this.#stage === "closed") return;
    this.#stage = "closed";
    this.#parser.stop();
    cancelTimer(this.#upload);
    this.#upload = undefined;
    this.#owner.watchdog.unwatch(this);
    this.#socket.destroy();
    this.#owner.onClosed(this);
  }
}

function keepAliveMsOf(header: string | string[] | undefined): number {
  const seconds = typeof header === "string" ? /\btimeout=(\d{1,9})\b/.exec(header)?.[1] : undefined;
  return seconds === undefined
    ? KEEP_ALIVE_MS_MAX
    : Math.min(KEEP_ALIVE_MS_MAX, Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS);
}
