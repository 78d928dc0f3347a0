import { recentSpend } from "../app/manage/money/spend-history.ts";
import { MasterKeyRotation } from "../app/manage/operation/master-key-rotation.ts";
import { chargedUses, rememberUses } from "../app/pipeline/idempotency-lookup.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
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

type SqlParts = {
  readonly log: Logger;
  readonly fleet: Pick<Fleet, "isSingleInstance">;
  /** `taken`: the process that started this one keeps others out. */
  readonly directory: "take" | "taken";
};

/** SQL alone. */
export async function openSql(config: Config, { log, fleet, directory }: SqlParts): Promise<Store> {
  const { DATABASE_URL: address, GATEWAY_DATABASE_CONNECTIONS: connections, DATA_DIR: dataDir } = config;
  if (address === null) return openSqlite(dataDir, systemClock, directory);
  // Loaded only where it is used: a gateway on the embedded store carries no driver of another.
  const { openPostgres } = await import("../io/store/sql/postgres/open.ts");
  const owner = config.DATABASE_MIGRATION_URL ?? undefined;
  const logKeptMs = parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null;
  const shared = fleet.isSingleInstance ? "no" : "yes";
  const place = { dataDir, directory, shared } as const;
  const silenceMs = config.GATEWAY_DATABASE_TIMEOUT_MS;
  return openPostgres({ address, owner, connections, silenceMs, logKeptMs, ...place, clock: systemClock, log });
}

/** The store, and what opens what is sealed in it, once it is sure that all of it can be opened. */
export async function openStore(
  config: Config,
  parts: SqlParts & { readonly ids: IdGenerator; readonly fleet: Fleet },
) {
  const { ids, log, fleet } = parts;
  const store = replicatingStore(await openSql(config, parts), fleet);
  try {
    // The store keeps other gateways out of the folder: only processes of this one change the key's file, in turn.
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
    const parts = { keys, file, leaving, shared, store, vault, ids, warn };
    const rotation = new MasterKeyRotation({ ...parts, clock: systemClock, timers: systemTimers });
    return { store, vault, rotation, masterKeys: keys, reloadKeys: async () => shared?.reload() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** From the settings, or from the file that the first start makes. */
export async function openMasterKeys(config: Config, log: Pick<Log, "info">) {
  const bytesOf = (text: string) => parseMasterKey(text) ?? Buffer.alloc(0);
  const previous = config.GATEWAY_MASTER_KEY_PREVIOUS.map(bytesOf);
  const given = config.GATEWAY_MASTER_KEY;
  if (given !== null)
    return { keys: new MasterKeys(bytesOf(given), previous), file: null, leaving: undefined, previous };
  const file = new MasterKeyFile(config.DATA_DIR, (step) => log.info({ step }, "the file of the master key changes"));
  const kept = await file.open();
  const keys = new MasterKeys(kept.current, [...kept.previous, ...previous]);
  return { keys, file, leaving: retiringKeyIdOf(kept), previous };
}

/** The log keeps requests from this moment on. */
export function loggedFromMs({ GATEWAY_LOG_RETENTION }: Pick<Config, "GATEWAY_LOG_RETENTION">): number {
  return systemClock.nowMs() - (parseDurationMs(GATEWAY_LOG_RETENTION) ?? Number.POSITIVE_INFINITY);
}

export async function loadTenants(store: Store, directory: Directory): Promise<void> {
  directory.load(await store.tenancy.loadAll());
  for (const limits of await store.limits.loadAll()) directory.limits.put(limits);
}

/** What a state that is new must know of earlier processes: asked for once their journals were replayed. */
export async function fillState(config: Config, store: Store, directory: Directory, state: SharedState): Promise<void> {
  for (const { workspaceId, balanceNanos } of await store.ledger.wallets())
    await state.credit(workspaceId, balanceNanos);
  await state.restoreSpend(await recentSpend(store.rollups, directory, systemClock.nowMs()));
  const keysMax = config.GATEWAY_IDEMPOTENCY_KEYS_MAX;
  await rememberUses({ store: store.idempotency, state, clock: systemClock, keysMax });
}

/** Charged calls by their `Idempotency-Key`, with those that the state has no place for. */
export function openIdempotency(config: Config, store: Store, waitForIngest: () => Promise<void>, log: Logger) {
  return chargedUses({
    store: store.idempotency,
    log: store.log,
    clock: systemClock,
    timers: systemTimers,
    ttlMs: parseDurationMs(config.GATEWAY_IDEMPOTENCY_TTL) ?? 0,
    waitForIngest,
    warn: (detail, message) => log.warn(detail, message),
  });
}
