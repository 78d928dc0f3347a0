import { expect, test } from "vitest";
import { type Limits, nameOf, type Period, sortByUsage, toneOf, usageOf } from "./limit-usage.ts";

const period = (limit: string | null, spent: string, held = "0.00"): Period => ({
  ...{ limit, spent, held, remaining: null },
  resets_at: "2026-11-16T00:00:00.000Z",
});
const limits = (key: string, day: Period, month: Period): Limits => ({
  ...{ of: "key", workspace: "research", member: null, key, key_name: key, currency: "EUR", day, month },
});

test("PORTAL-05 limits are sorted by usage, holds count, and a limit of 0 is fully used", () => {
  expect(usageOf(period(null, "5.00"))).toBeUndefined();
  expect(usageOf(period("10.00", "5.00", "2.50"))).toBe(0.75);
  expect(usageOf(period("0.00", "0.00"))).toBe(1);
  expect([0.2, 0.8, 1, 1.4].map(toneOf)).toEqual(["accent", "warn", "bad", "bad"]);
  const none = period(null, "9.00");
  const sorted = sortByUsage([
    limits("none", none, none),
    limits("half", period("1.00", "0.50"), none),
    limits("month", period("1.00", "0.10"), period("2.00", "1.90")),
    limits("over", period("1.00", "1.10"), none),
  ]);
  expect(sorted.map(nameOf)).toEqual(["over", "month", "half", "none"]);
});
