import { describe, expect, test } from "vitest";
import { hasRedis, openTestRedisState, startRedis } from "../../../../tests/support/redis.ts";
import { problemOf } from "./redis-server-check.ts";

const GOOD = {
  redis_version: "7.2.4",
  redis_mode: "standalone",
  role: "master",
  maxmemory_policy: "noeviction",
};
const problemWith = (changed: Partial<typeof GOOD>) => {
  const lines = Object.entries({ ...GOOD, ...changed }).map(([name, value]) => `${name}:${value}`);
  const problem = problemOf(`# Server\r\n${lines.join("\r\n")}\r\n`);
  return problem && `${problem.message}; ${problem.fix}`;
};

describe("the check of a Redis at the start", () => {
  test("SCALE-21 a current primary without eviction is used, also when it may not be asked", () => {
    expect(problemWith({})).toBeUndefined();
    expect(problemWith({ redis_version: "8.0.1" })).toBeUndefined();
    expect(problemOf("")).toBeUndefined();
  });

  test.each([
    [{ maxmemory_policy: "allkeys-lru" }, /maxmemory-policy is allkeys-lru.*set maxmemory-policy noeviction/],
    [{ maxmemory_policy: "volatile-ttl" }, /volatile-ttl/],
    [{ redis_mode: "cluster" }, /node of a Redis Cluster/],
    [{ redis_mode: "sentinel" }, /Sentinel.*the Redis that it monitors/],
    [{ role: "slave" }, /replica.*its primary/],
    [{ redis_version: "6.2.14" }, /version 6\.2\.14.*Redis 7\.0 or newer/],
  ] as const)("SCALE-21 %j is refused with its fix", (changed, words) => {
    expect(problemWith(changed)).toMatch(words);
  });

  test.skipIf(!hasRedis)("SCALE-21 a server that evicts keys is not used, and is once it does not", async () => {
    const server = await startRedis();
    try {
      await server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu");
      await expect(openTestRedisState(server.url)).rejects.toMatchObject({
        name: "UnsupportedRedis",
        message: expect.stringContaining("allkeys-lfu"),
      });
      await server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
      await (await openTestRedisState(server.url)).close();
    } finally {
      await server.close();
    }
  });
});
