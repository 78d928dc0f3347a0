import type { Clock } from "./clock.ts";
import type { Timers } from "./timers.ts";

/** A node of the doubly linked list; disposing of it removes it. */
class DeadlineEntry implements Disposable {
  readonly atMs: number;
  readonly onExpire: () => void;
  previous: DeadlineEntry = this;
  next: DeadlineEntry = this;

  constructor(atMs: number, onExpire: () => void) {
    this.atMs = atMs;
    this.onExpire = onExpire;
  }

  [Symbol.dispose](): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this;
    this.next = this;
  }
}

/**
 * Deadlines of many operations of the same duration, with a single timer. They rarely expire, and each is usually later
 * than all before it, so that insertion at the end of the sorted list takes constant time.
 */
export class DeadlineQueue {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #timers: Timers;
  /** Its `next` is the first entry, its `previous` the last. */
  readonly #sentinel = new DeadlineEntry(Number.NEGATIVE_INFINITY, () => undefined);
  #nextCheckAtMs: number | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** `atMs` is a time of the monotonic clock. Disposing of the result cancels the deadline. */
  at(atMs: number, onExpire: () => void): Disposable {
    const entry = new DeadlineEntry(atMs, onExpire);
    let previous = this.#sentinel.previous;
    while (previous.atMs > atMs) previous = previous.previous;
    entry.previous = previous;
    entry.next = previous.next;
    previous.next.previous = entry;
    previous.next = entry;
    if (this.#nextCheckAtMs === undefined || atMs < this.#nextCheckAtMs) this.#scheduleCheck(atMs);
    return entry;
  }

  /** An older timer for a later time is not cancelled; its check does nothing. */
  #scheduleCheck(atMs: number): void {
    this.#nextCheckAtMs = atMs;
    const nowMs = this.#clock.monotonicMs();
    // Later deadlines get a check of their own: after an event-loop stall, pending I/O is processed before it.
    const expireUntilMs = Math.max(atMs, nowMs);
    // Unreferenced: the operation's own connection keeps the process alive.
    this.#timers.after(Math.max(0, atMs - nowMs), () => this.#check(atMs, expireUntilMs)).unref?.();
  }

  #check(atMs: number, expireUntilMs: number): void {
    if (this.#nextCheckAtMs !== atMs) return;
    // Deadlines that are added by callbacks need no timer: the next check is scheduled below.
    this.#nextCheckAtMs = Number.NEGATIVE_INFINITY;
    try {
      this.#expireUntil(Math.min(expireUntilMs, this.#clock.monotonicMs()));
    } finally {
      this.#nextCheckAtMs = undefined;
      const first = this.#sentinel.next;
      if (first !== this.#sentinel) this.#scheduleCheck(first.atMs);
    }
  }

  #expireUntil(untilMs: number): void {
    for (
      let first = this.#sentinel.next;
      first !== this.#sentinel && first.atMs <= untilMs;
      first = this.#sentinel.next
    ) {
      first[Symbol.dispose]();
      first.onExpire();
    }
  }
}
