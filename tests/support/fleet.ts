import { randomBytes } from "node:crypto";
import { startGateway, type TestGateway } from "./gateway.ts";
import { type Cluster, startCluster } from "./postgres.ts";
import { type RedisServer, startRedis } from "./redis.ts";

export type TestFleet = {
  readonly cluster: Cluster;
  readonly redis: RedisServer;
  /** The settings of all instances. */
  readonly env: Readonly<Record<string, string>>;
  /** One more instance, with its own data directory. */
  add(env?: Record<string, string>): Promise<TestGateway>;
  close(): Promise<void>;
};

/** A PostgreSQL and a Redis that instances share; each instance is a whole gateway in this process. */
export async function startFleet(): Promise<TestFleet> {
  const [cluster, redis] = await Promise.all([startCluster(), startRedis()]);
  const database = await cluster.database("migrated");
  const env = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    GATEWAY_SANDBOX: "on",
    GATEWAY_ADMIN_TOKEN: "operator-of-the-fleet-1f3870be274f6c49",
    GATEWAY_MASTER_KEY: randomBytes(32).toString("base64"),
    // Other tests share the machine.
    GATEWAY_REDIS_TIMEOUT_MS: "3000",
  };
  const started: TestGateway[] = [];
  return {
    cluster,
    redis,
    env,
    async add(more = {}) {
      const gateway = await startGateway({ env: { ...env, ...more } });
      started.push(gateway);
      return gateway;
    },
    async close() {
      await Promise.all(started.map((gateway) => gateway.close()));
      await Promise.all([cluster.close(), redis.close()]);
    },
  };
}
