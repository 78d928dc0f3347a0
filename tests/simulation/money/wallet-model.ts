import type {
  DailySpend,
  HoldRef,
  HoldRequest,
  HoldVerdict,
  SharedState,
  WalletState,
} from "../../../src/domain/admission/shared-state.ts";
import { memoryState } from "../../../src/io/state/memory-state.ts";
import type { World } from "./world.ts";

/** What one request holds, counted separately from the state itself. */
type OpenHold = {
  readonly workspaceId: string;
  readonly keyId: string;
  readonly memberId: string | null;
  readonly day: string;
  sinceMs: number;
  nanos: bigint;
  isSwept: boolean;
};

type Sum = { chargedNanos: bigint; heldNanos: bigint };

/**
 * The real shared state, and beside it the same figures in the simplest form: sums of what happened. They are compared
 * after every step.
 */
export class WalletModel {
  readonly state: SharedState;
  /** Serves nothing before it has the ledger's balances. */
  isFilled = false;
  readonly #world: World;
  readonly #credits = new Map<string, bigint>();
  readonly #holds = new Map<string, OpenHold>();
  /** By spender and day. */
  readonly #spent = new Map<string, bigint>();
  readonly #chargedOf = new Map<string, bigint>();

  constructor(world: World) {
    this.#world = world;
    this.state = memoryState(world.scheduler);
  }

  hold(request: HoldRequest): HoldVerdict {
    const { requestId, workspaceId, keyId, memberId, nanos, atMs } = request;
    const known = this.#holds.get(requestId);
    const before = this.#sumsOf(workspaceId);
    const verdict = this.state.hold(request);
    if (verdict instanceof Promise) throw new Error("the state in memory answers at once");
    this.#world.note(`${requestId} holds ${nanos}: ${verdict.is}`);
    if (verdict.is === "held" && known?.isSwept === false) {
      // Repeating an existing hold renews it for its whole time.
      known.sinceMs = this.#world.scheduler.monotonicMs();
    } else if (verdict.is === "held") {
      const report = (what: string) => this.#world.broken("hold", `${requestId} holds ${nanos}: ${what}`);
      const freeNanos = before.balanceNanos - before.heldNanos;
      if (nanos < 0n || nanos > freeNanos) report(`${freeNanos} are free`);
      const day = dayOf(atMs);
      for (const limit of this.#world.orderOf(requestId)?.limits ?? []) {
        const spender = limit.of === "workspace" ? workspaceId : limit.of === "key" ? keyId : (memberId ?? "");
        const { chargedNanos, heldNanos } = this.#spending(spender, limit.per === "day" ? day : day.slice(0, 7));
        if (chargedNanos + heldNanos + nanos > limit.nanos)
          report(
            `${chargedNanos} of ${limit.nanos} are spent by ${spender} in its ${limit.per}, ${heldNanos} are held`,
          );
      }
      const sinceMs = this.#world.scheduler.monotonicMs();
      this.#holds.set(requestId, { workspaceId, keyId, memberId, day, sinceMs, nanos, isSwept: false });
    }
    this.#compare(workspaceId, keyId, memberId);
    return verdict;
  }

  settle(hold: HoldRef, nanos: bigint): void {
    const { requestId } = hold;
    const done = this.state.settle(hold, nanos);
    if (done instanceof Promise) throw new Error("the state in memory answers at once");
    const held = this.#holds.get(requestId);
    if (held === undefined) return;
    this.#world.note(`${requestId} settles ${nanos}`);
    if (held.isSwept) this.#world.count(nanos === 0n ? "swept and free" : "swept and charged");
    if (nanos < 0n) this.#world.broken("hold", `${requestId} is charged ${nanos}`);
    this.#holds.delete(requestId);
    this.#spend(held, nanos);
    this.#compare(held.workspaceId, held.keyId, held.memberId);
  }

  credit(workspaceId: string, nanos: bigint): void {
    void this.state.credit(workspaceId, nanos);
    this.#credits.set(workspaceId, (this.#credits.get(workspaceId) ?? 0n) + nanos);
    this.#world.note(`${workspaceId} gets ${nanos}`);
    this.#compare(workspaceId);
  }

  restoreSpend(spends: readonly DailySpend[]): void {
    void this.state.restoreSpend(spends);
    for (const { workspaceId, keyId, memberId, day, nanos } of spends)
      for (const id of idsOf({ workspaceId, keyId, memberId })) this.#add(`${id} ${day}`, nanos);
  }

  /** An expired hold is released; the request may still end and be charged. */
  sweep(maxAgeMs: number): void {
    void this.state.sweepHolds(maxAgeMs);
    const nowMs = this.#world.scheduler.monotonicMs();
    for (const held of this.#holds.values()) {
      if (nowMs - held.sinceMs < maxAgeMs) continue;
      held.nanos = 0n;
      held.isSwept = true;
    }
    for (const { id } of this.#world.workspaces) this.#compare(id);
  }

  /** Holds that were never ended. */
  get open(): number {
    return [...this.#holds.values()].filter(({ nanos }) => nanos > 0n).length;
  }

  isHeld(requestId: string): boolean {
    return this.#holds.has(requestId);
  }

  wallet(workspaceId: string): Promise<WalletState> {
    return this.state.wallet(workspaceId);
  }

  #spend({ workspaceId, keyId, memberId, day }: OpenHold, nanos: bigint): void {
    this.#chargedOf.set(workspaceId, (this.#chargedOf.get(workspaceId) ?? 0n) + nanos);
    for (const id of idsOf({ workspaceId, keyId, memberId })) this.#add(`${id} ${day}`, nanos);
  }

  #add(name: string, nanos: bigint): void {
    this.#spent.set(name, (this.#spent.get(name) ?? 0n) + nanos);
  }

  #sumsOf(workspaceId: string): WalletState {
    let heldNanos = 0n;
    for (const held of this.#holds.values()) if (held.workspaceId === workspaceId) heldNanos += held.nanos;
    const charged = this.#chargedOf.get(workspaceId) ?? 0n;
    return { balanceNanos: (this.#credits.get(workspaceId) ?? 0n) - charged, heldNanos };
  }

  /** Of a day, or of a month when its name is given. */
  #spending(spender: string, span: string): Sum {
    const sum = { chargedNanos: 0n, heldNanos: 0n };
    for (const [name, nanos] of this.#spent) if (name.startsWith(`${spender} ${span}`)) sum.chargedNanos += nanos;
    for (const held of this.#holds.values())
      if (idsOf(held).includes(spender) && held.day.startsWith(span)) sum.heldNanos += held.nanos;
    return sum;
  }

  #compare(workspaceId: string, keyId?: string, memberId?: string | null): void {
    const expected = this.#sumsOf(workspaceId);
    const atMs = this.#world.scheduler.nowMs();
    const today = dayOf(atMs);
    const spenders = [workspaceId, keyId, memberId].filter((id) => typeof id === "string");
    const sums = spenders.map((id) => ({
      id,
      day: this.#spending(id, today),
      month: this.#spending(id, today.slice(0, 7)),
    }));
    void this.state.wallet(workspaceId).then(({ balanceNanos, heldNanos }) => {
      if (balanceNanos !== expected.balanceNanos || heldNanos !== expected.heldNanos)
        this.#world.broken(
          "state",
          `${workspaceId} has ${balanceNanos} and holds ${heldNanos}; it came to ${expected.balanceNanos} and ${expected.heldNanos}`,
        );
    });
    for (const { id, day, month } of sums)
      void this.state.spending({ id, workspaceId }, atMs).then((found) => {
        const isSame = (one: Sum, other: { spentNanos: bigint; heldNanos: bigint }) =>
          one.chargedNanos === other.spentNanos && one.heldNanos === other.heldNanos;
        if (!isSame(day, found.day) || !isSame(month, found.month))
          this.#world.broken(
            "state",
            `${id} is said to have spent ${found.day.spentNanos}; it were ${day.chargedNanos}`,
          );
      });
  }
}

function idsOf({ workspaceId, keyId, memberId }: Pick<OpenHold, "workspaceId" | "keyId" | "memberId">): string[] {
  return memberId === null ? [workspaceId, keyId] : [workspaceId, keyId, memberId];
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
