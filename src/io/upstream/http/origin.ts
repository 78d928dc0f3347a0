import { type HttpCall, type Place, STOPPED } from "./call.ts";
import { Connection, type ConnectionLimits, type Dialling, type Home } from "./connection.ts";
import type { Silence } from "./silence.ts";

export type OriginLimits = ConnectionLimits & { readonly connections: number };

/**
 * The connections to one address, and the calls that wait for one.
 *
 * A connection that was used is used again only after a turn of the process that read everything there was to read: a server
 * may close it right behind its answer, or send more than it was asked for, and neither may befall the next call.
 */
export class Origin implements Home, Place {
  readonly dialling: Dialling;
  readonly limits: OriginLimits;
  readonly silence: Silence;
  session: Buffer | undefined;
  readonly #open = new Set<Connection>();
  /** The last one used is the first to be used again: those that are not needed get old and are closed. */
  readonly #idle: Connection[] = [];
  /** Those whose answer was whole in this turn. */
  readonly #resting: Connection[] = [];
  readonly #waiting: HttpCall[] = [];
  #turn: "going" | "ends" = "going";
  #stage: "open" | "ending" | "cut" = "open";

  constructor(dialling: Dialling, limits: OriginLimits, silence: Silence) {
    this.dialling = dialling;
    this.limits = limits;
    this.silence = silence;
  }

  send(call: HttpCall): void {
    call.movedTo(this);
    this.#waiting.push(call);
    this.#provide();
  }

  /** Who waits gets one of those that are free, or else a new one, while there may be more. */
  #provide(): void {
    const free = this.#idle.length + this.#resting.length;
    while (this.#waiting.length > free && this.#open.size < this.limits.connections) {
      const call = this.#waiting.shift();
      if (call !== undefined) this.#open.add(new Connection(this, call));
    }
    if (free > 0 && this.#waiting.length > 0) this.#atTurnsEnd();
  }

  #atTurnsEnd(): void {
    if (this.#turn === "ends") return;
    this.#turn = "ends";
    setImmediate(turnEnded, this);
  }

  turnEnded(): void {
    this.#turn = "going";
    while (this.#waiting.length > 0 && this.#idle.length > 0) {
      const call = this.#waiting.shift();
      if (call !== undefined) this.#idle.pop()?.take(call);
    }
    for (const connection of this.#resting) this.#idle.push(connection);
    this.#resting.length = 0;
    if (this.#waiting.length > 0) this.#provide();
    else if (this.#stage === "ending") this.#closeIdle();
  }

  freed(connection: Connection): void {
    this.#resting.push(connection);
    this.#atTurnsEnd();
  }

  gone(connection: Connection): void {
    this.#open.delete(connection);
    forget(this.#idle, connection);
    forget(this.#resting, connection);
    if (this.#stage !== "cut") this.#provide();
  }

  /** Of one that waits. */
  leave(call: HttpCall): void {
    forget(this.#waiting, call);
  }

  /** One that waits has nothing to go on with. */
  resume(): void {}

  get isOver(): boolean {
    return this.#open.size === 0;
  }

  /** Lets what runs and what waits finish. */
  end(): void {
    this.#stage = "ending";
    if (this.#waiting.length === 0) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.cut(STOPPED);
  }

  cut(): void {
    this.#stage = "cut";
    const waiting = this.#waiting.splice(0);
    for (const connection of [...this.#open]) connection.cut(STOPPED);
    for (const call of waiting) call.broke(STOPPED);
  }
}

function turnEnded(origin: Origin): void {
  origin.turnEnded();
}

function forget<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}
