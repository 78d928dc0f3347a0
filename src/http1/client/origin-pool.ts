import { ClientConnection, type ConnectionLimits, type ConnectionOwner, type DialTarget } from "./client-connection.ts";
import { CLIENT_CLOSED, type ExchangeOwner, type HttpExchange } from "./http-exchange.ts";
import type { IdleWatchdog } from "./idle-watchdog.ts";

export type OriginPoolLimits = ConnectionLimits & { readonly connections: number };

/**
 * The connections to one address, and the calls that wait for one.
 *
 * A connection that was used is used again only after a turn of the process that read everything there was to read: a server
 * may close it right behind its answer, or send more than it was asked for, and neither may befall the next call.
 */
export class OriginPool implements ConnectionOwner, ExchangeOwner {
  readonly dialTarget: DialTarget;
  readonly limits: OriginPoolLimits;
  readonly watchdog: IdleWatchdog;
  tlsSession: Buffer | undefined;
  readonly #connections = new Set<ClientConnection>();
  /** The last one used is the first to be used again: those that are not needed get old and are closed. */
  readonly #idle: ClientConnection[] = [];
  /** Those whose answer was whole in this turn. */
  readonly #cooling: ClientConnection[] = [];
  readonly #queue: HttpExchange[] = [];
  #turn: "going" | "ends" = "going";
  #stage: "open" | "ending" | "cut" = "open";

  constructor(dialling: DialTarget, limits: OriginPoolLimits, silence: IdleWatchdog) {
    this.dialTarget = dialling;
    this.limits = limits;
    this.watchdog = silence;
  }

  send(call: HttpExchange): void {
    call.assignTo(this);
    this.#queue.push(call);
    this.#dispatch();
  }

  /** Who waits gets one of those that are free, or else a new one, while there may be more. */
  #dispatch(): void {
    const free = this.#idle.length + this.#cooling.length;
    while (this.#queue.length > free && this.#connections.size < this.limits.connections) {
      const call = this.#queue.shift();
      if (call !== undefined) this.#connections.add(new ClientConnection(this, call));
    }
    if (free > 0 && this.#queue.length > 0) this.#scheduleReuse();
  }

  #scheduleReuse(): void {
    if (this.#turn === "ends") return;
    this.#turn = "ends";
    setImmediate(reuseIdleOf, this);
  }

  reuseIdle(): void {
    this.#turn = "going";
    while (this.#queue.length > 0 && this.#idle.length > 0) {
      const call = this.#queue.shift();
      if (call !== undefined) this.#idle.pop()?.start(call);
    }
    for (const connection of this.#cooling) this.#idle.push(connection);
    this.#cooling.length = 0;
    if (this.#queue.length > 0) this.#dispatch();
    else if (this.#stage === "ending") this.#closeIdle();
  }

  onIdle(connection: ClientConnection): void {
    this.#cooling.push(connection);
    this.#scheduleReuse();
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    removeFrom(this.#idle, connection);
    removeFrom(this.#cooling, connection);
    if (this.#stage !== "cut") this.#dispatch();
  }

  /** Of one that waits. */
  drop(call: HttpExchange): void {
    removeFrom(this.#queue, call);
  }

  /** One that waits has nothing to go on with. */
  resume(): void {}

  get isEmpty(): boolean {
    return this.#connections.size === 0;
  }

  /** Lets what runs and what waits finish. */
  drain(): void {
    this.#stage = "ending";
    if (this.#queue.length === 0) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.abort(CLIENT_CLOSED);
  }

  abort(): void {
    this.#stage = "cut";
    const waiting = this.#queue.splice(0);
    for (const connection of [...this.#connections]) connection.abort(CLIENT_CLOSED);
    for (const call of waiting) call.onFailure(CLIENT_CLOSED);
  }
}

function reuseIdleOf(origin: OriginPool): void {
  origin.reuseIdle();
}

function removeFrom<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}
