import { RedisClaims } from "./idempotency-claims.ts";
import { Lives } from "./instance-incarnations.ts";
import { Names } from "./key-space.ts";
import { Windows } from "./rate-windows.ts";
import { Connection } from "./redis-connection.ts";
import { RedisBoard } from "./redis-coordination-store.ts";
import type { RedisSettings, RedisState } from "./redis-state.ts";
import { RedisWallets } from "./redis-wallets.ts";
import { Owed } from "./retry-queue.ts";
import { sharedSink } from "./settling-sink.ts";
import { Holdings } from "./unsettled-holds.ts";
import { Epochs } from "./wallet-generation.ts";

/** What instances share, on Redis or Valkey. Rejects when it cannot be reached at all. */
export async function openRedisState(settings: RedisSettings): Promise<RedisState> {
  const connection = new Connection(settings);
  const names = new Names(settings.prefix);
  const owed = new Owed(settings);
  const holdings = new Holdings();
  const time = () => String(settings.testTimeMs?.() ?? "");
  await connection.open();
  const coordination = new RedisBoard({ ...settings, connection, names, owesMoney: () => owed.owesMoney });
  const epochs = new Epochs({ ...settings, connection, board: coordination, names, holdings, time });
  const shared = { ...settings, connection, names, owed, holdings, time };
  const wallets = new RedisWallets({ ...shared, epochs });
  const windows = new Windows(shared);
  const lives = new Lives({ ...shared, wallets });
  const claims = new RedisClaims({ ...shared, lives, epoch: () => epochs.token });
  try {
    await coordination.open();
  } catch (error) {
    connection.close();
    throw error;
  }
  epochs.start(wallets);
  epochs.onOpen(() => void owed.settle());
  connection.onChange((is) => {
    if (is === "up") void owed.settle();
  });
  await lives.begin();
  await warnOfEviction(connection, settings);
  await epochs.look();
  return {
    state: {
      consumeRateWindow: (key, limit) => windows.ask(key, limit, "count"),
      peekRateWindow: (key, limit) => windows.ask(key, limit, "look"),
      bumpVersion: (workspaceId) => windows.touch(workspaceId),
      hold: (request) => wallets.hold(request),
      settle: (hold, chargedNanos) => wallets.settle(hold, chargedNanos),
      handOver: (hold) => wallets.leave(hold),
      releaseHold: (hold) => wallets.giveBack(hold),
      credit: (workspaceId, nanos, booking) => {
        const credited = wallets.credit(workspaceId, nanos);
        if (booking !== undefined) coordination.booked(booking);
        return credited;
      },
      announceBooking: async (booking) => coordination.intend(booking),
      withdraw: (taking) => wallets.take(taking),
      wallet: (workspaceId) => wallets.wallet(workspaceId),
      restoreSpend: (spends) => wallets.restoreSpend(spends),
      spending: (spender, atMs) => wallets.spending(spender, atMs),
      claimIdempotencyKey: (use, requestId, run) => claims.claim(use, requestId, run),
      recordKeyUse: (use) => claims.remember(use),
      releaseClaim: (key, requestId) => claims.release(key, requestId),
      sweepHolds: (maxAgeMs) => wallets.sweep(maxAgeMs),
    },
    coordination,
    get status() {
      return epochs.standing;
    },
    get walletGeneration() {
      return epochs.lastToken;
    },
    sink: (store, booked) => sharedSink({ epochs, wallets, claims, holdings, owed, store, booked }),
    openWallets: (opening) => epochs.open(opening),
    releaseEarlierIncarnations: (kept, isWanted) => lives.endEarlier(kept, isWanted),
    async close() {
      // While wallets are still open here: the end of a hold needs one.
      const end = await owed.close();
      await epochs.close();
      await coordination.close();
      connection.close();
      return end;
    },
  };
}

/** A server that throws keys away when its memory is full throws wallets away too, and they are filled again and again. */
async function warnOfEviction(connection: Connection, { log }: RedisSettings): Promise<void> {
  const said = await connection.send(["INFO", "memory"]).catch(() => "");
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(said))?.[1] ?? "noeviction";
  if (policy !== "noeviction") log.warn({ policy }, "Redis may throw wallets away: set maxmemory-policy noeviction");
}
