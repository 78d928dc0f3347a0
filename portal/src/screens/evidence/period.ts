import { useMemo } from "react";
import { DAY_MS } from "../../format/time.ts";
import { useSearchParams } from "../../url-state.ts";

export const PERIODS = [
  { value: "", label: "Last 30 days" },
  { value: "month", label: "This month" },
  { value: "last-month", label: "Last month" },
  { value: "quarter", label: "This quarter" },
  { value: "year", label: "This year" },
  { value: "custom", label: "Custom range" },
] as const;

export type Span = { readonly from: string; readonly to: string };

/** Days are in the reader's time zone; the last day is included. */
export function spanOf(period: string, from: string, to: string, nowMs: number): Span {
  const now = new Date(nowMs);
  const [year, month] = [now.getFullYear(), now.getMonth()];
  const span = (start: Date, end: Date) => ({ from: start.toISOString(), to: end.toISOString() });
  switch (period) {
    case "month":
      return span(new Date(year, month, 1), now);
    case "last-month":
      return span(new Date(year, month - 1, 1), new Date(year, month, 1));
    case "quarter":
      return span(new Date(year, month - (month % 3), 1), now);
    case "year":
      return span(new Date(year, 0, 1), now);
    case "custom": {
      const start = dayOf(from) ?? new Date(nowMs - 30 * DAY_MS);
      const end = dayOf(to);
      return span(start, end === undefined ? now : new Date(end.getFullYear(), end.getMonth(), end.getDate() + 1));
    }
    default:
      return span(new Date(nowMs - 30 * DAY_MS), now);
  }
}

function dayOf(text: string): Date | undefined {
  const day = new Date(`${text}T00:00`);
  return Number.isNaN(day.getTime()) ? undefined : day;
}

/** The period in the URL; open periods end at the time of selection. */
export function usePeriod(): Span {
  const { get } = useSearchParams();
  const [period, from, to] = [get("period"), get("from"), get("to")];
  return useMemo(() => spanOf(period, from, to, Date.now()), [period, from, to]);
}
