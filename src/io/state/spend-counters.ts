import type { DailySpend, Spending } from "../../domain/admission/shared-state.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { type DaySpan, dayOf, parseDayName, spanOf } from "../../kit/calendar.ts";

/** Spent on one day, and reserved by requests in flight that started on it. */
export type SpendCounter = { spentNanos: bigint; heldNanos: bigint };

/** Few days are kept, so a month is summed on demand. */
type CountersByDay = Map<number, SpendCounter>;

/** A workspace or a member. `total` is maintained only after a limit was checked for it. */
type SpenderGroup = { readonly keys: CountersByDay[]; total: CountersByDay | undefined };

/** The counters of one key and of the groups it belongs to. */
type SpendPath = {
  readonly key: CountersByDay;
  readonly workspace: SpenderGroup;
  readonly member: SpenderGroup | undefined;
};

/** The counters of one request. */
export type SpendTarget = { readonly path: SpendPath; readonly day: number; readonly counter: SpendCounter };

type SpenderIds = Pick<DailySpend, "workspaceId" | "keyId" | "memberId">;

/**
 * Counts all spend, also without limits: a limit can be set at any moment and applies to the whole current day and month.
 * Without limits a request updates only the counter of its key.
 */
export class SpendCounters {
  readonly #groups = new Map<string, SpenderGroup>();
  readonly #paths = new Map<string, SpendPath>();

  targetFor(spender: SpenderIds, atMs: number): SpendTarget {
    return targetOn(this.#pathFor(spender), dayOf(atMs));
  }

  /** Adds spend from before this process started. */
  restore(spend: DailySpend): void {
    addSpent(targetOn(this.#pathFor(spend), parseDayName(spend.day)), spend.nanos);
  }

  /** The amounts that count against one limit. */
  usedOf({ path }: SpendTarget, of: SpenderKind, span: DaySpan): SpendCounter {
    if (of === "key") return sumWithin(path.key, span);
    const group = path[of];
    if (group === undefined) return { spentNanos: 0n, heldNanos: 0n };
    group.total ??= sumByDay(group.keys);
    return sumWithin(group.total, span);
  }

  spending(spenderId: string, atMs: number): Spending {
    const group = this.#groups.get(spenderId);
    const days =
      group === undefined ? (this.#paths.get(spenderId)?.key ?? new Map()) : (group.total ?? sumByDay(group.keys));
    return { day: sumWithin(days, spanOf("day", atMs)), month: sumWithin(days, spanOf("month", atMs)) };
  }

  /** Keeps the previous month, because requests that started in it may still run. */
  dropOldDays(nowMs: number): void {
    const { firstDay } = spanOf("month", nowMs, -1);
    for (const { key } of this.#paths.values()) dropDaysBefore(key, firstDay);
    for (const { total } of this.#groups.values()) if (total !== undefined) dropDaysBefore(total, firstDay);
  }

  #pathFor({ workspaceId, keyId, memberId }: SpenderIds): SpendPath {
    // Spend without a key counts under the id of its workspace, which no key has.
    const id = keyId === "" ? workspaceId : keyId;
    const known = this.#paths.get(id);
    if (known !== undefined) return known;
    const key: CountersByDay = new Map();
    const path = {
      key,
      workspace: this.#joinGroup(workspaceId, key),
      member: memberId === null ? undefined : this.#joinGroup(memberId, key),
    };
    this.#paths.set(id, path);
    return path;
  }

  /** A new key has spent nothing, so the total of the group stays correct. */
  #joinGroup(groupId: string, key: CountersByDay): SpenderGroup {
    const group = this.#groups.get(groupId) ?? { keys: [], total: undefined };
    this.#groups.set(groupId, group);
    group.keys.push(key);
    return group;
  }
}

/** A negative amount releases. */
export function addHeld({ path, day, counter }: SpendTarget, nanos: bigint): void {
  counter.heldNanos += nanos;
  const { workspace, member } = path;
  if (workspace.total !== undefined) counterOn(workspace.total, day).heldNanos += nanos;
  if (member?.total !== undefined) counterOn(member.total, day).heldNanos += nanos;
}

export function addSpent({ path, day, counter }: SpendTarget, nanos: bigint): void {
  counter.spentNanos += nanos;
  const { workspace, member } = path;
  if (workspace.total !== undefined) counterOn(workspace.total, day).spentNanos += nanos;
  if (member?.total !== undefined) counterOn(member.total, day).spentNanos += nanos;
}

function targetOn(path: SpendPath, day: number): SpendTarget {
  return { path, day, counter: counterOn(path.key, day) };
}

function counterOn(days: CountersByDay, day: number): SpendCounter {
  const known = days.get(day);
  if (known !== undefined) return known;
  const counter = { spentNanos: 0n, heldNanos: 0n };
  days.set(day, counter);
  return counter;
}

function sumByDay(keys: readonly CountersByDay[]): CountersByDay {
  const sum: CountersByDay = new Map();
  for (const days of keys)
    for (const [day, { spentNanos, heldNanos }] of days) {
      const counter = counterOn(sum, day);
      counter.spentNanos += spentNanos;
      counter.heldNanos += heldNanos;
    }
  return sum;
}

/** A counter with holds stays until their requests end. */
function dropDaysBefore(days: CountersByDay, firstDay: number): void {
  for (const [day, counter] of days) if (day < firstDay && counter.heldNanos === 0n) days.delete(day);
}

function sumWithin(days: CountersByDay, { firstDay, endDay }: DaySpan): SpendCounter {
  let spentNanos = 0n;
  let heldNanos = 0n;
  for (const [day, counter] of days)
    if (day >= firstDay && day < endDay) {
      spentNanos += counter.spentNanos;
      heldNanos += counter.heldNanos;
    }
  return { spentNanos, heldNanos };
}
