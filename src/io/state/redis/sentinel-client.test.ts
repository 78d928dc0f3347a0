import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../../tests/support/eventually.ts";
import {
  emptyWalletSources,
  hasRedis,
  openTestRedisState,
  type SentinelSet,
  startSentinelSet,
} from "../../../../tests/support/redis.ts";
import { expectOpen, redisInstances } from "../../../../tests/support/redis-instances.ts";
import { type RespServer, respServer, WELCOME } from "../../../../tests/support/resp-server.ts";
import { handClock, type LedgerState, stateTests } from "../../../../tests/support/state-suite.ts";
import { CONNECT_MS, FIRST_CONNECT_MS_MAX } from "./reconnecting-client.ts";
import type { RedisState } from "./redis-state.ts";
import { openSentinelClient } from "./sentinel-client.ts";

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

  test("SCALE-20 a primary that stops and is still named by the Sentinels for a while is left after the failover", async () => {
    // Longer than a silent connection is kept, so the stopped primary is connected to again.
    const slow = await startSentinelSet({ downAfterMs: 6000 });
    onTestFinished(() => slow.close());
    const redis = await openTestRedisState(slow.url, { sentinels: slow.sentinels });
    onTestFinished(async () => void (await redis.close()));
    const read = () => redis.coordination.get("note").catch(() => "refused");
    expect(await read()).toBe(undefined);
    slow.servers[0]?.pause();
    await expect.poll(read, { timeout: 45_000 }).toBe("refused");
    await expect.poll(read, { timeout: 45_000 }).toBe(undefined);
  }, 120_000);
});

describe("connecting to the primary that Sentinels name", () => {
  const ROLE = "*1\r\n$6\r\nmaster\r\n";

  async function start(replies: Readonly<Record<string, string>>) {
    const primary = await respServer(replies);
    const port = String(primary.port);
    const named = `*2\r\n$9\r\n127.0.0.1\r\n$${port.length}\r\n${port}\r\n`;
    const sentinel = await respServer({ ...WELCOME, SENTINEL: named });
    for (const server of [primary, sentinel]) onTestFinished(() => server.close());
    const timers = new Map<() => void, number>();
    const errors: unknown[] = [];
    const opened = openSentinelClient(
      {
        url: "redis://main/0",
        ca: undefined,
        sentinels: [`127.0.0.1:${sentinel.port}`],
        timers: {
          after(ms, callback) {
            timers.set(callback, ms);
            return { refresh() {}, [Symbol.dispose]: () => void timers.delete(callback) };
          },
        },
        log: { info() {}, warn() {}, error: (fields) => void errors.push(fields) },
      },
      () => {},
    );
    opened.catch(() => {});
    /** Fires the waiting timers with such a delay. */
    const fire = (is: (ms: number) => boolean) => {
      for (const [callback, ms] of [...timers])
        if (is(ms)) {
          timers.delete(callback);
          callback();
        }
    };
    return { primary, opened, errors, fire };
  }

  const isGreeted = (primary: RespServer, times: number) =>
    eventually(() => expect(primary.received.filter((name) => name === "HELLO")).toHaveLength(times));

  test("SCALE-20 a silent primary is asked for again after a bound, and the start fails after another", async () => {
    const { primary, opened, fire } = await start({});
    await isGreeted(primary, 1);
    fire((ms) => ms === CONNECT_MS);
    await eventually(() => expect(primary.open).toBe(0));
    await eventually(() => {
      fire((ms) => ms < 1000);
      expect(primary.connections).toBe(2);
    });
    await isGreeted(primary, 2);
    fire((ms) => ms === FIRST_CONNECT_MS_MAX);
    await eventually(() => {
      fire((ms) => ms < 1000);
      expect(primary.open).toBe(0);
    });
    await expect(opened).rejects.toThrow("does not respond");
  });

  test("SCALE-20 a client that is closed while it connects leaves no connection behind", async () => {
    const { primary, opened } = await start({ ...WELCOME, ROLE });
    const { close } = await opened;
    primary.script({});
    primary.cut();
    await isGreeted(primary, 2);
    close();
    await eventually(() => expect(primary.open).toBe(0));
  });

  test("SCALE-21 after a failover to a primary that evicts keys, an error says so", async () => {
    const info = "maxmemory_policy:allkeys-lru\r\n";
    const { primary, opened, errors } = await start({ ...WELCOME, ROLE, INFO: `$${info.length}\r\n${info}\r\n` });
    const { close } = await opened;
    expect(errors).toEqual([]);
    primary.cut();
    await eventually(() =>
      expect(errors).toEqual([
        { reason: expect.stringContaining("allkeys-lru"), fix: expect.stringContaining("noeviction") },
      ]),
    );
    close();
  });
});
