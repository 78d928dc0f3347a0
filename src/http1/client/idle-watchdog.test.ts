import { expect, onTestFinished, test, vi } from "vitest";
import { systemTimers } from "../../kit/timers.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";

/** The callbacks of all pending timers. */
function captureTimers(): Set<() => void> {
  const pending = new Set<() => void>();
  const after = vi.spyOn(systemTimers, "after").mockImplementation((_ms, callback) => {
    pending.add(callback);
    return { refresh() {}, [Symbol.dispose]: () => void pending.delete(callback) };
  });
  onTestFinished(() => after.mockRestore());
  return pending;
}

function fireTimers(timers: Set<() => void>): void {
  for (const callback of [...timers]) {
    timers.delete(callback);
    callback();
  }
}

test("ERR-07 one timer checks all connections, also when a check closes one and another is opened at once", () => {
  const timers = captureTimers();
  const watchdog = new IdleWatchdog(1_000);
  const checks: string[] = [];
  const last = { checkIdle: () => void checks.push("last") };
  const first = {
    checkIdle() {
      checks.push("first");
      watchdog.unwatch(first);
      watchdog.watch(last);
    },
  };
  watchdog.watch(first);
  watchdog.watch({ checkIdle: () => void checks.push("other") });
  fireTimers(timers);
  expect(timers.size).toBe(1);
  checks.length = 0;
  fireTimers(timers);
  expect(checks).toEqual(["other", "last"]);
  expect(timers.size).toBe(1);
});

test("no timer is pending without connections", () => {
  const timers = captureTimers();
  const watchdog = new IdleWatchdog(1_000);
  const connection = { checkIdle: () => watchdog.unwatch(connection) };
  watchdog.watch(connection);
  fireTimers(timers);
  expect(timers.size).toBe(0);
  watchdog.watch(connection);
  watchdog.unwatch(connection);
  expect(timers.size).toBe(0);
});
