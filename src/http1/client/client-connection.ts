import type { IncomingHttpHeaders } from "node:http";
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Upload } from "../../io/upstream/transport.ts";
import { cancelTimer } from "../../kit/timers.ts";
import type { ExchangeOwner, HttpExchange } from "./http-exchange.ts";
import { HttpFault } from "./http-fault.ts";
import type { IdleCheckable, IdleWatchdog } from "./idle-watchdog.ts";
import { type ConnectionPersistence, type ResponseObserver, ResponseParser } from "./response-parser.ts";
import { streamUpload } from "./stream-upload.ts";

export type DialTarget = {
  readonly protocol: "http:" | "https:";
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** In the place of the system's own way to find a name's address. */
  readonly lookup?: LookupFunction;
};

export type ConnectionLimits = {
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly headBytesMax: number;
};

/** Whom a connection belongs to. */
export type ConnectionOwner = {
  readonly dialTarget: DialTarget;
  readonly limits: ConnectionLimits;
  readonly watchdog: IdleWatchdog;
  /** What makes the next connection by TLS cheaper. */
  tlsSession: Buffer | undefined;
  /** It can take another call. */
  onIdle(connection: ClientConnection): void;
  onClosed(connection: ClientConnection): void;
};

/** How long a connection waits for the next request, unless the other side says less. */
const KEEP_ALIVE_MS_MAX = 30_000;
/** A request that is sent when the other side is about to close would be lost. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const TCP_KEEPALIVE_MS = 60_000;

/**
 * Everybody's bytes are read into this one, and copied at once. Memory of its own for each connection would be most of what
 * an open stream takes.
 */
const SHARED_READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One connection to a provider: it carries one call at a time. */
export class ClientConnection implements ResponseObserver, ExchangeOwner, IdleCheckable {
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  #exchange: HttpExchange | undefined;
  #stage: "connecting" | "open" | "gone" = "connecting";
  #upload: Disposable | undefined;
  #isPaused = false;
  /** The end of an answer whose reader has paused: it hears of it when it goes on. */
  #deferredEnd: ConnectionPersistence | undefined;
  #keepAliveMs = KEEP_ALIVE_MS_MAX;
  #keepAliveHeader: string | string[] | undefined;
  /** Counts what came of answers, so that a look can tell whether anything did. */
  #activity = 0;
  #activitySeen = 0;
  #idleSinceMs: number;

  constructor(home: ConnectionOwner, call: HttpExchange) {
    this.#owner = home;
    this.#parser = new ResponseParser(this, home.limits.headBytesMax);
    this.#exchange = call;
    this.#idleSinceMs = home.watchdog.nowMs;
    call.assignTo(this);
    this.#socket = this.#dial(home.dialTarget);
    home.watchdog.watch(this);
  }

  #dial({ protocol, host, port, lookup }: DialTarget): Socket {
    const options = {
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEPALIVE_MS,
      onread: { buffer: SHARED_READ_BUFFER, callback: (bytes: number) => this.#read(bytes) },
      ...(lookup === undefined ? {} : { lookup }),
    };
    const socket = protocol === "http:" ? connectPlain(options, () => this.#onConnected()) : this.#dialTls(options);
    socket.on("error", (error) => this.#fail(error));
    socket.on("end", () => this.#onRemoteEnd());
    socket.on("close", () => this.#fail(new HttpFault("HTTP_CUT_OFF")));
    return socket;
  }

  #dialTls(options: { readonly host: string; readonly port: number }): Socket {
    const home = this.#owner;
    const socket = connectTls(
      {
        ...options,
        ALPNProtocols: ["http/1.1"],
        ...(isIP(options.host) === 0 ? { servername: options.host } : {}),
        ...(home.tlsSession === undefined ? {} : { session: home.tlsSession }),
      },
      () => this.#onConnected(),
    );
    socket.on("session", (session) => {
      home.tlsSession = session;
    });
    return socket;
  }

  #onConnected(): void {
    if (this.#stage !== "connecting") return;
    this.#stage = "open";
    if (this.#exchange !== undefined) this.#send(this.#exchange);
  }

  /** Only one that waits for nothing is given a call. */
  start(call: HttpExchange): void {
    call.assignTo(this);
    this.#exchange = call;
    this.#send(call);
  }

  #send(call: HttpExchange): void {
    call.markSent();
    this.#parser.expectResponse();
    this.#activity += 1;
    const { head, body } = call;
    // One write of one text is the cheapest there is.
    if (typeof body === "string" && head.isAscii) this.#socket.write(head.text + body, "utf8");
    else {
      this.#socket.write(head.text, "latin1");
      if (typeof body === "string") this.#socket.write(body, "utf8");
      else if (body !== undefined) this.#streamUpload(body);
    }
  }

  #streamUpload(upload: Upload): void {
    const onProgress = () => {
      this.#activity += 1;
    };
    const onDone = (problem: HttpFault | undefined) => {
      this.#upload = undefined;
      if (problem !== undefined) this.#fail(problem);
    };
    try {
      this.#upload = streamUpload(upload, this.#socket, { onProgress, onDone });
    } catch (error) {
      this.#fail(error);
    }
  }

  #read(bytes: number): boolean {
    try {
      this.#parser.read(Buffer.from(SHARED_READ_BUFFER.subarray(0, bytes)));
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
    const hint = headers["keep-alive"];
    // A server says the same every time.
    if (hint !== this.#keepAliveHeader) {
      this.#keepAliveHeader = hint;
      this.#keepAliveMs = keepAliveMsOf(hint);
    }
    this.#exchange?.onHead(status, headers);
  }

  onData(bytes: Buffer): void {
    this.#activity += 1;
    if (this.#exchange?.onData(bytes) !== "pause" || this.#stage !== "open") return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  onEnd(connection: ConnectionPersistence): void {
    if (this.#isPaused) this.#deferredEnd = connection;
    else this.#finishExchange(connection);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#activity += 1;
    const held = this.#deferredEnd;
    this.#deferredEnd = undefined;
    if (held !== undefined) this.#finishExchange(held);
    if (this.#stage === "open") this.#socket.resume();
  }

  /** The call is freed first: what it leads to may want a connection. */
  #finishExchange(connection: ConnectionPersistence): void {
    const call = this.#exchange;
    this.#exchange = undefined;
    // An answer before the end of its request: the rest would be taken for the next one, or nobody reads on.
    const isCut = this.#upload !== undefined || this.#socket.writableLength > 0;
    const isSpent = connection === "spent" || isCut || this.#keepAliveMs <= 0;
    if (isSpent) this.#close();
    else if (this.#stage === "open") {
      this.#idleSinceMs = this.#owner.watchdog.nowMs;
      this.#owner.onIdle(this);
    }
    call?.onEnd();
  }

  drop(call: HttpExchange): void {
    if (this.#exchange !== call) return;
    this.#exchange = undefined;
    this.#close();
  }

  /** Also ends the call that it carries. */
  abort(error: unknown): void {
    this.#fail(error);
  }

  checkIdle(nowMs: number): void {
    const isIdle = this.#stage === "open" && this.#exchange === undefined;
    if (isIdle) {
      // The other side may close it after a while.
      if (nowMs - this.#idleSinceMs >= this.#keepAliveMs) this.#close();
    } else if (this.#activity !== this.#activitySeen || this.#isPaused) {
      this.#activitySeen = this.#activity;
      this.#idleSinceMs = nowMs;
    } else if (nowMs - this.#idleSinceMs >= this.#timeoutMs) this.#fail(new HttpFault(this.#timeoutCode));
  }

  get #timeoutMs(): number {
    const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = this.#owner.limits;
    if (this.#stage === "connecting") return connectTimeoutMs;
    return this.#exchange?.hasResponse === true ? idleTimeoutMs : firstByteTimeoutMs;
  }

  get #timeoutCode() {
    if (this.#stage === "connecting") return "HTTP_CONNECT_TIMEOUT";
    return this.#exchange?.hasResponse === true ? "HTTP_IDLE_TIMEOUT" : "HTTP_FIRST_BYTE_TIMEOUT";
  }

  /** Whatever comes after the first time is about a connection that is no more. */
  #fail(error: unknown): void {
    // Its answer is whole, and only waits for its reader.
    const call = this.#deferredEnd === undefined ? this.#exchange : undefined;
    if (call !== undefined) this.#exchange = undefined;
    this.#close();
    call?.onFailure(error);
  }

  #close(): void {
    if (this.#stage === "gone") return;
    this.#stage = "gone";
    this.#parser.stop();
    cancelTimer(this.#upload);
    this.#upload = undefined;
    this.#owner.watchdog.unwatch(this);
    this.#socket.destroy();
    this.#owner.onClosed(this);
  }
}

function keepAliveMsOf(hint: string | string[] | undefined): number {
  const seconds = typeof hint === "string" ? /\btimeout=(\d{1,9})\b/.exec(hint)?.[1] : undefined;
  return seconds === undefined
    ? KEEP_ALIVE_MS_MAX
    : Math.min(KEEP_ALIVE_MS_MAX, Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS);
}
