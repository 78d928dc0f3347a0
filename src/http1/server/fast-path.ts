import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../kit/clock.ts";
import { FastPathConnection, type FastPathReceiver } from "./fast-path-connection.ts";
import { ConnectionHeaders } from "./fast-path-response.ts";
import { checkIntervalMs, checkWhileListening } from "./interval-check.ts";

export type FastPathDeps = {
  readonly clock: Pick<Clock, "nowMs">;
  readonly timeouts: { readonly headersMs: number; readonly idleMs: number; readonly checkEveryMs: number };
  /** Lower-case names of response headers that have no meaning for the connection, so that only their values are checked. */
  readonly endToEndHeaders: ReadonlySet<string>;
  readonly receiver: FastPathReceiver;
  /** A new connection sent no request within `headersMs`. */
  readonly onHeadersTimeout: (socket: Socket) => void;
  /** The socket's own timeout expired, which the edge sets while a client does not read. */
  readonly onSocketTimeout: (socket: Socket) => void;
  /** Pipelined bytes are waiting behind a running request: they count as a request in flight. */
  readonly onRequestQueued: () => void;
  readonly onRequestDequeued: () => void;
};

/** A connection stays open a little longer than announced, so that a request sent in the last moment still arrives. */
const IDLE_GRACE_MS = 1_000;

/**
 * Serves the most common request, a POST whose head and body arrive in one read, for a fraction of the cost of Node's
 * server. Any other input hands the connection over to Node's server for the rest of its lifetime.
 */
export class FastPath {
  readonly #deps: FastPathDeps;
  readonly #server: Server;
  readonly #nodeListener: (socket: Socket) => void;
  readonly #connections = new Set<FastPathConnection>();
  readonly #checkEveryMs: number;
  readonly #connectionHeaders: ConnectionHeaders;
  readonly #idleChecks = { count: 0 };

  constructor(server: Server, deps: FastPathDeps) {
    this.#deps = deps;
    this.#server = server;
    this.#connectionHeaders = new ConnectionHeaders(deps.clock, deps.timeouts.idleMs);
    this.#nodeListener = takeOverConnections(server);
    server.on("connection", (socket) => this.#accept(socket));
    const { headersMs, idleMs, checkEveryMs } = deps.timeouts;
    this.#checkEveryMs = Math.min(checkEveryMs, checkIntervalMs(Math.min(headersMs, idleMs)));
    checkWhileListening(server, this.#checkEveryMs, () => this.#closeTimedOut());
  }

  /** Unused connections stay open: their first request may be in flight. */
  closeIdle(): void {
    for (const { isIdle, isUnused, channel } of this.#connections) if (isIdle && !isUnused) channel.socket.destroy();
  }

  closeAll(): void {
    for (const { channel } of this.#connections) channel.socket.destroy();
  }

  #accept(socket: Socket): void {
    const connection = new FastPathConnection(socket, {
      endToEndHeaders: this.#deps.endToEndHeaders,
      receiver: this.#deps.receiver,
      onSocketTimeout: this.#deps.onSocketTimeout,
      onRequestQueued: this.#deps.onRequestQueued,
      onRequestDequeued: this.#deps.onRequestDequeued,
      handOverToNode: (handedOver, bytes) => this.#handOverToNode(handedOver, bytes),
      onClosed: (closed) => this.#connections.delete(closed),
      idleChecks: this.#idleChecks,
      connectionHeaders: this.#connectionHeaders,
    });
    this.#connections.add(connection);
  }

  /** Node's parser gets every byte received since the last response, as if it had just arrived. */
  #handOverToNode(connection: FastPathConnection, bytes: Buffer): void {
    const { socket } = connection.channel;
    this.#connections.delete(connection);
    socket.pause();
    this.#nodeListener.call(this.#server, socket);
    socket.unshift(bytes);
    process.nextTick(() => socket.resume());
  }

  #closeTimedOut(): void {
    this.#idleChecks.count += 1;
    const { headersMs, idleMs } = this.#deps.timeouts;
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue;
      // The interval in which the connection became idle is not counted: it may have been idle for none of it.
      const idleForMs = (this.#idleChecks.count - connection.activeAtCheck - 1) * this.#checkEveryMs;
      if (idleForMs < (connection.isUnused ? headersMs : idleMs + IDLE_GRACE_MS)) continue;
      // After an event-loop stall a request may be in the socket buffer: it is read before the connection is closed.
      const { activeAtCheck } = connection;
      setImmediate(() => {
        if (!connection.isIdle || connection.activeAtCheck !== activeAtCheck || !this.#connections.has(connection))
          return;
        if (connection.isUnused) this.#deps.onHeadersTimeout(connection.channel.socket);
        else connection.channel.socket.destroy();
      });
    }
  }
}

/** Removes Node's own connection listener from a new server and returns it, for connections that are handed over. */
function takeOverConnections(server: Server): (socket: Socket) => void {
  const [own, ...others] = server.listeners("connection");
  if (own === undefined || others.length > 0) throw new Error("a new server has one listener for connections");
  server.removeAllListeners("connection");
  return own as (socket: Socket) => void;
}
