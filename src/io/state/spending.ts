import type { DaySpend, Spending } from "../../domain/admission/admission.ts";
import { type DaySpan, dayNamed, dayOf, spanOf } from "../../kit/calendar.ts";

/** What was spent on one day, and what running requests of that day have reserved. */
export type SpendCell = { spentNanos: bigint; heldNanos: bigint };

/** The days of one workspace, member or key. Few are ever kept, so a month is added up when it is asked for. */
type Tally = Map<number, SpendCell>;

/** The workspace, the member and the key of one caller. */
export type Tallies = { readonly workspace: Tally; readonly member: Tally | undefined; readonly key: Tally };

/**
 * Counts what everyone spends, whether or not there is a limit: one can be set at any moment, and holds from the next
 * request on for the whole of its day and month.
 */
export class SpendTallies {
  readonly #tallies = new Map<string, Tally>();
  readonly #callers = new Map<string, Tallies>();

  of({ workspaceId, keyId, memberId }: Pick<DaySpend, "workspaceId" | "keyId" | "memberId">): Tallies {
    const known = this.#callers.get(keyId);
    if (known !== undefined) return known;
    const caller = {
      workspace: this.#tally(workspaceId),
      member: memberId === null ? undefined : this.#tally(memberId),
      key: this.#tally(keyId),
    };
    this.#callers.set(keyId, caller);
    return caller;
  }

  /** What was spent before this process began. */
  restore(spend: DaySpend): void {
    for (const cell of cellsAt(this.of(spend), dayNamed(spend.day))) cell.spentNanos += spend.nanos;
  }

  spending(spenderId: string, atMs: number): Spending {
    const tally = this.#tallies.get(spenderId);
    return { day: within(tally, spanOf("day", atMs)), month: within(tally, spanOf("month", atMs)) };
  }

  /** Days nobody asks for any more: the month before this one is kept, as work that began in it may still be going on. */
  forgetOld(nowMs: number): void {
    const { firstDay } = spanOf("month", nowMs, -1);
    for (const tally of this.#tallies.values())
      for (const [day, cell] of tally) if (day < firstDay && cell.heldNanos === 0n) tally.delete(day);
  }

  #tally(spenderId: string): Tally {
    const known = this.#tallies.get(spenderId);
    if (known !== undefined) return known;
    const tally: Tally = new Map();
    this.#tallies.set(spenderId, tally);
    return tally;
  }
}

/** Where a request that began at this moment is counted. */
export function cellsOf(tallies: Tallies, atMs: number): SpendCell[] {
  return cellsAt(tallies, dayOf(atMs));
}

function cellsAt({ workspace, member, key }: Tallies, day: number): SpendCell[] {
  const cells = [cellOf(workspace, day), cellOf(key, day)];
  if (member !== undefined) cells.push(cellOf(member, day));
  return cells;
}

function cellOf(tally: Tally, day: number): SpendCell {
  const known = tally.get(day);
  if (known !== undefined) return known;
  const cell = { spentNanos: 0n, heldNanos: 0n };
  tally.set(day, cell);
  return cell;
}

export function within(tally: Tally | undefined, { firstDay, endDay }: DaySpan): SpendCell {
  let spentNanos = 0n;
  let heldNanos = 0n;
  if (tally !== undefined)
    for (const [day, cell] of tally)
      if (day >= firstDay && day < endDay) {
        spentNanos += cell.spentNanos;
        heldNanos += cell.heldNanos;
      }
  return { spentNanos, heldNanos };
}
