import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type CuttingProxy, cuttingProxy } from "../../../../tests/support/cutting-proxy.ts";
import { emptyBooks, hasRedis, type RedisServer, redisState, startRedis } from "../../../../tests/support/redis.ts";
import type { RedisState } from "./redis-state.ts";

describe.skipIf(!hasRedis)("the line to Redis", () => {
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
    const redis = await redisState(url.href, { timeoutMs });
    onTestFinished(async () => void (await redis.close()));
    await redis.openWallets(emptyBooks());
    return { ...redis, proxy };
  };

  test("SCALE-03 a connection on which nothing is heard any more is left, also one that was not ready yet, and another is made", async () => {
    const { coordination, proxy } = await behindProxy(1000);
    const heard: string[] = [];
    coordination.subscribe("topic", (message) => heard.push(message));
    await expect
      .poll(async () => {
        await coordination.publish("topic", "first");
        return heard;
      })
      .toContain("first");
    const before = proxy.connections();
    proxy.hold();
    coordination.subscribe("late topic", (message) => heard.push(message));
    // Both lines have a connection that was never ready.
    await expect.poll(() => proxy.connections(), { timeout: 60_000 }).toBeGreaterThanOrEqual(before + 2);
    proxy.mute();
    await expect.poll(() => coordination.get("note").catch(() => "refused"), { timeout: 60_000 }).toBe(undefined);
    // What was listened to on the one before is listened to on this one, and so is what could not be yet.
    await expect
      .poll(
        async () => {
          await coordination.publish("topic", "second").catch(() => undefined);
          await coordination.publish("late topic", "third").catch(() => undefined);
          return heard;
        },
        { timeout: 60_000 },
      )
      .toEqual(expect.arrayContaining(["second", "third"]));
  }, 150_000);

  test("SCALE-03 where this process stood still, Redis has its whole time from then on", async () => {
    const { coordination, proxy } = await behindProxy(3000);
    for (;;) {
      proxy.hold();
      const asked = coordination.get("note").catch(() => "refused");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2400);
      const stoodUntilMs = performance.now();
      // Longer than half of its time, and shorter than all of it.
      await sleep(1800);
      const isInTime = performance.now() - stoodUntilMs < 2200;
      proxy.resume();
      const answer = await asked;
      if (isInTime) return expect(answer).toBe(undefined);
      // The machine stood still, too: once more, when Redis is known to answer again.
      await expect.poll(() => coordination.get("note").catch(() => "refused"), { timeout: 60_000 }).toBe(undefined);
    }
  }, 150_000);
});
