import { onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/kit/clock.ts";
import { systemTimers } from "../../src/kit/timers.ts";

export type CapturedTimers = {
  /** Number of timers that wait. */
  readonly size: number;
  /** Fires every waiting timer, whatever its delay, after this much time has passed on the clock. */
  fire(afterMs?: number): void;
};

/** Timers and the monotonic clock of the running test: nothing happens until the test says so. */
export function captureTimers(): CapturedTimers {
  const pending = new Set<() => void>();
  let nowMs = 0;
  const now = vi.spyOn(systemClock, "monotonicMs").mockImplementation(() => nowMs);
  const after = vi.spyOn(systemTimers, "after").mockImplementation((_ms, callback) => {
    pending.add(callback);
    return { refresh() {}, [Symbol.dispose]: () => void pending.delete(callback) };
  });
  onTestFinished(() => {
    now.mockRestore();
    after.mockRestore();
  });
  return {
    get size() {
      return pending.size;
    },
    fire(afterMs = 0) {
      nowMs += afterMs;
      for (const callback of [...pending]) {
        pending.delete(callback);
        callback();
      }
    },
  };
}
