import type { Row } from "../../api/client.ts";
import { DAY_MS } from "../../format/time.ts";

type UsageRow = Row<"manageShowUsage">;

export const DAYS = 30;

type Sums = { readonly requests: number; readonly errors: number; readonly spend: number };

/** Spend is a float for display; the ledger has the exact amounts. */
export function sumOf(rows: readonly UsageRow[]): Sums {
  return rows.reduce(
    (sums, row) => ({
      requests: sums.requests + row.requests,
      errors: sums.errors + row.errors,
      spend: sums.spend + Number(row.cost),
    }),
    { requests: 0, errors: 0, spend: 0 },
  );
}

/** One entry per day, including days without requests. */
export function byDay(rows: readonly UsageRow[], nowMs: number): { readonly dayMs: number; readonly sums: Sums }[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const found = Map.groupBy(rows, (row) => Date.parse(row.start));
  return Array.from({ length: DAYS }, (_, index) => {
    const dayMs = today - (DAYS - 1 - index) * DAY_MS;
    return { dayMs, sums: sumOf(found.get(dayMs) ?? []) };
  });
}

/** How many days the balance lasts at the average spend; undefined: nothing was spent. */
export function daysLeft(balance: number, spent: number): number | undefined {
  return spent <= 0 ? undefined : Math.max(0, balance) / (spent / DAYS);
}
