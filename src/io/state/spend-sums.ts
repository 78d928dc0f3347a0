import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import type { DaySpan } from "../../kit/calendar.ts";

/** Spent on one day, and reserved by requests in flight that started on it. */
export type SpendCounter = { spentNanos: bigint; heldNanos: bigint };

/** Few days are kept, so a month is summed on demand. */
export type CountersByDay = Map<number, SpendCounter>;

/** A workspace or a member. `total` is maintained only after a limit was checked for it. */
export type SpenderGroup = { readonly keys: CountersByDay[]; total: CountersByDay | undefined };

/** The counters of one key and of the groups it belongs to. */
export type SpendPath = {
  readonly key: CountersByDay;
  readonly workspace: SpenderGroup;
  readonly member: SpenderGroup | undefined;
};

/** The amounts that count against one limit. */
export function sumForLimit(path: SpendPath, of: SpenderKind, span: DaySpan): SpendCounter {
  if (of === "key") return sumWithin(path.key, span);
  const group = path[of];
  if (group === undefined) return { spentNanos: 0n, heldNanos: 0n };
  group.total ??= sumByDay(group.keys);
  return sumWithin(group.total, span);
}

export function sumByDay(keys: readonly CountersByDay[]): CountersByDay {
  const sum: CountersByDay = new Map();
  for (const days of keys)
    for (const [day, { spentNanos, heldNanos }] of days) {
      const counter = sum.get(day) ?? { spentNanos: 0n, heldNanos: 0n };
      counter.spentNanos += spentNanos;
      counter.heldNanos += heldNanos;
      sum.set(day, counter);
    }
  return sum;
}

export function sumWithin(days: CountersByDay, { firstDay, endDay }: DaySpan): SpendCounter {
  let spentNanos = 0n;
  let heldNanos = 0n;
  for (const [day, counter] of days)
    if (day >= firstDay && day < endDay) {
      spentNanos += counter.spentNanos;
      heldNanos += counter.heldNanos;
    }
  return { spentNanos, heldNanos };
}

/** A counter with holds stays until their requests end. */
export function dropDaysBefore(days: CountersByDay, firstDay: number): void {
  for (const [day, counter] of days) if (day < firstDay && counter.heldNanos === 0n) days.delete(day);
}
