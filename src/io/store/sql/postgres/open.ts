import { mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, sql } from "kysely";
import type { Lock } from "../../../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../../../kit/clock.ts";
import type { Log } from "../../../../kit/log.ts";
import { MINUTE_MS } from "../../../../kit/time.ts";
import { bigintPlugin } from "../bigint-plugin.ts";
import { lockDataDir } from "../data-dir-lock.ts";
import type { Engine, PlanHints } from "../engine.ts";
import { MigrationError, migrate } from "../migrate.ts";
import { MIGRATIONS } from "../migrations/all.ts";
import type { Database } from "../schema.ts";
import { type Store, sqlStore } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { StoreWorkerClient } from "../store-worker-client.ts";
import type { DatabaseAddress } from "./address.ts";
import { postgresDdl } from "./ddl.ts";
import { poolDialect } from "./dialect.ts";
import { errorText } from "./errors.ts";
import { DatabaseHealthProbe } from "./health-probe.ts";
import { ADVISORY_LOCKS, DatabaseInUseError, InstanceLock } from "./instance-lock.ts";
import { logPartitions } from "./log-partitions.ts";
import { awaitClose, openPool, type StatementTimeouts } from "./pool.ts";
import { sharesServerSessions } from "./session-affinity.ts";

/** The message names the database without its password, the reason and what to do. */
class DatabaseUnusableError extends Error {
  constructor({ shown }: DatabaseAddress, reason: string, setting = "DATABASE_URL") {
    super(`${setting}: ${shown} cannot be used (${reason}); ${adviceFor(reason)}`);
    this.name = "DatabaseUnusableError";
  }
}

function adviceFor(reason: string): string {
  if (/authentication failed|role .* does not exist|pg_hba|SASL/.test(reason))
    return "add the user and password: postgres://user:password@host:5432/database";
  if (/database .* does not exist/.test(reason)) return "create it with createdb, or use another database name";
  if (/its encoding is/.test(reason))
    return "create another database with createdb --encoding=UTF8 --template=template0 and use its name";
  if (/standby/.test(reason)) return "use the URL of its primary server";
  if (/pooler in transaction mode/.test(reason))
    return "set its pool mode to session, or use the server's own address: locks and settings belong to sessions";
  if (/unsupported startup parameter/.test(reason))
    return "add the parameter to ignore_startup_parameters of the pooler: the gateway sets it in a statement";
  if (/self-signed certificate|unable to (verify|get) .*certificate/.test(reason))
    return "add sslrootcert=/path/to/ca.pem to the URL: the authority of its certificate is unknown here";
  if (/does not match certificate/.test(reason)) return "use a host name of the server's certificate in the URL";
  if (/ENOENT.*, open /.test(reason))
    return "correct the path of sslrootcert, sslcert or sslkey in the URL, or mount the file";
  if (/support SSL/.test(reason)) return "enable TLS on the server, or remove sslmode from the URL";
  return "start PostgreSQL there, or use the URL of another server";
}

type HeldLock = Pick<Lock, "isHeld">;

export type PostgresSettings = {
  readonly address: DatabaseAddress;
  readonly connections: number;
  /** How long the server may be unresponsive before pending work fails. Unset: the statement timeout. */
  readonly unresponsiveMs?: number;
  /** The statement timeout of full scans. */
  readonly longStatementMs?: number;
  /** The same database with its owner's credentials, for migrations. Unset: `address`. */
  readonly owner?: DatabaseAddress | undefined;
  /** Null: unlimited. */
  readonly logRetentionMs?: number | null;
  /** The directory of the journal, which belongs to one process too. */
  readonly dataDir: string;
  /** `inherited`: the parent process holds the locks and has run the migrations. */
  readonly dataDirLock?: "acquire" | "inherited";
  /** The parent's lock of the database, as this process knows it. Required to write when the locks are inherited. */
  readonly inheritedLock?: HeldLock | undefined;
  /** Called when the lock of the database is acquired, lost and acquired again. */
  readonly onLockChange?: ((isHeld: boolean) => void) | undefined;
  /** Other gateways may use the database, because they share their state. */
  readonly isShared?: boolean;
  /** Another gateway holds the lock, or held it meanwhile: what this process has in memory is no longer true. */
  readonly onTakenOver?: (() => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
};

const SERVER_VERSION_MIN = 13;

const LONG_STATEMENT_MS = 30 * MINUTE_MS;
const MIGRATION_LOCK_RETRY_MS = 100;

/** Opens the PostgreSQL store: locks the data directory and, unless it is shared, the database, and migrates. */
export async function openPostgres(settings: PostgresSettings): Promise<Store> {
  const { address, dataDir, dataDirLock = "acquire", isShared = false, clock, log } = settings;
  if (dataDirLock === "inherited") return sqlStore(postgresEngine(settings, settings.inheritedLock));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const dataLock = lockDataDir(dataDir);
  let lock: InstanceLock | undefined;
  try {
    await rejectTransactionPoolers(settings);
    const { onTakenOver, onLockChange: onChange } = settings;
    if (!isShared) lock = await InstanceLock.acquire(address, { log, onTakenOver, onChange });
    await migrateWithOwner(settings);
    await lock?.claim();
    const store = sqlStore(postgresEngine(settings, lock));
    // What is loaded next stays in memory, and a killed predecessor may have a commit in flight.
    if (!isShared) await store.awaitPendingChanges();
    await store.log.prepare(clock.nowMs()).catch((error: unknown) => {
      log.warn({ error: errorText(error) }, "request-log: creating partitions failed, default partition is used");
    });
    return lockedStore(store, lock, () => dataLock.release());
  } catch (error) {
    await lock?.release();
    dataLock.release();
    throw explained(error, address);
  }
}

function explained(error: unknown, address: DatabaseAddress): unknown {
  const isClear =
    error instanceof DatabaseInUseError || error instanceof MigrationError || error instanceof DatabaseUnusableError;
  return isClear ? error : new DatabaseUnusableError(address, errorText(error));
}

type TableOwners = Pick<PostgresSettings, "address" | "owner" | "clock" | "log">;

/** Creates and migrates the tables without opening the store, beside gateways that run. Returns the number of migrations. */
export async function migrateTables(settings: TableOwners): Promise<number> {
  try {
    await rejectTransactionPoolers(settings);
    return await migrateWithOwner(settings);
  } catch (error) {
    throw explained(error, settings.address);
  }
}

/** As the owner, if there is one, and then with the user of the gateway, who finds the tables up to date. */
async function migrateWithOwner(settings: TableOwners): Promise<number> {
  const { address, owner } = settings;
  const byOwner = owner === undefined ? 0 : await migrateAsOwner(owner, settings);
  return byOwner + (await migratePostgres(address, settings));
}

async function rejectTransactionPoolers({ address, owner }: TableOwners): Promise<void> {
  await rejectTransactionPooler(address, "DATABASE_URL");
  if (owner !== undefined) await rejectTransactionPooler(owner, "DATABASE_MIGRATION_URL");
}

async function rejectTransactionPooler(address: DatabaseAddress, setting: string): Promise<void> {
  const isShared = await sharesServerSessions(address).catch((error: unknown) => {
    throw new DatabaseUnusableError(address, errorText(error), setting);
  });
  if (isShared)
    throw new DatabaseUnusableError(address, "a connection pooler in transaction mode is in front of it", setting);
}

function lockedStore(store: Store, lock: InstanceLock | undefined, onClosed: () => void): Store {
  return {
    ...store,
    async close() {
      await store.close();
      await lock?.release();
      onClosed();
    },
  };
}

/** Migrates as the owner and grants access to the role that runs the gateway. */
async function migrateAsOwner(owner: DatabaseAddress, settings: TableOwners): Promise<number> {
  const app = openDatabase(settings.address, 1, "default");
  try {
    const { rows } = await sql<{ role: string }>`select current_user as role`.execute(app);
    return await migratePostgres(owner, settings, rows[0]?.role).catch((error: unknown) => {
      throw error instanceof StoreError
        ? new DatabaseUnusableError(owner, errorText(error), "DATABASE_MIGRATION_URL")
        : error;
    });
  } finally {
    await app.destroy();
  }
}

type MigrationOptions = { readonly clock: Clock; readonly log?: Pick<Log, "warn">; readonly addressText?: AddressText };

/** How error messages refer to the address, and what they advise when its user is not the owner. */
type AddressText = { readonly as: string; readonly forOwner: string };

const SETTINGS_ADDRESS_TEXT: AddressText = {
  as: "DATABASE_URL",
  forOwner: "set DATABASE_MIGRATION_URL to the address with their owner's name, or make this user their owner",
};

/** Of several concurrent processes one migrates, and the others find it done. `app` is the role that runs the gateway, if different. */
export async function migratePostgres(
  address: DatabaseAddress,
  { clock, log, addressText = SETTINGS_ADDRESS_TEXT }: MigrationOptions,
  app?: string,
): Promise<number> {
  const db = openDatabase(address, 1, "long_running");
  try {
    return await db.connection().execute(async (session) => {
      await checkServer(session, address, addressText.as);
      await acquireMigrationLock(session);
      const warn = (fields: object, text: string) => log?.warn(fields, text);
      const applied = await migrate({ db: session, ddl: postgresDdl }, MIGRATIONS, clock, warn);
      if (applied > 0) await analyzeTables(session);
      if (app !== undefined) await sql`select gateway_grant(${app}) where ${app} <> current_user`.execute(session);
      return applied;
    });
  } catch (error) {
    if (error instanceof StoreError && /^(permission denied|must be owner)/.test(error.message))
      throw new MigrationError(
        `the user of ${address.shown} cannot migrate the tables (${error.message}): ${addressText.forOwner}`,
      );
    throw error;
  } finally {
    // Ends the session and with it the advisory lock.
    await db.destroy();
  }
}

/**
 * Polls for the session lock. A blocking wait would be an open transaction, which `create index concurrently` of the lock
 * holder waits for: a deadlock.
 */
export async function acquireMigrationLock(session: Kysely<Database>): Promise<void> {
  const tryLock = sql<{ held: boolean }>`
    select pg_try_advisory_lock(${sql.lit(ADVISORY_LOCKS.ours)}, ${sql.lit(ADVISORY_LOCKS.migration)}) as held`;
  while ((await tryLock.execute(session)).rows[0]?.held !== true) await sleep(MIGRATION_LOCK_RETRY_MS);
}

/** The server does this for tables by itself, but not for the partitioned log as a whole. A role that does not own them is refused with a warning. */
async function analyzeTables(session: Kysely<Database>): Promise<void> {
  await sql`analyze request_records, request_shapes, requests_hourly, requests_daily, ledger_transactions`.execute(
    session,
  );
}

async function checkServer(db: Kysely<Database>, address: DatabaseAddress, setting: string): Promise<void> {
  const unusable = (reason: string) => new DatabaseUnusableError(address, reason, setting);
  const { rows } = await sql<{ version: string; encoding: string; standby: boolean }>`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      pg_is_in_recovery() as standby`.execute(db);
  const [server] = rows;
  const version = Math.trunc(Number(server?.version) / 10_000);
  if (version < SERVER_VERSION_MIN)
    throw unusable(`it is version ${version}; ${SERVER_VERSION_MIN} or newer is required`);
  if (server?.encoding !== "UTF8") throw unusable(`its encoding is ${server?.encoding}; UTF8 is required`);
  if (server.standby) throw unusable("it is a read-only standby");
}

export function openDatabase(
  address: DatabaseAddress,
  connections: number,
  timeouts: StatementTimeouts,
): Kysely<Database> {
  return new Kysely<Database>({
    dialect: poolDialect(openPool(address, connections, timeouts)),
    plugins: [bigintPlugin],
  });
}

/** PostgreSQL may sort all rows of a `union all`, so each select is limited. It chooses indexes by statistics. */
export const POSTGRES_HINTS: PlanHints = {
  sketches: sql`string_agg(int4send(length(sketches)) || sketches, '')`,
  ranges: "lateral",
  indexedBy: () => sql``,
  arm: (select, orderAndLimit) => sql`(${select} ${orderAndLimit})`,
};

function postgresEngine(settings: PostgresSettings, lock: HeldLock | undefined): Engine {
  const {
    address,
    connections,
    unresponsiveMs,
    longStatementMs = LONG_STATEMENT_MS,
    logRetentionMs = null,
    log,
  } = settings;
  const pool = openPool(address, connections, "default");
  const healthProbe = unresponsiveMs === undefined ? undefined : new DatabaseHealthProbe(address, unresponsiveMs);
  const assertUsable = () => {
    if (lock?.isHeld === false)
      throw new StoreError("unavailable", "the lock of the database is lost, another gateway may use it");
  };
  const guards = { healthProbe, assertUsable };
  const db = new Kysely<Database>({ dialect: poolDialect(pool, guards), plugins: [bigintPlugin] });
  const script = new URL("./postgres-worker.ts", import.meta.url);
  // Started by the first batch, because readers do not need it. A failed batch is retried by its sender.
  let worker: StoreWorkerClient | undefined;
  const replace = ({ message: error }: StoreError) => {
    worker = undefined;
    log.error({ error }, "store: ingest worker exited, next batch starts a new one");
  };
  const withoutStatementTimeout: NonNullable<Engine["withoutStatementTimeout"]> = async (work) => {
    const longPool = openPool(address, 1, "long_running");
    try {
      const longRunning = new Kysely<Database>({
        dialect: poolDialect(longPool, guards),
        plugins: [bigintPlugin],
      });
      return await longRunning.connection().execute(async (session) => {
        // Overrides a statement timeout that the address may set.
        await sql`select set_config('statement_timeout', ${String(longStatementMs)}, false)`.execute(session);
        return work(session);
      });
    } finally {
      await awaitClose(longPool.end());
    }
  };
  return {
    db,
    ddl: postgresDdl,
    hints: POSTGRES_HINTS,
    logPartitions: logPartitions(db, logRetentionMs),
    ingest: async (batch) => {
      assertUsable();
      worker ??= new StoreWorkerClient(script, { address, unresponsiveMs }, replace);
      await worker.call({ is: "ingest", batch });
    },
    withoutStatementTimeout,
    refreshStatistics: () => withoutStatementTimeout(analyzeTables),
    lockRows: sql`for share`,
    async lockChangeSequence(session) {
      await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCKS.ours)}, ${sql.lit(ADVISORY_LOCKS.change)})`.execute(
        session,
      );
    },
    close: async () => {
      healthProbe?.close();
      await worker?.close();
      // Not through Kysely, which would replace the errors of later queries by its own.
      if (!pool.ending) await awaitClose(pool.end());
    },
  };
}
