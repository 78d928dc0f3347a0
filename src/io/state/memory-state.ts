import type { SharedState, WalletState, Withdrawal } from "../../domain/admission/shared-state.ts";
import type { Clock } from "../../kit/clock.ts";
import { minNanos } from "../../kit/money.ts";
import { MemoryIdempotencyClaims } from "./idempotency-claims.ts";
import { MemoryWallets } from "./memory-wallets.ts";
import { RateWindows } from "./rate-window.ts";

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
    consumeRateWindow: windows.consume.bind(windows),
    peekRateWindow: windows.peek.bind(windows),
    // No other instance caches configuration.
    bumpVersion: async () => undefined,
    hold: wallets.hold.bind(wallets),
    settle: wallets.settle.bind(wallets),
    // Holds are not published to other instances.
    handOver: () => undefined,
    releaseHold: ({ requestId }) => void wallets.releaseHold(requestId),
    credit: async (workspaceId, nanos) => {
      wallets.wallet(workspaceId).balanceNanos += nanos;
    },
    withdraw: async (withdrawal) => {
      const wallet = wallets.wallet(withdrawal.workspaceId);
      const withdrawn = withdrawable(wallet, withdrawal);
      wallet.balanceNanos -= withdrawn;
      return withdrawn;
    },
    wallet: async (workspaceId) => ({ ...(wallets.wallets.get(workspaceId) ?? { balanceNanos: 0n, heldNanos: 0n }) }),
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

/** Free credit only, never what a hold needs. */
function withdrawable(wallet: WalletState, { nanos, isAllOrNothing, reserveNanos }: Withdrawal): bigint {
  if (nanos < 0n) throw new RangeError(`a debit of ${nanos} would create money`);
  const free = wallet.balanceNanos - wallet.heldNanos - reserveNanos;
  if (free <= 0n || (isAllOrNothing && free < nanos)) return 0n;
  return minNanos(free, nanos);
}
