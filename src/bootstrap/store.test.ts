import { describe, expect, test } from "vitest";
import { hasPostgres } from "../../tests/support/postgres.ts";
import { clusterForFile } from "../../tests/support/postgres-file.ts";
import { createLogger } from "../io/telemetry/logger.ts";
import { readConfig } from "../settings/config.ts";
import { openSql } from "./store.ts";

const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};

const cluster = clusterForFile();

describe.skipIf(!hasPostgres)("a worker's store on PostgreSQL", () => {
  const openIn = async (more: Readonly<Record<string, string>>) => {
    const { url } = await cluster.database("migrated");
    const config = readConfig({ ...SECRETS, DATABASE_URL: url, DATA_DIR: cluster.folder(), ...more });
    const log = createLogger("silent");
    const fleet = { isSingleInstance: false };
    return openSql(config, { log, fleet, directory: "inherited", inheritedLock: { isHeld: false } });
  };

  test("SCALE-21 is not used while the primary does not hold the lock", async () => {
    const store = await openIn({});
    await expect(store.ping()).rejects.toThrow("the lock of the database is lost");
    await store.close();
  });

  test("SCALE-21 needs no primary with Redis, where the database has no lock", async () => {
    const store = await openIn({ REDIS_URL: "redis://127.0.0.1:1" });
    await store.ping();
    await store.close();
  });
});
