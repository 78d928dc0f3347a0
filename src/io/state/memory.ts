import type { HoldRequest, HoldVerdict, SharedState, Taking, WalletState } from "../../domain/admission/admission.ts";
import { dayStartMs, spanOf } from "../../kit/calendar.ts";
import type { Clock } from "../../kit/clock.ts";
import { minNanos } from "../../kit/money.ts";
import { Claims } from "./claims.ts";
import { RateWindows } from "./rate-window.ts";
import { holdAt, type SpendPlace, SpendTallies, spendAt } from "./spending.ts";

export type MemoryLimits = {
  /** Charged uses of `Idempotency-Key` that are kept here; the ones before them are found in SQL. */
  readonly claimsMax?: number;
};

const CLAIMS_MAX = 100_000;

/** The state of a single process. Every step is synchronous, so none can be interleaved with another. */
export function memoryState(clock: Clock, { claimsMax = CLAIMS_MAX }: MemoryLimits = {}): SharedState {
  const windows = new RateWindows(clock);
  const wallets = new Wallets(clock);
  const claims = new Claims(clock, claimsMax);
  return {
    window: ({ id }, limit) => windows.count(id, limit),
    look: ({ id }, limit) => windows.look(id, limit),
    // Nobody else has a copy of anything.
    touch: async () => undefined,
    hold: (request) => wallets.hold(request),
    settle: ({ requestId }, chargedNanos) => wallets.settle(requestId, chargedNanos),
    // Nobody is asked for what it holds.
    leave: () => undefined,
    giveBack: ({ requestId }) => void wallets.giveBack(requestId),
    credit: async (workspaceId, nanos) => wallets.credit(workspaceId, nanos),
    take: async (taking) => wallets.take(taking),
    wallet: async (workspaceId) => wallets.state(workspaceId),
    restoreSpend: async (spends) => {
      for (const spend of spends) wallets.tallies.restore(spend);
    },
    spending: async ({ id }, atMs) => wallets.tallies.spending(id, atMs),
    claim: (use, requestId) => claims.claim(use, requestId),
    remember: (use) => claims.remember(use),
    release: (key, requestId) => claims.release(key, requestId),
    sweep: async (maxAgeMs) => {
      windows.dropIdle();
      claims.dropExpired();
      wallets.tallies.forgetOld(clock.nowMs());
      return wallets.sweep(maxAgeMs);
    },
  };
}

type Wallet = { balanceNanos: bigint; heldNanos: bigint };
type Hold = {
  readonly wallet: Wallet;
  /** Where it is counted, beside the wallet. */
  readonly place: SpendPlace;
  readonly sinceMs: number;
  nanos: bigint;
  swept: "no" | "yes";
};

class Wallets {
  readonly tallies = new SpendTallies();
  readonly #clock: Clock;
  readonly #wallets = new Map<string, Wallet>();
  readonly #holds = new Map<string, Hold>();

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
    const place = this.tallies.placeOf(request, atMs);
    const reached = this.#firstReached(request, place);
    if (reached !== undefined) return reached;
    wallet.heldNanos += nanos;
    holdAt(place, nanos);
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
    spendAt(hold.place, chargedNanos);
  }

  credit(workspaceId: string, nanos: bigint): void {
    this.#wallet(workspaceId).balanceNanos += nanos;
  }

  take({ workspaceId, nanos, whole, leavingNanos }: Taking): bigint {
    if (nanos < 0n) throw new RangeError(`taking ${nanos} would create money`);
    const wallet = this.#wallet(workspaceId);
    const free = wallet.balanceNanos - wallet.heldNanos - leavingNanos;
    if (free <= 0n || (whole === "yes" && free < nanos)) return 0n;
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
      if (this.giveBack(requestId) === "given") given += 1;
      if (ageMs >= 2 * maxAgeMs) this.#holds.delete(requestId);
    }
    return given;
  }

  giveBack(requestId: string): "given" | undefined {
    const hold = this.#holds.get(requestId);
    if (hold?.swept !== "no") return undefined;
    release(hold);
    hold.swept = "yes";
    return "given";
  }

  #firstReached({ limits, nanos, atMs }: HoldRequest, place: SpendPlace): HoldVerdict | undefined {
    for (const limit of limits) {
      const span = spanOf(limit.per, atMs);
      const { spentNanos, heldNanos } = this.tallies.against(place, limit.of, span);
      if (spentNanos + heldNanos + nanos <= limit.nanos) continue;
      const resetsAtMs = dayStartMs(span.endDay);
      return { is: "spend_limit_reached", limit, spentNanos, heldNanos, neededNanos: nanos, resetsAtMs };
    }
    return undefined;
  }

  #wallet(workspaceId: string): Wallet {
    const known = this.#wallets.get(workspaceId);
    if (known !== undefined) return known;
    const wallet = { balanceNanos: 0n, heldNanos: 0n };
    this.#wallets.set(workspaceId, wallet);
    return wallet;
  }
}

/** What it reserved is free again, everywhere it was reserved. */
function release(hold: Hold): void {
  hold.wallet.heldNanos -= hold.nanos;
  holdAt(hold.place, -hold.nanos);
  hold.nanos = 0n;
}
