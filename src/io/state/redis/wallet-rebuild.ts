import type { DailySpend } from "../../../domain/admission/shared-state.ts";
import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import { spanOf } from "../../../kit/calendar.ts";
import type { RedisIdempotencyClaims } from "./idempotency-claims.ts";
import { type KeySpace, monthAndDay, requestField } from "./key-space.ts";
import { luaScript } from "./lua-script.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { delay, type RedisCoordinationStore } from "./redis-coordination-store.ts";
import { textReply } from "./redis-replies.ts";
import type { RedisSettings, WalletSources } from "./redis-state.ts";
import { type PublishedHold, parseSnapshot, type UnsettledHolds } from "./unsettled-holds.ts";
import type { WalletChangeMarkers } from "./wallet-change-markers.ts";
import { FILL } from "./wallet-scripts.ts";

export type WalletGenerationDeps = Pick<RedisSettings, "instanceId" | "timers" | "clock" | "log" | "newToken"> & {
  readonly connection: RedisConnection;
  readonly coordination: RedisCoordinationStore;
  readonly walletChanges: WalletChangeMarkers;
  readonly keys: KeySpace;
  readonly unsettledHolds: UnsettledHolds;
  readonly scriptTime: () => string;
};

type WalletRebuildDeps = WalletGenerationDeps &
  WalletSources & {
    readonly claims: Pick<RedisIdempotencyClaims, "restore">;
    /** Held by the one instance that rebuilds. */
    readonly lock: Lock;
    /** The run id of the Redis server. */
    readonly server: string;
    /** This instance shuts down. */
    isStopping(): boolean;
    /** Publishes the snapshot of this instance. */
    joinRebuild(token: string): Promise<void>;
  };

/**
 * Begins a generation and ends the one before for good. Tokens start with the time, so newer is greater; when the clock
 * was set back, the last number plus one is used. ARGV: random part of the token, key prefix of generation wallets.
 */
const BEGIN_GENERATION = luaScript(`
local time = redis.call('TIME')
local before = redis.call('GET', KEYS[1])
if before then redis.call('DEL', ARGV[2] .. cjson.decode(before).token) end
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('HGET', KEYS[3], 'name') or 0)
local name = string.format('%016.0f', math.max(now, last + 1))
local epoch = name .. '-' .. ARGV[1]
redis.call('HSET', KEYS[3], 'name', name, 'began_ms', string.format('%.0f', math.floor(now / 1000)))
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], epoch, 'PX', 120000)
return epoch
`);

/**
 * Opens the generation, unless a newer one has begun, and makes its set of wallets permanent. Markers of wallet changes
 * that expired before it began are removed: their outcome came in with SQL. ARGV: token, JSON of the generation.
 */
const OPEN_GENERATION = luaScript(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('PERSIST', KEYS[3])
redis.call('SET', KEYS[1], ARGV[2])
redis.call('DEL', KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', redis.call('HGET', KEYS[5], 'began_ms'))
return 1
`);

const POLL_MS = 50;
const LINES_MAX = 300;
const INDEX_TTL_MS = "3600000";
/** Wallets that are filled concurrently. */
const BATCH = 50;

/**
 * Rebuilds all wallets in a new generation. Every live instance flushes its journal to SQL, publishes its unsettled holds
 * and then keeps off SQL; wallets are filled from SQL and from these snapshots. A failure changes nothing: the next
 * attempt begins another generation.
 */
export async function rebuildWallets(deps: WalletRebuildDeps): Promise<void> {
  const { connection, keys, newToken, coordination, log, instanceId, lock, server } = deps;
  const generationKeys = [keys.openGeneration, keys.pendingGeneration];
  const token = textReply(
    await connection.run(
      BEGIN_GENERATION,
      [...generationKeys, keys.lastGeneration],
      [newToken(), keys.generationWalletsPrefix],
    ),
  );
  log.warn({ generation: token }, "wallet-state: rebuild started");
  const ownSnapshot = deps.joinRebuild(token);
  ownSnapshot.catch(() => undefined);
  const snapshots = await collectSnapshots(deps, token);
  await ownSnapshot;
  const holds = [...snapshots].flatMap(([instance, text]) =>
    parseSnapshot(text).map((hold) => ({ ...hold, instance })),
  );
  await fillWallets(deps, token, holds);
  // Until this is done, uses of an `Idempotency-Key` that Redis does not have are looked up in SQL.
  const { uses, isComplete } = await deps.chargedKeyUses();
  await deps.claims.restore(uses, isComplete ? token : undefined);
  if (!lock.isHeld) throw new Error("the rebuild lock was lost");
  const generation = { token, server, members: [...snapshots.keys()] };
  const isOpen = await connection.run(
    OPEN_GENERATION,
    [...generationKeys, keys.generationWallets(token), keys.walletChangeMarkers, keys.lastGeneration],
    [token, JSON.stringify(generation)],
  );
  if (isOpen !== 1) throw new Error("another instance began a newer generation");
  await coordination.publish("epoch", instanceId);
}

/** Waits for every live instance, and until an unknown one would have appeared. */
async function collectSnapshots(deps: WalletRebuildDeps, token: string): Promise<ReadonlyMap<string, string>> {
  const { coordination, clock, timers, lock, isStopping, discoveryMs, instanceId, instanceIds } = deps;
  const startedMs = clock.monotonicMs();
  for (;;) {
    if (!lock.isHeld || isStopping()) throw new Error("the rebuild lock was lost");
    await coordination.publish("epoch", instanceId);
    await delay(timers, POLL_MS);
    const snapshots = await coordination.list(`opening:${token}:`);
    const missing = [instanceId, ...(await instanceIds())].filter((id) => !snapshots.has(id));
    if (missing.length === 0 && clock.monotonicMs() - startedMs >= discoveryMs) return snapshots;
  }
}

type InstanceHold = PublishedHold & { readonly instance: string };

type WalletContent = { balanceNanos: bigint; readonly lines: string[][] };

async function fillWallets(deps: WalletRebuildDeps, token: string, holds: readonly InstanceHold[]): Promise<void> {
  const { connection, keys, balances, dailySpends, clock } = deps;
  const wallets = new Map<string, WalletContent>();
  const walletOf = (workspaceId: string) => {
    const wallet = wallets.get(workspaceId) ?? { balanceNanos: 0n, lines: [] };
    wallets.set(workspaceId, wallet);
    return wallet;
  };
  for (const { workspaceId, balanceNanos } of await balances()) walletOf(workspaceId).balanceNanos = balanceNanos;
  for (const spend of await dailySpends()) walletOf(spend.workspaceId).lines.push(spendLine(spend));
  for (const hold of holds) walletOf(hold.workspaceId).lines.push(holdLine(hold));
  const index = keys.generationWallets(token);
  const all = [...wallets];
  const months = () => [-1, 0, 1].map((offset) => monthName(clock.nowMs(), offset));
  for (let at = 0; at < all.length; at += BATCH) {
    const batch = all.slice(at, at + BATCH);
    await Promise.all(
      batch.map(async ([workspaceId, content]) => {
        const end = await fillWallet(deps, token, workspaceId, content, months());
        if (end !== "filled") throw new Error("a newer generation began while wallets were filled");
      }),
    );
    await connection.send(["SADD", index, ...batch.map(([workspaceId]) => workspaceId)]);
    // The set of a rebuild that fails expires by itself.
    await connection.send(["PEXPIRE", index, INDEX_TTL_MS]);
  }
}

/** Adds an empty wallet to an open generation. */
export function createWallet(
  deps: Pick<WalletGenerationDeps, "connection" | "keys" | "scriptTime">,
  token: string,
  workspaceId: string,
): Promise<"filled" | "newer"> {
  return fillWallet(deps, token, workspaceId, { balanceNanos: 0n, lines: [] }, []);
}

async function fillWallet(
  { connection, keys, scriptTime }: Pick<WalletGenerationDeps, "connection" | "keys" | "scriptTime">,
  token: string,
  workspaceId: string,
  { balanceNanos, lines }: WalletContent,
  monthsToClear: readonly string[],
): Promise<"filled" | "newer"> {
  const { money, spend } = keys.walletKeys(workspaceId);
  const fillKeys = [money, spend, ...monthsToClear.map((month) => `${spend}${month}`)];
  const parts = Math.max(1, Math.ceil(lines.length / LINES_MAX));
  for (let part = 0; part < parts; part += 1) {
    const name = parts === 1 ? "only" : part === 0 ? "first" : part === parts - 1 ? "last" : "middle";
    const partLines = lines.slice(part * LINES_MAX, (part + 1) * LINES_MAX).flat();
    const args = [token, name, balanceNanos.toString(), workspaceId, scriptTime(), ...partLines];
    if ((await connection.run(FILL, fillKeys, args)) !== "filled") return "newer";
  }
  return "filled";
}

function monthName(nowMs: number, offset: number): string {
  const { firstDay } = spanOf("month", nowMs, offset);
  return monthAndDay(firstDay * 86_400_000)[0];
}

function spendLine({ keyId, memberId, day, nanos }: DailySpend): string[] {
  return ["s", "", nanos.toString(), day.slice(0, 7), day.slice(8), keyId, memberId ?? "", ""];
}

function holdLine({ kind, requestId, nanos, atMs, keyId, memberId, instance }: InstanceHold): string[] {
  return [kind, requestField(requestId), nanos, ...monthAndDay(atMs), keyId, memberId ?? "", instance];
}
