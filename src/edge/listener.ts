import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Fault } from "../contract/faults.ts";
import type { FastPath } from "../http1/server/fast-path.ts";
import type { Outgoing } from "../http1/server/server-message.ts";
import type { Clock } from "../kit/clock.ts";
import { Server } from "../kit/node-http.ts";

/** For error frames of streams that a stop ended. */
const LAST_WORDS_MS = 1_000;
const LOOK_EVERY_MS = 20;

export type Connection = {
  readonly peer: string;
  /** The answers it still owes: more than one when requests are pipelined. */
  // A list, not a set: a set that is filled and emptied for every request leaves a chain of dead tables behind, which
  // keeps each answer alive until the next full collection.
  readonly answers: Outgoing[];
  /** What was answered by hand to something that is no HTTP, or did not come in time. */
  refusal: Fault | undefined;
};

/** The port of a server: how it is taken, and how it is given up without losing a request. */
export class Door {
  readonly #server: HttpServer;
  readonly #lane: Pick<FastPath, "closeIdle" | "closeAll">;
  readonly #patience: { readonly idleMs: number };
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #connections = new Set<Connection>();
  #running = 0;
  #draining = false;

  constructor(
    server: HttpServer,
    lane: Pick<FastPath, "closeIdle" | "closeAll">,
    patience: { readonly idleMs: number },
    clock: Pick<Clock, "monotonicMs">,
  ) {
    this.#server = server;
    this.#lane = lane;
    this.#patience = patience;
    this.#clock = clock;
  }

  /** Requests that are not yet answered. */
  get running(): number {
    return this.#running;
  }

  /** A connection on which requests come, until it is closed. */
  connected(connection: Connection, socket: Socket): void {
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
  }

  entered(): void {
    this.#running += 1;
  }

  left(): void {
    this.#running -= 1;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Takes the port. Until the edge is open every call is told to come back. */
  listen(host: string, port: number): Promise<string> {
    const server = this.#server;
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        const address = server.address();
        const bound = typeof address === "object" && address !== null ? address.port : port;
        resolve(`http://${host.includes(":") ? `[${host}]` : host}:${bound}`);
      });
    });
  }

  /** Gives the port back, before anybody was told of it. */
  async unlisten(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#lane.closeAll();
    await closed;
  }

  /** Takes requests as before, while /readyz says that it goes and every answer says to connect anew. */
  async announce(forMs: number): Promise<void> {
    this.#goes();
    await new Promise((resolve) => setTimeout(resolve, forMs));
  }

  /**
   * Stops taking connections and lets running requests finish. `keep`: others serve on at the same address, so an idle
   * connection stays until its client has used it once more, which is told to open another, or until it is as old as
   * idle ones get: a request that is on its way to it must not find it closed.
   */
  async drain(timeoutMs: number, idle: "close" | "keep" = "close"): Promise<void> {
    this.#goes();
    if (idle === "keep") {
      // As a server of any kind is closed: one of HTTP closes what is idle, too.
      Object.getPrototypeOf(Server.prototype).close.call(this.#server);
      await this.#unused(this.#patience.idleMs);
    } else {
      this.#server.close();
      this.#lane.closeIdle();
    }
    await this.#idle(timeoutMs);
  }

  /** Cuts what is left, once its handlers had a moment to say why. */
  async cut(): Promise<void> {
    await this.#idle(LAST_WORDS_MS);
    this.#server.closeAllConnections();
    this.#lane.closeAll();
  }

  /** Who is still to be answered is told to connect anew, like those who come from here on. */
  #goes(): void {
    this.#draining = true;
    for (const { answers } of this.#connections) {
      // Of several the last: nothing is sent behind an answer that says so.
      const last = answers.at(-1);
      if (last !== undefined && !last.headersSent) last.shouldKeepAlive = false;
    }
  }

  async #unused(timeoutMs: number): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    const connections = () =>
      new Promise<number>((resolve) => {
        this.#server.getConnections((error, count) => resolve(error === null ? count : 0));
      });
    while ((await connections()) > 0 && this.#clock.monotonicMs() < deadlineMs) await aMoment();
  }

  async #idle(timeoutMs: number): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    while (this.#running > 0 && this.#clock.monotonicMs() < deadlineMs) {
      this.#closeIdle();
      await aMoment();
    }
    this.#closeIdle();
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    this.#lane.closeIdle();
  }
}

const aMoment = () => new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
