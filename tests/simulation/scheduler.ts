import type { Clock } from "../../src/kit/clock.ts";
import type { Timer, Timers } from "../../src/kit/timers.ts";
import type { Chance } from "./chance.ts";

/** The day on which every simulated run begins. */
const EPOCH_MS = Date.parse("2026-11-15T12:00:00Z");

type Event = { atMs: number; tie: number; run: (() => void) | undefined };

// Saved before the guard removes it: the one part of the real event loop that is needed.
const immediate = setImmediate;

/**
 * Virtual time: a heap of events. One event is taken at a time, and whatever it starts comes to rest before the next.
 * The seed decides the order of simultaneous events.
 */
export class Scheduler implements Clock, Timers {
  readonly #chance: Chance;
  readonly #heap: Event[] = [];
  #elapsedMs = 0;
  #count = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  nowMs(): number {
    return EPOCH_MS + Math.floor(this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** The number of events so far. */
  get count(): number {
    return this.#count;
  }

  after(ms: number, then: () => void): Timer {
    let event = this.#add(ms, then);
    return {
      refresh: () => {
        const again = event.run ?? then;
        event.run = undefined;
        event = this.#add(ms, again);
      },
      [Symbol.dispose]() {
        event.run = undefined;
      },
    };
  }

  /** Runs until nothing is left, `isOver` returns true, or there were more events than any seed needs. */
  async run(eventsMax: number, isOver: () => boolean): Promise<"over" | "too_many"> {
    for (let left = eventsMax; left > 0; left -= 1) {
      if (isOver()) return "over";
      const event = this.#takeFirst();
      if (event === undefined) return "over";
      if (event.run === undefined) continue;
      this.#elapsedMs = Math.max(this.#elapsedMs, event.atMs);
      this.#count += 1;
      const { run } = event;
      event.run = undefined;
      run();
      await new Promise<void>((resolve) => void immediate(resolve));
    }
    return "too_many";
  }

  #add(ms: number, run: () => void): Event {
    const event = { atMs: this.#elapsedMs + Math.max(0, ms), tie: this.#chance.next(), run };
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(event, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = event;
    return event;
  }

  #takeFirst(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (one === undefined) break;
      const isRight = other !== undefined && isBefore(other, one);
      const child = isRight ? other : one;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = isRight ? left + 1 : left;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs === other.atMs ? one.tie < other.tie : one.atMs < other.atMs;
}
