import { DAY_MS } from "./time.ts";

/** Calendar periods in UTC. */
export type CalendarUnit = "day" | "month";

/** Days since the Unix epoch; `endDay` is exclusive. */
export type DaySpan = { readonly firstDay: number; readonly endDay: number };

export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

export function dayStartMs(day: number): number {
  return day * DAY_MS;
}

/** "2026-11-15". */
export function dayName(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

export function parseDayName(name: string): number {
  return Date.parse(name) / DAY_MS;
}

/** The day or month that contains a moment; `monthOffset` selects an earlier or later month. */
export function spanOf(unit: CalendarUnit, atMs: number, monthOffset = 0): DaySpan {
  const day = dayOf(atMs);
  if (unit === "day") return { firstDay: day, endDay: day + 1 };
  const date = new Date(atMs);
  const month = date.getUTCMonth() + monthOffset;
  return {
    firstDay: dayOf(Date.UTC(date.getUTCFullYear(), month, 1)),
    endDay: dayOf(Date.UTC(date.getUTCFullYear(), month + 1, 1)),
  };
}
