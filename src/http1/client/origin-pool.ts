import { ClientConnection, type ConnectionLimits, type ConnectionOwner, type DialTarget } from "./client-connection.ts";
import { CLIENT_CLOSED, type ExchangeOwner, type HttpExchange } from "./http-exchange.ts";
import type { IdleWatchdog } from "./idle-watchdog.ts";

export type OriginPoolLimits = ConnectionLimits & { readonly connections: number };

/**
 * The connections to one origin, and the exchanges queued for one.
 *
 * A used connection cools down for one event-loop tick, in which all pending bytes are read, before it is used again:
 * a server may close it right after its response or send unsolicited bytes, and neither may affect the next exchange.
 */
export class OriginPool implements ConnectionOwner, ExchangeOwner {
  readonly dialTarget: DialTarget;
  readonly limits: OriginPoolLimits;
  readonly watchdog: IdleWatchdog;
  tlsSession: Buffer | undefined;
  readonly #connections = new Set<ClientConnection>();
  /** Last in, first out: connections that the load does not need become idle long enough to be closed. */
  readonly #idle: ClientConnection[] = [];
  /** Connections whose response completed in this tick. */
  readonly #cooling: ClientConnection[] = [];
  readonly #queue: HttpExchange[] = [];
  #isReuseScheduled = false;
  #stage: "open" | "draining" | "aborted" = "open";

  constructor(dialTarget: DialTarget, limits: OriginPoolLimits, watchdog: IdleWatchdog) {
    this.dialTarget = dialTarget;
    this.limits = limits;
    this.watchdog = watchdog;
  }

  send(exchange: HttpExchange): void {
    exchange.assignTo(this);
    this.#queue.push(exchange);
    this.#dispatch();
  }

  /** Opens connections for exchanges that no idle or cooling connection will take, up to the limit. */
  #dispatch(): void {
    const free = this.#idle.length + this.#cooling.length;
    while (this.#queue.length > free && this.#connections.size < this.limits.connections) {
      const exchange = this.#queue.shift();
      if (exchange !== undefined) this.#connections.add(new ClientConnection(this, exchange));
    }
    if (free > 0 && this.#queue.length > 0) this.#scheduleReuse();
  }

  #scheduleReuse(): void {
    if (this.#isReuseScheduled) return;
    this.#isReuseScheduled = true;
    setImmediate(reuseIdleOf, this);
  }

  reuseIdle(): void {
    this.#isReuseScheduled = false;
    while (this.#queue.length > 0 && this.#idle.length > 0) {
      const exchange = this.#queue.shift();
      if (exchange !== undefined) this.#idle.pop()?.start(exchange);
    }
    for (const connection of this.#cooling) this.#idle.push(connection);
    this.#cooling.length = 0;
    if (this.#queue.length > 0) this.#dispatch();
    else if (this.#stage === "draining") this.#closeIdle();
  }

  onIdle(connection: ClientConnection): void {
    this.#cooling.push(connection);
    this.#scheduleReuse();
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    removeFrom(this.#idle, connection);
    removeFrom(this.#cooling, connection);
    if (this.#stage !== "aborted") this.#dispatch();
  }

  drop(exchange: HttpExchange): void {
    removeFrom(this.#queue, exchange);
  }

  /** A queued exchange has nothing to resume. */
  resume(): void {}

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  /** Lets running and queued exchanges finish, then closes the connections. */
  drain(): void {
    this.#stage = "draining";
    if (this.#queue.length === 0) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.abort(CLIENT_CLOSED);
  }

  abort(): void {
    this.#stage = "aborted";
    const queued = this.#queue.splice(0);
    for (const connection of [...this.#connections]) connection.abort(CLIENT_CLOSED);
    for (const exchange of queued) exchange.onFailure(CLIENT_CLOSED);
  }
}

/** A function of its own, so that scheduling allocates no closure. */
function reuseIdleOf(pool: OriginPool): void {
  pool.reuseIdle();
}

function removeFrom<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
