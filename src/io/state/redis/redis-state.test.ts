import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { claimTests } from "../../../../tests/support/claim-suite.ts";
import { eventually } from "../../../../tests/support/eventually.ts";
import {
  emptyWalletSources,
  hasRedis,
  openTestRedisState,
  type RedisServer,
  startRedis,
} from "../../../../tests/support/redis.ts";
import { spendingTests } from "../../../../tests/support/spending-suite.ts";
import { handClock, type LedgerState, stateTests } from "../../../../tests/support/state-suite.ts";
import { systemClock } from "../../../kit/clock.ts";
import { createIdGenerator } from "../../../kit/id-generator.ts";
import type { RedisSettings, RedisState, WalletSources } from "./redis-state.ts";

const EUR = 1_000_000_000n;
const FEW = 4;
const ids = createIdGenerator(Date.now);
let server: RedisServer;
const opened: RedisState[] = [];

/** An instance with a key prefix of its own, unless one is given. */
async function instance(settings: Partial<RedisSettings> = {}, books?: Partial<WalletSources>): Promise<RedisState> {
  const redis = await openTestRedisState(server.url, { prefix: ids.next("p"), ...settings });
  opened.push(redis);
  await redis.openWallets(emptyWalletSources(books));
  return redis;
}

async function open({ startMs, balanceNanos = 0n, spends = [] }: LedgerState = {}) {
  const clock = handClock(startMs);
  const monotonicMs = () => performance.now();
  const balances = async () => (balanceNanos === 0n ? [] : [{ workspaceId: "ws", balanceNanos }]);
  const { state } = await instance(
    // Claims outlast every step of the suite.
    { clock: { nowMs: clock.nowMs, monotonicMs }, testTimeMs: clock.nowMs, holdMaxMs: 30 * 86_400_000 },
    { balances, dailySpends: async () => spends },
  );
  return { state, clock };
}

const holdOf = (requestId: string, nanos: bigint) => ({
  requestId,
  workspaceId: "ws",
  keyId: "key",
  memberId: "member",
  nanos,
  atMs: Date.now(),
  limits: [],
});

describe.skipIf(!hasRedis)("on Redis", () => {
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    for (const redis of opened.splice(0)) await redis.close();
  });
  afterAll(() => server?.close());

  describe("SCALE-01 the same suite", () => {
    stateTests(open, FEW);
    spendingTests(open, FEW);
    claimTests(open, FEW);
  });

  test("SCALE-03 an event-loop stall of this process does not open the circuit", async () => {
    const logged: unknown[] = [];
    const note = (...line: unknown[]) => void logged.push(line);
    const { coordination } = await instance({
      timeoutMs: 1000,
      log: { info: () => undefined, warn: note, error: note },
    });
    logged.length = 0;
    for (const forMs of [1002, 1100]) {
      const reply = coordination.get("note");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
      expect(await reply).toBe(undefined);
    }
    expect(logged).toEqual([]);
  });

  test("SCALE-03 a lock whose grant or release got no reply is free once Redis answers again", async () => {
    const slow = await startRedis();
    try {
      const redis = await openTestRedisState(slow.url);
      opened.push(redis);
      const wait = { ttlMs: 600_000, waitMs: 0 };
      const held = await redis.coordination.acquireLock("held", wait);
      slow.pause();
      await expect(redis.coordination.acquireLock("asked", wait)).rejects.toMatchObject({
        code: "service_unavailable",
      });
      await held?.release();
      slow.resume();
      for (const name of ["asked", "held"])
        await eventually(async () => expect(await redis.coordination.acquireLock(name, wait)).toBeDefined());
    } finally {
      await slow.close();
    }
  });

  test.each(["first", "again"] as const)(
    "SCALE-03 BILL-09 RESP-05 a key whose claim got no reply is free after its request, even if it arrives later: run %s",
    async (run) => {
      const slow = await startRedis();
      try {
        const redis = await openTestRedisState(slow.url);
        opened.push(redis);
        const { state } = redis;
        const use = { key: "k", body: "b" };
        // Redis has cached the script, so that the next claim is one command.
        await state.claimIdempotencyKey({ key: "another", body: "b" }, "another");
        slow.pause();
        await expect(state.claimIdempotencyKey(use, "unanswered", run)).rejects.toMatchObject({
          code: "service_unavailable",
        });
        if (run === "again") await state.releaseClaim("k", "unanswered");
        slow.resume();
        await eventually(async () =>
          expect(await state.claimIdempotencyKey(use, "next")).toMatchObject({ is: "claimed" }),
        );
        await state.releaseClaim("k", "next");
        // As a claim that the network delayed.
        await expect(state.claimIdempotencyKey(use, "unanswered", run)).rejects.toMatchObject({
          code: "service_unavailable",
        });
        expect(await state.claimIdempotencyKey(use, "last")).toMatchObject({ is: "claimed" });
      } finally {
        await slow.close();
      }
    },
  );

  test("SCALE-03 BILL-09 RESP-05 a resumed request whose claim got no reply leaves the key to the run that holds it", async () => {
    const slow = await startRedis();
    try {
      const runs = await openTestRedisState(slow.url);
      const takes = await openTestRedisState(slow.url);
      opened.push(runs);
      const use = { key: "k", body: "b" };
      await runs.state.claimIdempotencyKey(use, "work");
      slow.pause();
      await expect(takes.state.claimIdempotencyKey(use, "work", "again")).rejects.toMatchObject({
        code: "service_unavailable",
      });
      slow.resume();
      await eventually(() => takes.coordination.get("note"));
      // Queued steps run before it closes.
      expect(await takes.close()).toBe("done");
      expect(await runs.state.claimIdempotencyKey(use, "twin")).toEqual({ is: "running", requestId: "work" });
      expect(await runs.state.claimIdempotencyKey(use, "work", "again")).toMatchObject({ is: "claimed" });
    } finally {
      await slow.close();
    }
  });

  test("SCALE-03 BILL-09 RESP-05 a claim without a reply is forgotten once it can no longer arrive", async () => {
    const slow = await startRedis();
    try {
      let passedMs = 0;
      const clock = { nowMs: systemClock.nowMs, monotonicMs: () => systemClock.monotonicMs() + passedMs };
      const holdMaxMs = 60_000;
      const redis = await openTestRedisState(slow.url, { clock, holdMaxMs });
      opened.push(redis);
      const { state } = redis;
      const use = (key: string) => ({ key, body: "b" });
      const patience = { timeout: 10_000 };
      const unanswered = async (key: string) => {
        slow.pause();
        const claimed = state.claimIdempotencyKey(use(key), `work ${key}`, "again");
        await expect(claimed).rejects.toMatchObject({ code: "service_unavailable" });
        slow.resume();
        await eventually(() => redis.coordination.get("note"), patience);
      };
      await unanswered("old");
      passedMs += 2 * holdMaxMs;
      await unanswered("new");
      for (const key of ["old", "new"]) await state.releaseClaim(key, `work ${key}`);
      // A withdrawn claim is barred for a while; a released one is not.
      const claim = (key: string) => state.claimIdempotencyKey(use(key), `work ${key}`, "again");
      await eventually(async () => expect(await claim("old")).toMatchObject({ is: "claimed" }), patience);
      await eventually(() => expect(claim("new")).rejects.toMatchObject({ code: "service_unavailable" }), patience);
    } finally {
      await slow.close();
    }
  });

  test("SCALE-03 BILL-09 closing reports a claim left behind while Redis does not answer, and none while it does", async () => {
    const slow = await startRedis();
    try {
      const leaves = await openTestRedisState(slow.url);
      await leaves.state.claimIdempotencyKey({ key: "k", body: "b" }, "r");
      slow.pause();
      await leaves.state.releaseClaim("k", "r");
      expect(await leaves.close()).toBe("left");
      slow.resume();
      const ends = await openTestRedisState(slow.url);
      await ends.state.claimIdempotencyKey({ key: "another", body: "b" }, "r");
      await ends.state.releaseClaim("another", "r");
      expect(await ends.close()).toBe("done");
    } finally {
      await slow.close();
    }
  });

  test("SCALE-03 Redis is used again after its command queue overflowed and drained", async () => {
    const slow = await startRedis();
    try {
      const redis = await openTestRedisState(slow.url, { timeoutMs: 60_000 });
      opened.push(redis);
      await redis.openWallets(emptyWalletSources());
      slow.pause();
      const all = Array.from({ length: 20_500 }, () => redis.coordination.get("note"));
      const ends = Promise.allSettled(all);
      // Long enough for a ping of the client, which finds the queue full as well.
      await sleep(2500);
      slow.resume();
      expect((await ends).filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
      expect(await redis.coordination.get("note")).toBe(undefined);
      await eventually(() => expect(redis.status).toBe("open"));
    } finally {
      await slow.close();
    }
  });

  test("OPS-04 a wrong password fails the start at once, without misleading log lines", async () => {
    const logged: unknown[] = [];
    const note = (...line: unknown[]) => void logged.push(line);
    const log = { info: note, warn: note, error: note };
    const wrong = server.url.replace(/:[^:@/]+@/, ":not-the-password@");
    await expect(openTestRedisState(wrong, { prefix: ids.next("p"), log })).rejects.toThrow(/^WRONGPASS/);
    expect(logged).toEqual([]);
  });

  test("OPS-04 over TLS a server with a trusted certificate is used, and any other fails the start", async () => {
    const guarded = await startRedis({ over: "tls" });
    const other = await startRedis({ over: "tls" });
    try {
      const prefix = ids.next("p");
      const ca = guarded.ca;
      const [one, two] = [
        await openTestRedisState(guarded.url, { prefix, ca }),
        await openTestRedisState(guarded.url, { prefix, ca }),
      ];
      opened.push(one, two);
      for (const redis of [one, two]) await redis.openWallets(emptyWalletSources());
      const received = Promise.withResolvers<string>();
      two.coordination.subscribe("topic", received.resolve);
      await one.state.credit("ws", EUR);
      expect(await two.state.hold(holdOf("r", EUR))).toEqual({ is: "held" });
      await expect
        .poll(() => one.coordination.publish("topic", "word").then(() => Promise.race([received.promise, ""])))
        .toBe("word");
      const settings = { prefix, timeoutMs: 60_000 };
      await expect(openTestRedisState(guarded.url, settings)).rejects.toThrow("self-signed certificate");
      await expect(openTestRedisState(guarded.url, { ...settings, ca: other.ca })).rejects.toThrow(
        "self-signed certificate",
      );
      const elsewhere = guarded.url.replace("127.0.0.1", "localhost");
      await expect(openTestRedisState(elsewhere, { ...settings, ca })).rejects.toThrow(/does not match certificate/);
      for (const redis of opened.splice(0)) await redis.close();
    } finally {
      await Promise.all([guarded.close(), other.close()]);
    }
  });

  test("RATE-08 L1 two instances, one key, many concurrent calls: exactly the limit is admitted, with one version", async () => {
    const prefix = ids.next("p");
    // Clocks of instances do not matter.
    const ahead = { ...systemClock, nowMs: () => systemClock.nowMs() + 3_600_000 };
    const [one, two] = [await instance({ prefix }), await instance({ prefix, clock: ahead })];
    const key = { id: "key", workspaceId: "ws" };
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? one : two).state.consumeRateWindow(key, 30)),
    );
    expect(verdicts.filter(({ isAllowed }) => isAllowed)).toHaveLength(30);
    expect(new Set(verdicts.map(({ version }) => version)).size).toBe(1);
    // An idle window lives as long as its last call counts.
    const window = `${prefix}{ws}:window:key`;
    const [lastUs, untilMs] = [await server.ask("LINDEX", window, "-1"), await server.ask("PEXPIRETIME", window)];
    expect(Number(untilMs)).toBeGreaterThan(Number(lastUs) / 1000 + 60_000);
    await two.state.bumpVersion("ws");
    const after = await one.state.peekRateWindow(key, 30);
    expect(after.version).not.toBe(verdicts[0]?.version);
    expect((await two.state.peekRateWindow(key, 30)).version).toBe(after.version);
  });

  test("BILL-03 two instances, 200 concurrent requests, a balance for 10: ten are admitted, and either instance settles them", async () => {
    const prefix = ids.next("p");
    const [one, two] = [await instance({ prefix }), await instance({ prefix })];
    await one.state.credit("ws", 10n * EUR);
    const requests = Array.from({ length: 200 }, (_, n) => holdOf(`r${n}`, EUR));
    const verdicts = await Promise.all(requests.map((hold, n) => (n % 2 === 0 ? one : two).state.hold(hold)));
    const held = requests.filter((_, n) => verdicts[n]?.is === "held");
    expect(held).toHaveLength(10);
    await Promise.all(held.flatMap((hold) => [one, two].map(({ state }) => state.settle(hold, EUR / 2n))));
    expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 5n * EUR, heldNanos: 0n });
  });

  test("BILL-09 BILL-03 a restarted instance ends holds and claims of earlier incarnations and retired instances, and no others", async () => {
    const prefix = ids.next("p");
    const use = (key: string) => ({ key, body: "b" });
    const never = async () => false;
    const [stays, before] = [await instance({ prefix }), await instance({ prefix, instanceId: "ins_b-1" })];
    const beside = await instance({ prefix, instanceId: "ins_b-3" });
    for (const one of [before, beside]) await one.releaseEarlierIncarnations([], never);
    await stays.releaseEarlierIncarnations([], async (id) => id === "background");
    await stays.state.credit("ws", 10n * EUR);
    const begin = async ({ state }: RedisState, requestId: string) => [
      (await state.hold(holdOf(requestId, EUR))).is,
      (await state.claimIdempotencyKey(use(requestId), requestId)).is,
    ];
    for (const id of ["left", "charged", "background", "given_up", "taken_up"])
      expect(await begin(before, id)).toEqual(["held", "claimed"]);
    expect(await begin(beside, "beside")).toEqual(["held", "claimed"]);
    expect(await begin(stays, "anothers")).toEqual(["held", "claimed"]);
    expect(await begin(stays, "taken_up")).toEqual(["held", "claimed"]);

    const after = await instance({ prefix, instanceId: "ins_b-1", retiredInstanceIds: ["ins_b", "ins_b-3"] });
    expect(await begin(after, "soon")).toEqual(["held", "claimed"]);
    await after.releaseEarlierIncarnations(["background", "given_up"], never);
    expect(await begin(after, "own")).toEqual(["held", "claimed"]);
    await eventually(async () => expect((await stays.state.wallet("ws")).heldNanos).toBe(6n * EUR));
    for (const id of ["background", "taken_up", "anothers", "soon", "own"])
      expect(await stays.state.claimIdempotencyKey(use(id), "again")).toEqual({ is: "running", requestId: id });
    for (const id of ["given_up", "beside"])
      expect(await stays.state.claimIdempotencyKey(use(id), "again")).toEqual({ is: "claimed", coverage: "newest" });
    expect(await stays.state.claimIdempotencyKey({ key: "left", body: "other" }, "again")).toEqual({
      is: "claimed",
      coverage: "newest",
    });
    // A late charge still counts, once.
    for (const { state } of [after, stays]) await state.settle(holdOf("charged", EUR), EUR);
    await eventually(async () =>
      expect(await stays.state.wallet("ws")).toEqual({ balanceNanos: 9n * EUR, heldNanos: 6n * EUR }),
    );
  });

  test("BILL-03 a new workspace gets an empty wallet under concurrency, and it does not count as lost", async () => {
    const prefix = ids.next("p");
    const [one, two] = [await instance({ prefix }), await instance({ prefix })];
    const epoch = await server.ask("GET", `${prefix}{fleet}:epoch`);
    const ask = (n: number) => (n % 2 === 0 ? one : two).state.hold({ ...holdOf(`r${n}`, EUR), workspaceId: "new" });
    const verdicts = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        for (let turn = 0; turn < n % 9; turn += 1) await server.ask("PING");
        return (await ask(n)).is;
      }),
    );
    expect(new Set(verdicts)).toEqual(new Set(["insufficient_credits"]));
    expect(await server.ask("GET", `${prefix}{fleet}:epoch`)).toBe(epoch);
  });

  test("BILL-02 amounts beyond 2^53 are exact in balance, hold, limit, charge and withdrawal", async () => {
    const { state } = await open();
    const much = 2n ** 62n - 1n;
    await state.credit("ws", much);
    const hold = holdOf("r", much);
    expect(await state.hold({ ...hold, nanos: much + 1n })).toEqual({
      is: "insufficient_credits",
      availableNanos: much,
      neededNanos: much + 1n,
    });
    const limits = [{ of: "key", per: "day", nanos: much - 1n }] as const;
    expect(await state.hold({ ...hold, limits })).toMatchObject({ is: "spend_limit_reached" });
    expect(await state.hold({ ...hold, nanos: much - 1n, limits })).toEqual({ is: "held" });
    await state.settle(hold, 2n ** 53n + 1n);
    const left = much - 2n ** 53n - 1n;
    expect(await state.wallet("ws")).toEqual({ balanceNanos: left, heldNanos: 0n });
    const spender = { id: "member", workspaceId: "ws" };
    expect((await state.spending(spender, hold.atMs)).month.spentNanos).toBe(2n ** 53n + 1n);
    const withdrawal = { workspaceId: "ws", isAllOrNothing: false, reserveNanos: 1n } as const;
    expect(await state.withdraw({ ...withdrawal, nanos: 2n ** 54n + 3n })).toBe(2n ** 54n + 3n);
    expect(await state.withdraw({ ...withdrawal, nanos: much })).toBe(left - 2n ** 54n - 4n);
    expect(await state.withdraw({ ...withdrawal, nanos: 1n })).toBe(0n);
    expect(await state.withdraw({ ...withdrawal, nanos: 2n, reserveNanos: 0n, isAllOrNothing: true })).toBe(0n);
    expect(await state.wallet("ws")).toEqual({ balanceNanos: 1n, heldNanos: 0n });
  });

  test("SCALE-02 notes, locks and messages reach every instance; a lock is exclusive until it is released or lost", async () => {
    const prefix = ids.next("p");
    const [one, two] = [(await instance({ prefix })).coordination, (await instance({ prefix })).coordination];
    await one.put("peer:a", "1", 60_000);
    await one.put("peer:b", "2", 60_000);
    await one.put("peers", "3", 1);
    expect(await two.list("peer:")).toEqual(
      new Map([
        ["a", "1"],
        ["b", "2"],
      ]),
    );
    await two.delete("peer:a");
    expect(await one.get("peer:a")).toBeUndefined();
    expect([...(await one.list("peer:")).keys()]).toEqual(["b"]);

    // An expired note leaves nothing behind, also when it is never read again.
    await one.put("flush:once:a", "", 1);
    await expect.poll(() => two.get("flush:once:a")).toBeUndefined();
    await one.put("peer:c", "", 60_000);
    expect(await server.ask("ZRANGE", `${prefix}{board}:notes`, "0", "-1")).not.toContain("flush:once:a");

    const mine = await one.acquireLock("job", { ttlMs: 3000, waitMs: 0 });
    expect(mine?.isHeld).toBe(true);
    // It is renewed before it expires.
    const lasts = () => server.ask("PEXPIRETIME", `${prefix}{board}:lock:job`).then(Number);
    const first = await lasts();
    await expect.poll(lasts).toBeGreaterThan(first);
    expect(await two.acquireLock("job", { ttlMs: 3000, waitMs: 200 })).toBeUndefined();
    expect(mine?.isHeld).toBe(true);
    const waiting = two.acquireLock("job", { ttlMs: 60_000, waitMs: 10_000 });
    await mine?.release();
    const theirs = await waiting;
    expect([mine?.isHeld, theirs?.isHeld]).toEqual([false, true]);
    await server.ask("FLUSHALL");
    const stolen = await one.acquireLock("job", { ttlMs: 3000, waitMs: 0 });
    await theirs?.release();
    expect(await two.acquireLock("job", { ttlMs: 3000, waitMs: 0 })).toBeUndefined();
    await server.ask("FLUSHALL");
    await expect.poll(() => stolen?.isHeld).toBe(false);

    const received: string[] = [];
    const stop = two.subscribe("news", (message) => received.push(message));
    const tell = async () => {
      await one.publish("news", "hello");
      return received.length;
    };
    await expect.poll(tell).toBeGreaterThan(0);
    stop();
    const before = received.length;
    await one.publish("news", "after unsubscribe");
    expect(received).toHaveLength(before);
  });
});
