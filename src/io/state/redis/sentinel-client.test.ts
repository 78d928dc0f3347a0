import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  emptyWalletSources,
  hasRedis,
  openTestRedisState,
  type SentinelSet,
  startSentinelSet,
} from "../../../../tests/support/redis.ts";
import { expectOpen, redisInstances } from "../../../../tests/support/redis-instances.ts";
import { handClock, type LedgerState, stateTests } from "../../../../tests/support/state-suite.ts";
import type { RedisState } from "./redis-state.ts";

const FEW = 2;

describe.skipIf(!hasRedis)("on a Redis that Sentinels replace", () => {
  let set: SentinelSet;
  let prefixes = 0;
  const opened: RedisState[] = [];
  const { startGateway, closeAll } = redisInstances(() => set);

  beforeAll(async () => {
    set = await startSentinelSet();
  }, 60_000);
  afterEach(async () => {
    for (const redis of opened.splice(0)) await redis.close();
    await closeAll();
  });
  afterAll(() => set?.close());

  async function open({ startMs, balanceNanos = 0n }: LedgerState = {}) {
    const clock = handClock(startMs);
    prefixes += 1;
    const redis = await openTestRedisState(set.url, {
      sentinels: set.sentinels,
      prefix: `s${prefixes}:`,
      clock: { nowMs: clock.nowMs, monotonicMs: () => performance.now() },
      testTimeMs: clock.nowMs,
      holdMaxMs: 30 * 86_400_000,
    });
    opened.push(redis);
    const balances = async () => (balanceNanos === 0n ? [] : [{ workspaceId: "ws", balanceNanos }]);
    await redis.openWallets(emptyWalletSources({ balances }));
    return { state: redis.state, clock };
  }

  describe("SCALE-20 the same suite", () => {
    stateTests(open, FEW);
  });

  test("SCALE-20 a name that no Sentinel knows fails the start", async () => {
    const url = set.url.replace("main", "other");
    const { sentinels } = set;
    await expect(openTestRedisState(url, { sentinels })).rejects.toThrow("does not know other");
  }, 30_000);

  test("SCALE-20 after a failover the new primary is used, and wallets are rebuilt from SQL and open holds", async () => {
    const { sql, one, two } = await startGateway({ sentinels: set.sentinels });
    const received: string[] = [];
    two.redis?.coordination.subscribe("topic", (message) => received.push(message));
    await one.hold("runs", 100n);
    await two.hold("ended", 50n);
    await two.end("ended", 30n);
    await set.servers[0]?.kill();
    await expect(one.hold("now", 1n)).rejects.toMatchObject({ code: "service_unavailable" });
    await expectOpen(one, two);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 100n });
    await one.end("runs", 90n);
    for (const instance of [one, two]) await instance.ingest();
    expect([sql.balanceNanos, await two.state.wallet("ws")]).toEqual([880n, { balanceNanos: 880n, heldNanos: 0n }]);
    // Subscriptions are renewed on the new primary.
    await expect
      .poll(async () => {
        await one.redis?.coordination.publish("topic", "word");
        return received;
      })
      .toContain("word");
  }, 60_000);
});
