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

export const systemTimers: Timers = { after: (ms, then) => setTimeout(then, Math.min(ms, LONGEST_MS)) };

export function stop(timer: Disposable | undefined): void {
  timer?.[Symbol.dispose]();
}
