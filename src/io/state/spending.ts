import type { DaySpend, Spending } from "../../domain/admission/admission.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { type DaySpan, dayOf, parseDayName, spanOf } from "../../kit/calendar.ts";

/** What was spent on one day, and what running requests of that day have reserved. */
export type SpendCell = { spentNanos: bigint; heldNanos: bigint };

/** By day. Few are ever kept, so a month is added up when it is asked for. */
type Days = Map<number, SpendCell>;

/** A workspace or a member: their keys, and once a limit was asked of them, what these come to together. */
type Group = { readonly keys: Days[]; together: Days | undefined };

/** Where a caller is counted: always by its key, from which the rest follows. */
type Caller = { readonly key: Days; readonly workspace: Group; readonly member: Group | undefined };

/** Where one request is counted. */
export type SpendPlace = { readonly caller: Caller; readonly day: number; readonly cell: SpendCell };

type Who = Pick<DaySpend, "workspaceId" | "keyId" | "memberId">;

/**
 * Counts what everyone spends, whether or not there is a limit: one can be set at any moment, and holds from the next
 * request on for the whole of its day and month. Without limits a request is counted once, by its key.
 */
export class SpendTallies {
  readonly #groups = new Map<string, Group>();
  readonly #callers = new Map<string, Caller>();

  /** Where a request that began at this moment is counted. */
  placeOf(who: Who, atMs: number): SpendPlace {
    return placeAt(this.#caller(who), dayOf(atMs));
  }

  /** What was spent before this process began. */
  restore(spend: DaySpend): void {
    spendAt(placeAt(this.#caller(spend), parseDayName(spend.day)), spend.nanos);
  }

  /** What has been spent and is held of one limit. */
  against({ caller }: SpendPlace, of: SpenderKind, span: DaySpan): SpendCell {
    if (of === "key") return within(caller.key, span);
    const group = caller[of];
    if (group === undefined) return { spentNanos: 0n, heldNanos: 0n };
    group.together ??= sumOf(group.keys);
    return within(group.together, span);
  }

  spending(spenderId: string, atMs: number): Spending {
    const group = this.#groups.get(spenderId);
    const days =
      group === undefined ? (this.#callers.get(spenderId)?.key ?? new Map()) : (group.together ?? sumOf(group.keys));
    return { day: within(days, spanOf("day", atMs)), month: within(days, spanOf("month", atMs)) };
  }

  /** Days nobody asks for any more: the month before this one is kept, as work that began in it may still be going on. */
  forgetOld(nowMs: number): void {
    const { firstDay } = spanOf("month", nowMs, -1);
    for (const { key } of this.#callers.values()) forgetBefore(key, firstDay);
    for (const { together } of this.#groups.values()) if (together !== undefined) forgetBefore(together, firstDay);
  }

  #caller({ workspaceId, keyId, memberId }: Who): Caller {
    // What nobody knows the key of is counted under its workspace: no other has it, and no key is called so.
    const id = keyId === "" ? workspaceId : keyId;
    const known = this.#callers.get(id);
    if (known !== undefined) return known;
    const key: Days = new Map();
    const caller = {
      key,
      workspace: this.#join(workspaceId, key),
      member: memberId === null ? undefined : this.#join(memberId, key),
    };
    this.#callers.set(id, caller);
    return caller;
  }

  /** A key that is new has spent nothing yet, so what the group's came to before stays right. */
  #join(groupId: string, key: Days): Group {
    const group = this.#groups.get(groupId) ?? { keys: [], together: undefined };
    this.#groups.set(groupId, group);
    group.keys.push(key);
    return group;
  }
}

/** Reserves an amount; a negative one gives it back. */
export function holdAt({ caller, day, cell }: SpendPlace, nanos: bigint): void {
  cell.heldNanos += nanos;
  const { workspace, member } = caller;
  if (workspace.together !== undefined) cellOf(workspace.together, day).heldNanos += nanos;
  if (member?.together !== undefined) cellOf(member.together, day).heldNanos += nanos;
}

export function spendAt({ caller, day, cell }: SpendPlace, nanos: bigint): void {
  cell.spentNanos += nanos;
  const { workspace, member } = caller;
  if (workspace.together !== undefined) cellOf(workspace.together, day).spentNanos += nanos;
  if (member?.together !== undefined) cellOf(member.together, day).spentNanos += nanos;
}

function placeAt(caller: Caller, day: number): SpendPlace {
  return { caller, day, cell: cellOf(caller.key, day) };
}

function cellOf(days: Days, day: number): SpendCell {
  const known = days.get(day);
  if (known !== undefined) return known;
  const cell = { spentNanos: 0n, heldNanos: 0n };
  days.set(day, cell);
  return cell;
}

function sumOf(keys: readonly Days[]): Days {
  const sum: Days = new Map();
  for (const days of keys)
    for (const [day, { spentNanos, heldNanos }] of days) {
      const cell = cellOf(sum, day);
      cell.spentNanos += spentNanos;
      cell.heldNanos += heldNanos;
    }
  return sum;
}

/** What is held stays until its request ends. */
function forgetBefore(days: Days, firstDay: number): void {
  for (const [day, cell] of days) if (day < firstDay && cell.heldNanos === 0n) days.delete(day);
}

function within(days: Days, { firstDay, endDay }: DaySpan): SpendCell {
  let spentNanos = 0n;
  let heldNanos = 0n;
  for (const [day, cell] of days)
    if (day >= firstDay && day < endDay) {
      spentNanos += cell.spentNanos;
      heldNanos += cell.heldNanos;
    }
  return { spentNanos, heldNanos };
}
