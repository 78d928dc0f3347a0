import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../../../../tests/support/redis.ts";
import { expectOpen, redisInstances } from "../../../../tests/support/redis-instances.ts";

let server: RedisServer;
const { startGateway, behindProxy, closeAll } = redisInstances(() => server);

describe.skipIf(!hasRedis)("interrupted wallet changes", () => {
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => closeAll());
  afterAll(() => server?.close());

  test("SCALE-03 BILL-02 a top-up of an instance that crashes between SQL and Redis reaches the wallet once", async () => {
    const { sql, one, two } = await startGateway();
    const proxy = await behindProxy(one);
    await two.hold("runs", 40n);
    await two.topUp(7n);
    const moving = `${one.prefix}{fleet}:moving`;
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 200, waitMs: 0 });
    sql.balanceNanos += 5n;
    // Nothing of it reaches Redis from here on.
    proxy.hold();
    one.live.delete("one");
    expect((await two.state.wallet("ws")).balanceNanos).toBe(1007n);
    expect(await server.ask("ZCARD", moving)).toBe(1);
    await server.ask("ZADD", moving, "1", String([await server.ask("ZRANGE", moving, "0", "0")].flat()[0]));
    const inWallet = () => two.state.wallet("ws").catch(String);
    await expect.poll(inWallet, { timeout: 10_000 }).toEqual({ balanceNanos: 1012n, heldNanos: 40n });
    expect(await server.ask("ZCARD", moving)).toBe(0);
    // It had only stalled, and completes the change.
    const credited = one.state.credit("ws", 5n);
    await lock?.release();
    proxy.resume();
    await credited;
    await expectOpen(one, two);
    await two.topUp(1n);
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1013n, heldNanos: 40n });
  });

  test("SCALE-03 BILL-02 wallets rebuilt without an instance that still wrote to SQL are rebuilt again", async () => {
    for (const wrote of ["a top-up", "a batch"] as const) {
      const { sql, one, two } = await startGateway();
      const proxy = await behindProxy(one);
      await one.hold("r", 50n);
      await one.end("r", 30n);
      const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
      const commit = Promise.withResolvers<void>();
      sql.delay = commit.promise;
      const moved = wrote === "a batch" ? one.ingest().catch(String) : undefined;
      if (wrote === "a batch") await lock?.release();
      await expect.poll(() => server.ask("ZCARD", `${one.prefix}{fleet}:moving`)).toBe(moved === undefined ? 1 : 0);
      // It is disconnected from here on and counts as crashed.
      proxy.hold();
      one.live.delete("one");
      sql.delay = Promise.resolve();
      await server.ask("FLUSHALL");
      await expect(two.hold("now", 1n)).rejects.toThrow();
      await expectOpen(two);
      expect((await two.state.wallet("ws")).balanceNanos).toBe(1000n);
      // Its commit lands now.
      commit.resolve();
      await moved;
      if (moved === undefined) {
        sql.balanceNanos += 5n;
        const credited = one.state.credit("ws", 5n);
        await lock?.release();
        await credited;
      }
      one.live.add("one");
      proxy.resume();
      const inWallets = () => Promise.all([one, two].map(async ({ state }) => (await state.wallet("ws")).balanceNanos));
      const now = moved === undefined ? 975n : 970n;
      await expect.poll(() => inWallets().catch(String), { timeout: 10_000 }).toEqual([now, now]);
      await one.ingest();
      expect([sql.balanceNanos, ...(await inWallets())]).toEqual([now, now, now]);
    }
  });

  test("BILL-02 SCALE-02 a request charged by one instance is not reserved or charged again by another", async () => {
    const { one, two } = await startGateway();
    await one.hold("work", 50n);
    await one.end("work", 30n);
    await expect(two.hold("work", 50n)).rejects.toThrow();
    await two.state.settle({ requestId: "work", workspaceId: "ws" }, 0n);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 0n });
  });

  test("SCALE-03 KEY-04 a version write with a lost reply is retried with a new value, so later changes stay visible", async () => {
    const { one, two } = await startGateway();
    const proxy = await behindProxy(one);
    const version = async () => (await two.state.peekRateWindow({ id: "key", workspaceId: "ws" }, 10)).version;
    // The write arrives, and its reply is lost.
    proxy.cutAfter(":version");
    await expect(one.state.bumpVersion("ws")).rejects.toThrow();
    proxy.hold();
    const met = await version();
    await two.state.bumpVersion("ws");
    const revoked = await version();
    proxy.resume();
    await expect.poll(version, { timeout: 10_000 }).not.toBe(revoked);
    expect(await version()).not.toBe(met);
  });

  test("SCALE-03 BILL-02 a slow wallet change or rebuild does not count as a crash", async () => {
    const { sql, one, two } = await startGateway();
    const moving = `${one.prefix}{fleet}:moving`;
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
    const [marker] = [await server.ask("ZRANGE", moving, "0", "0")].flat();
    const filled = Promise.withResolvers<void>();
    sql.delay = filled.promise;
    await server.ask("FLUSHALL");
    await expect.poll(() => one.redis?.status).toBe("opening");
    const isRenewed = async () => {
      const nowMs = Date.now();
      await server.ask("ZADD", moving, String(nowMs), String(marker));
      await expect
        .poll(async () => Number(await server.ask("ZSCORE", moving, String(marker))), { timeout: 10_000 })
        .toBeGreaterThan(nowMs);
    };
    // The rebuild waits for its own change.
    await isRenewed();
    sql.balanceNanos += 5n;
    await one.state.credit("ws", 5n);
    const { balanceReads } = sql;
    await lock?.release();
    await expect.poll(() => sql.balanceReads, { timeout: 10_000 }).toBeGreaterThan(balanceReads);
    // SQL has the change, and wallets cannot be rebuilt yet.
    await isRenewed();
    filled.resolve();
    await expectOpen(one, two);
    const epoch = await server.ask("GET", `${one.prefix}{fleet}:epoch`);
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 1005n, heldNanos: 0n });
    expect(await server.ask("GET", `${one.prefix}{fleet}:epoch`)).toBe(epoch);
  });

  test.each(["runs", "is in doubt"])(
    "SCALE-03 BILL-02 an instance that stops while a wallet change %s leaves its marker",
    async (how) => {
      const { sql, one, two } = await startGateway();
      const moving = `${one.prefix}{fleet}:moving`;
      const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
      await one.state.announceBooking?.("booking", "ws", 1);
      if (how === "is in doubt") await lock?.release();
      await one.stop();
      sql.balanceNanos += 5n;
      const markers = [await server.ask("ZRANGE", moving, "0", "-1")].flat();
      expect(markers).toHaveLength(1);
      // Without SQL no rebuild is possible: the open wallets stay.
      sql.isUnavailable = true;
      const { balanceReads } = sql;
      await server.ask("ZADD", moving, "1", String(markers[0]));
      await expect.poll(() => sql.balanceReads, { timeout: 10_000 }).toBeGreaterThan(balanceReads);
      expect(await two.hold("r", 1n)).toBe("held");
      sql.isUnavailable = false;
      const inWallet = () => two.state.wallet("ws").catch(String);
      await expect.poll(inWallet, { timeout: 10_000 }).toEqual({ balanceNanos: 1005n, heldNanos: 1n });
      expect(await server.ask("ZCARD", moving)).toBe(0);
    },
  );

  test("SCALE-03 BILL-02 a credit with a lost reply is retried and counts once; such a withdrawal is undone", async () => {
    const { sql, one, two } = await startGateway();
    const proxy = await behindProxy(one);
    const moving = `${one.prefix}{fleet}:moving`;
    const inWallet = async () => (await two.state.wallet("ws")).balanceNanos;
    const withdrawal = { workspaceId: "ws", isAllOrNothing: true, reserveNanos: 0n } as const;
    // Once each, so that Redis has cached the scripts.
    await two.topUp(3n);
    expect(await two.state.withdraw({ ...withdrawal, nanos: 3n })).toBe(3n);
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
    const epoch = await server.ask("GET", `${one.prefix}{fleet}:epoch`);
    sql.balanceNanos += 5n;
    proxy.cutAfter(":change:");
    await one.state.credit("ws", 5n);
    expect(await inWallet()).toBe(1005n);
    await lock?.release();
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    expect(await inWallet()).toBe(1005n);
    proxy.cutAfter(":change:");
    await expect(one.state.withdraw({ ...withdrawal, nanos: 7n })).rejects.toThrow();
    await expect.poll(inWallet, { timeout: 10_000 }).toBe(1005n);
    expect(await server.ask("GET", `${one.prefix}{fleet}:epoch`)).toBe(epoch);
  });

  test("SCALE-03 BILL-02 a credit with a lost reply is not retried once Redis may have forgotten it", async () => {
    const { sql, one, two } = await startGateway();
    let laterMs = 0;
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() + laterMs };
    const proxy = await behindProxy(one, { clock });
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
    sql.balanceNanos += 5n;
    // The credit arrives, and its reply is lost.
    proxy.cutAfter(":change:");
    await one.state.credit("ws", 5n);
    proxy.hold();
    expect((await two.state.wallet("ws")).balanceNanos).toBe(1005n);
    const change = String([await server.ask("KEYS", `${one.prefix}{ws}:change:*`)].flat()[0]);
    await server.ask("DEL", change);
    await lock?.release();
    laterMs = 3_000_000;
    proxy.resume();
    await expect.poll(() => server.ask("ZCARD", `${one.prefix}{fleet}:moving`), { timeout: 10_000 }).toBe(0);
    await expectOpen(one, two);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 1005n, heldNanos: 0n });
  });
});
