import { expect, test } from "vitest";
import { captureTimers } from "../../../tests/support/captured-timers.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";

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
  timers.fire();
  expect(timers.size).toBe(1);
  checks.length = 0;
  timers.fire();
  expect(checks).toEqual(["other", "last"]);
  expect(timers.size).toBe(1);
});

test("no timer is pending without connections", () => {
  const timers = captureTimers();
  const watchdog = new IdleWatchdog(1_000);
  const connection = { checkIdle: () => watchdog.unwatch(connection) };
  watchdog.watch(connection);
  timers.fire();
  expect(timers.size).toBe(0);
  watchdog.watch(connection);
  watchdog.unwatch(connection);
  expect(timers.size).toBe(0);
});
