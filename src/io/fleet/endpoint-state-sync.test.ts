import { duplexPair } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { hasRedis, redisState, startRedis } from "../../../tests/support/redis.ts";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { CircuitBreakers } from "../../domain/routing/circuit-breakers.ts";
import { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import { TrafficStats } from "../../domain/routing/traffic-stats.ts";
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

/** One instance, as far as its endpoints are concerned. */
async function instance(id: string, store: CoordinationStore, ids: readonly string[] = ["one", "two"]) {
  const breakers = new CircuitBreakers(systemClock);
  const health = new LatencyTracker();
  const learned = new TrafficStats();
  const instanceIds = async () => ids;
  const shared = new EndpointStateSync({
    ...{ fleet: { id, instanceIds }, store, breakers, health, learned, clock: systemClock, timers: systemTimers },
    hasEndpoint: (endpoint) => KNOWN.has(endpoint),
  });
  await shared.start();
  onTestFinished(() => shared.close());
  return { breakers, health, learned, shared };
}

/** Stubs of one coordination store in the primary, one for each worker. */
function workerBoards(): () => CoordinationStore {
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

async function redisBoards(): Promise<() => Promise<CoordinationStore>> {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return async () => {
    const shared = await redisState(redis.url);
    onTestFinished(async () => void (await shared.close()));
    return shared.coordination;
  };
}

describe.each([
  ["workers", async () => workerBoards()],
  ...(hasRedis ? [["Redis", redisBoards] as const] : []),
] as const)("on the board of %s", (_, boards) => {
  test("SCALE-02 ROUTE-05 ROUTE-02 what one instance finds out of endpoints another one knows, and one that begins later", async () => {
    const board = await boards();
    const [one, two] = [await instance("one", await board()), await instance("two", await board())];
    one.health.record("a", SAMPLE, systemClock.nowMs());
    one.health.record("of a catalogue of its own", SAMPLE, systemClock.nowMs());
    for (let at = 0; at < 100; at += 1) one.learned.recordReply("model", 40, undefined);
    one.breakers.recordFailure("a", 60_000);
    one.breakers.recordFailure("of a catalogue of its own", 60_000);
    await eventually(() => expect(two.breakers.aside).toEqual(["a"]));
    const left = await instance("left", await board());
    expect(left.breakers.aside).toEqual(["a"]);
    one.breakers.served("a");
    await eventually(() => expect(two.breakers.circuitStateOf("a")).toBe("in"));
    const measured = one.health.estimate("a", systemClock.nowMs());
    await eventually(() => expect(two.health.estimate("a", systemClock.nowMs())).toEqual(measured));
    const late = await instance("late", await board());
    expect(late.health.estimate("a", systemClock.nowMs())).toEqual(measured);
    expect(late.health.said(systemClock.nowMs(), 9)).toEqual([]);
    expect(late.learned.outputTokens("model", undefined)).toBe(one.learned.outputTokens("model", undefined));
    // What others know is the beginning, and what is learned here is learned here.
    late.learned.recordReply("model", 1040, undefined);
    expect(Math.round(late.learned.outputTokens("model", undefined))).toBe(140);
    expect(late.learned.outputTokens("other", undefined)).toBe(512);
    expect(late.health.estimate("of a catalogue of its own", systemClock.nowMs())).toBeUndefined();
  });
});

test("SCALE-02 SCALE-03 an instance that is started again knows what it knew; what one that died set aside stays so until its time is over", async () => {
  let ms = 1_000_000;
  const clock = { nowMs: () => ms, monotonicMs: () => ms };
  const store = memoryCoordinationStore(clock, systemTimers);
  const begin = async (id: string) => {
    const breakers = new CircuitBreakers(clock);
    const health = new LatencyTracker();
    const learned = new TrafficStats();
    const rings: (() => void)[] = [];
    const after = (_: number, ring: () => void) => {
      rings.push(ring);
      return systemTimers.after(0, () => undefined);
    };
    const fleet = { id, peers: async () => [id] };
    const shared = new EndpointStateSync({
      ...{ fleet, store, breakers, health, learned, clock, timers: { after } },
      hasEndpoint: () => true,
    });
    await shared.start();
    const look = async () => {
      for (const ring of rings.splice(0)) ring();
      await expect.poll(() => rings.length).toBe(1);
    };
    return { breakers, health, learned, look };
  };
  const dead = await begin("dead");
  dead.health.record("a", SAMPLE, ms);
  dead.learned.recordReply("model", 1512, undefined);
  dead.breakers.recordFailure("a", 30_000);
  ms += 2000;
  await dead.look();
  const [again, other] = [await begin("dead"), await begin("other")];
  expect(again.health.estimate("a", ms)).toMatchObject({ firstByteMs: 200, perTokenMs: 10 });
  expect([again.learned.said(9), other.learned.said(9)]).toEqual([[["model", 612]], []]);
  expect([again, other].map(({ breakers }) => breakers.circuitStateOf("a"))).toEqual(["aside", "aside"]);
  ms += 20_000;
  await other.look();
  expect(other.breakers.circuitStateOf("a")).toBe("aside");
  ms += 8000;
  expect([again, other].map(({ breakers }) => breakers.circuitStateOf("a"))).toEqual(["probe", "probe"]);
  ms += 20_000;
  await other.look();
  expect(other.breakers.circuitStateOf("a")).toBe("in");
  // What it measured counts for longer, and not for ever.
  expect(other.health.estimate("a", ms)).toMatchObject({ firstByteMs: 200 });
  ms += 600_000;
  await other.look();
  expect(other.health.estimate("a", ms)).toBeUndefined();
});

test("SCALE-03 while the board is away each goes on with what it knows; nonsense on it is not believed", async () => {
  const held = memoryCoordinationStore(systemClock, systemTimers);
  let isAway = false;
  const away = <T>(answer: Promise<T>) => (isAway ? Promise.reject(new Error("away")) : answer);
  const board: CoordinationStore = {
    ...held,
    put: (...asked) => away(held.put(...asked)),
    get: (name) => away(held.get(name)),
    list: (prefix) => away(held.list(prefix)),
    delete: (name) => away(held.delete(name)),
    publish: (...told) => away(held.publish(...told)),
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
    await held.put(name, text, 60_000);
  const [one, two] = [await instance("one", board), await instance("two", board)];
  expect([two.breakers.aside, two.health.estimate("a", systemClock.nowMs())]).toEqual([[], undefined]);
  expect(two.learned.outputTokens("model", undefined)).toBe(512);
  one.breakers.recordFailure("a", 60_000);
  await eventually(() => expect(two.breakers.aside).toEqual(["a"]));
  isAway = true;
  one.breakers.recordFailure("b", 60_000);
  two.breakers.recordFailure("b", 90_000);
  two.health.record("b", SAMPLE, systemClock.nowMs());
  const late = await instance("late", board);
  expect(late.breakers.aside).toEqual([]);
  expect([one.breakers.aside, two.breakers.aside.toSorted()]).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  isAway = false;
  await eventually(() => expect(late.breakers.aside.toSorted()).toEqual(["a", "b"]));
});
