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
  /** Charged uses of `Idempotency-Key` that are kept here; the ones before them are found in SQL. */
  readonly keyUsesMax?: number;
};

const CLAIMS_MAX = 100_000;

/** The state of a single process. Every step is synchronous, so none can be interleaved with another. */
export function memoryState(clock: Clock, { keyUsesMax = CLAIMS_MAX }: MemoryStateLimits = {}): SharedState {
  const windows = new RateWindows(clock);
  const wallets = new MemoryWallets(clock);
  const claims = new MemoryIdempotencyClaims(clock, keyUsesMax);
  return {
    consumeRateWindow: ({ id }, limit) => windows.count(id, limit),
    peekRateWindow: ({ id }, limit) => windows.peek(id, limit),
    // Nobody else has a copy of anything.
    bumpVersion: async () => undefined,
    hold: (request) => wallets.hold(request),
    settle: ({ requestId }, chargedNanos) => wallets.settle(requestId, chargedNanos),
    // Nobody is asked for what it holds.
    handOver: () => undefined,
    releaseHold: ({ requestId }) => void wallets.releaseHold(requestId),
    credit: async (workspaceId, nanos) => wallets.credit(workspaceId, nanos),
    withdraw: async (taking) => wallets.withdraw(taking),
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
  /** Where it is counted, beside the wallet. */
  readonly place: SpendTarget;
  readonly sinceMs: number;
  nanos: bigint;
  swept: "no" | "yes";
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
    if (known?.swept === "no") {
      // From now on, behind all others: it is of a run before, which this one has taken up.
      this.#holds.delete(requestId);
      this.#holds.set(requestId, { ...known, sinceMs: this.#clock.monotonicMs() });
      return { is: "held" };
    }
    const wallet = this.#wallet(workspaceId);
    const availableNanos = wallet.balanceNanos - wallet.heldNanos;
    if (availableNanos < nanos) return { is: "insufficient_credits", availableNanos, neededNanos: nanos };
    const place = this.spend.targetFor(request, atMs);
    const reached = this.#firstLimitReached(request, place);
    if (reached !== undefined) return reached;
    wallet.heldNanos += nanos;
    addHeld(place, nanos);
    if (known !== undefined) this.#holds.delete(requestId);
    this.#holds.set(requestId, { wallet, place, nanos, swept: "no", sinceMs: this.#clock.monotonicMs() });
    return { is: "held" };
  }

  settle(requestId: string, chargedNanos: bigint): void {
    if (chargedNanos < 0n) throw new RangeError(`a charge of ${chargedNanos} would create money`);
    const hold = this.#holds.get(requestId);
    if (hold === undefined) return;
    this.#holds.delete(requestId);
    release(hold);
    hold.wallet.balanceNanos -= chargedNanos;
    addSpent(hold.place, chargedNanos);
  }

  credit(workspaceId: string, nanos: bigint): void {
    this.#wallet(workspaceId).balanceNanos += nanos;
  }

  withdraw({ workspaceId, nanos, isAllOrNothing, reserveNanos }: Withdrawal): bigint {
    if (nanos < 0n) throw new RangeError(`taking ${nanos} would create money`);
    const wallet = this.#wallet(workspaceId);
    const free = wallet.balanceNanos - wallet.heldNanos - reserveNanos;
    if (free <= 0n || (isAllOrNothing && free < nanos)) return 0n;
    const taken = minNanos(free, nanos);
    wallet.balanceNanos -= taken;
    return taken;
  }

  state(workspaceId: string): WalletState {
    return { ...(this.#wallets.get(workspaceId) ?? { balanceNanos: 0n, heldNanos: 0n }) };
  }

  /**
   * Gives the money of forgotten requests back. The hold itself stays for as long again, at nothing, because its
   * request may still end: the ledger will charge it then, and so must the live balance.
   */
  sweep(maxAgeMs: number): number {
    const elapsedMs = this.#clock.monotonicMs();
    let given = 0;
    for (const [requestId, hold] of this.#holds) {
      const ageMs = elapsedMs - hold.sinceMs;
      // Holds stand in the order they were taken, so the rest is younger.
      if (ageMs < maxAgeMs) break;
      if (this.releaseHold(requestId) === "given") given += 1;
      if (ageMs >= 2 * maxAgeMs) this.#holds.delete(requestId);
    }
    return given;
  }

  releaseHold(requestId: string): "given" | undefined {
    const hold = this.#holds.get(requestId);
    if (hold?.swept !== "no") return undefined;
    release(hold);
    hold.swept = "yes";
    return "given";
  }

  #firstLimitReached({ limits, nanos, atMs }: HoldRequest, place: SpendTarget): HoldVerdict | undefined {
    for (const limit of limits) {
      const span = spanOf(limit.per, atMs);
      const { spentNanos, heldNanos } = this.spend.usedOf(place, limit.of, span);
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

/** What it reserved is free again, everywhere it was reserved. */
function release(hold: MemoryHold): void {
  hold.wallet.heldNanos -= hold.nanos;
  addHeld(hold.place, -hold.nanos);
  hold.nanos = 0n;
}
