import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastPath } from "../http1/server/fast-path.ts";
import type { Clock } from "../kit/clock.ts";
import { Server } from "../kit/node-http.ts";
import { reachableHost } from "../kit/reachable-host.ts";
import { peerAddress } from "./client-address.ts";
import type { ClientConnectionState } from "./edge-exchange.ts";

/** Time for error frames of streams that a shutdown interrupts. */
const LAST_FRAMES_MS = 1_000;
const POLL_MS = 20;

/** Binds the port and drains it without losing requests. */
export class Listener {
  readonly #server: HttpServer;
  readonly #fastPath: Pick<FastPath, "closeIdle" | "closeAll">;
  readonly #timeouts: { readonly idleMs: number };
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By socket, from the first request of a connection on. */
  readonly connections = new WeakMap<Duplex, ClientConnectionState>();
  readonly #open = new Set<ClientConnectionState>();
  /** Requests in flight, counted by the edge server and the fast path. */
  inFlight = 0;
  isDraining = false;
  /** Upgraded connections, which the server does not close. */
  sockets: { drain(): void; close(): void } | undefined;

  constructor(
    server: HttpServer,
    fastPath: Pick<FastPath, "closeIdle" | "closeAll">,
    timeouts: { readonly idleMs: number },
    clock: Pick<Clock, "monotonicMs">,
  ) {
    this.#server = server;
    this.#fastPath = fastPath;
    this.#timeouts = timeouts;
    this.#clock = clock;
  }

  /** Registers a connection until it closes. */
  track(socket: Socket): ClientConnectionState {
    const connection = { peer: peerAddress(socket), responses: [], refusal: undefined, hasMalformedRest: false };
    this.connections.set(socket, connection);
    this.#open.add(connection);
    socket.once("close", () => this.#open.delete(connection));
    return connection;
  }

  /** Binds the port and returns the origin. Until the edge is opened every request gets a 503. */
  listen(host: string, port: number): Promise<string> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        const address = server.address();
        const bound = typeof address === "object" && address !== null ? address.port : port;
        resolve(`http://${reachableHost(host)}:${bound}`);
      });
    });
  }

  /** Releases a port that was never announced. */
  async unlisten(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#fastPath.closeAll();
    await closed;
  }

  /** Keeps serving while /readyz fails and every response carries `Connection: close`. */
  async announceShutdown(forMs: number): Promise<void> {
    this.#startDraining();
    await new Promise((resolve) => setTimeout(resolve, forMs));
  }

  /**
   * Stops accepting connections and lets requests in flight finish. `keep`: other workers serve the same address, so an idle
   * connection stays open until its next request (whose response closes it) or its idle timeout; a request that is already
   * on the wire must not meet a closed connection.
   */
  async drain(timeoutMs: number, idle: "close" | "keep" = "close"): Promise<void> {
    this.#startDraining();
    if (idle === "keep") {
      // `close` of net.Server: http.Server's own also closes idle connections.
      Object.getPrototypeOf(Server.prototype).close.call(this.#server);
      await this.#waitUntilUnused(this.#timeouts.idleMs);
    } else {
      this.#server.close();
      this.#fastPath.closeIdle();
    }
    await this.#waitUntilIdle(timeoutMs);
  }

  /** Closes the remaining connections after a grace period for error frames. */
  async closeAll(): Promise<void> {
    await this.#waitUntilIdle(LAST_FRAMES_MS);
    this.sockets?.close();
    this.#server.closeAllConnections();
    this.#fastPath.closeAll();
  }

  /** Pending and future responses carry `Connection: close`. */
  #startDraining(): void {
    this.isDraining = true;
    this.sockets?.drain();
    for (const { responses } of this.#open) {
      // Only the last pipelined response: the connection closes after the one that says so.
      const last = responses.at(-1);
      if (last !== undefined && !last.headersSent) last.shouldKeepAlive = false;
    }
  }

  /** Tunnels of nodes count: an agent closes its own once the other instances know its new connection. */
  async #waitUntilUnused(timeoutMs: number): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    const connections = () =>
      new Promise<number>((resolve) => {
        this.#server.getConnections((error, count) => resolve(error === null ? count : 0));
      });
    while ((await connections()) > 0 && this.#clock.monotonicMs() < deadlineMs) await pollDelay();
  }

  async #waitUntilIdle(timeoutMs: number): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    while (this.inFlight > 0 && this.#clock.monotonicMs() < deadlineMs) {
      this.#closeIdle();
      await pollDelay();
    }
    this.#closeIdle();
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    this.#fastPath.closeIdle();
  }
}

const pollDelay = () => new Promise((resolve) => setTimeout(resolve, POLL_MS));
