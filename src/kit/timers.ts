/** A timer that is set: it can be started over, and stopped. */
export type Timer = Disposable & {
  refresh(): unknown;
  /** The process need not stay for it. */
  unref?(): unknown;
};

/** Waiting is handed in like the clock, so that a run can be replayed in no time. */
export type Timers = { after(ms: number, then: () => void): Timer };

/** What the system's timers can count to, almost 25 days. It takes a longer wait for one of a millisecond. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/**
 * Its time is up one turn after the system says so: where this process stood still, what has come meanwhile is read first.
 * Who waits for an answer would otherwise call it late while it is here.
 */
class DeferredTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;
  #immediate: NodeJS.Immediate | undefined;

  constructor(ms: number, then: () => void) {
    this.#timeout = setTimeout(() => {
      this.#immediate = setImmediate(then);
    }, ms);
  }

  refresh(): void {
    clearImmediate(this.#immediate);
    this.#timeout.refresh();
  }

  unref(): void {
    this.#timeout.unref();
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timeout);
  }
}

export const systemTimers: Timers = { after: (ms, then) => new DeferredTimer(Math.min(ms, DELAY_MS_MAX), then) };

export function cancelTimer(timer: Disposable | undefined): void {
  timer?.[Symbol.dispose]();
}
