import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../../../../tests/support/redis.ts";
import {
  DAY,
  expectOpen,
  recordOf,
  redisInstances,
  unavailableHeaders,
} from "../../../../tests/support/redis-instances.ts";
import { encodeBatch } from "../../../domain/record/record-batch.ts";

let server: RedisServer;
const { startGateway, behindProxy, closeAll } = redisInstances(() => server);

describe.skipIf(!hasRedis)("after Redis loses data", () => {
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await closeAll();
  });
  afterAll(() => server?.close());

  for (const loss of ["FLUSHALL", "a restart"] as const)
    test(`SCALE-03 ${loss}: paid work is refused until wallets are rebuilt from SQL and unsettled holds`, async () => {
      const { sql, one, two } = await startGateway();
      const leaderLock = await one.redis?.coordination.acquireLock("leader", { ttlMs: 600_000, waitMs: 0 });
      await one.hold("runs", 100n);
      await two.hold("ended", 50n);
      await two.end("ended", 30n);
      await one.hold("free", 70n);
      expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 170n });
      if (loss === "FLUSHALL") await server.ask("FLUSHALL");
      else {
        await server.kill();
        await server.start();
      }
      const answer = await two.hold("now", 1n).catch(unavailableHeaders);
      expect(answer).toEqual({ "retry-after": "1" });
      await one.end("free", 0n);
      await expectOpen(one, two);
      expect(leaderLock?.isHeld).toBe(false);
      expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 100n });
      await one.end("runs", 90n);
      await one.end("runs", 90n);
      for (const instance of [one, two]) await instance.ingest();
      expect(sql.balanceNanos).toBe(880n);
      expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 880n, heldNanos: 0n });
      const { month } = await one.state.spending({ id: "key", workspaceId: "ws" }, Date.parse(DAY));
      expect(month).toEqual({ spentNanos: 120n, heldNanos: 0n });
    });

  test("SCALE-03 a restarted Redis with persisted data is not trusted, because its last writes may be missing", async () => {
    const keeping = await startRedis({ keeps: "all" });
    const empty = server;
    server = keeping;
    try {
      const { one, two } = await startGateway();
      await one.hold("r", 10n);
      await keeping.kill();
      await keeping.start();
      expect(await keeping.ask("HGET", `${one.prefix}{ws}:money`, "b")).toBe("1000");
      await keeping.ask("HSET", `${one.prefix}{ws}:money`, "b", "1", "f", "1");
      await expectOpen(one, two);
      await expect
        .poll(() => two.state.wallet("ws").catch(unavailableHeaders))
        .toEqual({ balanceNanos: 1000n, heldNanos: 10n });
      // Nothing is left of the generation before.
      expect(await keeping.ask("KEYS", `${one.prefix}{fleet}:wallets:*`)).toHaveLength(1);
      for (const instance of [one, two]) await instance.stop();
    } finally {
      server = empty;
      await keeping.close();
    }
  });

  test("SCALE-03 wallets open after the clock of Redis was set back, and markers of running wallet changes stay", async () => {
    const { one, two } = await startGateway();
    const fleet = `${one.prefix}{fleet}:`;
    // As left by a generation that began while the clock was an hour ahead.
    const aheadMicros = `${(Date.now() + 3_600_000) * 1000}`;
    await server.ask("HSET", `${fleet}last-epoch`, "name", aheadMicros);
    await server.ask("HSET", `${one.prefix}{ws}:money`, "e", `${aheadMicros}-ahead`);
    await server.ask("ZADD", `${fleet}moving`, String(Date.now() + 60_000), "runs");
    await server.ask("DEL", `${fleet}epoch`);
    await expect.poll(() => server.ask("EXISTS", `${fleet}epoch`), { timeout: 10_000 }).toBe(1);
    await expectOpen(one, two);
    const name = String(await server.ask("HGET", `${fleet}last-epoch`, "name"));
    expect(BigInt(name)).toBeGreaterThan(BigInt(aheadMicros));
    expect(await server.ask("HGET", `${one.prefix}{ws}:money`, "e")).toContain(`${name}-`);
    expect(await server.ask("ZSCORE", `${fleet}moving`, "runs")).not.toBeNull();
  });

  test("SCALE-03 charges of a crashed instance are taken off once: settled or not, in this generation or an earlier one", async () => {
    const { sql, one, two } = await startGateway();
    await two.hold("settled", 50n);
    await two.end("settled", 40n);
    await two.hold("not settled", 50n);
    await two.end("not settled", 30n, "crashes before settlement");
    await two.hold("interrupted", 50n);
    await two.stop();
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 960n, heldNanos: 100n });
    await two.start();
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 930n, heldNanos: 0n });
    expect(await server.ask("HKEYS", `${one.prefix}{ws}:money`)).not.toContain("rsettled");

    await two.hold("lost", 50n);
    await two.end("lost", 20n);
    await two.hold("reply lost", 50n);
    await two.end("reply lost", 10n);
    // SQL has the second one, but its reply was lost.
    const kept = recordOf("reply lost", 10n);
    await sql.sink.ingestBatch(encodeBatch([kept]));
    await two.stop();
    await server.ask("FLUSHALL");
    await expectOpen(one);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 920n, heldNanos: 0n });
    sql.repliesToLose = 1;
    await two.start();
    expect(sql.balanceNanos).toBe(900n);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 900n, heldNanos: 0n });
  });

  test("SCALE-03 a hold that was swept is charged when its record arrives late", async () => {
    const { sql, one, two } = await startGateway();
    await two.hold("r", 50n);
    await two.end("r", 30n, "crashes before settlement");
    await two.stop();
    await sleep(5);
    expect(await one.state.sweepHolds(1)).toBe(1);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1000n, heldNanos: 0n });
    await two.start();
    expect([sql.balanceNanos, (await one.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("SCALE-03 a top-up during a data loss is in the wallet once, and none begins during the rebuild", async () => {
    const { one, two } = await startGateway();
    // The lock is lost as well, while the work under it goes on.
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 150, waitMs: 0 });
    one.sql.balanceNanos += 5n;
    await server.ask("FLUSHALL");
    expect(await two.hold("r", 1n).catch(unavailableHeaders)).toBeTruthy();
    expect(await two.redis?.coordination.acquireLock("workspace:other", { ttlMs: 1000, waitMs: 300 })).toBeUndefined();
    expect([two.redis?.status, lock?.isHeld]).toEqual(["opening", false]);
    await one.state.credit("ws", 5n);
    await lock?.release();
    await expectOpen(one, two);
    await two.topUp(7n);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1012n, heldNanos: 0n });
  });

  test("SCALE-03 published holds reach SQL only after wallets are open, and a crashed instance is not waited for", async () => {
    const { sql, one, two } = await startGateway();
    await one.hold("r", 50n);
    one.live.add("silent");
    await server.ask("FLUSHALL");
    await expect.poll(() => server.ask("KEYS", `${one.prefix}*:opening:*:one`)).toHaveLength(1);
    await one.end("r", 30n);
    const rounds = vi.spyOn(one.live, Symbol.iterator);
    const moved = one.ingest();
    // The rebuild looks for the silent instance again and again, while the ingest waits.
    await vi.waitUntil(() => rounds.mock.calls.length > 4);
    rounds.mockRestore();
    expect([sql.balanceNanos, one.redis?.status]).toEqual([1000n, "opening"]);
    one.live.delete("silent");
    await moved;
    await expectOpen(one, two);
    expect([sql.balanceNanos, (await two.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("L5 SCALE-03 while Redis does not answer, paid work is refused in time, nothing hangs, and no settlement is lost", async () => {
    const { one, two } = await startGateway();
    await expectOpen(one, two);
    await one.hold("runs", 100n);
    server.pause();
    const key = { id: "key", workspaceId: "ws" };
    const replies: unknown[] = await Promise.all([
      one.hold("late", 500n).catch(unavailableHeaders),
      Promise.resolve(one.state.claimIdempotencyKey({ key: "k", body: "b" }, "r")).catch(unavailableHeaders),
      Promise.resolve(one.state.consumeRateWindow(key, 9)).catch(unavailableHeaders),
    ]);
    // The circuit is open from now on.
    replies.push(await Promise.resolve(two.state.consumeRateWindow(key, 9)).catch(unavailableHeaders));
    await one.end("runs", 60n);
    await one.state.settle({ requestId: "late", workspaceId: "ws" }, 0n);
    replies.push(await one.hold("refused", 1n).catch(unavailableHeaders));
    expect(replies).toEqual(replies.map(() => ({ "retry-after": "1" })));
    expect(one.redis?.status).toBe("away");
    await expect(one.ingest()).rejects.toThrow();
    server.resume();
    await expectOpen(one, two);
    await expect.poll(() => two.state.wallet("ws")).toEqual({ balanceNanos: 940n, heldNanos: 0n });
    await one.ingest();
    expect(one.sql.balanceNanos).toBe(940n);
  });

  test("SCALE-03 after a timeout Redis is probed until it answers, also when it rejects the first probes", async () => {
    const { one, two } = await startGateway();
    await expectOpen(one, two);
    await server.ask("ACL", "SETUSER", "default", "-ping");
    server.pause();
    const key = { id: "key", workspaceId: "ws" };
    expect(await Promise.resolve(one.state.consumeRateWindow(key, 9)).catch(unavailableHeaders)).toEqual({
      "retry-after": "1",
    });
    server.resume();
    await sleep(150);
    await server.ask("ACL", "SETUSER", "default", "+ping");
    await expectOpen(one, two);
  });

  test("SCALE-03 a hold whose reply arrives after a timeout reserves nothing", async () => {
    const { one, two } = await startGateway();
    // Redis has cached the script from then on.
    await one.hold("before", 1n);
    await one.end("before", 0n);
    server.pause();
    const first = Promise.resolve(one.state.consumeRateWindow({ id: "key", workspaceId: "ws" }, 9)).catch(
      unavailableHeaders,
    );
    await sleep(600);
    const second = one.hold("second", 500n).catch(unavailableHeaders);
    expect(await first).toEqual({ "retry-after": "1" });
    server.resume();
    // Unless the circuit closed before it.
    if ((await second) === "held") await one.end("second", 0n);
    await expectOpen(one, two);
    await expect.poll(() => two.state.wallet("ws")).toEqual({ balanceNanos: 1000n, heldNanos: 0n });
  });

  test("SCALE-03 an instance that stalled during a rebuild asks Redis before it writes to SQL", async () => {
    const { sql, one, two } = await startGateway();
    let stalledMs = 0;
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() + stalledMs };
    const proxy = await behindProxy(one, { timeoutMs: 60_000, clock });
    await one.hold("r", 50n);
    await one.end("r", 30n);
    proxy.hold();
    one.live.delete("one");
    await server.ask("FLUSHALL");
    await expect(two.hold("now", 1n)).rejects.toThrow();
    await expectOpen(two);
    stalledMs = 20_000;
    const moved = one.ingest();
    await sleep(50);
    proxy.resume();
    await moved;
    expect([sql.balanceNanos, (await two.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("SCALE-03 BILL-02 in any order of losses, wallets equal SQL in the end", async () => {
    const names = fc.integer({ min: 0, max: 5 });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("hold" as const), at: fc.nat(1), id: names }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("end" as const), at: fc.nat(1), id: names }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("ingest" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("top up" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("lose reply" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), at: fc.nat(1), id: names }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant("crash during top-up" as const), at: fc.nat(1), id: names }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("lose" as const), at: fc.nat(1), id: names }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const { sql, one, two, instances } = await startGateway();
        for (const [n, action] of steps.entries()) {
          const instance = instances[action.at] ?? one;
          const id = `${instance.id}-${action.id}`;
          if (instance.redis === undefined) await instance.start();
          if (action.do === "hold" && !instance.running.has(id) && !sql.records.has(id) && !instance.journal.has(id))
            await instance.hold(id, 20n).catch(() => instance.running.delete(id));
          else if (action.do === "end") await instance.end(id, BigInt(n));
          else if (action.do === "ingest") await instance.ingest().catch(() => undefined);
          else if (action.do === "top up") await instance.topUp(10n);
          else if (action.do === "lose reply") sql.repliesToLose = 1;
          else if (action.do === "lose") await server.ask("FLUSHALL");
          else if (action.do === "crash during top-up") {
            sql.balanceNanos += 10n;
            await instance.stop();
            // What an instance leaves that crashes during a top-up.
            await server.ask("ZADD", `${instance.prefix}{fleet}:moving`, "1", `left-${n}`);
          } else if (action.do === "crash") {
            await instance.end(id, BigInt(n), "crashes before settlement");
            await instance.stop();
          }
        }
        for (const instance of instances) if (instance.redis === undefined) await instance.start();
        await expectOpen(one, two);
        for (const instance of instances) for (const id of instance.running) await instance.end(id, 7n);
        for (const instance of instances)
          while (instance.journal.size > 0) await instance.ingest().catch(() => sleep(20));
        await expectOpen(one, two);
        await expect
          .poll(() => one.state.wallet("ws").catch(String), { timeout: 10_000 })
          .toEqual({ balanceNanos: sql.balanceNanos, heldNanos: 0n });
        await closeAll();
      }),
      { numRuns: 8 },
    );
  }, 180_000);
});
