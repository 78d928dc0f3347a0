import { describe, expect, test } from "vitest";
import { emptyWalletSources, hasRedis, openTestRedisState, startRedis } from "../../../../tests/support/redis.ts";
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
    [{ redis_mode: "sentinel" }, /Sentinel.*set REDIS_SENTINELS/],
    [{ role: "slave" }, /replica.*its primary/],
    [{ redis_version: "6.2.14" }, /version 6\.2\.14.*Redis 7\.0 or newer/],
  ] as const)("SCALE-21 %j is refused with its fix", (changed, words) => {
    expect(problemWith(changed)).toMatch(words);
  });

  test.skipIf(!hasRedis)("SCALE-20 an ACL user that may do what the guide lists is enough", async () => {
    const server = await startRedis();
    try {
      const rules = "on >secret ~test:* &test:* +@all -@admin -@dangerous +info".split(" ");
      await server.ask("ACL", "SETUSER", "gateway", ...rules);
      const url = new URL(server.url);
      [url.username, url.password] = ["gateway", "secret"];
      const redis = await openTestRedisState(url.href);
      await redis.openWallets(emptyWalletSources());
      await redis.state.credit("ws", 5n);
      const hold = { requestId: "r", workspaceId: "ws", keyId: "k", memberId: null, nanos: 3n, atMs: 0, limits: [] };
      expect(await redis.state.consumeRateWindow({ id: "k", workspaceId: "ws" }, 1)).toMatchObject({ isAllowed: true });
      expect(await redis.state.hold(hold)).toEqual({ is: "held" });
      await redis.state.settle(hold, 2n);
      expect(await redis.state.wallet("ws")).toEqual({ balanceNanos: 3n, heldNanos: 0n });
      expect(await redis.close()).toBe("done");
    } finally {
      await server.close();
    }
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
