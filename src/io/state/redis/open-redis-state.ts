import { RedisIdempotencyClaims } from "./idempotency-claims.ts";
import { InstanceIncarnations } from "./instance-incarnations.ts";
import { KeySpace } from "./key-space.ts";
import { RedisRateWindows } from "./rate-windows.ts";
import { RedisConnection } from "./redis-connection.ts";
import { RedisCoordinationStore } from "./redis-coordination-store.ts";
import { checkServer } from "./redis-server-check.ts";
import type { RedisSettings, RedisState } from "./redis-state.ts";
import { RedisWallets } from "./redis-wallets.ts";
import { RequestBatches } from "./request-batches.ts";
import { RetryQueue } from "./retry-queue.ts";
import { createSettlingSink } from "./settling-sink.ts";
import { UnsettledHolds } from "./unsettled-holds.ts";
import { WalletChangeMarkers } from "./wallet-change-markers.ts";
import { WalletGeneration } from "./wallet-generation.ts";

/** Shared state on Redis or Valkey. Rejects when the server cannot be reached. */
export async function openRedisState(settings: RedisSettings): Promise<RedisState> {
  const connection = new RedisConnection(settings);
  const keys = new KeySpace(settings.prefix);
  const retries = new RetryQueue(settings);
  const unsettledHolds = new UnsettledHolds();
  /** The time argument of scripts. Empty: they use the clock of Redis. */
  const scriptTime = () => String(settings.testTimeMs?.() ?? "");
  await connection.open();
  const walletChanges = new WalletChangeMarkers({ connection, keys, hasQueuedChange: () => retries.hasWalletChange });
  const coordination = new RedisCoordinationStore({ ...settings, connection, keys, walletChanges });
  const batches = new RequestBatches({ ...settings, connection, keys, scriptTime });
  const shared = { ...settings, connection, keys, retries, unsettledHolds, scriptTime, batches };
  const generation = new WalletGeneration({ ...shared, coordination, walletChanges });
  const wallets = new RedisWallets({ ...shared, generation });
  const windows = new RedisRateWindows(shared);
  const incarnations = new InstanceIncarnations({ ...shared, wallets });
  const claims = new RedisIdempotencyClaims({ ...shared, incarnations, generation: () => generation.current });
  try {
    await checkServer(connection);
    await coordination.open();
  } catch (error) {
    connection.close();
    throw error;
  }
  generation.start(wallets, claims);
  generation.onOpen(() => void retries.drain());
  connection.onChange((state) => {
    if (state === "available") void retries.drain();
  });
  await incarnations.start();
  await generation.check();
  return {
    state: {
      consumeRateWindow: (key, limit) => windows.consume(key, limit),
      peekRateWindow: (key, limit) => windows.peek(key, limit),
      bumpVersion: (workspaceId) => windows.bumpVersion(workspaceId),
      hold: (request) => wallets.hold(request),
      settle: (hold, chargedNanos) => wallets.settle(hold, chargedNanos),
      handOver: (hold) => wallets.handOver(hold),
      releaseHold: (hold) => wallets.releaseHold(hold),
      credit: (workspaceId, nanos, booking) => {
        const credited = wallets.credit(workspaceId, nanos);
        if (booking !== undefined) walletChanges.confirmBooking(booking);
        return credited;
      },
      announceBooking: async (booking) => walletChanges.announceBooking(booking),
      withdraw: (withdrawal) => wallets.withdraw(withdrawal),
      wallet: (workspaceId) => wallets.wallet(workspaceId),
      restoreSpend: (spends) => wallets.restoreSpend(spends),
      spending: (spender, atMs) => wallets.spending(spender, atMs),
      claimIdempotencyKey: (use, requestId, execution) => claims.claim(use, requestId, execution),
      recordKeyUse: (use) => claims.record(use),
      releaseClaim: (key, requestId) => claims.release(key, requestId),
      sweepHolds: (maxAgeMs) => wallets.sweepHolds(maxAgeMs),
    },
    coordination,
    get status() {
      return generation.status;
    },
    get walletGeneration() {
      return generation.last;
    },
    sink: (store, chargedRequestIds) =>
      createSettlingSink({ generation, wallets, claims, unsettledHolds, retries, store, chargedRequestIds }),
    openWallets: (sources) => generation.open(sources),
    releaseEarlierIncarnations: (keptRequestIds, isWanted) => incarnations.releaseEarlier(keptRequestIds, isWanted),
    async close() {
      // First, while wallets are open here: the end of a hold needs an open wallet.
      const end = await retries.close();
      await generation.close();
      await coordination.close();
      connection.close();
      return end;
    },
  };
}
