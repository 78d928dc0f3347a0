import { existsSync } from "node:fs";
import path from "node:path";
import type { Kysely } from "kysely";
import { webhookEncryptionContext } from "../domain/alerts/alert-rules.ts";
import { ownKeyEncryptionContext } from "../domain/tenancy/own-key.ts";
import { platformKeyEncryptionContext } from "../domain/tenancy/platform-key.ts";
import { replayAbandonedJournal } from "../io/journal/ingest-pipeline.ts";
import type { MasterKeys } from "../io/master-keys.ts";
import { alertRuleStore } from "../io/store/sql/alert-store.ts";
import { dataKeyStore } from "../io/store/sql/data-key-store.ts";
import { ownKeyStore } from "../io/store/sql/own-key-store.ts";
import { platformKeyStore } from "../io/store/sql/platform-key-store.ts";
import type { DatabaseAddress } from "../io/store/sql/postgres/address.ts";
import { copyStore, type StoreCopyReport, StoreMigrationError } from "../io/store/sql/postgres/store-migration.ts";
import type { Database } from "../io/store/sql/schema.ts";
import { DATABASE_FILE, openSqliteEngine } from "../io/store/sql/sqlite/open.ts";
import { sqlStore } from "../io/store/sql/store.ts";
import { openVault } from "../io/vault.ts";
import { workerFolders } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { parseDurationMs } from "../kit/time.ts";
import { readConfig } from "../settings/config.ts";
import { logRetainedFromMs, openMasterKeys } from "./store.ts";

/** Settings of the target deployment: the source still runs on the embedded store. */
const TARGET_SETTINGS = ["DATABASE_URL", "DATABASE_MIGRATION_URL", "REDIS_URL"] as const;

const KEYS_PAGE = 500;

export type StoreMigration = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Overrides DATA_DIR. */
  readonly from: string | undefined;
  readonly to: DatabaseAddress;
  readonly dryRun: boolean;
  readonly progress: (table: string, done: number, of: number) => void;
  readonly log: Log;
};

export type StoreMigrationReport = StoreCopyReport & {
  readonly dataDir: string;
  /** Requests that were only in the journal. */
  readonly replayed: number;
  /** Encrypted values that were decrypted from the copy. */
  readonly secrets: number;
  /** Null when the master key is a setting. */
  readonly masterKeyFile: string | null;
};

/** Copies the embedded store of a stopped gateway, including unreplayed journals, to PostgreSQL. */
export async function migrateStore(migration: StoreMigration): Promise<StoreMigrationReport> {
  const { env, from, to, dryRun, progress, log } = migration;
  const config = readConfig(sourceEnv(env, from));
  const { DATA_DIR: dataDir } = config;
  if (!existsSync(path.join(dataDir, DATABASE_FILE)))
    throw new StoreMigrationError(
      `there is no embedded store in ${dataDir}: set DATA_DIR or --from to the folder that has one`,
    );
  const engine = await openSqliteEngine(dataDir, systemClock, "acquire");
  try {
    const store = sqlStore(engine);
    let replayed = 0;
    for (const folder of [dataDir, ...workerFolders(dataDir)])
      replayed += (await replayAbandonedJournal(folder, { store, log, logRetainedFromMs: logRetainedFromMs(config) }))
        .done;
    const { keys, file } = await openMasterKeys(config, log);
    let secrets = 0;
    const report = await copyStore({
      ...{ from: engine.db, to, clock: systemClock, dryRun, progress, log },
      logKeptMs: parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null,
      check: async (copy) => {
        secrets = await decryptAll(keys, copy);
      },
    });
    const masterKeyFile = file === null ? null : path.join(dataDir, "master-key");
    return { ...report, dataDir, replayed, secrets, masterKeyFile };
  } finally {
    await engine.close();
  }
}

function sourceEnv(env: StoreMigration["env"], from: string | undefined): Record<string, string | undefined> {
  const source = { ...env };
  for (const name of TARGET_SETTINGS.flatMap((setting) => [setting, `${setting}_FILE`])) delete source[name];
  return from === undefined ? source : { ...source, DATA_DIR: path.resolve(from) };
}

/** Decrypts every data key and every credential of the copy, and returns how many. */
async function decryptAll(keys: MasterKeys, copy: Kysely<Database>): Promise<number> {
  const dataKeys = dataKeyStore(copy);
  let decrypted = 0;
  for (let after = ""; ; ) {
    const page = await dataKeys.listNotWrappedBy("", after, KEYS_PAGE);
    for (const key of page) keys.unwrap(key);
    decrypted += page.length;
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.workspaceId;
  }
  const vault = openVault(keys, dataKeys);
  for (const { key, sealed } of await ownKeyStore(copy).all()) {
    await vault.open(ownKeyEncryptionContext(key), sealed);
    decrypted += 1;
  }
  for (const { key, sealed } of await platformKeyStore(copy).all()) {
    await vault.open(platformKeyEncryptionContext(key.provider), sealed);
    decrypted += 1;
  }
  for (const { workspaceId, webhook } of await alertRuleStore(copy).all()) {
    if (webhook === null) continue;
    await vault.open(webhookEncryptionContext(workspaceId), webhook.sealed);
    decrypted += 1;
  }
  return decrypted;
}
