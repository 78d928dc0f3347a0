import { decimalOf } from "../../format/decimal.ts";

/** Typed limits; empty: no limit. */
export type Periods = { readonly day: string; readonly month: string };

/** Only changed periods are sent. An empty field removes the limit. */
export function changedLimits(initial: Periods, now: Periods): { day?: string | null; month?: string | null } {
  const changedPeriod = (name: keyof Periods) =>
    now[name] === initial[name] ? {} : { [name]: now[name] === "" ? null : (decimalOf(now[name]) ?? now[name]) };
  return { ...changedPeriod("day"), ...changedPeriod("month") };
}
