import { expect, onTestFinished, test, vi } from "vitest";
import { systemTimers } from "../../kit/timers.ts";
import { IdleWatchdog } from "./idle-watchdog.ts";

/** The timers that are set: each by what it does when its time is up. */
function heldTimers(): Set<() => void> {
  const set = new Set<() => void>();
  const after = vi.spyOn(systemTimers, "after").mockImplementation((_ms, then) => {
    set.add(then);
    return { refresh() {}, [Symbol.dispose]: () => void set.delete(then) };
  });
  onTestFinished(() => after.mockRestore());
  return set;
}

function timeIsUp(timers: Set<() => void>): void {
  for (const then of [...timers]) {
    timers.delete(then);
    then();
  }
}

test("ERR-07 one timer looks at all, also where a look ends one connection and another is made at once", () => {
  const timers = heldTimers();
  const silence = new IdleWatchdog(1_000);
  const looks: string[] = [];
  const last = { look: () => void looks.push("last") };
  const first = {
    look() {
      looks.push("first");
      silence.unwatch(first);
      silence.watch(last);
    },
  };
  silence.watch(first);
  silence.watch({ checkIdle: () => void looks.push("other") });
  timeIsUp(timers);
  expect(timers.size).toBe(1);
  looks.length = 0;
  timeIsUp(timers);
  expect(looks).toEqual(["other", "last"]);
  expect(timers.size).toBe(1);
});

test("nothing is waited for where there is nobody to look at", () => {
  const timers = heldTimers();
  const silence = new IdleWatchdog(1_000);
  const one = { look: () => silence.unwatch(one) };
  silence.watch(one);
  timeIsUp(timers);
  expect(timers.size).toBe(0);
  silence.watch(one);
  silence.unwatch(one);
  expect(timers.size).toBe(0);
});
