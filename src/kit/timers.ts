/** A timer that is set: it can be started over, and stopped. */
export type Timer = Disposable & {
  refresh(): unknown;
  /** The process need not stay for it. */
  unref?(): unknown;
};

/** Waiting is handed in like the clock, so that a run can be replayed in no time. */
export type Timers = { after(ms: number, then: () => void): Timer };

/** What the system's timers can count to, almost 25 days. It takes a longer wait for one of a millisecond. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Its time is up one turn after the system says so: where this process stood still, what has come meanwhile is read first.
 * Who waits for an answer would otherwise call it late while it is here.
 */
class TurnLater implements Timer {
  readonly #timeout: NodeJS.Timeout;
  #turn: NodeJS.Immediate | undefined;

  constructor(ms: number, then: () => void) {
    this.#timeout = setTimeout(() => {
      this.#turn = setImmediate(then);
    }, ms);
  }

  refresh(): void {
    clearImmediate(this.#turn);
    this.#timeout.refresh();
  }

  unref(): void {
    this.#timeout.unref();
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#turn);
    clearTimeout(this.#timeout);
  }
}

export const systemTimers: Timers = { after: (ms, then) => new TurnLater(Math.min(ms, LONGEST_MS), then) };

export function stop(timer: Disposable | undefined): void {
  timer?.[Symbol.dispose]();
}
