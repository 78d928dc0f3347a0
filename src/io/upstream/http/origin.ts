import { type HttpCall, type Place, STOPPED } from "./call.ts";
import { Connection, type ConnectionLimits, type Dialling, type Home } from "./connection.ts";
import type { Silence } from "./silence.ts";

export type OriginLimits = ConnectionLimits & { readonly connections: number };

/** The connections to one address, and the calls that wait for one. */
export class Origin implements Home, Place {
  readonly dialling: Dialling;
  readonly limits: OriginLimits;
  readonly silence: Silence;
  session: Buffer | undefined;
  readonly #open = new Set<Connection>();
  /** The last one used is the first to be used again: those that are not needed get old and are closed. */
  readonly #idle: Connection[] = [];
  readonly #waiting: HttpCall[] = [];
  #stage: "open" | "ending" | "cut" = "open";

  constructor(dialling: Dialling, limits: OriginLimits, silence: Silence) {
    this.dialling = dialling;
    this.limits = limits;
    this.silence = silence;
  }

  send(call: HttpCall): void {
    const connection = this.#idleOne();
    if (connection !== undefined) connection.take(call);
    else if (this.#open.size < this.limits.connections) this.#open.add(new Connection(this, call));
    else {
      call.movedTo(this);
      this.#waiting.push(call);
    }
  }

  #idleOne(): Connection | undefined {
    if (this.#idle.length === 0) return undefined;
    const { nowMs } = this.silence;
    for (let one = this.#idle.pop(); one !== undefined; one = this.#idle.pop()) {
      if (one.isFresh(nowMs)) return one;
      one.cut(STOPPED);
    }
    return undefined;
  }

  freed(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) connection.take(next);
    else if (this.#stage === "open") this.#idle.push(connection);
    else connection.cut(STOPPED);
  }

  gone(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#stage === "cut") return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.send(next);
  }

  /** Of one that waits. */
  leave(call: HttpCall): void {
    const at = this.#waiting.indexOf(call);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** One that waits has nothing to go on with. */
  resume(): void {}

  get isOver(): boolean {
    return this.#open.size === 0;
  }

  /** Lets what runs and what waits finish. */
  end(): void {
    this.#stage = "ending";
    for (const connection of this.#idle.splice(0)) connection.cut(STOPPED);
  }

  cut(): void {
    this.#stage = "cut";
    const waiting = this.#waiting.splice(0);
    for (const connection of [...this.#open]) connection.cut(STOPPED);
    for (const call of waiting) call.broke(STOPPED);
  }
}
