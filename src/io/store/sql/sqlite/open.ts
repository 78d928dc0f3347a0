import { mkdirSync } from "node:fs";
import path from "node:path";
import { Kysely, sql } from "kysely";
import type { Clock } from "../../../../kit/clock.ts";
import { Mutex } from "../../../../kit/mutex.ts";
import { bigintPlugin } from "../bigint-plugin.ts";
import { lockDataDir } from "../data-dir-lock.ts";
import type { Engine, PlanHints } from "../engine.ts";
import { migrate } from "../migrate.ts";
import { MIGRATIONS } from "../migrations/all.ts";
import { createPrivateFile } from "../private-file.ts";
import type { Database } from "../schema.ts";
import { type Store, sqlStore } from "../store.ts";
import type { StoreError } from "../store-error.ts";
import { StoreWorkerClient, serializedIngest } from "../store-worker-client.ts";
import { sqliteDdl } from "./ddl.ts";
import { type SqliteConnection, sqliteWorkerDialect } from "./dialect.ts";
import { ADD_SKETCHES } from "./open-database-file.ts";
import { SqliteReader } from "./reader.ts";

export const DATABASE_FILE = "gateway.sqlite";

/** Opens the embedded store: locks the data directory and migrates. `inherited`: the parent process has done both. */
export async function openSqlite(
  dataDir: string,
  clock: Clock,
  dataDirLock: "acquire" | "inherited" = "acquire",
): Promise<Store> {
  return sqlStore(await openSqliteEngine(dataDir, clock, dataDirLock));
}

/** Gives direct access to the tables, for the migration to another store. */
export async function openSqliteEngine(
  dataDir: string,
  clock: Clock,
  dataDirLock: "acquire" | "inherited",
): Promise<Engine> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = path.join(dataDir, DATABASE_FILE);
  const lock = dataDirLock === "acquire" ? lockDataDir(dataDir) : undefined;
  createPrivateFile(file);
  let isMigrated = false;
  const engine = sqliteEngine(file, (error) => {
    // A new worker could not continue the transaction, so the process exits; the journal has what is not stored yet.
    if (isMigrated) throw error;
  });
  try {
    const applied = await migrate(engine, MIGRATIONS, clock);
    isMigrated = true;
    if (applied > 0) await engine.refreshStatistics();
  } catch (error) {
    await engine.close().catch(() => {});
    lock?.release();
    throw error;
  }
  return {
    ...engine,
    async close() {
      await engine.close();
      lock?.release();
    },
  };
}

export const SQLITE_WORKER = new URL("./sqlite-worker.ts", import.meta.url);

/**
 * Without statistics, SQLite prefers the index with the most conditions, even if it has to go through all requests. It merges
 * ordered selects row by row.
 */
export const SQLITE_HINTS: PlanHints = {
  sketches: sql`${sql.ref(ADD_SKETCHES)}(sketches)`,
  ranges: "union",
  indexedBy: (index) => sql`indexed by ${sql.ref(index)}`,
  arm: (select) => select,
};

function sqliteEngine(file: string, onExit: (error: StoreError) => void): Engine {
  const mutex = new Mutex();
  const client = new StoreWorkerClient(SQLITE_WORKER, { file, access: "write", waiting: mutex.waiting }, onExit);
  const reader = new SqliteReader(SQLITE_WORKER, file);
  const scanner = new SqliteReader(SQLITE_WORKER, file);
  const connect = (to: SqliteConnection, turns: Mutex) =>
    new Kysely<Database>({ dialect: sqliteWorkerDialect(to, turns), plugins: [bigintPlugin] });
  const scans = connect(scanner, new Mutex());
  const db = connect(client, mutex);
  return {
    db,
    reads: connect(reader, new Mutex()),
    hints: SQLITE_HINTS,
    withoutStatementTimeout: (work) => scanner.during(() => work(scans)),
    // Only tables whose size has changed much are read.
    refreshStatistics: async () => void (await sql`pragma optimize = 0x10002`.execute(db)),
    ddl: sqliteDdl,
    ingest: serializedIngest(client, mutex),
    // The writer last: the last connection removes the write-ahead log, which a reader cannot.
    close: async () => {
      await Promise.all([reader.close(), scanner.close()]);
      await mutex.pass(() => client.close());
    },
  };
}
