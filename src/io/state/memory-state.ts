import type {
  HoldRequest,
  HoldVerdict,
  SharedState,
  WalletState,
  Withdrawal,
} from "../../domain/admission/shared-state.ts";
import { dayStartMs, spanOf } from "../../kit/calendar.ts";
import type { Clock } from "../../kit/clock.ts";
import { minNanos } from "../../kit/money.ts";
import { MemoryIdempotencyClaims } from "./idempotency-claims.ts";
import { RateWindows } from "./rate-window.ts";
import { addHeld, addSpent, SpendCounters, type SpendTarget } from "./spend-counters.ts";

export type MemoryStateLimits = {
  /** Charged uses of `Idempotency-Key` in memory; older ones are only in SQL. */
  readonly keyUsesMax?: number;
};

const KEY_USES_MAX = 100_000;

/** The state of a single process. Every method runs synchronously, so each is atomic. */
export function memoryState(clock: Clock, { keyUsesMax = KEY_USES_MAX }: MemoryStateLimits = {}): SharedState {
  const windows = new RateWindows(clock);
  const wallets = new MemoryWallets(clock);
  const claims = new MemoryIdempotencyClaims(clock, keyUsesMax);
  return {
    consumeRateWindow: ({ id }, limit) => windows.count(id, limit),
    peekRateWindow: ({ id }, limit) => windows.peek(id, limit),
    // No other instance caches configuration.
    bumpVersion: async () => undefined,
    hold: (request) => wallets.hold(request),
    settle: ({ requestId }, chargedNanos) => wallets.settle(requestId, chargedNanos),
    // Holds are not published to other instances.
    handOver: () => undefined,
    releaseHold: ({ requestId }) => void wallets.releaseHold(requestId),
    credit: async (workspaceId, nanos) => wallets.credit(workspaceId, nanos),
    withdraw: async (withdrawal) => wallets.withdraw(withdrawal),
    wallet: async (workspaceId) => wallets.state(workspaceId),
    restoreSpend: async (spends) => {
      for (const spend of spends) wallets.spend.restore(spend);
    },
    spending: async ({ id }, atMs) => wallets.spend.spending(id, atMs),
    claimIdempotencyKey: (use, requestId) => claims.claim(use, requestId),
    recordKeyUse: (use) => claims.record(use),
    releaseClaim: (key, requestId) => claims.release(key, requestId),
    sweepHolds: async (maxAgeMs) => {
      windows.dropIdle();
      claims.dropExpired();
      wallets.spend.dropOldDays(clock.nowMs());
      return wallets.sweep(maxAgeMs);
    },
  };
}

type MemoryWallet = { balanceNanos: bigint; heldNanos: bigint };
type MemoryHold = {
  readonly wallet: MemoryWallet;
  readonly spendTarget: SpendTarget;
  readonly sinceMs: number;
  nanos: bigint;
  isSwept: boolean;
};

class MemoryWallets {
  readonly spend = new SpendCounters();
  readonly #clock: Clock;
  readonly #wallets = new Map<string, MemoryWallet>();
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
    const wallet = this.#wallet(workspaceId);
    const availableNanos = wallet.balanceNanos - wallet.heldNanos;
    if (availableNanos < nanos) return { is: "insufficient_credits", availableNanos, neededNanos: nanos };
    const spendTarget = this.spend.targetFor(request, atMs);
    const reached = this.#firstLimitReached(request, spendTarget);
    if (reached !== undefined) return reached;
    wallet.heldNanos += nanos;
    addHeld(spendTarget, nanos);
    if (known !== undefined) this.#holds.delete(requestId);
    this.#holds.set(requestId, { wallet, spendTarget, nanos, isSwept: false, sinceMs: this.#clock.monotonicMs() });
    return { is: "held" };
  }

  settle(requestId: string, chargedNanos: bigint): void {
    if (chargedNanos < 0n) throw new RangeError(`a charge of ${chargedNanos} would create money`);
    const hold = this.#holds.get(requestId);
    if (hold === undefined) return;
    this.#holds.delete(requestId);
    release(hold);
    hold.wallet.balanceNanos -= chargedNanos;
    addSpent(hold.spendTarget, chargedNanos);
  }

  credit(workspaceId: string, nanos: bigint): void {
    this.#wallet(workspaceId).balanceNanos += nanos;
  }

  withdraw({ workspaceId, nanos, isAllOrNothing, reserveNanos }: Withdrawal): bigint {
    if (nanos < 0n) throw new RangeError(`taking ${nanos} would create money`);
    const wallet = this.#wallet(workspaceId);
    const free = wallet.balanceNanos - wallet.heldNanos - reserveNanos;
    if (free <= 0n || (isAllOrNothing && free < nanos)) return 0n;
    const withdrawn = minNanos(free, nanos);
    wallet.balanceNanos -= withdrawn;
    return withdrawn;
  }

  state(workspaceId: string): WalletState {
    return { ...(this.#wallets.get(workspaceId) ?? { balanceNanos: 0n, heldNanos: 0n }) };
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

  #firstLimitReached({ limits, nanos, atMs }: HoldRequest, spendTarget: SpendTarget): HoldVerdict | undefined {
    for (const limit of limits) {
      const span = spanOf(limit.per, atMs);
      const { spentNanos, heldNanos } = this.spend.usedOf(spendTarget, limit.of, span);
      if (spentNanos + heldNanos + nanos <= limit.nanos) continue;
      const resetsAtMs = dayStartMs(span.endDay);
      return { is: "spend_limit_reached", limit, spentNanos, heldNanos, neededNanos: nanos, resetsAtMs };
    }
    return undefined;
  }

  #wallet(workspaceId: string): MemoryWallet {
    const known = this.#wallets.get(workspaceId);
    if (known !== undefined) return known;
    const wallet = { balanceNanos: 0n, heldNanos: 0n };
    this.#wallets.set(workspaceId, wallet);
    return wallet;
  }
}

/** Frees the amount in the wallet and in every spend counter. */
function release(hold: MemoryHold): void {
  hold.wallet.heldNanos -= hold.nanos;
  addHeld(hold.spendTarget, -hold.nanos);
  hold.nanos = 0n;
}
