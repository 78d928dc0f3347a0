import { expect, test } from "vitest";
import { defaultPeriod, periodOf, stepsOf } from "./period.ts";

const DAY_MS = 86_400_000;
const MIDNIGHT_MS = Date.UTC(2026, 10, 18);

test("PORTAL-04 the default period has exactly 30 UTC days and ends with today, at every time of the day", () => {
  for (const sinceMidnight of [0, 1, 3_599_999, 3_600_000, DAY_MS / 2, DAY_MS - 3_600_000, DAY_MS - 1]) {
    const steps = stepsOf(defaultPeriod(MIDNIGHT_MS + sinceMidnight));
    expect(steps).toHaveLength(30);
    expect(steps.at(-1)).toBe(MIDNIGHT_MS);
    expect(steps[0]).toBe(MIDNIGHT_MS - 29 * DAY_MS);
  }
});

test("PORTAL-04 periods by day cover whole days, periods by hour end with the current hour", () => {
  const nowMs = MIDNIGHT_MS + DAY_MS / 2;
  const at = (range: string, by = "") => stepsOf(periodOf({ range, by, from: "", to: "" }, nowMs));
  expect([at("24h").length, at("7d").length, at("7d", "day").length, at("90d").length]).toEqual([24, 168, 7, 90]);
  // The interval does not change what is counted.
  expect(at("30d", "hour")[0]).toBe(at("30d")[0]);
});
