import { mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, sql } from "kysely";
import { expandText } from "../../../../domain/record/compact-record.ts";
import type { Clock } from "../../../../kit/clock.ts";
import type { Log } from "../../../../kit/log.ts";
import { MINUTE_MS } from "../../../../kit/time.ts";
import { bigintPlugin } from "../bigint-plugin.ts";
import { lockDataDir } from "../data-dir-lock.ts";
import type { Engine } from "../engine.ts";
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
import { awaitClose, openPool } from "./pool.ts";

/** The database that was set cannot be worked on; the message says which and why, and holds no password. */
class DatabaseUnusableError extends Error {
  constructor({ shown }: DatabaseAddress, why: string, setting = "DATABASE_URL") {
    super(`${setting}: ${shown} cannot be used (${why}); ${adviceFor(why)}`);
    this.name = "DatabaseUnusable";
  }
}

function adviceFor(why: string): string {
  if (/authentication failed|role .* does not exist|pg_hba|SASL/.test(why))
    return "write its user and password, postgres://user:password@host:5432/database";
  if (/database .* does not exist/.test(why)) return "make it there with createdb, or write the name of another";
  if (/its encoding is/.test(why))
    return "make another with createdb --encoding=UTF8 --template=template0, and write its name";
  if (/standby/.test(why)) return "write the address of the server that it follows";
  if (/support SSL/.test(why)) return "switch TLS on there, or write the address without sslmode";
  return "start PostgreSQL there, or write the address of another";
}

export type PostgresSettings = {
  readonly address: DatabaseAddress;
  readonly connections: number;
  /** How long the server may say nothing before what waits for it is given up. Unless set, as long as a statement may take. */
  readonly unresponsiveMs?: number;
  /** How long a statement may take that reads all there is. */
  readonly longStatementMs?: number;
  /** The same database as its owner: tables are brought up to date that way. Unless set, by `address`. */
  readonly owner?: DatabaseAddress | undefined;
  /** How long requests are kept in the log; null for ever. */
  readonly logRetentionMs?: number | null;
  /** Where the journal is: it belongs to one process too. */
  readonly dataDir: string;
  /** `taken`: the process that started this one has database and directory, and the tables are as they must be. */
  readonly dataDirLock?: "take" | "taken";
  /** Whether other gateways may work on the database: those that share their state. */
  readonly isShared?: "yes" | "no";
  readonly clock: Clock;
  readonly log: Log;
};

const SERVER_VERSION_MIN = 13;

const LONG_STATEMENT_MS = 30 * MINUTE_MS;
const MIGRATION_LOCK_RETRY_MS = 100;

/** Opens the store on PostgreSQL, takes database (unless it is shared) and data directory for this process and brings the tables up to date. */
export async function openPostgres(settings: PostgresSettings): Promise<Store> {
  const { address, dataDir, dataDirLock = "take", isShared = "no", clock, log } = settings;
  if (dataDirLock === "taken") return sqlStore(postgresEngine(settings));
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const dataLock = lockDataDir(dataDir);
  let lock: InstanceLock | undefined;
  try {
    if (isShared === "no") lock = await InstanceLock.acquire(address, log);
    if (settings.owner !== undefined) await migrateAsOwner(settings.owner, settings);
    await migratePostgres(address, settings);
    const store = sqlStore(postgresEngine(settings));
    // What is loaded from here on stays in memory, and whoever was killed before may have a commit under way.
    if (isShared === "no") await store.awaitPendingChanges();
    await store.log.prepare(clock.nowMs()).catch((error: unknown) => {
      log.warn({ why: errorText(error) }, "the log has no room of its own for the next days yet");
    });
    return lockedStore(store, lock, () => dataLock.release());
  } catch (error) {
    await lock?.release();
    dataLock.release();
    if (
      error instanceof DatabaseInUseError ||
      error instanceof MigrationError ||
      error instanceof DatabaseUnusableError
    )
      throw error;
    throw new DatabaseUnusableError(address, errorText(error));
  }
}

function lockedStore(store: Store, lock: InstanceLock | undefined, done: () => void): Store {
  return {
    ...store,
    async ping() {
      if (lock?.isLost === true) throw new StoreError("unavailable", "another gateway works on this database");
      await store.ping();
    },
    async close() {
      await store.close();
      await lock?.release();
      done();
    },
  };
}

/** Brings the tables up to date as their owner, and lets the role that runs the gateway work with them. */
async function migrateAsOwner(owner: DatabaseAddress, settings: PostgresSettings): Promise<void> {
  const app = openDatabase(settings.address, 1, "hurried");
  try {
    const { rows } = await sql<{ role: string }>`select current_user as role`.execute(app);
    await migratePostgres(owner, settings, rows[0]?.role).catch((error: unknown) => {
      throw error instanceof StoreError
        ? new DatabaseUnusableError(owner, errorText(error), "DATABASE_MIGRATION_URL")
        : error;
    });
  } finally {
    await app.destroy();
  }
}

type MigrationOptions = { readonly clock: Clock; readonly log?: Pick<Log, "warn">; readonly named?: AddressText };

/** How whoever reads a refusal wrote the address, and what to write where its user is not the owner. */
type AddressText = { readonly as: string; readonly forOwner: string };

const SETTINGS_ADDRESS_TEXT: AddressText = {
  as: "DATABASE_URL",
  forOwner: "set DATABASE_MIGRATION_URL to the address with their owner's name, or make this user their owner",
};

/**
 * Brings the tables up to date. Of several that come together one does it, and the others find it done. `app` is the role
 * that runs the gateway, where it is not this one.
 */
export async function migratePostgres(
  address: DatabaseAddress,
  { clock, log, named = SETTINGS_ADDRESS_TEXT }: MigrationOptions,
  app?: string,
): Promise<void> {
  const db = openDatabase(address, 1, "patient");
  try {
    await db.connection().execute(async (session) => {
      await checkServer(session, address, named.as);
      await acquireMigrationLock(session);
      await migrate({ db: session, ddl: postgresDdl }, MIGRATIONS, clock, (fields, text) => log?.warn(fields, text));
      if (app !== undefined) await sql`select gateway_grant(${app}) where ${app} <> current_user`.execute(session);
    });
  } catch (error) {
    if (error instanceof StoreError && /^(permission denied|must be owner)/.test(error.message))
      throw new MigrationError(
        `the user of ${address.shown} may not bring the tables up to date (${error.message}): ${named.forOwner}`,
      );
    throw error;
  } finally {
    // The session ends here, and its lock with it.
    await db.destroy();
  }
}

/**
 * Asks until it has the lock, which ends with the session. A statement that waited for it would be waited for by the
 * one that makes an index beside writers, and neither would ever come to its end.
 */
export async function acquireMigrationLock(session: Kysely<Database>): Promise<void> {
  const ask = sql<{ held: boolean }>`
    select pg_try_advisory_lock(${sql.lit(ADVISORY_LOCKS.ours)}, ${sql.lit(ADVISORY_LOCKS.migration)}) as held`;
  while ((await ask.execute(session)).rows[0]?.held !== true) await sleep(MIGRATION_LOCK_RETRY_MS);
}

async function checkServer(db: Kysely<Database>, address: DatabaseAddress, setting: string): Promise<void> {
  const unusable = (why: string) => new DatabaseUnusableError(address, why, setting);
  const { rows } = await sql<{ version: string; encoding: string; standby: boolean }>`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      pg_is_in_recovery() as standby`.execute(db);
  const [server] = rows;
  const version = Math.trunc(Number(server?.version) / 10_000);
  if (version < SERVER_VERSION_MIN) throw unusable(`it is version ${version}, not ${SERVER_VERSION_MIN} on`);
  if (server?.encoding !== "UTF8") throw unusable(`its encoding is ${server?.encoding}, not UTF8`);
  if (server.standby) throw unusable("it is a standby, which cannot be written");
}

export function openDatabase(
  address: DatabaseAddress,
  connections: number,
  hurry: "hurried" | "patient",
): Kysely<Database> {
  return new Kysely<Database>({ dialect: poolDialect(openPool(address, connections, hurry)), plugins: [bigintPlugin] });
}

function postgresEngine(settings: PostgresSettings): Engine {
  const {
    address,
    connections,
    unresponsiveMs,
    longStatementMs = LONG_STATEMENT_MS,
    logRetentionMs = null,
    log,
  } = settings;
  const pool = openPool(address, connections, "hurried");
  const pulse = unresponsiveMs === undefined ? undefined : new DatabaseHealthProbe(address, unresponsiveMs);
  const db = new Kysely<Database>({ dialect: poolDialect(pool, pulse), plugins: [bigintPlugin] });
  const script = new URL("./postgres-worker.ts", import.meta.url);
  // Started by the first batch: what only reads does not need it. A batch that one ended with is sent to the next.
  let worker: StoreWorkerClient | undefined;
  const replace = ({ message: why }: StoreError) => {
    worker = undefined;
    log.error({ why }, "the thread that writes records ended: the next batch starts another");
  };
  return {
    db,
    ddl: postgresDdl,
    // Whole: instances of the version before read them, too, while a gateway is brought up to date.
    encodeRecord: (record) => JSON.stringify(record),
    normalizeRecordText: expandText,
    logPartitions: logPartitions(db, logRetentionMs),
    ingest: async (batch) => {
      worker ??= new StoreWorkerClient(script, { address, silenceMs: unresponsiveMs }, replace);
      await worker.ask({ is: "ingest", batch });
    },
    async withoutStatementTimeout(work) {
      const own = openPool(address, 1, "patient");
      try {
        const patient = new Kysely<Database>({ dialect: poolDialect(own, pulse), plugins: [bigintPlugin] });
        return await patient.connection().execute(async (session) => {
          // The address may say how long a statement of everybody else may take.
          await sql`select set_config('statement_timeout', ${String(longStatementMs)}, false)`.execute(session);
          return work(session);
        });
      } finally {
        await awaitClose(own.end());
      }
    },
    lockRows: sql`for share`,
    async lockChangeSequence(session) {
      await sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCKS.ours)}, ${sql.lit(ADVISORY_LOCKS.change)})`.execute(
        session,
      );
    },
    close: async () => {
      pulse?.close();
      await worker?.close();
      // Not through Kysely, which would answer later questions in words of its own.
      if (!pool.ending) await awaitClose(pool.end());
    },
  };
}
