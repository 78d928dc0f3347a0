import type { DailySpend, HoldRef, HoldRequest, HoldVerdict, Spending } from "../../domain/admission/shared-state.ts";
import { dayOf, dayStartMs, parseDayName, spanOf } from "../../kit/calendar.ts";
import type { Clock } from "../../kit/clock.ts";
import {
  type CountersByDay,
  dropDaysBefore,
  type SpendCounter,
  type SpenderGroup,
  type SpendPath,
  sumByDay,
  sumForLimit,
  sumWithin,
} from "./spend-sums.ts";

type MemoryWallet = { balanceNanos: bigint; heldNanos: bigint };
type MemoryHold = {
  readonly wallet: MemoryWallet;
  readonly spendTarget: SpendTarget;
  readonly sinceMs: number;
  nanos: bigint;
  isSwept: boolean;
};

/** Balances and holds of all workspaces, and what was spent. */
export class MemoryWallets {
  readonly spend = new SpendCounters();
  readonly wallets = new Map<string, MemoryWallet>();
  readonly #clock: Clock;
  readonly #holds = new Map<string, MemoryHold>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  hold(request: HoldRequest): HoldVerdict {
    const { requestId, workspaceId, nanos, atMs } = request;
    if (nanos < 0n) throw new RangeError(`a hold of ${nanos} would create money`);
    const known = this.#holds.get(requestId);
    if (known?.isSwept === false) {
      // A hold of an earlier run: its age starts over, so it moves to the end of the map.
      this.#holds.delete(requestId);
      this.#holds.set(requestId, { ...known, sinceMs: this.#clock.monotonicMs() });
      return { is: "held" };
    }
    const wallet = this.wallet(workspaceId);
    const availableNanos = wallet.balanceNanos - wallet.heldNanos;
    if (availableNanos < nanos) return { is: "insufficient_credits", availableNanos, neededNanos: nanos };
    const spendTarget = this.spend.targetFor(request, atMs);
    const reached = firstLimitReached(request, spendTarget);
    if (reached !== undefined) return reached;
    wallet.heldNanos += nanos;
    addHeld(spendTarget, nanos);
    if (known !== undefined) this.#holds.delete(requestId);
    this.#holds.set(requestId, { wallet, spendTarget, nanos, isSwept: false, sinceMs: this.#clock.monotonicMs() });
    return { is: "held" };
  }

  settle({ requestId }: Pick<HoldRef, "requestId">, chargedNanos: bigint): void {
    if (chargedNanos < 0n) throw new RangeError(`a charge of ${chargedNanos} would create money`);
    const hold = this.#holds.get(requestId);
    if (hold === undefined) return;
    this.#holds.delete(requestId);
    release(hold);
    hold.wallet.balanceNanos -= chargedNanos;
    addSpent(hold.spendTarget, chargedNanos);
  }

  /**
   * Releases holds of requests that never ended. The entry stays for as long again, at zero, because its request may still
   * end: the ledger charges it then, and so must the live balance.
   */
  sweep(maxAgeMs: number): number {
    const monotonicMs = this.#clock.monotonicMs();
    let released = 0;
    for (const [requestId, hold] of this.#holds) {
      const ageMs = monotonicMs - hold.sinceMs;
      // In the order of age, so the rest is younger.
      if (ageMs < maxAgeMs) break;
      if (this.releaseHold(requestId) === "released") released += 1;
      if (ageMs >= 2 * maxAgeMs) this.#holds.delete(requestId);
    }
    return released;
  }

  releaseHold(requestId: string): "released" | undefined {
    const hold = this.#holds.get(requestId);
    if (hold?.isSwept !== false) return undefined;
    release(hold);
    hold.isSwept = true;
    return "released";
  }

  wallet(workspaceId: string): MemoryWallet {
    const known = this.wallets.get(workspaceId);
    if (known !== undefined) return known;
    const wallet = { balanceNanos: 0n, heldNanos: 0n };
    this.wallets.set(workspaceId, wallet);
    return wallet;
  }
}

function firstLimitReached({ limits, nanos, atMs }: HoldRequest, { path }: SpendTarget): HoldVerdict | undefined {
  for (const limit of limits) {
    const span = spanOf(limit.per, atMs);
    const { spentNanos, heldNanos } = sumForLimit(path, limit.of, span);
    if (spentNanos + heldNanos + nanos <= limit.nanos) continue;
    const resetsAtMs = dayStartMs(span.endDay);
    return { is: "spend_limit_reached", limit, spentNanos, heldNanos, neededNanos: nanos, resetsAtMs };
  }
  return undefined;
}

/** Frees the amount in the wallet and in every spend counter. */
function release(hold: MemoryHold): void {
  hold.wallet.heldNanos -= hold.nanos;
  addHeld(hold.spendTarget, -hold.nanos);
  hold.nanos = 0n;
}

/** The counters of one request. */
type SpendTarget = { readonly path: SpendPath; readonly day: number; readonly counter: SpendCounter };

type SpenderIds = Pick<DailySpend, "workspaceId" | "keyId" | "memberId">;

/**
 * Counts all spend, also without limits: a limit can be set at any moment and applies to the whole current day and month.
 * Without limits a request updates only the counter of its key.
 */
class SpendCounters {
  readonly #groups = new Map<string, SpenderGroup>();
  readonly #paths = new Map<string, SpendPath>();

  targetFor(spender: SpenderIds, atMs: number): SpendTarget {
    return targetOn(this.#pathFor(spender), dayOf(atMs));
  }

  /** Adds spend from before this process started. */
  restore(spend: DailySpend): void {
    addSpent(targetOn(this.#pathFor(spend), parseDayName(spend.day)), spend.nanos);
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
function addHeld({ path, day, counter }: SpendTarget, nanos: bigint): void {
  counter.heldNanos += nanos;
  const { workspace, member } = path;
  if (workspace.total !== undefined) counterOn(workspace.total, day).heldNanos += nanos;
  if (member?.total !== undefined) counterOn(member.total, day).heldNanos += nanos;
}

function addSpent({ path, day, counter }: SpendTarget, nanos: bigint): void {
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
