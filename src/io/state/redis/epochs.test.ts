import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { cuttingProxy } from "../../../../tests/support/cutting-proxy.ts";
import { emptyBooks, hasRedis, type RedisServer, redisState, startRedis } from "../../../../tests/support/redis.ts";
import { Fault } from "../../../contract/faults.ts";
import { batchOf, type RecordSink, textsOf } from "../../../domain/record/ingest.ts";
import type { OpeningDeps, RedisSettings, SharedRedis } from "./shared-redis.ts";

const DAY = new Date().toISOString().slice(0, 10);
let server: RedisServer;
let names = 0;
const closing: (() => Promise<void>)[] = [];

/** What SQL does with records and top-ups: each once, and sometimes its answer is lost. */
class Sql {
  balanceNanos = 0n;
  spentNanos = 0n;
  answersLost = 0;
  readonly records = new Map<string, bigint>();

  readonly sink: RecordSink = {
    ingestBatch: async (batch) => {
      for (const text of textsOf(batch)) {
        const { id, charge } = JSON.parse(text);
        if (this.records.has(id)) continue;
        const nanos = BigInt(charge?.nanos ?? 0);
        this.records.set(id, nanos);
        this.balanceNanos -= nanos;
        this.spentNanos += nanos;
      }
      if (this.answersLost > 0) {
        this.answersLost -= 1;
        throw new Error("the commit was not heard of");
      }
    },
  };

  booked = async (asked: readonly string[]) => new Set(asked.filter((id) => this.records.has(id)));
}

/** One instance: its part of Redis, and a journal that outlives it. */
class Desk {
  readonly id: string;
  readonly prefix: string;
  readonly sql: Sql;
  readonly live: Set<string>;
  readonly journal = new Map<string, string>();
  readonly running = new Set<string>();
  redis: SharedRedis | undefined;
  #sink: RecordSink | undefined;

  constructor(id: string, prefix: string, sql: Sql, live: Set<string>) {
    this.id = id;
    this.prefix = prefix;
    this.sql = sql;
    this.live = live;
  }

  get state() {
    if (this.redis === undefined) throw new Error(`${this.id} is down`);
    return this.redis.state;
  }

  async start(settings: Partial<RedisSettings> = {}): Promise<this> {
    const redis = await redisState(server.url, { prefix: this.prefix, instanceId: this.id, ...settings });
    this.redis = redis;
    this.#sink = redis.sink(this.sql.sink, this.sql.booked);
    // Requests that an earlier life began are over, and cost nothing.
    for (const id of this.running) this.journal.set(id, recordOf(id, null));
    this.running.clear();
    while (this.journal.size > 0) await this.ingest().catch(() => sleep(20));
    this.live.add(this.id);
    await redis.open(this.books());
    return this;
  }

  books(): OpeningDeps {
    const { sql } = this;
    const spend = () => ({ workspaceId: "ws", keyId: "key", memberId: null, day: DAY, nanos: sql.spentNanos });
    return emptyBooks({
      peers: async () => [...this.live],
      flushJournal: () => this.ingest(),
      balances: async () => [{ workspaceId: "ws", balanceNanos: sql.balanceNanos }],
      spends: async () => [spend()],
    });
  }

  /** kill -9, as far as Redis and SQL see it. */
  async stop(): Promise<void> {
    this.live.delete(this.id);
    const { redis } = this;
    this.redis = undefined;
    await redis?.close();
  }

  async hold(id: string, nanos: bigint): Promise<string> {
    this.running.add(id);
    const { is } = await this.state.hold(holdOf(id, nanos));
    if (is !== "held") this.running.delete(id);
    return is;
  }

  async end(id: string, nanos: bigint, settles: "settles" | "dies before it settles" = "settles"): Promise<void> {
    if (!this.running.delete(id)) return;
    this.journal.set(id, recordOf(id, nanos));
    if (settles === "settles") await this.state.settle({ requestId: id, workspaceId: "ws" }, nanos);
  }

  async ingest(): Promise<void> {
    const moved = [...this.journal];
    if (moved.length === 0) return;
    await this.#sink?.ingestBatch(batchOf(moved.map(([, text]) => text)));
    for (const [id] of moved) this.journal.delete(id);
  }

  async topUp(nanos: bigint): Promise<void> {
    const lock = await this.redis?.board.lock("workspace:ws", { ttlMs: 10_000, waitMs: 10_000 });
    if (lock === undefined) throw new Error("the lock is not to be had");
    this.sql.balanceNanos += nanos;
    await this.state.credit("ws", nanos);
    await lock.release();
  }
}

const holdOf = (requestId: string, nanos: bigint) => ({
  requestId,
  workspaceId: "ws",
  keyId: "key",
  memberId: null,
  nanos,
  atMs: Date.parse(DAY),
  limits: [],
});

function recordOf(id: string, nanos: bigint | null): string {
  const charge = nanos === null ? null : { nanos: nanos.toString() };
  return JSON.stringify({
    id,
    workspaceId: "ws",
    keyId: "key",
    memberId: null,
    createdAtMs: Date.parse(DAY),
    charge,
  });
}

/** Two instances over one SQL that has 1,000 for them. */
async function gateway(settings?: Partial<RedisSettings>) {
  names += 1;
  const sql = new Sql();
  sql.balanceNanos = 1000n;
  const live = new Set<string>();
  const desks = [new Desk("one", `e${names}:`, sql, live), new Desk("two", `e${names}:`, sql, live)] as const;
  closing.push(async () => {
    for (const desk of desks) await desk.stop();
  });
  for (const desk of desks) await desk.start(settings);
  return { sql, one: desks[0], two: desks[1], desks };
}

/** Starts it again, so that what it says can be kept from Redis. */
async function behindProxy(desk: Desk, settings?: Partial<RedisSettings>) {
  const url = new URL(server.url);
  const proxy = await cuttingProxy(Number(url.port));
  url.port = String(proxy.port);
  await desk.stop();
  await desk.start({ ...settings, url: url.href });
  closing.push(() => proxy.close());
  return proxy;
}

const refused = (error: unknown) => error instanceof Fault && error.code === "service_unavailable" && error.headers;

async function areOpen(...desks: readonly Desk[]): Promise<void> {
  await expect
    .poll(async () => Promise.all(desks.map((desk) => desk.state.wallet("ws").then(() => "open", String))), {
      timeout: 15_000,
    })
    .toEqual(desks.map(() => "open"));
}

describe.skipIf(!hasRedis)("what Redis loses", () => {
  beforeAll(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(() => server?.close());

  for (const loss of ["FLUSHALL", "a restart"] as const)
    test(`SCALE-03 ${loss}: paid work is refused until wallets are filled from SQL and from what the instances hold`, async () => {
      const { sql, one, two } = await gateway();
      const leads = await one.redis?.board.lock("leader", { ttlMs: 600_000, waitMs: 0 });
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
      const answer = await two.hold("now", 1n).catch(refused);
      expect(answer).toEqual({ "retry-after": "1" });
      await one.end("free", 0n);
      await areOpen(one, two);
      expect(leads?.isHeld).toBe(false);
      expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 970n, heldNanos: 100n });
      await one.end("runs", 90n);
      await one.end("runs", 90n);
      for (const desk of [one, two]) await desk.ingest();
      expect(sql.balanceNanos).toBe(880n);
      expect(await two.state.wallet("ws")).toEqual({ balanceNanos: 880n, heldNanos: 0n });
      const { month } = await one.state.spending({ id: "key", workspaceId: "ws" }, Date.parse(DAY));
      expect(month).toEqual({ spentNanos: 120n, heldNanos: 0n });
    });

  test("SCALE-03 a Redis that kept its data and was started again is not believed: the last it knew may be missing", async () => {
    const keeping = await startRedis({ keeps: "all" });
    const empty = server;
    server = keeping;
    try {
      const { one, two } = await gateway();
      await one.hold("r", 10n);
      await keeping.kill();
      await keeping.start();
      expect(await keeping.ask("HGET", `${one.prefix}{ws}:wallet`, "b")).toBe("1000");
      await keeping.ask("HSET", `${one.prefix}{ws}:wallet`, "b", "1", "f", "1");
      await areOpen(one, two);
      await expect.poll(() => two.state.wallet("ws").catch(refused)).toEqual({ balanceNanos: 1000n, heldNanos: 10n });
      // Nothing is kept of the epoch before.
      expect(await keeping.ask("KEYS", `${one.prefix}{fleet}:wallets:*`)).toHaveLength(1);
      for (const desk of [one, two]) await desk.stop();
    } finally {
      server = empty;
      await keeping.close();
    }
  });

  test("SCALE-03 what an instance charged and died with is taken off once: settled or not, in this epoch or an earlier one", async () => {
    const { sql, one, two } = await gateway();
    await two.hold("settled", 50n);
    await two.end("settled", 40n);
    await two.hold("not settled", 50n);
    await two.end("not settled", 30n, "dies before it settles");
    await two.hold("interrupted", 50n);
    await two.stop();
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 960n, heldNanos: 100n });
    await two.start();
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 930n, heldNanos: 0n });
    expect(await server.ask("HLEN", `${one.prefix}{ws}:paid`)).toBe(0);

    await two.hold("lost", 50n);
    await two.end("lost", 20n);
    await two.hold("unheard", 50n);
    await two.end("unheard", 10n);
    // SQL has the second, and the instance does not know.
    const kept = recordOf("unheard", 10n);
    await sql.sink.ingestBatch(batchOf([kept]));
    await two.stop();
    await server.ask("FLUSHALL");
    await areOpen(one);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 920n, heldNanos: 0n });
    sql.answersLost = 1;
    await two.start();
    expect(sql.balanceNanos).toBe(900n);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 900n, heldNanos: 0n });
  });

  test("SCALE-03 a hold that was swept long ago is charged when its record comes at last", async () => {
    const { sql, one, two } = await gateway();
    await two.hold("r", 50n);
    await two.end("r", 30n, "dies before it settles");
    await two.stop();
    await sleep(5);
    expect(await one.state.sweep(1)).toBe(1);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1000n, heldNanos: 0n });
    await two.start();
    expect([sql.balanceNanos, (await one.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("SCALE-03 a top-up that Redis is lost under is in the wallet once, and none begins while wallets are filled", async () => {
    const { one, two } = await gateway();
    // It is lost too, and what is done under it still is not over.
    const lock = await one.redis?.board.lock("workspace:ws", { ttlMs: 150, waitMs: 0 });
    one.sql.balanceNanos += 5n;
    await server.ask("FLUSHALL");
    expect(await two.hold("r", 1n).catch(refused)).toBeTruthy();
    expect(await two.redis?.board.lock("workspace:other", { ttlMs: 1000, waitMs: 300 })).toBeUndefined();
    expect([two.redis?.standing, lock?.isHeld]).toEqual(["opening", false]);
    await one.state.credit("ws", 5n);
    await lock?.release();
    await areOpen(one, two);
    await two.topUp(7n);
    expect(await one.state.wallet("ws")).toEqual({ balanceNanos: 1012n, heldNanos: 0n });
  });

  test("SCALE-03 BILL-02 an instance that dies between SQL and the wallet: the top-up is in the wallet soon, and once", async () => {
    const { sql, one, two } = await gateway();
    const proxy = await behindProxy(one);
    await two.hold("runs", 40n);
    await two.topUp(7n);
    const moving = `${one.prefix}{fleet}:moving`;
    await expect.poll(() => server.ask("ZCARD", moving), { timeout: 10_000 }).toBe(0);
    const lock = await one.redis?.board.lock("workspace:ws", { ttlMs: 200, waitMs: 0 });
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

  test("SCALE-03 BILL-02 a credit whose answer was lost is not tried again when Redis may have forgotten it", async () => {
    const { sql, one, two } = await gateway();
    let laterMs = 0;
    const clock = { nowMs: Date.now, elapsedMs: () => performance.now() + laterMs };
    const proxy = await behindProxy(one, { clock });
    const lock = await one.redis?.board.lock("workspace:ws", { ttlMs: 10_000, waitMs: 0 });
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

  test("SCALE-03 what an instance has told goes into SQL only when wallets are open, and one that is gone is not waited for", async () => {
    const { sql, one, two } = await gateway();
    await one.hold("r", 50n);
    one.live.add("silent");
    await server.ask("FLUSHALL");
    await expect.poll(() => server.ask("KEYS", `${one.prefix}*:opening:*:one`)).toHaveLength(1);
    await one.end("r", 30n);
    const moved = one.ingest();
    await sleep(200);
    expect([sql.balanceNanos, one.redis?.standing]).toEqual([1000n, "opening"]);
    one.live.delete("silent");
    await moved;
    await areOpen(one, two);
    expect([sql.balanceNanos, (await two.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("L5 SCALE-03 a Redis that is silent: everything that costs money is refused in time, nothing hangs, and no end is lost", async () => {
    const { one, two } = await gateway({ timeoutMs: 100 });
    await areOpen(one, two);
    await one.hold("runs", 100n);
    server.pause();
    const key = { id: "key", workspaceId: "ws" };
    const asked: unknown[] = await Promise.all([
      one.hold("late", 500n).catch(refused),
      Promise.resolve(one.state.claim({ key: "k", body: "b" }, "r")).catch(refused),
      Promise.resolve(one.state.window(key, 9)).catch(refused),
    ]);
    // From now on it is not even asked.
    asked.push(await Promise.resolve(two.state.window(key, 9)).catch(refused));
    await one.end("runs", 60n);
    await one.state.settle({ requestId: "late", workspaceId: "ws" }, 0n);
    asked.push(await one.hold("refused", 1n).catch(refused));
    expect(asked).toEqual(asked.map(() => ({ "retry-after": "1" })));
    expect(one.redis?.standing).toBe("away");
    await expect(one.ingest()).rejects.toThrow();
    server.resume();
    await areOpen(one, two);
    await expect.poll(() => two.state.wallet("ws")).toEqual({ balanceNanos: 940n, heldNanos: 0n });
    await one.ingest();
    expect(one.sql.balanceNanos).toBe(940n);
  });

  test("SCALE-03 a Redis that was late is asked until it answers, also when it refused to be asked at first", async () => {
    const { one, two } = await gateway({ timeoutMs: 100 });
    await areOpen(one, two);
    await server.ask("ACL", "SETUSER", "default", "-ping");
    server.pause();
    const key = { id: "key", workspaceId: "ws" };
    expect(await Promise.resolve(one.state.window(key, 9)).catch(refused)).toEqual({ "retry-after": "1" });
    server.resume();
    await sleep(150);
    await server.ask("ACL", "SETUSER", "default", "+ping");
    await areOpen(one, two);
  });

  test("SCALE-03 a hold whose answer comes after Redis was called late holds nothing back", async () => {
    const { one, two } = await gateway({ timeoutMs: 1000 });
    // Redis knows the script from then on.
    await one.hold("before", 1n);
    await one.end("before", 0n);
    server.pause();
    const first = Promise.resolve(one.state.window({ id: "key", workspaceId: "ws" }, 9)).catch(refused);
    await sleep(600);
    const second = one.hold("second", 500n).catch(refused);
    expect(await first).toEqual({ "retry-after": "1" });
    server.resume();
    // Or Redis was found to be back before it.
    if ((await second) === "held") await one.end("second", 0n);
    await areOpen(one, two);
    await expect.poll(() => two.state.wallet("ws")).toEqual({ balanceNanos: 1000n, heldNanos: 0n });
  });

  test("SCALE-03 an instance that stood still while wallets were opened without it asks before it goes on", async () => {
    const { sql, one, two } = await gateway();
    let stoodStillMs = 0;
    const clock = { nowMs: Date.now, elapsedMs: () => performance.now() + stoodStillMs };
    const proxy = await behindProxy(one, { timeoutMs: 60_000, clock });
    await one.hold("r", 50n);
    await one.end("r", 30n);
    proxy.hold();
    one.live.delete("one");
    await server.ask("FLUSHALL");
    await expect(two.hold("now", 1n)).rejects.toThrow();
    await areOpen(two);
    stoodStillMs = 20_000;
    const moved = one.ingest();
    await sleep(50);
    proxy.resume();
    await moved;
    expect([sql.balanceNanos, (await two.state.wallet("ws")).balanceNanos]).toEqual([970n, 970n]);
  });

  test("SCALE-03 BILL-02 whatever is lost in whatever order: in the end wallets have what SQL has", async () => {
    const names = fc.integer({ min: 0, max: 5 });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("hold" as const), at: fc.nat(1), id: names }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("end" as const), at: fc.nat(1), id: names }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("ingest" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("top up" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("deaf" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("die" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("die half way" as const), at: fc.nat(1), id: names }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("lose" as const), at: fc.nat(1), id: names }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const { sql, one, two, desks } = await gateway();
        for (const [n, action] of steps.entries()) {
          const desk = desks[action.at] ?? one;
          const id = `${desk.id}-${action.id}`;
          if (desk.redis === undefined) await desk.start();
          if (action.do === "hold" && !desk.running.has(id) && !sql.records.has(id) && !desk.journal.has(id))
            await desk.hold(id, 20n).catch(() => desk.running.delete(id));
          else if (action.do === "end") await desk.end(id, BigInt(n));
          else if (action.do === "ingest") await desk.ingest().catch(() => undefined);
          else if (action.do === "top up") await desk.topUp(10n);
          else if (action.do === "deaf") sql.answersLost = 1;
          else if (action.do === "lose") await server.ask("FLUSHALL");
          else if (action.do === "die half way") {
            sql.balanceNanos += 10n;
            await desk.stop();
            // What an instance leaves that dies over a top-up.
            await server.ask("ZADD", `${desk.prefix}{fleet}:moving`, "1", `left-${n}`);
          } else if (action.do === "die") {
            await desk.end(id, BigInt(n), "dies before it settles");
            await desk.stop();
          }
        }
        for (const desk of desks) if (desk.redis === undefined) await desk.start();
        await areOpen(one, two);
        for (const desk of desks) for (const id of desk.running) await desk.end(id, 7n);
        for (const desk of desks) while (desk.journal.size > 0) await desk.ingest().catch(() => sleep(20));
        await areOpen(one, two);
        await expect
          .poll(() => one.state.wallet("ws").catch(String), { timeout: 10_000 })
          .toEqual({ balanceNanos: sql.balanceNanos, heldNanos: 0n });
        for (const close of closing.splice(0)) await close();
      }),
      { numRuns: 8 },
    );
  });
});
