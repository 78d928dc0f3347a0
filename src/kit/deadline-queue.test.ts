import { describe, expect, test } from "vitest";
import { DeadlineQueue } from "./deadline-queue.ts";
import type { Timers } from "./timers.ts";

/** A clock that stands still until it is moved, and timers that go by it. */
function world() {
  let nowMs = 0;
  const set: { readonly atMs: number; readonly then: () => void }[] = [];
  const timers: Timers = {
    after(ms, then) {
      const timer = { atMs: nowMs + ms, then };
      set.push(timer);
      return { refresh: () => undefined, [Symbol.dispose]: () => void set.splice(set.indexOf(timer), 1) };
    },
  };
  const moveTo = (ms: number) => {
    for (;;) {
      const next = set.filter(({ atMs }) => atMs <= ms).sort((one, other) => one.atMs - other.atMs)[0];
      if (next === undefined) break;
      set.splice(set.indexOf(next), 1);
      nowMs = Math.max(nowMs, next.atMs);
      next.then();
    }
    nowMs = ms;
  };
  /** An event-loop stall: the next timer fires only now. */
  const wakeAt = (ms: number) => {
    nowMs = ms;
    const [next] = set.splice(0, 1);
    next?.then();
  };
  return { deadlines: new DeadlineQueue({ monotonicMs: () => nowMs }, timers), moveTo, wakeAt, set };
}

describe("deadlines", () => {
  test("each comes at its time, in the order of their times, whatever the order they were set in", () => {
    const { deadlines, moveTo } = world();
    const over: string[] = [];
    deadlines.at(100, () => over.push("a"));
    deadlines.at(300, () => over.push("c"));
    deadlines.at(200, () => over.push("b"));
    deadlines.at(50, () => over.push("first"));
    moveTo(49);
    expect(over).toEqual([]);
    moveTo(200);
    expect(over).toEqual(["first", "a", "b"]);
    moveTo(1_000);
    expect(over).toEqual(["first", "a", "b", "c"]);
  });

  test("one that is disposed of never comes, also while another ends", () => {
    const { deadlines, moveTo } = world();
    const over: string[] = [];
    const neighbour = deadlines.at(100, () => over.push("neighbour"));
    deadlines.at(90, () => {
      over.push("ends it");
      neighbour[Symbol.dispose]();
    });
    const early = deadlines.at(10, () => over.push("early"));
    early[Symbol.dispose]();
    early[Symbol.dispose]();
    moveTo(500);
    expect(over).toEqual(["ends it"]);
  });

  test("one that falls due while another is late has a turn of its own, and all that are overdue then have one", () => {
    const { deadlines, wakeAt, set } = world();
    const over: string[] = [];
    for (const [name, atMs] of Object.entries({ a: 100, b: 150, c: 160, d: 900 }))
      deadlines.at(atMs, () => over.push(name));
    wakeAt(300);
    expect(over).toEqual(["a"]);
    wakeAt(400);
    expect(over).toEqual(["a", "b", "c"]);
    expect(set).toHaveLength(1);
  });

  test("what begins again with its end costs one timer for all, also where an end throws", () => {
    const { deadlines, moveTo, set } = world();
    let ends = 0;
    const again = (atMs: number) => {
      deadlines.at(atMs, () => {
        ends += 1;
        again(atMs + 100);
        if (ends === 7) throw new Error("the end of one");
      });
    };
    for (let at = 0; at < 5; at += 1) again(100);
    moveTo(150);
    expect([ends, set.length]).toEqual([5, 1]);
    expect(() => moveTo(250)).toThrow("the end of one");
    moveTo(260);
    expect([ends, set.length]).toEqual([10, 1]);
  });

  test("thousands of waits share one timer, and none is left after the last", () => {
    const { deadlines, moveTo, set } = world();
    const waits = Array.from({ length: 5_000 }, (_, index) => deadlines.at(1_000 + index, () => undefined));
    expect(set).toHaveLength(1);
    for (const wait of waits) wait[Symbol.dispose]();
    moveTo(1_000);
    expect(set).toHaveLength(0);
  });

  test("one that is set by another's end has its own time", () => {
    const { deadlines, moveTo } = world();
    const over: number[] = [];
    const again = (atMs: number) =>
      deadlines.at(atMs, () => {
        over.push(atMs);
        if (atMs < 300) again(atMs + 100);
      });
    again(100);
    moveTo(1_000);
    expect(over).toEqual([100, 200, 300]);
  });
});
