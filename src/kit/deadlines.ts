import type { Clock } from "./clock.ts";
import type { Timers } from "./timers.ts";

/** Something that ends at its time, unless it is disposed of before. */
class Wait implements Disposable {
  readonly atMs: number;
  readonly end: () => void;
  before: Wait = this;
  behind: Wait = this;

  constructor(atMs: number, end: () => void) {
    this.atMs = atMs;
    this.end = end;
  }

  [Symbol.dispose](): void {
    this.before.behind = this.behind;
    this.behind.before = this.before;
    this.before = this;
    this.behind = this;
  }
}

/**
 * Many waits of one length that hardly ever come to their end, for the price of one timer: the times of all requests that
 * run, or of all steps that Redis was asked for. Each begins a little later than the one before it, so the next place is
 * nearly always the last.
 */
export class Deadlines {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #timers: Timers;
  /** The ring's own link: the first wait is behind it, the last before it. */
  readonly #ring = new Wait(Number.NEGATIVE_INFINITY, () => undefined);
  /** When the timer that is set looks next. */
  #looksAtMs: number | undefined;

  constructor(clock: Pick<Clock, "elapsedMs">, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** `atMs` by the clock that never jumps. */
  at(atMs: number, end: () => void): Disposable {
    const wait = new Wait(atMs, end);
    let before = this.#ring.before;
    while (before.atMs > atMs) before = before.before;
    wait.before = before;
    wait.behind = before.behind;
    before.behind.before = wait;
    before.behind = wait;
    if (this.#looksAtMs === undefined || atMs < this.#looksAtMs) this.#lookAt(atMs);
    return wait;
  }

  /** A timer for a later time is left to find nothing. */
  #lookAt(atMs: number): void {
    this.#looksAtMs = atMs;
    const nowMs = this.#clock.elapsedMs();
    // What falls due later than that has a look of its own: until then what came for it may not have been read.
    const dueMs = Math.max(atMs, nowMs);
    // Whoever waits keeps the process up by a connection of its own.
    this.#timers.after(Math.max(0, atMs - nowMs), () => this.#look(atMs, dueMs)).unref?.();
  }

  #look(atMs: number, dueMs: number): void {
    if (this.#looksAtMs !== atMs) return;
    // Waits that begin meanwhile need no timer: the next look is found behind them.
    this.#looksAtMs = Number.NEGATIVE_INFINITY;
    try {
      this.#endUntil(Math.min(dueMs, this.#clock.elapsedMs()));
    } finally {
      this.#looksAtMs = undefined;
      const next = this.#ring.behind;
      if (next !== this.#ring) this.#lookAt(next.atMs);
    }
  }

  #endUntil(untilMs: number): void {
    for (let next = this.#ring.behind; next !== this.#ring && next.atMs <= untilMs; next = this.#ring.behind) {
      next[Symbol.dispose]();
      next.end();
    }
  }
}
