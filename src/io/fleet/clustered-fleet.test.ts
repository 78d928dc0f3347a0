import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ChangeNotPropagated } from "../../domain/fleet/fleet.ts";
import { systemClock } from "../../kit/clock.ts";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { systemTimers, type Timers } from "../../kit/timers.ts";
import { openSqlite } from "../store/sql/sqlite/open.ts";
import { StoreError } from "../store/sql/store-error.ts";
import { memoryCoordinationStore } from "../workers/memory-coordination-store.ts";
import { ClusteredFleet } from "./clustered-fleet.ts";
import { replicatingStore } from "./replicating-store.ts";

const audit = { id: "a", atMs: 1, actor: "operator", action: "x.y", workspaceId: "ws", target: null, detail: {} };

test("SCALE-02 a commit with a lost reply fails with the store's error, not as saved but not propagated", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "replicating-store-"));
  const store = await openSqlite(dataDir, systemClock);
  const published: (string | null)[] = [];
  const fleet = {
    isSingleInstance: false,
    assertLocksHeld: () => undefined,
    publishChange: async (workspaceId: string | null) => {
      published.push(workspaceId);
      throw new ChangeNotPropagated();
    },
  };
  const change = async () => ({ result: 1, audit });
  await expect(replicatingStore(store, fleet).change(change)).rejects.toThrow(ChangeNotPropagated);
  const disconnected = new StoreError("unavailable", "cut");
  const losesReply: typeof store = {
    ...store,
    change: async (work) => {
      await store.change(async (writers) => ({ ...(await work(writers)), audit: null }));
      throw disconnected;
    },
  };
  await expect(replicatingStore(losesReply, fleet).change(change)).rejects.toBe(disconnected);
  expect(published).toEqual(["ws", "ws"]);
  await store.close();
  await rm(dataDir, { recursive: true });
});

test("SCALE-02 an instance that waits for SQL stays a member of the fleet", async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const store = memoryCoordinationStore(clock, systemTimers);
  const callbacks: (() => void)[] = [];
  const timers: Timers = {
    after(_ms, callback) {
      callbacks.push(callback);
      return systemTimers.after(0, () => undefined);
    },
  };
  const never = new Promise<never>(() => undefined);
  const fleet = new ClusteredFleet({
    ...{ id: "one", store, clock, timers, ids: createIdGenerator(() => nowMs) },
    bumpVersion: async () => undefined,
    warn: () => undefined,
  });
  await fleet.start({ latestSeq: async () => 0, changesSince: () => never, purge: async () => undefined });
  const reloader = { reloadWorkspace: () => never, reloadDeployment: () => never, reloadAll: () => never };
  void fleet.follow(reloader);
  for (let heartbeat = 0; heartbeat < 30; heartbeat += 1) {
    nowMs += 1000;
    callbacks.shift()?.();
    await expect.poll(() => callbacks.length).toBe(1);
  }
  expect(await fleet.instanceIds()).toEqual(["one"]);
});

test("KEY-04 SCALE-03 after a data loss, an old change token and old versions are not trusted", async () => {
  let generation = "first";
  let changed: string[] = [];
  const loaded: string[] = [];
  const store = memoryCoordinationStore(systemClock, systemTimers);
  const fleet = new ClusteredFleet({
    ...{ id: "one", store, clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    bumpVersion: async () => undefined,
    walletGeneration: () => generation,
    warn: () => undefined,
  });
  await store.put("changes", "token", 60_000);
  let meanwhile: () => void = () => undefined;
  const changesSince = async (seq: number) => {
    meanwhile();
    return { seq: seq + changed.length, workspaceIds: new Set(changed) };
  };
  await fleet.start({ latestSeq: async () => 0, changesSince, purge: async () => undefined });
  const nothing = async () => undefined;
  await fleet.follow({
    reloadWorkspace: async (id) => void loaded.push(id),
    reloadDeployment: nothing,
    reloadAll: nothing,
  });
  await fleet.refreshWorkspace("ws", "version");
  expect([fleet.isCurrent("ws", "version"), loaded]).toEqual([true, []]);
  // The notification of this change is lost with Redis.
  changed = ["ws"];
  generation = "second";
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  await fleet.refreshWorkspace("ws", "version");
  expect([fleet.isCurrent("ws", "version"), loaded]).toEqual([true, ["ws"]]);
  // A loss during the load: what was read before it does not count.
  generation = "third";
  changed = [];
  meanwhile = () => {
    generation = "fourth";
    expect(fleet.isCurrent("ws", "version")).toBe(false);
  };
  await fleet.refreshWorkspace("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  meanwhile = () => undefined;
  changed = ["ws"];
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws"]);
  // Also when the store lost the token.
  generation = "fifth";
  await store.delete("changes");
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws", "ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 a change during a load is loaded for later callers, and a new version implies its change is loaded", async () => {
  const store = memoryCoordinationStore(systemClock, systemTimers);
  const changed: string[] = [];
  const change = async (id: string) => {
    changed.push(id);
    await store.put("changes", `token ${changed.length}`, 60_000);
  };
  let fails = false;
  let meanwhile: () => Promise<void> = async () => undefined;
  const changesSince = async (seq: number) => {
    const found = { seq: changed.length, workspaceIds: new Set(changed.slice(seq)) };
    await meanwhile();
    return found;
  };
  const timers: Timers = { after: () => systemTimers.after(0, () => undefined) };
  const startFleet = async (id: string, bumpVersion: (workspaceId: string) => Promise<void>) => {
    const loaded: string[] = [];
    const fleet = new ClusteredFleet({
      ...{ id, store, clock: systemClock, timers, ids: createIdGenerator(Date.now), bumpVersion },
      warn: () => undefined,
    });
    await fleet.start({ latestSeq: async () => changed.length, changesSince, purge: async () => undefined });
    const nothing = async () => undefined;
    const reloadWorkspace = async (ws: string) => {
      if (fails) throw new StoreError("unavailable", "unavailable");
      loaded.push(ws);
    };
    await fleet.follow({ reloadWorkspace, reloadDeployment: nothing, reloadAll: nothing });
    return { fleet, loaded };
  };
  const two = await startFleet("two", async () => undefined);
  let loadedThen: string[] = [];
  const one = await startFleet("one", async (workspaceId) => {
    await two.fleet.refreshWorkspace(workspaceId, "another version");
    loadedThen = [...two.loaded];
  });
  await change("first");
  let concurrent: Promise<void> | undefined;
  meanwhile = async () => {
    meanwhile = async () => undefined;
    await change("second");
    concurrent = two.fleet.catchUp();
  };
  await two.fleet.catchUp();
  await concurrent;
  expect(two.loaded).toEqual(["first", "second"]);
  // The version is read at the moment it is published.
  changed.push("third");
  await one.fleet.publishChange("third");
  expect(loadedThen).toEqual(["first", "second", "third"]);
  // A failed load is repeated.
  await change("fourth");
  fails = true;
  await expect(two.fleet.catchUp()).rejects.toThrow("cannot be loaded");
  fails = false;
  await two.fleet.catchUp();
  expect(two.loaded.at(-1)).toBe("fourth");
  await Promise.all([one, two].map(({ fleet }) => fleet.stop()));
});

test("KEY-04 SCALE-03 a change that could not be published is published with the next heartbeat", async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const heartbeats: (() => void)[] = [];
  const timers: Timers = {
    after(ms, callback) {
      // Retries between two heartbeats.
      if (ms < 1_000) {
        nowMs += 1_000;
        queueMicrotask(callback);
      } else heartbeats.push(callback);
      return systemTimers.after(0, () => undefined);
    },
  };
  let isUnavailable = true;
  const bumped: string[] = [];
  const fleet = new ClusteredFleet({
    ...{
      id: "one",
      store: memoryCoordinationStore(clock, systemTimers),
      clock,
      timers,
      ids: createIdGenerator(() => nowMs),
    },
    bumpVersion: async (workspaceId) => {
      if (isUnavailable) throw new Error("unavailable");
      bumped.push(workspaceId);
    },
    warn: () => undefined,
  });
  const changesSince = async (seq: number) => ({ seq, workspaceIds: new Set<string>() });
  await fleet.start({ latestSeq: async () => 0, changesSince, purge: async () => undefined });
  await expect(fleet.publishChange("ws")).rejects.toThrow(ChangeNotPropagated);
  isUnavailable = false;
  heartbeats.shift()?.();
  await expect.poll(() => bumped).toEqual(["ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 an instance that missed purged changes reloads everything", async () => {
  const loaded: string[] = [];
  const load = async (what: string) => void loaded.push(what);
  const fleet = new ClusteredFleet({
    ...{
      id: "one",
      store: memoryCoordinationStore(systemClock, systemTimers),
      clock: systemClock,
      timers: systemTimers,
    },
    ...{ ids: createIdGenerator(Date.now), bumpVersion: async () => undefined, warn: () => undefined },
  });
  const changesSince = async (seq: number) => ({
    seq: 9,
    workspaceIds: seq === 9 ? new Set<string>() : ("missed" as const),
  });
  await fleet.start({ latestSeq: async () => 3, changesSince, purge: async () => undefined });
  await fleet.follow({
    reloadWorkspace: load,
    reloadDeployment: () => load("deployment"),
    reloadAll: () => load("everything"),
  });
  await fleet.catchUp();
  expect(loaded).toEqual(["everything"]);
  await fleet.stop();
});

test("BILL-07 SCALE-03 a change is loaded before SQL becomes unavailable, also of a workspace without requests", async () => {
  let isSqlAvailable = true;
  const callbacks: (() => void)[] = [];
  const timers: Timers = {
    after(_ms, callback) {
      callbacks.push(callback);
      return systemTimers.after(0, () => undefined);
    },
  };
  const store = memoryCoordinationStore(systemClock, systemTimers);
  const fleet = new ClusteredFleet({
    ...{ id: "one", store, clock: systemClock, timers, ids: createIdGenerator(Date.now) },
    bumpVersion: async () => undefined,
    warn: () => undefined,
  });
  const loaded: string[] = [];
  let changed: string[] = [];
  const changesSince = async (seq: number) => {
    if (!isSqlAvailable) throw new StoreError("unavailable", "unavailable");
    const workspaceIds = new Set(changed.splice(0));
    return { seq: seq + workspaceIds.size, workspaceIds };
  };
  await fleet.start({ latestSeq: async () => 0, changesSince, purge: async () => undefined });
  const nothing = async () => undefined;
  await fleet.follow({
    reloadWorkspace: async (id) => void loaded.push(id),
    reloadDeployment: nothing,
    reloadAll: nothing,
  });
  changed = ["ws"];
  await store.put("changes", "second token", 60_000);
  callbacks.shift()?.();
  await expect.poll(() => loaded).toEqual(["ws"]);
  await expect.poll(() => callbacks.length).toBe(1);
  isSqlAvailable = false;
  await fleet.refreshWorkspace("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(true);
  // Later changes cannot be loaded, so requests of the workspace fail.
  await store.put("changes", "third token", 60_000);
  await expect(fleet.refreshWorkspace("ws", "later")).rejects.toThrow("cannot be loaded");
  await fleet.stop();
});

test("SCALE-02 a change under a lost lock is rolled back", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "replicating-store-"));
  const sqlite = await openSqlite(dataDir, systemClock);
  const coordination = memoryCoordinationStore(systemClock, systemTimers);
  let isHeld = true;
  const lock = {
    get isHeld() {
      return isHeld;
    },
    release: async () => undefined,
  };
  const fleet = new ClusteredFleet({
    ...{ id: "one", clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    store: { ...coordination, acquireLock: async () => lock },
    bumpVersion: async () => undefined,
    warn: () => undefined,
  });
  const store = replicatingStore(sqlite, fleet);
  const change = (id: string) => store.change(async () => ({ result: id, audit: { ...audit, id } }));
  expect(await fleet.withLock("job", () => change("a"))).toBe("a");
  const late = fleet.withLock("job", async () => {
    isHeld = false;
    return change("b");
  });
  await expect(late).rejects.toMatchObject({ code: "service_unavailable", headers: { "retry-after": "2" } });
  expect(await change("c")).toBe("c");
  // Work that outlives its lock runs without one.
  isHeld = true;
  const lockReleased = Promise.withResolvers<void>();
  const { after } = await fleet.withLock("job", async () => ({ after: lockReleased.promise.then(() => change("d")) }));
  isHeld = false;
  lockReleased.resolve();
  expect(await after).toBe("d");
  expect(await store.changes.latestSeq()).toBe(3);
  await store.close();
  await rm(dataDir, { recursive: true });
});
