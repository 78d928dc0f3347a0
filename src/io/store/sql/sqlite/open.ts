import { mkdirSync } from "node:fs";
import path from "node:path";
import { Kysely } from "kysely";
import { encodeCompact } from "../../../../domain/record/compact-record.ts";
import type { Clock } from "../../../../kit/clock.ts";
import { bigintPlugin } from "../bigint-plugin.ts";
import { lockDataDir } from "../data-dir-lock.ts";
import type { Engine } from "../engine.ts";
import { migrate } from "../migrate.ts";
import { MIGRATIONS } from "../migrations/all.ts";
import { createPrivateFile } from "../private-file.ts";
import type { Database } from "../schema.ts";
import { type Store, sqlStore } from "../store.ts";
import type { StoreError } from "../store-error.ts";
import { StoreWorkerClient } from "../store-worker-client.ts";
import { sqliteDdl } from "./ddl.ts";
import { sqliteWorkerDialect } from "./dialect.ts";
import { Mutex } from "./mutex.ts";

export const DATABASE_FILE = "gateway.sqlite";

/**
 * Opens the embedded store, takes the data directory for this process and brings the tables up to date. With `taken`
 * the process that started this one has the directory, and the tables are as they must be.
 */
export async function openSqlite(dataDir: string, clock: Clock, directory: "take" | "taken" = "take"): Promise<Store> {
  return sqlStore(await openSqliteEngine(dataDir, clock, directory));
}

/** The same with its tables at hand, for who moves them elsewhere. */
export async function openSqliteEngine(dataDir: string, clock: Clock, directory: "take" | "taken"): Promise<Engine> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = path.join(dataDir, DATABASE_FILE);
  const lock = directory === "take" ? lockDataDir(dataDir) : undefined;
  createPrivateFile(file);
  let isUp = false;
  const engine = sqliteEngine(file, (why) => {
    // Another thread could go on in the middle of a transaction: the process ends, and its journal has what is not here.
    if (isUp) throw why;
  });
  try {
    await migrate(engine, MIGRATIONS, clock);
    isUp = true;
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

function sqliteEngine(file: string, ended: (why: StoreError) => void): Engine {
  const client = new StoreWorkerClient(new URL("./sqlite-worker.ts", import.meta.url), { file }, ended);
  const turnstile = new Mutex();
  const db = new Kysely<Database>({ dialect: sqliteWorkerDialect(client, turnstile), plugins: [bigintPlugin] });
  return {
    db,
    ddl: sqliteDdl,
    encodeRecord: encodeCompact,
    normalizeRecordText: (text) => text,
    // Through the turnstile like every query: a batch must not slip into a transaction that is open.
    ingest: (batch) =>
      turnstile.pass(async () => {
        await client.ask({ is: "ingest", batch });
      }),
    close: () => turnstile.pass(() => client.close()),
  };
}
