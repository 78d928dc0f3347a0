import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { hasRedis, type RedisServer, startRedis } from "../../../../tests/support/redis.ts";
import { areOpen, redisDesks } from "../../../../tests/support/redis-desks.ts";

let server: RedisServer;
const { gateway, behindProxy, closeAll } = redisDesks(() => server);

describe.skipIf(!hasRedis)("changes of money that are left half done", () => {
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(() => closeAll());
  afterAll(() => server?.close());

  test("SCALE-03 BILL-02 an instance that dies between SQL and the wallet: the top-up is in the wallet soon, and once", async () => {
    const { sql, one, two } = await gateway();
    const proxy = await behindProxy(one);
    await two.hold("runs", 40n);
    await two.topUp(7n);
    const moving = `${one.prefix}{fleet}:moving`;
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 200, waitMs: 0 });
    sql.balanceNanos += 5n;
    // From here on nothing of it reaches Redis any more.
    proxy.hold();
    one.live.delete("one");
    expect((await two.state.wallet("ws")).balanceNanos).toBe(1007n);
    expect(await server.ask("ZCARD", moving)).toBe(1);
    await server.ask("ZADD", moving, "1", String([await server.ask("ZRANGE", moving, "0", "0")].flat()[0]));
    const inWallet = () => two.state.wallet("ws").catch(String);
    await expect.poll(inWallet, { timeout: 10_000 }).toEqual({ balanceNanos: 1012n, heldNanos: 40n });
    expect(await server.ask("ZCARD", moving)).toBe(0);
    // It was not dead after all, and ends what it began.
    const credited = one.state.credit("ws", 5n);
    await lock?.release();
    proxy.resume();
    await credited;
    await areOpen(one, two);
    await two.topUp(1n);
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1013n, heldNanos: 40n });
  });

  test("SCALE-03 BILL-02 wallets that were opened without an instance that still wrote are filled again", async () => {
    for (const wrote of ["a top-up", "a batch"] as const) {
      const { sql, one, two } = await gateway();
      const proxy = await behindProxy(one);
      await one.hold("r", 50n);
      await one.end("r", 30n);
      const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
      const commit = Promise.withResolvers<void>();
      sql.slow = commit.promise;
      const moved = wrote === "a batch" ? one.ingest().catch(String) : undefined;
      if (wrote === "a batch") await lock?.release();
      await expect.poll(() => server.ask("ZCARD", `${one.prefix}{fleet}:moving`)).toBe(moved === undefined ? 1 : 0);
      // From here on nobody hears of it, and it is taken for dead.
      proxy.hold();
      one.live.delete("one");
      sql.slow = Promise.resolve();
      await server.ask("FLUSHALL");
      await expect(two.hold("now", 1n)).rejects.toThrow();
      await areOpen(two);
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

  test("BILL-02 SCALE-02 what one instance charged, another does not reserve or charge again under the same id", async () => {
    const { one, two } = await gateway();
    await one.hold("work", 50n);
    await one.end("work", 30n);
    await expect(two.hold("work", 50n)).rejects.toThrow();
    await two.state.settle({ requestId: "work", workspaceId: "ws" }, 0n);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 0n });
  });

  test("SCALE-03 KEY-04 a version whose answer was lost is another when it is written again: what was changed since is not hidden", async () => {
    const { one, two } = await gateway();
    const proxy = await behindProxy(one);
    const version = async () => (await two.state.peekRateWindow({ id: "key", workspaceId: "ws" }, 10)).version;
    // It comes to Redis, and its answer does not come back.
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

  test("SCALE-03 BILL-02 whoever takes long over a change of money, or over opening wallets, is not taken for dead", async () => {
    const { sql, one, two } = await gateway();
    const moving = `${one.prefix}{fleet}:moving`;
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
    const [word] = [await server.ask("ZRANGE", moving, "0", "0")].flat();
    const filled = Promise.withResolvers<void>();
    sql.slow = filled.promise;
    await server.ask("FLUSHALL");
    await expect.poll(() => one.redis?.status).toBe("opening");
    const isRenewed = async () => {
      const nowMs = Date.now();
      await server.ask("ZADD", moving, String(nowMs), String(word));
      await expect
        .poll(async () => Number(await server.ask("ZSCORE", moving, String(word))), { timeout: 10_000 })
        .toBeGreaterThan(nowMs);
    };
    // Its own change is what wallets wait for.
    await isRenewed();
    sql.balanceNanos += 5n;
    await one.state.credit("ws", 5n);
    const { asked } = sql;
    await lock?.release();
    await expect.poll(() => sql.asked, { timeout: 10_000 }).toBeGreaterThan(asked);
    // The change is over in SQL, and wallets cannot be filled yet.
    await isRenewed();
    filled.resolve();
    await areOpen(one, two);
    const epoch = await server.ask("GET", `${one.prefix}{fleet}:epoch`);
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 1005n, heldNanos: 0n });
    expect(await server.ask("GET", `${one.prefix}{fleet}:epoch`)).toBe(epoch);
  });

  test.each(["runs", "is in doubt"])(
    "SCALE-03 BILL-02 an instance that stops while a change of money %s leaves word of it",
    async (how) => {
      const { sql, one, two } = await gateway();
      const moving = `${one.prefix}{fleet}:moving`;
      const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
      await one.state.announceBooking?.("booking", "ws", 1);
      if (how === "is in doubt") await lock?.release();
      await one.stop();
      sql.balanceNanos += 5n;
      const words = [await server.ask("ZRANGE", moving, "0", "-1")].flat();
      expect(words).toHaveLength(1);
      // Without SQL nobody could fill wallets: those that are there stay.
      sql.isAway = true;
      const { asked } = sql;
      await server.ask("ZADD", moving, "1", String(words[0]));
      await expect.poll(() => sql.asked, { timeout: 10_000 }).toBeGreaterThan(asked);
      expect(await two.hold("r", 1n)).toBe("held");
      sql.isAway = false;
      const inWallet = () => two.state.wallet("ws").catch(String);
      await expect.poll(inWallet, { timeout: 10_000 }).toEqual({ balanceNanos: 1005n, heldNanos: 1n });
      expect(await server.ask("ZCARD", moving)).toBe(0);
    },
  );

  test("SCALE-03 BILL-02 a credit whose answer was lost is tried again and counts once; what was taken so is given back", async () => {
    const { sql, one, two } = await gateway();
    const proxy = await behindProxy(one);
    const moving = `${one.prefix}{fleet}:moving`;
    const inWallet = async () => (await two.state.wallet("ws")).balanceNanos;
    const taking = { workspaceId: "ws", isAllOrNothing: true, reserveNanos: 0n } as const;
    // Once each, so that Redis knows the scripts.
    await two.topUp(3n);
    expect(await two.state.withdraw({ ...taking, nanos: 3n })).toBe(3n);
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
    await expect(one.state.withdraw({ ...taking, nanos: 7n })).rejects.toThrow();
    await expect.poll(inWallet, { timeout: 10_000 }).toBe(1005n);
    expect(await server.ask("GET", `${one.prefix}{fleet}:epoch`)).toBe(epoch);
  });

  test("SCALE-03 BILL-02 a credit whose answer was lost is not tried again when Redis may have forgotten it", async () => {
    const { sql, one, two } = await gateway();
    let laterMs = 0;
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() + laterMs };
    const proxy = await behindProxy(one, { clock });
    const lock = await one.redis?.coordination.acquireLock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
    sql.balanceNanos += 5n;
    // The credit arrives, and its answer does not.
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
    await areOpen(one, two);
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 1005n, heldNanos: 0n });
  });
});
