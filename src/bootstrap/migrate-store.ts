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
import { MoveRefused, type MoveReport, moveStore } from "../io/store/sql/postgres/store-migration.ts";
import type { Database } from "../io/store/sql/schema.ts";
import { DATABASE_FILE, openSqliteEngine } from "../io/store/sql/sqlite/open.ts";
import { sqlStore } from "../io/store/sql/store.ts";
import { openVault } from "../io/vault.ts";
import { workerFolders } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { parseDurationMs } from "../kit/time.ts";
import { readConfig } from "../settings/config.ts";
import { loggedFromMs, openMasterKeys } from "./store.ts";

/** Of the deployment that the store moves to: here it is still the embedded one. */
const OF_THE_TARGET = ["DATABASE_URL", "DATABASE_MIGRATION_URL", "REDIS_URL"] as const;

const KEYS_AT_ONCE = 500;

export type Move = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** In place of DATA_DIR. */
  readonly from: string | undefined;
  readonly to: DatabaseAddress;
  readonly dryRun: boolean;
  readonly progress: (table: string, done: number, of: number) => void;
  readonly log: Log;
};

export type Moved = MoveReport & {
  readonly dataDir: string;
  /** Requests that stood in the journal only. */
  readonly replayed: number;
  /** What is sealed and was opened there. */
  readonly secrets: number;
  /** Null: it is not in a file, but in the settings. */
  readonly masterKeyFile: string | null;
};

/** Moves the embedded store of a gateway that does not run, with what its journal still holds, to PostgreSQL. */
export async function moveEmbedded({ env, from, to, dryRun, progress, log }: Move): Promise<Moved> {
  const config = readConfig(embedded(env, from));
  const { DATA_DIR: dataDir } = config;
  if (!existsSync(path.join(dataDir, DATABASE_FILE)))
    throw new MoveRefused(
      `there is no embedded store in ${dataDir}: set DATA_DIR, or write --from, to the folder that has one`,
    );
  const engine = await openSqliteEngine(dataDir, systemClock, "take");
  try {
    const store = sqlStore(engine);
    let replayed = 0;
    for (const folder of [dataDir, ...workerFolders(dataDir)])
      replayed += (await replayAbandonedJournal(folder, { store, log, logRetainedFromMs: loggedFromMs(config) })).done;
    const { keys, file } = await openMasterKeys(config, log);
    let secrets = 0;
    const report = await moveStore({
      ...{ from: engine.db, to, clock: systemClock, dryRun, progress, log },
      logKeptMs: parseDurationMs(config.GATEWAY_LOG_RETENTION) ?? null,
      check: async (moved) => {
        secrets = await openAll(keys, moved);
      },
    });
    const masterKeyFile = file === null ? null : path.join(dataDir, "master-key");
    return { ...report, dataDir, replayed, secrets, masterKeyFile };
  } finally {
    await engine.close();
  }
}

function embedded(env: Move["env"], from: string | undefined): Record<string, string | undefined> {
  const own = { ...env };
  for (const name of OF_THE_TARGET.flatMap((one) => [one, `${one}_FILE`])) delete own[name];
  return from === undefined ? own : { ...own, DATA_DIR: path.resolve(from) };
}

/** Opens every data key with the master key, and all that a workspace cannot do without; how many it were. */
async function openAll(keys: MasterKeys, moved: Kysely<Database>): Promise<number> {
  const dataKeys = dataKeyStore(moved);
  let opened = 0;
  for (let after = ""; ; ) {
    const page = await dataKeys.listNotWrappedBy("", after, KEYS_AT_ONCE);
    for (const key of page) keys.unwrap(key);
    opened += page.length;
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.workspaceId;
  }
  const vault = openVault(keys, dataKeys);
  for (const { key, sealed } of await ownKeyStore(moved).all()) {
    await vault.open(ownKeyEncryptionContext(key), sealed);
    opened += 1;
  }
  for (const { key, sealed } of await platformKeyStore(moved).all()) {
    await vault.open(platformKeyEncryptionContext(key.provider), sealed);
    opened += 1;
  }
  for (const { workspaceId, webhook } of await alertRuleStore(moved).all()) {
    if (webhook === null) continue;
    await vault.open(webhookEncryptionContext(workspaceId), webhook.sealed);
    opened += 1;
  }
  return opened;
}
