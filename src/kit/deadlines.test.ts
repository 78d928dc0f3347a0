import { describe, expect, test } from "vitest";
import { Deadlines } from "./deadlines.ts";
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
  return { deadlines: new Deadlines({ elapsedMs: () => nowMs }, timers), moveTo, set };
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

  test("thousands cost one timer, and none is left when nobody waits", () => {
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
