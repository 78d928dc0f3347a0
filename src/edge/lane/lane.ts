import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../kit/clock.ts";
import { lookEveryMs, whileListening } from "../looks.ts";
import { LaneConnection } from "./lane-connection.ts";
import type { PlainAnswer } from "./plain-answer.ts";
import type { PlainRequest } from "./plain-request.ts";

export type LaneDeps = {
  readonly clock: Pick<Clock, "nowMs">;
  readonly patience: { readonly headersMs: number; readonly idleMs: number; readonly checkEveryMs: number };
  readonly serve: (request: PlainRequest, answer: PlainAnswer) => void;
  /** Nothing came on a new connection. */
  readonly silent: (socket: Socket) => void;
  /** Nothing moved on a connection for the time that it was told. */
  readonly timedOut: (socket: Socket) => void;
  /** A request is there, and is not yet served. */
  readonly entered: () => void;
  readonly left: () => void;
};

/** A connection stays open a little longer than its client is told, so that no request meets it closing. */
const IDLE_EXTRA_MS = 1_000;

/**
 * The short way in. Most requests of inference are a POST that comes in one piece; those are read here, for a fraction of
 * what Node's server takes. With the first that is anything else a connection goes to Node's server, for good.
 */
export class Lane {
  readonly #deps: LaneDeps;
  readonly #server: Server;
  readonly #onward: (socket: Socket) => void;
  readonly #connections = new Set<LaneConnection>();
  readonly #lookEveryMs: number;
  #looks = 0;
  #dateMs = 0;
  #staying = "";
  #leaving = "";

  constructor(server: Server, deps: LaneDeps) {
    this.#deps = deps;
    this.#server = server;
    this.#onward = takeConnections(server);
    server.on("connection", (socket) => this.#take(socket));
    const { headersMs, idleMs, checkEveryMs } = deps.patience;
    this.#lookEveryMs = Math.min(checkEveryMs, lookEveryMs(Math.min(headersMs, idleMs)));
    whileListening(server, this.#lookEveryMs, () => this.#look());
  }

  /** But not those on which nothing has come yet: a request may be on its way. */
  closeIdle(): void {
    for (const { isIdle, isFresh, line } of this.#connections) if (isIdle && !isFresh) line.socket.destroy();
  }

  closeAll(): void {
    for (const { line } of this.#connections) line.socket.destroy();
  }

  #take(socket: Socket): void {
    const connection = new LaneConnection(socket, {
      serve: this.#deps.serve,
      timedOut: this.#deps.timedOut,
      entered: this.#deps.entered,
      left: this.#deps.left,
      onward: (one, bytes) => this.#handOver(one, bytes),
      closed: (one) => this.#connections.delete(one),
      looks: () => this.#looks,
      closing: (last) => this.#closing(last),
    });
    this.#connections.add(connection);
  }

  /** Node's server reads what came so far as if it came now. */
  #handOver(connection: LaneConnection, bytes: Buffer): void {
    const { socket } = connection.line;
    this.#connections.delete(connection);
    socket.pause();
    this.#onward.call(this.#server, socket);
    socket.unshift(bytes);
    process.nextTick(() => socket.resume());
  }

  #look(): void {
    this.#looks += 1;
    const { headersMs, idleMs } = this.#deps.patience;
    for (const connection of this.#connections) {
      if (!connection.isIdle) continue;
      // The look during which it fell silent is not counted: it may have come right before it.
      const silentMs = (this.#looks - connection.heardAt - 1) * this.#lookEveryMs;
      if (silentMs < (connection.isFresh ? headersMs : idleMs + IDLE_EXTRA_MS)) continue;
      // Where this process stood still, a request may have come that is seen only now.
      const { heardAt } = connection;
      setImmediate(() => {
        if (!connection.isIdle || connection.heardAt !== heardAt || !this.#connections.has(connection)) return;
        if (connection.isFresh) this.#deps.silent(connection.line.socket);
        else connection.line.socket.destroy();
      });
    }
  }

  #closing(last: boolean): string {
    const nowMs = this.#deps.clock.nowMs();
    if (Math.abs(nowMs - this.#dateMs) >= 1_000) {
      this.#dateMs = nowMs - (nowMs % 1_000);
      const date = `Date: ${new Date(nowMs).toUTCString()}\r\n`;
      const seconds = Math.floor(this.#deps.patience.idleMs / 1_000);
      this.#staying = `${date}Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`;
      this.#leaving = `${date}Connection: close\r\n`;
    }
    return last ? this.#leaving : this.#staying;
  }
}

/** From here on the server asks us what to do with a connection; what it would have done is handed back. */
function takeConnections(server: Server): (socket: Socket) => void {
  const [own, ...others] = server.listeners("connection");
  if (own === undefined || others.length > 0) throw new Error("a new server has one listener for connections");
  server.removeAllListeners("connection");
  return own as (socket: Socket) => void;
}
