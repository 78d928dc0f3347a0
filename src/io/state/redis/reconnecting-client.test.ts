import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type CuttingProxy, cuttingProxy } from "../../../../tests/support/cutting-proxy.ts";
import {
  emptyWalletSources,
  hasRedis,
  openTestRedisState,
  type RedisServer,
  startRedis,
} from "../../../../tests/support/redis.ts";
import type { RedisState } from "./redis-state.ts";

describe.skipIf(!hasRedis)("the connection to Redis", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.close());

  const behindProxy = async (timeoutMs: number): Promise<RedisState & { readonly proxy: CuttingProxy }> => {
    const url = new URL(server.url);
    const proxy = await cuttingProxy(Number(url.port));
    onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    const redis = await openTestRedisState(url.href, { timeoutMs });
    onTestFinished(async () => void (await redis.close()));
    await redis.openWallets(emptyWalletSources());
    return { ...redis, proxy };
  };

  test("SCALE-03 a silent connection is replaced, also one that was not ready yet", async () => {
    const { coordination, proxy } = await behindProxy(1000);
    const received: string[] = [];
    coordination.subscribe("topic", (message) => received.push(message));
    await expect
      .poll(async () => {
        await coordination.publish("topic", "first");
        return received;
      })
      .toContain("first");
    const before = proxy.connections();
    proxy.hold();
    coordination.subscribe("late topic", (message) => received.push(message));
    // Both clients have a connection that was never ready.
    await expect.poll(() => proxy.connections(), { timeout: 60_000 }).toBeGreaterThanOrEqual(before + 2);
    proxy.mute();
    await expect.poll(() => coordination.get("note").catch(() => "refused"), { timeout: 60_000 }).toBe(undefined);
    // Subscriptions are renewed, also one that could not be made before.
    await expect
      .poll(
        async () => {
          await coordination.publish("topic", "second").catch(() => undefined);
          await coordination.publish("late topic", "third").catch(() => undefined);
          return received;
        },
        { timeout: 60_000 },
      )
      .toEqual(expect.arrayContaining(["second", "third"]));
  }, 150_000);

  test("SCALE-03 after an event-loop stall, Redis gets its full timeout again", async () => {
    const { coordination, proxy } = await behindProxy(3000);
    for (;;) {
      proxy.hold();
      const reply = coordination.get("note").catch(() => "refused");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2400);
      const stalledUntilMs = performance.now();
      // Longer than half of the timeout, and shorter than all of it.
      await sleep(1800);
      const isInTime = performance.now() - stalledUntilMs < 2200;
      proxy.resume();
      const value = await reply;
      if (isInTime) return expect(value).toBe(undefined);
      // The machine stalled too: repeat when Redis answers again.
      await expect.poll(() => coordination.get("note").catch(() => "refused"), { timeout: 60_000 }).toBe(undefined);
    }
  }, 150_000);
});
