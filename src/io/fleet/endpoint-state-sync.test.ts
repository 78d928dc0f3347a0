import { duplexPair } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { hasRedis, openTestRedisState, startRedis } from "../../../tests/support/redis.ts";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { CircuitBreakers, LatencyTracker, TrafficStats } from "../../domain/routing/endpoint-health.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import { memoryState } from "../state/memory-state.ts";
import { memoryCoordinationStore } from "../workers/memory-coordination-store.ts";
import { PrimaryRpcClient } from "../workers/rpc-client.ts";
import { WorkerRpcServer } from "../workers/rpc-server.ts";
import { ReservationRegistry, versionedState } from "../workers/shared-resources.ts";
import { primaryCoordinationStore } from "../workers/worker-context.ts";
import { EndpointStateSync } from "./endpoint-state-sync.ts";

const SAMPLE = { firstByteMs: 200, totalMs: 1200, outputTokens: 100 };
const KNOWN: ReadonlySet<string> = new Set(["a", "b"]);

/** The endpoint state of one instance. */
async function instance(id: string, store: CoordinationStore, ids: readonly string[] = ["one", "two"]) {
  const breakers = new CircuitBreakers(systemClock);
  const health = new LatencyTracker();
  const learned = new TrafficStats();
  const instanceIds = async () => ids;
  const sync = new EndpointStateSync({
    ...{ fleet: { id, instanceIds }, store, breakers, health, learned, clock: systemClock, timers: systemTimers },
    hasEndpoint: (endpoint) => KNOWN.has(endpoint),
  });
  await sync.start();
  onTestFinished(() => sync.close());
  return { breakers, health, learned };
}

/** Stubs of one coordination store in the primary, one for each worker. */
function workerStores(): () => CoordinationStore {
  const coordination = memoryCoordinationStore(systemClock, systemTimers);
  const state = versionedState(memoryState(systemClock), () => "v");
  const servers: WorkerRpcServer[] = [];
  const unused = () => {
    throw new Error("unexpected call");
  };
  return () => {
    const [here, there] = duplexPair();
    const publish = ([topic, message]: readonly [string, string]) => {
      for (const server of servers) server.notify({ is: "published", topic, message });
      return null;
    };
    servers.push(
      new WorkerRpcServer(
        there,
        { state, coordination, reservations: new ReservationRegistry() },
        { join: unused, reportStarted: unused, reportReady: unused, collectMetrics: unused, publish },
      ),
    );
    return primaryCoordinationStore(new PrimaryRpcClient(here, systemClock));
  };
}

async function redisStores(): Promise<() => Promise<CoordinationStore>> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return async () => {
    const shared = await openTestRedisState(redis.url);
    onTestFinished(async () => void (await shared.close()));
    return shared.coordination;
  };
}

describe.each([
  ["workers", async () => workerStores()],
  ...(hasRedis ? [["Redis", redisStores] as const] : []),
] as const)("through the coordination store of %s", (_, stores) => {
  test("SCALE-02 ROUTE-05 ROUTE-02 open circuits and latency reach other instances, also one that starts later", async () => {
    const newStore = await stores();
    const [one, two] = [await instance("one", await newStore()), await instance("two", await newStore())];
    one.health.record("a", SAMPLE, systemClock.nowMs());
    one.health.record("unknown elsewhere", SAMPLE, systemClock.nowMs());
    for (let at = 0; at < 100; at += 1) one.learned.recordReply("model", 40, undefined);
    one.breakers.recordFailure("a", 60_000);
    one.breakers.recordFailure("unknown elsewhere", 60_000);
    await eventually(() => expect(two.breakers.openCircuits).toEqual(["a"]));
    const left = await instance("left", await newStore());
    expect(left.breakers.openCircuits).toEqual(["a"]);
    one.breakers.recordSuccess("a");
    await eventually(() => expect(two.breakers.circuitStateOf("a")).toBe("closed"));
    const measured = one.health.estimate("a", systemClock.nowMs());
    await eventually(() => expect(two.health.estimate("a", systemClock.nowMs())).toEqual(measured));
    const late = await instance("late", await newStore());
    expect(late.health.estimate("a", systemClock.nowMs())).toEqual(measured);
    expect(late.health.report(systemClock.nowMs(), 9)).toEqual([]);
    expect(late.learned.expectedOutputTokens("model", undefined)).toBe(
      one.learned.expectedOutputTokens("model", undefined),
    );
    // Reports of others are the starting point; local samples stay local.
    late.learned.recordReply("model", 1040, undefined);
    expect(Math.round(late.learned.expectedOutputTokens("model", undefined))).toBe(140);
    expect(late.learned.expectedOutputTokens("other", undefined)).toBe(512);
    expect(late.health.estimate("unknown elsewhere", systemClock.nowMs())).toBeUndefined();
  });
});

test("SCALE-02 SCALE-03 a restarted instance restores its state; circuits of a crashed one stay open until they expire", async () => {
  let ms = 1_000_000;
  const clock = { nowMs: () => ms, monotonicMs: () => ms };
  const store = memoryCoordinationStore(clock, systemTimers);
  const start = async (id: string) => {
    const breakers = new CircuitBreakers(clock);
    const health = new LatencyTracker();
    const learned = new TrafficStats();
    const callbacks: (() => void)[] = [];
    const after = (_: number, callback: () => void) => {
      callbacks.push(callback);
      return systemTimers.after(0, () => undefined);
    };
    const fleet = { id, instanceIds: async () => [id] };
    const sync = new EndpointStateSync({
      ...{ fleet, store, breakers, health, learned, clock, timers: { after } },
      hasEndpoint: () => true,
    });
    await sync.start();
    const exchange = async () => {
      for (const callback of callbacks.splice(0)) callback();
      await expect.poll(() => callbacks.length).toBe(1);
    };
    return { breakers, health, learned, exchange };
  };
  const crashed = await start("crashed");
  crashed.health.record("a", SAMPLE, ms);
  crashed.learned.recordReply("model", 1512, undefined);
  crashed.breakers.recordFailure("a", 30_000);
  ms += 2000;
  await crashed.exchange();
  const [restarted, other] = [await start("crashed"), await start("other")];
  expect(restarted.health.estimate("a", ms)).toMatchObject({ firstByteMs: 200, perTokenMs: 10 });
  expect([restarted.learned.report(9), other.learned.report(9)]).toEqual([[["model", 612]], []]);
  expect([restarted, other].map(({ breakers }) => breakers.circuitStateOf("a"))).toEqual(["open", "open"]);
  ms += 20_000;
  await other.exchange();
  expect(other.breakers.circuitStateOf("a")).toBe("open");
  ms += 8000;
  expect([restarted, other].map(({ breakers }) => breakers.circuitStateOf("a"))).toEqual(["half_open", "half_open"]);
  ms += 20_000;
  await other.exchange();
  expect(other.breakers.circuitStateOf("a")).toBe("closed");
  // Latency outlives the circuit report, but expires too.
  expect(other.health.estimate("a", ms)).toMatchObject({ firstByteMs: 200 });
  ms += 600_000;
  await other.exchange();
  expect(other.health.estimate("a", ms)).toBeUndefined();
});

test("SCALE-03 while the store is unavailable each instance keeps its state, and malformed reports are ignored", async () => {
  const inner = memoryCoordinationStore(systemClock, systemTimers);
  let isUnavailable = false;
  const unlessUnavailable = <T>(reply: Promise<T>) =>
    isUnavailable ? Promise.reject(new Error("unavailable")) : reply;
  const store: CoordinationStore = {
    ...inner,
    put: (...args) => unlessUnavailable(inner.put(...args)),
    get: (name) => unlessUnavailable(inner.get(name)),
    list: (prefix) => unlessUnavailable(inner.list(prefix)),
    delete: (name) => unlessUnavailable(inner.delete(name)),
    publish: (...args) => unlessUnavailable(inner.publish(...args)),
  };
  for (const [name, text] of [
    ["aside:x", '{"aside":[["a",1,9e99,-1]],"served":[]}'],
    ["aside:y", "{"],
    ["aside:z", '{"aside":[["a",1,9e99,1]],"served":[]}'],
    ["speed:x", '{"speeds":[["a",1,-5,1,1]],"output":[]}'],
    ["speed:y", "null"],
    ["speed:z", '{"speeds":[["a",1,1e308,1,1]],"output":[["model",1e308]]}'],
    ["speed:zz", '{"speeds":[["a",1,1,1,1e-320]],"output":[]}'],
  ] as const)
    await inner.put(name, text, 60_000);
  const [one, two] = [await instance("one", store), await instance("two", store)];
  expect([two.breakers.openCircuits, two.health.estimate("a", systemClock.nowMs())]).toEqual([[], undefined]);
  expect(two.learned.expectedOutputTokens("model", undefined)).toBe(512);
  one.breakers.recordFailure("a", 60_000);
  await eventually(() => expect(two.breakers.openCircuits).toEqual(["a"]));
  isUnavailable = true;
  one.breakers.recordFailure("b", 60_000);
  two.breakers.recordFailure("b", 90_000);
  two.health.record("b", SAMPLE, systemClock.nowMs());
  const late = await instance("late", store);
  expect(late.breakers.openCircuits).toEqual([]);
  expect([one.breakers.openCircuits, two.breakers.openCircuits.toSorted()]).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  isUnavailable = false;
  await eventually(() => expect(late.breakers.openCircuits.toSorted()).toEqual(["a", "b"]));
});
