import type { IncomingHttpHeaders } from "node:http";
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { cancelTimer } from "../../../kit/timers.ts";
import type { Upload } from "../transport.ts";
import { type AfterAnswer, AnswerReader, type AnswerTaker } from "./answer.ts";
import type { HttpCall, Place } from "./call.ts";
import { HttpFault } from "./fault.ts";
import { pour } from "./pour.ts";
import type { Silence, Watched } from "./silence.ts";

export type Dialling = {
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
export type Home = {
  readonly dialling: Dialling;
  readonly limits: ConnectionLimits;
  readonly silence: Silence;
  /** What makes the next connection by TLS cheaper. */
  session: Buffer | undefined;
  /** It can take another call. */
  freed(connection: Connection): void;
  gone(connection: Connection): void;
};

/** How long a connection waits for the next request, unless the other side says less. */
const KEEP_MS = 30_000;
/** A request that is sent when the other side is about to close would be lost. */
const KEEP_MARGIN_MS = 2_000;
const TCP_ALIVE_MS = 60_000;

/**
 * Everybody's bytes are read into this one, and copied at once. Memory of its own for each connection would be most of what
 * an open stream takes.
 */
const READ_INTO = Buffer.allocUnsafeSlow(64 * 1024);

/** One connection to a provider: it carries one call at a time. */
export class Connection implements AnswerTaker, Place, Watched {
  readonly #home: Home;
  readonly #socket: Socket;
  readonly #answer: AnswerReader;
  #call: HttpCall | undefined;
  #stage: "connecting" | "open" | "gone" = "connecting";
  #pouring: Disposable | undefined;
  #isPaused = false;
  /** The end of an answer whose reader has paused: it hears of it when it goes on. */
  #heldEnd: AfterAnswer | undefined;
  #keepMs = KEEP_MS;
  #keepHint: string | string[] | undefined;
  /** Counts what came of answers, so that a look can tell whether anything did. */
  #moves = 0;
  #movesSeen = 0;
  #quietSinceMs: number;

  constructor(home: Home, call: HttpCall) {
    this.#home = home;
    this.#answer = new AnswerReader(this, home.limits.headBytesMax);
    this.#call = call;
    this.#quietSinceMs = home.silence.nowMs;
    call.movedTo(this);
    this.#socket = this.#dial(home.dialling);
    home.silence.watch(this);
  }

  #dial({ protocol, host, port, lookup }: Dialling): Socket {
    const options = {
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_ALIVE_MS,
      onread: { buffer: READ_INTO, callback: (bytes: number) => this.#read(bytes) },
      ...(lookup === undefined ? {} : { lookup }),
    };
    const socket = protocol === "http:" ? connectPlain(options, () => this.#connected()) : this.#dialTls(options);
    socket.on("error", (error) => this.#broke(error));
    socket.on("end", () => this.#ended());
    socket.on("close", () => this.#broke(new HttpFault("HTTP_CUT_OFF")));
    return socket;
  }

  #dialTls(options: { readonly host: string; readonly port: number }): Socket {
    const home = this.#home;
    const socket = connectTls(
      {
        ...options,
        ALPNProtocols: ["http/1.1"],
        ...(isIP(options.host) === 0 ? { servername: options.host } : {}),
        ...(home.session === undefined ? {} : { session: home.session }),
      },
      () => this.#connected(),
    );
    socket.on("session", (session) => {
      home.session = session;
    });
    return socket;
  }

  #connected(): void {
    if (this.#stage !== "connecting") return;
    this.#stage = "open";
    if (this.#call !== undefined) this.#send(this.#call);
  }

  /** Only one that waits for nothing is given a call. */
  take(call: HttpCall): void {
    call.movedTo(this);
    this.#call = call;
    this.#send(call);
  }

  #send(call: HttpCall): void {
    call.goes();
    this.#answer.expect();
    this.#moves += 1;
    const { head, body } = call;
    // One write of one text is the cheapest there is.
    if (typeof body === "string" && head.isAscii) this.#socket.write(head.text + body, "utf8");
    else {
      this.#socket.write(head.text, "latin1");
      if (typeof body === "string") this.#socket.write(body, "utf8");
      else if (body !== undefined) this.#pour(body);
    }
  }

  #pour(upload: Upload): void {
    const moved = () => {
      this.#moves += 1;
    };
    const done = (problem: HttpFault | undefined) => {
      this.#pouring = undefined;
      if (problem !== undefined) this.#broke(problem);
    };
    try {
      this.#pouring = pour(upload, this.#socket, { moved, done });
    } catch (error) {
      this.#broke(error);
    }
  }

  #read(bytes: number): boolean {
    try {
      this.#answer.read(Buffer.from(READ_INTO.subarray(0, bytes)));
    } catch (error) {
      this.#broke(error);
    }
    return true;
  }

  #ended(): void {
    try {
      this.#answer.closed();
    } catch (error) {
      this.#broke(error);
    }
    this.#end();
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#moves += 1;
    const hint = headers["keep-alive"];
    // A server says the same every time.
    if (hint !== this.#keepHint) {
      this.#keepHint = hint;
      this.#keepMs = keepMsOf(hint);
    }
    this.#call?.answered(status, headers);
  }

  piece(bytes: Buffer): void {
    this.#moves += 1;
    if (this.#call?.piece(bytes) !== "pause" || this.#stage !== "open") return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  end(connection: AfterAnswer): void {
    if (this.#isPaused) this.#heldEnd = connection;
    else this.#over(connection);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#moves += 1;
    const held = this.#heldEnd;
    this.#heldEnd = undefined;
    if (held !== undefined) this.#over(held);
    if (this.#stage === "open") this.#socket.resume();
  }

  /** The call is freed first: what it leads to may want a connection. */
  #over(connection: AfterAnswer): void {
    const call = this.#call;
    this.#call = undefined;
    // An answer before the end of its request: the rest would be taken for the next one, or nobody reads on.
    const isCut = this.#pouring !== undefined || this.#socket.writableLength > 0;
    const isSpent = connection === "spent" || isCut || this.#keepMs <= 0;
    if (isSpent) this.#end();
    else if (this.#stage === "open") {
      this.#quietSinceMs = this.#home.silence.nowMs;
      this.#home.freed(this);
    }
    call?.ended();
  }

  leave(call: HttpCall): void {
    if (this.#call !== call) return;
    this.#call = undefined;
    this.#end();
  }

  /** Also ends the call that it carries. */
  cut(error: unknown): void {
    this.#broke(error);
  }

  look(nowMs: number): void {
    const isIdle = this.#stage === "open" && this.#call === undefined;
    if (isIdle) {
      // The other side may close it after a while.
      if (nowMs - this.#quietSinceMs >= this.#keepMs) this.#end();
    } else if (this.#moves !== this.#movesSeen || this.#isPaused) {
      this.#movesSeen = this.#moves;
      this.#quietSinceMs = nowMs;
    } else if (nowMs - this.#quietSinceMs >= this.#patienceMs) this.#broke(new HttpFault(this.#lateCode));
  }

  get #patienceMs(): number {
    const { connectTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = this.#home.limits;
    if (this.#stage === "connecting") return connectTimeoutMs;
    return this.#call?.isAnswered === true ? idleTimeoutMs : firstByteTimeoutMs;
  }

  get #lateCode() {
    if (this.#stage === "connecting") return "HTTP_CONNECT_TIMEOUT";
    return this.#call?.isAnswered === true ? "HTTP_IDLE_TIMEOUT" : "HTTP_FIRST_BYTE_TIMEOUT";
  }

  /** Whatever comes after the first time is about a connection that is no more. */
  #broke(error: unknown): void {
    // Its answer is whole, and only waits for its reader.
    const call = this.#heldEnd === undefined ? this.#call : undefined;
    if (call !== undefined) this.#call = undefined;
    this.#end();
    call?.broke(error);
  }

  #end(): void {
    if (this.#stage === "gone") return;
    this.#stage = "gone";
    this.#answer.drop();
    cancelTimer(this.#pouring);
    this.#pouring = undefined;
    this.#home.silence.leave(this);
    this.#socket.destroy();
    this.#home.gone(this);
  }
}

function keepMsOf(hint: string | string[] | undefined): number {
  const seconds = typeof hint === "string" ? /\btimeout=(\d{1,9})\b/.exec(hint)?.[1] : undefined;
  return seconds === undefined ? KEEP_MS : Math.min(KEEP_MS, Number(seconds) * 1_000 - KEEP_MARGIN_MS);
}
