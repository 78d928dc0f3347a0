import type { Row } from "../../api/client.ts";
import { DAY_MS } from "../../format/time.ts";

type UsageRow = Row<"manageShowUsage">;

export const DAYS = 30;

type Sums = { readonly requests: number; readonly errors: number; readonly spend: number };

/** Requests, errors and spend of some rows together. Spend is for reading: the ledger is what is exact. */
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

/** One place for each of the last days, also for those on which nothing happened. */
export function byDay(rows: readonly UsageRow[], nowMs: number): { readonly dayMs: number; readonly sums: Sums }[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const found = Map.groupBy(rows, (row) => Date.parse(row.start));
  return Array.from({ length: DAYS }, (_, index) => {
    const dayMs = today - (DAYS - 1 - index) * DAY_MS;
    return { dayMs, sums: sumOf(found.get(dayMs) ?? []) };
  });
}

/** How many days the balance lasts at the pace of the last days; undefined: at this pace it does not end. */
export function daysLeft(balance: number, spent: number): number | undefined {
  return spent <= 0 ? undefined : Math.max(0, balance) / (spent / DAYS);
}
