/** A running timer; disposing of it cancels it. */
export type Timer = Disposable & {
  /** Starts the delay again. */
  refresh(): unknown;
  /** The process may exit before the timer fires. */
  unref?(): unknown;
};

/** Injected like the clock, so that tests and simulations control time. */
export type Timers = { after(ms: number, callback: () => void): Timer };

/** Longest delay of `setTimeout`; a longer one would fire after one millisecond. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/**
 * Fires one event-loop tick after the system's timer: after a stall, pending I/O is processed first. Otherwise a response
 * that has already arrived could be taken for late.
 */
class DeferredTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;
  #immediate: NodeJS.Immediate | undefined;

  constructor(ms: number, callback: () => void) {
    this.#timeout = setTimeout(() => {
      this.#immediate = setImmediate(callback);
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

export const systemTimers: Timers = {
  after: (ms, callback) => new DeferredTimer(Math.min(ms, DELAY_MS_MAX), callback),
};

export function cancelTimer(timer: Disposable | undefined): void {
  timer?.[Symbol.dispose]();
}
