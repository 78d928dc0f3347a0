import { expect, test } from "vitest";
import { LogRetention } from "./log-retention.ts";

function openRetention(keepMs: number | null, old: number) {
  const asked: [number, number][] = [];
  const warnings: string[] = [];
  let left = old;
  let pauses = 0;
  const retention = new LogRetention({
    keepMs,
    clock: { nowMs: () => 10_000, monotonicMs: () => 0 },
    timers: {
      after: (_ms, then) => {
        pauses += 1;
        return setTimeout(then, 0);
      },
    },
    log: {
      prepare: async () => {},
      sweep: async (beforeMs, rowsMax) => {
        asked.push([beforeMs, rowsMax]);
        if (left < 0) throw new Error("the store is away");
        const removed = Math.min(left, rowsMax);
        left -= removed;
        return removed;
      },
    },
    warn: (_detail, message) => warnings.push(message),
  });
  return { retention, asked, warnings, left: () => left, pauses: () => pauses };
}

test("LOG-03 expired requests are deleted in batches with pauses", async () => {
  const { retention, asked, left, pauses } = openRetention(4_000, 1200);
  await Promise.all([retention.run(), retention.run()]);
  expect(left()).toBe(0);
  expect(asked).toEqual([
    [6_000, 500],
    [6_000, 500],
    [6_000, 500],
  ]);
  expect(pauses()).toBe(2);
});

test("LOG-03 `forever` deletes nothing, and a store outage is retried at the next run", async () => {
  const forever = openRetention(null, 10);
  await forever.retention.run();
  expect(forever.asked).toEqual([]);
  const away = openRetention(1, -1);
  await away.retention.run();
  await away.retention.run();
  expect(away.warnings).toHaveLength(2);
});

test("LOG-03 a stop ends a run after its batch", async () => {
  const { retention, left } = openRetention(1, 1_000_000);
  const run = retention.run();
  await retention.stop();
  await run;
  expect(left()).toBeGreaterThan(900_000);
});
