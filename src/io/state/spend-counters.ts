import type { DailySpend, Spending } from "../../domain/admission/shared-state.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { type DaySpan, dayOf, parseDayName, spanOf } from "../../kit/calendar.ts";

/** What was spent on one day, and what running requests of that day have reserved. */
export type SpendCounter = { spentNanos: bigint; heldNanos: bigint };

/** By day. Few are ever kept, so a month is added up when it is asked for. */
type CountersByDay = Map<number, SpendCounter>;

/** A workspace or a member: their keys, and once a limit was asked of them, what these come to together. */
type SpenderGroup = { readonly keys: CountersByDay[]; total: CountersByDay | undefined };

/** Where a caller is counted: always by its key, from which the rest follows. */
type SpendPath = {
  readonly key: CountersByDay;
  readonly workspace: SpenderGroup;
  readonly member: SpenderGroup | undefined;
};

/** Where one request is counted. */
export type SpendTarget = { readonly path: SpendPath; readonly day: number; readonly counter: SpendCounter };

type SpenderIds = Pick<DailySpend, "workspaceId" | "keyId" | "memberId">;

/**
 * Counts what everyone spends, whether or not there is a limit: one can be set at any moment, and holds from the next
 * request on for the whole of its day and month. Without limits a request is counted once, by its key.
 */
export class SpendCounters {
  readonly #groups = new Map<string, SpenderGroup>();
  readonly #paths = new Map<string, SpendPath>();

  /** Where a request that began at this moment is counted. */
  targetFor(who: SpenderIds, atMs: number): SpendTarget {
    return targetOn(this.#pathFor(who), dayOf(atMs));
  }

  /** What was spent before this process began. */
  restore(spend: DailySpend): void {
    addSpent(targetOn(this.#pathFor(spend), parseDayName(spend.day)), spend.nanos);
  }

  /** What has been spent and is held of one limit. */
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

  /** Days nobody asks for any more: the month before this one is kept, as work that began in it may still be going on. */
  dropOldDays(nowMs: number): void {
    const { firstDay } = spanOf("month", nowMs, -1);
    for (const { key } of this.#paths.values()) dropDaysBefore(key, firstDay);
    for (const { total } of this.#groups.values()) if (total !== undefined) dropDaysBefore(total, firstDay);
  }

  #pathFor({ workspaceId, keyId, memberId }: SpenderIds): SpendPath {
    // What nobody knows the key of is counted under its workspace: no other has it, and no key is called so.
    const id = keyId === "" ? workspaceId : keyId;
    const known = this.#paths.get(id);
    if (known !== undefined) return known;
    const key: CountersByDay = new Map();
    const caller = {
      key,
      workspace: this.#joinGroup(workspaceId, key),
      member: memberId === null ? undefined : this.#joinGroup(memberId, key),
    };
    this.#paths.set(id, caller);
    return caller;
  }

  /** A key that is new has spent nothing yet, so what the group's came to before stays right. */
  #joinGroup(groupId: string, key: CountersByDay): SpenderGroup {
    const group = this.#groups.get(groupId) ?? { keys: [], total: undefined };
    this.#groups.set(groupId, group);
    group.keys.push(key);
    return group;
  }
}

/** Reserves an amount; a negative one gives it back. */
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
  const cell = { spentNanos: 0n, heldNanos: 0n };
  days.set(day, cell);
  return cell;
}

function sumByDay(keys: readonly CountersByDay[]): CountersByDay {
  const sum: CountersByDay = new Map();
  for (const days of keys)
    for (const [day, { spentNanos, heldNanos }] of days) {
      const cell = counterOn(sum, day);
      cell.spentNanos += spentNanos;
      cell.heldNanos += heldNanos;
    }
  return sum;
}

/** What is held stays until its request ends. */
function dropDaysBefore(days: CountersByDay, firstDay: number): void {
  for (const [day, cell] of days) if (day < firstDay && cell.heldNanos === 0n) days.delete(day);
}

function sumWithin(days: CountersByDay, { firstDay, endDay }: DaySpan): SpendCounter {
  let spentNanos = 0n;
  let heldNanos = 0n;
  for (const [day, cell] of days)
    if (day >= firstDay && day < endDay) {
      spentNanos += cell.spentNanos;
      heldNanos += cell.heldNanos;
    }
  return { spentNanos, heldNanos };
}
