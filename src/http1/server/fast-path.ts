import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../kit/clock.ts";
import { FastPathConnection } from "./fast-path-connection.ts";
import type { FastPathRequest } from "./fast-path-request.ts";
import type { FastPathResponse } from "./fast-path-response.ts";
import { checkIntervalMs, checkWhileListening } from "./interval-check.ts";

export type FastPathDeps = {
  readonly clock: Pick<Clock, "nowMs">;
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly checkEveryMs: number };
  readonly onRequest: (request: FastPathRequest, answer: FastPathResponse) => void;
  /** Nothing came on a new connection. */
  readonly onHeadersTimeout: (socket: Socket) => void;
  /** Nothing moved on a connection for the time that it was told. */
  readonly onSocketTimeout: (socket: Socket) => void;
  /** A request is there, and is not yet served. */
  readonly onRequestQueued: () => void;
  readonly onRequestDequeued: () => void;
};

/** A connection stays open a little longer than its client is told, so that no request meets it closing. */
const IDLE_EXTRA_MS = 1_000;

/**
 * The short way in. Most requests of inference are a POST that comes in one piece; those are read here, for a fraction of
 * what Node's server takes. With the first that is anything else a connection goes to Node's server, for good.
 */
export class FastPath {
  readonly #deps: FastPathDeps;
  readonly #server: Server;
  readonly #nodeListener: (socket: Socket) => void;
  readonly #connections = new Set<FastPathConnection>();
  readonly #checkEveryMs: number;
  #checkCount = 0;
  #dateMs = 0;
  #keepAliveHeaders = "";
  #closeHeaders = "";

  constructor(server: Server, deps: FastPathDeps) {
    this.#deps = deps;
    this.#server = server;
    this.#nodeListener = takeOverConnections(server);
    server.on("connection", (socket) => this.#accept(socket));
    const { headersMs, idleMs, checkEveryMs } = deps.timeouts;
    this.#checkEveryMs = Math.min(checkEveryMs, checkIntervalMs(Math.min(headersMs, idleMs)));
    checkWhileListening(server, this.#checkEveryMs, () => this.#closeTimedOut());
  }

  /** But not those on which nothing has come yet: a request may be on its way. */
  closeIdle(): void {
    for (const { isIdle, isUnused, channel } of this.#connections) if (isIdle && !isUnused) channel.socket.destroy();
  }

  closeAll(): void {
    for (const { channel } of this.#connections) channel.socket.destroy();
  }

  #accept(socket: Socket): void {
    const connection = new FastPathConnection(socket, {
      onRequest: this.#deps.onRequest,
      onSocketTimeout: this.#deps.onSocketTimeout,
      onRequestQueued: this.#deps.onRequestQueued,
      onRequestDequeued: this.#deps.onRequestDequeued,
      handOverToNode: (one, bytes) => this.#handOverToNode(one, bytes),
      onClosed: (one) => this.#connections.delete(one),
      checkCount: () => this.#checkCount,
      connectionHeaders: (last) => this.#connectionHeaders(last),
    });
    this.#connections.add(connection);
  }

  /** Node's server reads what came so far as if it came now. */
  #handOverToNode(connection: FastPathConnection, bytes: Buffer): void {
    const { socket } = connection.channel;
    this.#connections.delete(connection);
    socket.pause();
    this.#nodeListener.call(this.#server, socket);
    socket.unshift(bytes);
    process.nextTick(() => socket.resume());
  }

  #closeTimedOut(): void {
    this.#checkCount += 1;
    const { headersMs, idleMs } = this.#deps.timeouts;
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue;
      // The look during which it fell silent is not counted: it may have come right before it.
      const silentMs = (this.#checkCount - connection.activeAtCheck - 1) * this.#checkEveryMs;
      if (silentMs < (connection.isUnused ? headersMs : idleMs + IDLE_EXTRA_MS)) continue;
      // Where this process stood still, a request may have come that is seen only now.
      const { activeAtCheck } = connection;
      setImmediate(() => {
        if (!connection.isIdle || connection.activeAtCheck !== activeAtCheck || !this.#connections.has(connection))
          return;
        if (connection.isUnused) this.#deps.onHeadersTimeout(connection.channel.socket);
        else connection.channel.socket.destroy();
      });
    }
  }

  #connectionHeaders(last: boolean): string {
    const nowMs = this.#deps.clock.nowMs();
    if (Math.abs(nowMs - this.#dateMs) >= 1_000) {
      this.#dateMs = nowMs - (nowMs % 1_000);
      const date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
      const seconds = Math.floor(this.#deps.timeouts.idleMs / 1_000);
      this.#keepAliveHeaders = `${date}Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`;
      this.#closeHeaders = `${date}Connection: close\r\n`;
    }
    return last ? this.#closeHeaders : this.#keepAliveHeaders;
  }
}

/** From here on the server asks us what to do with a connection; what it would have done is handed back. */
function takeOverConnections(server: Server): (socket: Socket) => void {
  const [own, ...others] = server.listeners("connection");
  if (own === undefined || others.length > 0) throw new Error("a new server has one listener for connections");
  server.removeAllListeners("connection");
  return own as (socket: Socket) => void;
}
