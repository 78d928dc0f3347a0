import type { Clock } from "../../../kit/clock.ts";
import { stop, type Timer, type Timers } from "../../../kit/timers.ts";

export type Awaited = { readonly untilMs: number; isOver: boolean; expire(): void };

/** Many waits of the same length on one timer: whoever came first is over first. */
export class Deadlines {
  readonly #ms: number;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #waiting: Awaited[] = [];
  #first = 0;
  #timer: Timer | undefined;

  constructor(ms: number, clock: Clock, timers: Timers) {
    this.#ms = ms;
    this.#clock = clock;
    this.#timers = timers;
  }

  watch(expire: () => void): Awaited {
    const awaited = { untilMs: this.#clock.elapsedMs() + this.#ms, isOver: false, expire };
    this.#waiting.push(awaited);
    this.#timer ??= this.#timers.after(this.#ms, () => this.#ring());
    return awaited;
  }

  close(): void {
    stop(this.#timer);
    this.#waiting = [];
    this.#first = 0;
  }

  /** Where this process itself was busy, answers that are already here are read before anybody is called late. */
  #ring(): void {
    setImmediate(() => this.#expire());
  }

  #expire(): void {
    const nowMs = this.#clock.elapsedMs();
    let next = this.#waiting[this.#first];
    while (next !== undefined && (next.isOver || next.untilMs <= nowMs)) {
      this.#first += 1;
      if (!next.isOver) {
        next.isOver = true;
        next.expire();
      }
      next = this.#waiting[this.#first];
    }
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
    this.#timer = next && this.#timers.after(Math.max(1, next.untilMs - nowMs), () => this.#ring());
  }
}
