import { recentSpend } from "../app/manage/money/spend-history.ts";
import { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import { idempotencyLookup, loadRememberedKeys } from "../app/pipeline/idempotency-lookup.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { Lock } from "../domain/fleet/coordination-store.ts";
import type { Fleet } from "../domain/fleet/fleet.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { replicatingStore } from "../io/fleet/replicating-store.ts";
import { MasterKeyFile } from "../io/master-key-file.ts";
import { MasterKeys } from "../io/master-keys.ts";
import { parseMasterKey } from "../io/secret-files.ts";
import { retiringKeyIdOf, SharedMasterKeys } from "../io/shared-master-keys.ts";
import { openSqlite } from "../io/store/sql/sqlite/open.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import { checkMasterKeys, openVault } from "../io/vault.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import type { Log } from "../kit/log.ts";
import { parseDurationMs } from "../kit/time.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";

type SqlDeps = {
  readonly log: Logger;
  readonly fleet: Pick<Fleet, "isSingleInstance">;
  /** `inherited`: the primary process holds the lock of the data directory. */
  readonly directory: "acquire" | "inherited";
  /** In a worker: the primary's lock of the database. */
  readonly inheritedLock?: Pick<Lock, "isHeld"> | undefined;
  readonly onLockChange?: (isHeld: boolean) => void;
};

/** PostgreSQL when DATABASE_URL is set, else the embedded SQLite. */
export async function openSql(config: Config, deps: SqlDeps): Promise<Store> {
  const { log, fleet, directory, inheritedLock, onLockChange } = deps;
  const { DATABASE_URL: address, GATEWAY_DATABASE_CONNECTIONS: connections, DATA_DIR: dataDir } = config;
  if (address === null) return openSqlite(dataDir, systemClock, directory);
  // Loaded on demand: the embedded store needs no PostgreSQL driver.
  const { openPostgres } = await import("../io/store/sql/postgres/open.ts");
  const owner = config.DATABASE_MIGRATION_URL ?? undefined;
  const logRetentionMs = parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null;
  const unresponsiveMs = config.GATEWAY_DATABASE_TIMEOUT_MS;
  return openPostgres({
    address,
    owner,
    connections,
    unresponsiveMs,
    logRetentionMs,
    dataDir,
    dataDirLock: directory,
    isShared: !fleet.isSingleInstance,
    onTakenOver: exitAsFailed,
    // With Redis instances share the database, which has no lock then: a slow primary must not stop its workers.
    inheritedLock: config.REDIS_URL === null ? inheritedLock : undefined,
    onLockChange,
    clock: systemClock,
    log,
  });
}

/** Creates and migrates the tables of PostgreSQL, without a gateway. Null: the embedded store is used. */
export async function migrateDatabase(config: Config, log: Log) {
  const { DATABASE_URL: address, DATABASE_MIGRATION_URL } = config;
  if (address === null) return null;
  const { migrateTables } = await import("../io/store/sql/postgres/open.ts");
  const owner = DATABASE_MIGRATION_URL ?? undefined;
  return { database: address.shown, applied: await migrateTables({ address, owner, clock: systemClock, log }) };
}

/** Drains like after a stop signal, in the primary process of workers too; the exit code tells a supervisor to restart. */
function exitAsFailed(): void {
  process.exitCode = 1;
  process.kill(process.pid, "SIGTERM");
}

export type Storage = Awaited<ReturnType<typeof openStorage>>;

/** The store and the vault; fails when the master key does not decrypt every data key. */
export async function openStorage(
  config: Config,
  deps: SqlDeps & { readonly ids: IdGenerator; readonly fleet: Fleet },
) {
  const { ids, log, fleet } = deps;
  const store = replicatingStore(await openSql(config, deps), fleet);
  try {
    // The store locks the data directory, so only processes of this gateway write the key file, one at a time.
    const withLock = <T>(work: () => Promise<T>) => fleet.withLock("master-key", work);
    const open = async () => {
      const opened = await openMasterKeys(config, log);
      await checkMasterKeys(opened.keys, store.dataKeys);
      return opened;
    };
    const { keys, file, leaving, previous } = await (config.GATEWAY_MASTER_KEY === null ? withLock(open) : open());
    const isShared = file !== null && !fleet.isSingleInstance;
    const shared = isShared ? new SharedMasterKeys({ keys, file, previous, withLock }) : undefined;
    const vault = openVault(keys, store.dataKeys, shared);
    const warn = (detail: object, message: string) => log.warn(detail, message);
    const time = { clock: systemClock, timers: systemTimers };
    const rotation = new MasterKeyRotation({
      keys,
      file,
      retiringKeyId: leaving,
      shared,
      store,
      vault,
      ids,
      warn,
      ...time,
    });
    return { store, vault, rotation, masterKeys: keys, reloadMasterKeys: async () => shared?.reload() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** From GATEWAY_MASTER_KEY, or from the file that the first start creates. */
export async function openMasterKeys(config: Config, log: Pick<Log, "info">) {
  const bytesOf = (text: string) => parseMasterKey(text) ?? Buffer.alloc(0);
  const previous = config.GATEWAY_MASTER_KEY_PREVIOUS.map(bytesOf);
  const current = config.GATEWAY_MASTER_KEY;
  if (current !== null)
    return { keys: new MasterKeys(bytesOf(current), previous), file: null, leaving: undefined, previous };
  const file = new MasterKeyFile(config.DATA_DIR, (step) => log.info({ step }, "master-key: file changed"));
  const stored = await file.open();
  const keys = new MasterKeys(stored.current, [...stored.previous, ...previous]);
  return { keys, file, leaving: retiringKeyIdOf(stored), previous };
}

/** Start of the retention period of the request log. */
export function logRetainedFromMs({ GATEWAY_LOG_RETENTION }: Pick<Config, "GATEWAY_LOG_RETENTION">): number {
  return systemClock.nowMs() - (parseDurationMs(GATEWAY_LOG_RETENTION) ?? Number.POSITIVE_INFINITY);
}

export async function loadTenants(store: Store, directory: Directory): Promise<void> {
  directory.load(await store.tenancy.loadAll());
  for (const limits of await store.limits.loadAll()) directory.limits.put(limits);
}

/** Fills a new shared state from SQL; the journals must have been replayed before. */
export async function fillState(config: Config, store: Store, directory: Directory, state: SharedState): Promise<void> {
  for (const { workspaceId, balanceNanos } of await store.ledger.wallets())
    await state.credit(workspaceId, balanceNanos);
  await state.restoreSpend(await recentSpend(store.rollups, directory, systemClock.nowMs()));
  const keysMax = config.GATEWAY_IDEMPOTENCY_KEYS_MAX;
  await loadRememberedKeys({ store: store.idempotency, state, clock: systemClock, keysMax });
}

/** Looks up charged idempotency keys in the shared state, and older ones in SQL. */
export function createIdempotencyLookup(config: Config, store: Store, waitForIngest: () => Promise<void>, log: Logger) {
  return idempotencyLookup({
    store: store.idempotency,
    log: store.log,
    clock: systemClock,
    timers: systemTimers,
    ttlMs: parseDurationMs(config.GATEWAY_IDEMPOTENCY_TTL) ?? 0,
    waitForIngest,
    warn: (detail, message) => log.warn(detail, message),
  });
}
