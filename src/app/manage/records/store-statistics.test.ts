import { expect, test } from "vitest";
import { DAY_MS } from "../../../kit/time.ts";
import { StoreStatistics } from "./store-statistics.ts";

test("SCALE-23 statistics are refreshed after the start, daily, after a large removal, and again after an outage", async () => {
  const now = { ms: 5 };
  const removed = { rows: 0 };
  const warnings: string[] = [];
  let refreshes = 0;
  let isAway = true;
  const statistics = new StoreStatistics({
    store: {
      async refreshStatistics() {
        refreshes += 1;
        if (isAway) throw new Error("the store is away");
      },
    },
    removedRows: () => removed.rows,
    clock: { monotonicMs: () => now.ms },
    warn: (_detail, message) => warnings.push(message),
  });
  const after = async (change: () => void) => {
    change();
    const before = refreshes;
    await Promise.all([statistics.run(), statistics.run()]);
    return refreshes - before;
  };
  expect(await after(() => {})).toBe(1);
  expect(warnings).toEqual(["store: statistics not refreshed, will be retried"]);
  isAway = false;
  expect(await after(() => {})).toBe(1);
  expect(
    await after(() => {
      now.ms += DAY_MS - 1;
      removed.rows += 99_999;
    }),
  ).toBe(0);
  expect(
    await after(() => {
      removed.rows += 1;
    }),
  ).toBe(1);
  expect(
    await after(() => {
      now.ms += DAY_MS;
    }),
  ).toBe(1);
});
