import type { Clock } from "./clock.ts";
import type { Timers } from "./timers.ts";

/** Something that ends at its time, unless it is disposed of before. */
class DeadlineEntry implements Disposable {
  readonly atMs: number;
  readonly end: () => void;
  previous: DeadlineEntry = this;
  next: DeadlineEntry = this;

  constructor(atMs: number, end: () => void) {
    this.atMs = atMs;
    this.end = end;
  }

  [Symbol.dispose](): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this;
    this.next = this;
  }
}

/**
 * Many waits of one length that hardly ever come to their end, for the price of one timer: the times of all requests that
 * run, or of all steps that Redis was asked for. Each begins a little later than the one before it, so the next place is
 * nearly always the last.
 */
export class DeadlineQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #timers: Timers;
  /** The ring's own link: the first wait is behind it, the last before it. */
  readonly #sentinel = new DeadlineEntry(Number.NEGATIVE_INFINITY, () => undefined);
  /** When the timer that is set looks next. */
  #nextCheckAtMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** `atMs` by the clock that never jumps. */
  at(atMs: number, end: () => void): Disposable {
    const wait = new DeadlineEntry(atMs, end);
    let before = this.#sentinel.previous;
    while (before.atMs > atMs) before = before.previous;
    wait.previous = before;
    wait.next = before.next;
    before.next.previous = wait;
    before.next = wait;
    if (this.#nextCheckAtMs === undefined || atMs < this.#nextCheckAtMs) this.#scheduleCheck(atMs);
    return wait;
  }

  /** A timer for a later time is left to find nothing. */
  #scheduleCheck(atMs: number): void {
    this.#nextCheckAtMs = atMs;
    const nowMs = this.#clock.monotonicMs();
    // What falls due later than that has a look of its own: until then what came for it may not have been read.
    const dueMs = Math.max(atMs, nowMs);
    // Whoever waits keeps the process up by a connection of its own.
    this.#timers.after(Math.max(0, atMs - nowMs), () => this.#check(atMs, dueMs)).unref?.();
  }

  #check(atMs: number, dueMs: number): void {
    if (this.#nextCheckAtMs !== atMs) return;
    // Waits that begin meanwhile need no timer: the next look is found behind them.
    this.#nextCheckAtMs = Number.NEGATIVE_INFINITY;
    try {
      this.#expireUntil(Math.min(dueMs, this.#clock.monotonicMs()));
    } finally {
      this.#nextCheckAtMs = undefined;
      const next = this.#sentinel.next;
      if (next !== this.#sentinel) this.#scheduleCheck(next.atMs);
    }
  }

  #expireUntil(untilMs: number): void {
    for (let next = this.#sentinel.next; next !== this.#sentinel && next.atMs <= untilMs; next = this.#sentinel.next) {
      next[Symbol.dispose]();
      next.end();
    }
  }
}
