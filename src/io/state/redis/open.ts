import { RedisBoard } from "./board.ts";
import { RedisClaims } from "./claims.ts";
import { Connection } from "./connection.ts";
import { Epochs } from "./epochs.ts";
import { Holdings } from "./holdings.ts";
import { Lives } from "./lives.ts";
import { Names } from "./names.ts";
import { Owed } from "./owed.ts";
import type { RedisSettings, SharedRedis } from "./shared-redis.ts";
import { sharedSink } from "./sink.ts";
import { RedisWallets } from "./wallets.ts";
import { Windows } from "./windows.ts";

/** What instances share, on Redis or Valkey. Rejects when it cannot be reached at all. */
export async function openRedisState(settings: RedisSettings): Promise<SharedRedis> {
  const connection = new Connection(settings);
  const names = new Names(settings.prefix);
  const owed = new Owed(settings);
  const holdings = new Holdings();
  const time = () => String(settings.atMs?.() ?? "");
  await connection.open();
  const board = new RedisBoard({ ...settings, connection, names, owesMoney: () => owed.owesMoney });
  const epochs = new Epochs({ ...settings, connection, board, names, holdings, time });
  const shared = { ...settings, connection, names, owed, holdings, time };
  const wallets = new RedisWallets({ ...shared, epochs });
  const windows = new Windows(shared);
  const lives = new Lives({ ...shared, wallets });
  const claims = new RedisClaims({ ...shared, lives, epoch: () => epochs.token });
  try {
    await board.open();
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
      window: (key, limit) => windows.ask(key, limit, "count"),
      look: (key, limit) => windows.ask(key, limit, "look"),
      touch: (workspaceId) => windows.touch(workspaceId),
      hold: (request) => wallets.hold(request),
      settle: (hold, chargedNanos) => wallets.settle(hold, chargedNanos),
      leave: (hold) => wallets.leave(hold),
      giveBack: (hold) => wallets.giveBack(hold),
      credit: (workspaceId, nanos, booking) => {
        const credited = wallets.credit(workspaceId, nanos);
        if (booking !== undefined) board.booked(booking);
        return credited;
      },
      intend: async (booking) => board.intend(booking),
      take: (taking) => wallets.take(taking),
      wallet: (workspaceId) => wallets.wallet(workspaceId),
      restoreSpend: (spends) => wallets.restoreSpend(spends),
      spending: (spender, atMs) => wallets.spending(spender, atMs),
      claim: (use, requestId, run) => claims.claim(use, requestId, run),
      remember: (use) => claims.remember(use),
      release: (key, requestId) => claims.release(key, requestId),
      sweep: (maxAgeMs) => wallets.sweep(maxAgeMs),
    },
    board,
    get standing() {
      return epochs.standing;
    },
    get filling() {
      return epochs.lastToken;
    },
    sink: (store, booked) => sharedSink({ epochs, wallets, claims, holdings, owed, store, booked }),
    open: (opening) => epochs.open(opening),
    endEarlier: (kept, isWanted) => lives.endEarlier(kept, isWanted),
    async close() {
      // While wallets are still open here: the end of a hold needs one.
      const end = await owed.close();
      await epochs.close();
      await board.close();
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
