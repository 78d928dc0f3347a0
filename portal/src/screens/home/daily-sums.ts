import type { Row } from "../../api/client.ts";
import { DEFAULT_DAYS, type Period, stepsOf } from "../usage/period.ts";

type UsageRow = Row<"manageShowUsage">;

type Sums = {
  readonly requests: number;
  readonly errors: number;
  readonly spend: number;
  /** Requests with test keys, which are part of the others. */
  readonly testRequests: number;
};

/** Expects rows by environment. Spend is a float for display; the ledger has the exact amounts. */
export function sumOf(rows: readonly UsageRow[]): Sums {
  return rows.reduce(
    (sums, row) => ({
      requests: sums.requests + row.requests,
      errors: sums.errors + row.errors,
      spend: sums.spend + Number(row.cost),
      testRequests: sums.testRequests + (row.name === "test" ? row.requests : 0),
    }),
    { requests: 0, errors: 0, spend: 0, testRequests: 0 },
  );
}

/** One entry per day of the period, including days without requests. */
export function byDay(
  rows: readonly UsageRow[],
  period: Pick<Period, "by" | "fromMs" | "toMs">,
): { readonly dayMs: number; readonly sums: Sums }[] {
  const found = Map.groupBy(rows, (row) => Date.parse(row.start));
  return stepsOf(period).map((dayMs) => ({ dayMs, sums: sumOf(found.get(dayMs) ?? []) }));
}

/** How many days the balance lasts at the average spend; undefined: nothing was spent. */
export function daysLeft(balance: number, spent: number): number | undefined {
  return spent <= 0 ? undefined : Math.max(0, balance) / (spent / DEFAULT_DAYS);
}
