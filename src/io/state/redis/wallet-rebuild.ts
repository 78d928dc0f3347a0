import type { DailySpend } from "../../../domain/admission/shared-state.ts";
import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import { spanOf } from "../../../kit/calendar.ts";
import { REMEMBER } from "./claim-scripts.ts";
import { BEGIN_EPOCH, FINISH_EPOCH } from "./fleet-scripts.ts";
import { monthAndDay, type Names } from "./key-space.ts";
import type { Connection } from "./redis-connection.ts";
import { pause, type RedisBoard } from "./redis-coordination-store.ts";
import { textOf } from "./redis-replies.ts";
import type { RedisSettings, WalletSources } from "./redis-state.ts";
import { type Holdings, readTold, type Told } from "./unsettled-holds.ts";
import { FILL } from "./wallet-scripts.ts";

export type EpochDeps = Pick<RedisSettings, "instanceId" | "timers" | "clock" | "log" | "newToken"> & {
  readonly connection: Connection;
  readonly board: RedisBoard;
  readonly names: Names;
  readonly holdings: Holdings;
  /** Empty: that of Redis. */
  readonly time: () => string;
};

type Deps = EpochDeps &
  WalletSources & {
    readonly lock: Lock;
    /** Which Redis it is. */
    readonly server: string;
    /** The instance stops. */
    isOver(): boolean;
    /** This instance's own part. */
    join(token: string): Promise<void>;
  };

const ASK_EVERY_MS = 50;
const LINES_MAX = 300;
const INDEX_TTL_MS = "3600000";
/** Wallets that are filled at once. */
const ABREAST = 50;

/**
 * Opens all wallets in a new epoch, as the only one who does. Every live instance puts what it finished into SQL, tells
 * what it still has, and then keeps off SQL; then wallets are filled from SQL and from what was told. Whatever fails
 * comes to nothing: the next try begins with another epoch.
 */
export async function openWallets(deps: Deps): Promise<void> {
  const { connection, names, newToken, board, log, instanceId, lock, server } = deps;
  const keys = [names.fleet("epoch"), names.fleet("opening")];
  const last = names.fleet("last-epoch");
  const token = textOf(await connection.run(BEGIN_EPOCH, [...keys, last], [newToken(), names.fleet("wallets:")]));
  log.warn({ epoch: token }, "wallets are opened in a new epoch: every instance tells what it has");
  const mine = deps.join(token);
  mine.catch(() => undefined);
  const told = await tellAll(deps, token);
  await mine;
  const lines = [...told].flatMap(([instance, text]) => readTold(text).map((line) => ({ ...line, instance })));
  await fillAll(deps, token, lines);
  await restoreUses(deps, token);
  if (!lock.isHeld) throw new Error("the lock was lost while wallets were opened");
  const epoch = { token, server, members: [...told.keys()] };
  const isOpen = await connection.run(
    FINISH_EPOCH,
    [...keys, names.fleet(`wallets:${token}`), names.fleet("moving"), last],
    [token, JSON.stringify(epoch)],
  );
  if (isOpen !== 1) throw new Error("another instance began to open the wallets");
  await board.publish("epoch", instanceId);
}

/** Waits for everybody who is alive, and a little for those whom nobody has heard of yet. */
async function tellAll(deps: Deps, token: string): Promise<ReadonlyMap<string, string>> {
  const { board, clock, timers, lock, isOver, discoveryMs, instanceId, instanceIds } = deps;
  const startedMs = clock.monotonicMs();
  for (;;) {
    if (!lock.isHeld || isOver()) throw new Error("the lock was lost while instances were waited for");
    await board.publish("epoch", instanceId);
    await pause(timers, ASK_EVERY_MS);
    const told = await board.list(`opening:${token}:`);
    const missing = [instanceId, ...(await instanceIds())].filter((id) => !told.has(id));
    if (missing.length === 0 && clock.monotonicMs() - startedMs >= discoveryMs) return told;
  }
}

type Line = Told & { readonly instance: string };

async function fillAll(deps: Deps, token: string, told: readonly Line[]): Promise<void> {
  const { connection, names, balances, dailySpends } = deps;
  const wallets = new Map<string, { balanceNanos: bigint; lines: string[][] }>();
  const walletOf = (workspaceId: string) => {
    const wallet = wallets.get(workspaceId) ?? { balanceNanos: 0n, lines: [] };
    wallets.set(workspaceId, wallet);
    return wallet;
  };
  for (const { workspaceId, balanceNanos } of await balances()) walletOf(workspaceId).balanceNanos = balanceNanos;
  for (const spend of await dailySpends()) walletOf(spend.workspaceId).lines.push(spendLine(spend));
  for (const line of told) walletOf(line.workspaceId).lines.push(toldLine(line));
  const index = names.fleet(`wallets:${token}`);
  const all = [...wallets];
  for (let at = 0; at < all.length; at += ABREAST) {
    const some = all.slice(at, at + ABREAST);
    await Promise.all(
      some.map(([workspaceId, { balanceNanos, lines }]) => fill(deps, token, workspaceId, balanceNanos, lines)),
    );
    await connection.send(["SADD", index, ...some.map(([workspaceId]) => workspaceId)]);
    // Of an opening that comes to nothing it goes by itself.
    await connection.send(["PEXPIRE", index, INDEX_TTL_MS]);
  }
}

async function fill(
  deps: Deps,
  token: string,
  workspaceId: string,
  balanceNanos: bigint,
  lines: readonly string[][],
): Promise<void> {
  const { connection, names, time, clock } = deps;
  const { wallet, holds, paid, spent } = names.wallet(workspaceId);
  const months = [-1, 0, 1].map((away) => `${spent}${monthOf(clock.nowMs(), away)}`);
  const parts = Math.max(1, Math.ceil(lines.length / LINES_MAX));
  for (let part = 0; part < parts; part += 1) {
    const name = parts === 1 ? "only" : part === 0 ? "first" : part === parts - 1 ? "last" : "middle";
    const some = lines.slice(part * LINES_MAX, (part + 1) * LINES_MAX).flat();
    const args = [token, name, balanceNanos.toString(), workspaceId, time(), ...some];
    const end = await connection.run(FILL, [wallet, holds, paid, spent, ...months], args);
    if (end !== "filled") throw new Error("a newer epoch began while wallets were filled");
  }
}

function monthOf(nowMs: number, monthsAway: number): string {
  const { firstDay } = spanOf("month", nowMs, monthsAway);
  return monthAndDay(firstDay * 86_400_000)[0];
}

function spendLine({ keyId, memberId, day, nanos }: DailySpend): string[] {
  return ["s", "", nanos.toString(), day.slice(0, 7), day.slice(8), keyId, memberId ?? "", ""];
}

function toldLine({ kind, requestId, nanos, atMs, keyId, memberId, instance }: Line): string[] {
  return [kind, requestId, nanos, ...monthAndDay(atMs), keyId, memberId ?? "", instance];
}

/** Until this is done, whoever brings an `Idempotency-Key` is looked for in SQL. */
async function restoreUses({ connection, names, time, uses }: Deps, token: string): Promise<void> {
  const { uses: kept, areAll } = await uses();
  for (let at = 0; at < kept.length; at += ABREAST)
    await Promise.all(
      kept.slice(at, at + ABREAST).map((use) => {
        const { key, body, requestId, expiresAtMs, workspaceId, status, nanos, currency } = use;
        const rest = JSON.stringify({ workspaceId, status, nanos: nanos.toString(), currency });
        return connection.run(
          REMEMBER,
          [names.use(key)],
          [body, requestId, String(Math.ceil(expiresAtMs)), rest, time()],
        );
      }),
    );
  if (areAll) await connection.send(["SET", names.fleet("uses"), token]);
}
