import { expect, test } from "vitest";
import { spanOf } from "./period.ts";

const now = new Date(2026, 10, 15, 12, 30);
const span = (period: string, from = "", to = "") => spanOf(period, from, to, now.getTime());
const iso = (...parts: [number, number, number]) => new Date(...parts).toISOString();

test("PORTAL-08 periods use the reader's time zone and include the last day", () => {
  expect(span("month")).toEqual({ from: iso(2026, 10, 1), to: now.toISOString() });
  expect(span("last-month")).toEqual({ from: iso(2026, 9, 1), to: iso(2026, 10, 1) });
  expect(span("quarter").from).toBe(iso(2026, 9, 1));
  expect(span("year").from).toBe(iso(2026, 0, 1));
  expect(span("custom", "2026-03-01", "2026-03-31")).toEqual({ from: iso(2026, 2, 1), to: iso(2026, 3, 1) });
});

test("PORTAL-08 an invalid date falls back to the last 30 days", () => {
  const days30 = new Date(now.getTime() - 30 * 86_400_000).toISOString();
  expect(span("")).toEqual({ from: days30, to: now.toISOString() });
  expect(span("custom", "x", "y")).toEqual({ from: days30, to: now.toISOString() });
});
