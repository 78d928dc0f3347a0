import fc from "fast-check";
import { expect, test } from "vitest";
import { dayName, dayOf, dayStartMs, parseDayName, spanOf } from "./calendar.ts";

const at = (text: string) => Date.parse(text);

test("BILL-04 days and months are those of UTC, leap days and turns of the year included", () => {
  const named = (unit: "day" | "month", text: string) => {
    const { firstDay, endDay } = spanOf(unit, at(text));
    return [dayName(firstDay), dayName(endDay)];
  };
  expect(named("day", "2026-12-31T23:59:59.999Z")).toEqual(["2026-12-31", "2027-01-01"]);
  expect(named("month", "2026-12-31T23:59:59.999Z")).toEqual(["2026-12-01", "2027-01-01"]);
  expect(named("month", "2028-02-29T12:00:00Z")).toEqual(["2028-02-01", "2028-03-01"]);
  expect(named("month", "2027-01-01T00:00:00Z")).toEqual(["2027-01-01", "2027-02-01"]);
  expect(dayName(spanOf("month", at("2027-01-31T12:00:00Z"), -1).firstDay)).toBe("2026-12-01");
});

test("a moment lies in its day and its month, and a day's name leads back to it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: at("2100-01-01T00:00:00Z") }), (ms) => {
      for (const unit of ["day", "month"] as const) {
        const { firstDay, endDay } = spanOf(unit, ms);
        expect(dayStartMs(firstDay)).toBeLessThanOrEqual(ms);
        expect(dayStartMs(endDay)).toBeGreaterThan(ms);
      }
      expect(parseDayName(dayName(dayOf(ms)))).toBe(dayOf(ms));
      expect(dayName(dayOf(ms))).toBe(new Date(ms).toISOString().slice(0, 10));
    }),
  );
});
