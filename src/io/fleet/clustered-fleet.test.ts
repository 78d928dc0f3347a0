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

test("SCALE-02 a commit that nobody knows of is not called saved because others could not be told of it", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "told-"));
  const store = await openSqlite(dataDir, systemClock);
  const told: (string | null)[] = [];
  const fleet = {
    isAlone: false,
    demandTurn: () => undefined,
    changed: async (workspaceId: string | null) => {
      told.push(workspaceId);
      throw new ChangeNotPropagated();
    },
  };
  const change = async () => ({ answer: 1, audit });
  await expect(replicatingStore(store, fleet).change(change)).rejects.toThrow(ChangeNotPropagated);
  const cut = new StoreError("unavailable", "cut");
  const losing: typeof store = {
    ...store,
    change: async (work) => {
      await store.change(async (writers) => ({ ...(await work(writers)), audit: null }));
      throw cut;
    },
  };
  await expect(replicatingStore(losing, fleet).change(change)).rejects.toBe(cut);
  expect(told).toEqual(["ws", "ws"]);
  await store.close();
  await rm(dataDir, { recursive: true });
});

test("SCALE-02 an instance that waits for SQL is alive", async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const store = memoryCoordinationStore(clock, systemTimers);
  const rings: (() => void)[] = [];
  const timers: Timers = {
    after(_ms, ring) {
      rings.push(ring);
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
  const reload = { workspace: () => never, deployment: () => never, everything: () => never };
  void fleet.follow(reload);
  for (let beat = 0; beat < 30; beat += 1) {
    nowMs += 1000;
    rings.shift()?.();
    await expect.poll(() => rings.length).toBe(1);
  }
  expect(await fleet.instanceIds()).toEqual(["one"]);
});

test("KEY-04 SCALE-03 a board and versions that are again what they were before a change are not believed after a loss", async () => {
  let filling = "first";
  let changed: string[] = [];
  const loaded: string[] = [];
  const store = memoryCoordinationStore(systemClock, systemTimers);
  const fleet = new ClusteredFleet({
    ...{ id: "one", store, clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    bumpVersion: async () => undefined,
    walletGeneration: () => filling,
    warn: () => undefined,
  });
  await store.put("changes", "word", 60_000);
  let meanwhile: () => void = () => undefined;
  const changesSince = async (seq: number) => {
    meanwhile();
    return { seq: seq + changed.length, of: new Set(changed) };
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
  // What was told of this is lost with the Redis that heard of it.
  changed = ["ws"];
  filling = "second";
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  await fleet.refreshWorkspace("ws", "version");
  expect([fleet.isCurrent("ws", "version"), loaded]).toEqual([true, ["ws"]]);
  // What was heard before a loss says nothing after it, also where it is loaded just then, beside other requests.
  filling = "third";
  changed = [];
  meanwhile = () => {
    filling = "fourth";
    expect(fleet.isCurrent("ws", "version")).toBe(false);
  };
  await fleet.refreshWorkspace("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  meanwhile = () => undefined;
  changed = ["ws"];
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws"]);
  // Also where the board has lost its word.
  filling = "fifth";
  await store.delete("changes");
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws", "ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 what is changed while an instance loads is loaded for whoever asks then, and whoever sees a new version finds what it stands for", async () => {
  const store = memoryCoordinationStore(systemClock, systemTimers);
  const changed: string[] = [];
  const change = async (id: string) => {
    changed.push(id);
    await store.put("changes", `word ${changed.length}`, 60_000);
  };
  let fails = false;
  let meanwhile: () => Promise<void> = async () => undefined;
  const changesSince = async (seq: number) => {
    const found = { seq: changed.length, of: new Set(changed.slice(seq)) };
    await meanwhile();
    return found;
  };
  const timers: Timers = { after: () => systemTimers.after(0, () => undefined) };
  const begun = async (id: string, bumpVersion: (workspaceId: string) => Promise<void>) => {
    const loaded: string[] = [];
    const fleet = new ClusteredFleet({
      ...{ id, store, clock: systemClock, timers, ids: createIdGenerator(Date.now), bumpVersion },
      warn: () => undefined,
    });
    await fleet.start({ latestSeq: async () => changed.length, changesSince, purge: async () => undefined });
    const nothing = async () => undefined;
    const reloadWorkspace = async (ws: string) => {
      if (fails) throw new StoreError("unavailable", "away");
      loaded.push(ws);
    };
    await fleet.follow({ reloadWorkspace, reloadDeployment: nothing, reloadAll: nothing });
    return { fleet, loaded };
  };
  const two = await begun("two", async () => undefined);
  let loadedThen: string[] = [];
  const one = await begun("one", async (workspaceId) => {
    await two.fleet.refreshWorkspace(workspaceId, "another version");
    loadedThen = [...two.loaded];
  });
  await change("first");
  let asked: Promise<void> | undefined;
  meanwhile = async () => {
    meanwhile = async () => undefined;
    await change("second");
    asked = two.fleet.catchUp();
  };
  await two.fleet.catchUp();
  await asked;
  expect(two.loaded).toEqual(["first", "second"]);
  // As a change is told: asked in the moment in which the version is there.
  changed.push("third");
  await one.fleet.publishChange("third");
  expect(loadedThen).toEqual(["first", "second", "third"]);
  // What could not be loaded is still to be loaded.
  await change("fourth");
  fails = true;
  await expect(two.fleet.catchUp()).rejects.toThrow("cannot be loaded");
  fails = false;
  await two.fleet.catchUp();
  expect(two.loaded.at(-1)).toBe("fourth");
  await Promise.all([one, two].map(({ fleet }) => fleet.stop()));
});

test("KEY-04 SCALE-03 a change that could not be told is told with the next beat", async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const beats: (() => void)[] = [];
  const timers: Timers = {
    after(ms, ring) {
      // Between two beats it is tried again and again.
      if (ms < 1_000) {
        nowMs += 1_000;
        queueMicrotask(ring);
      } else beats.push(ring);
      return systemTimers.after(0, () => undefined);
    },
  };
  let isAway = true;
  const touched: string[] = [];
  const fleet = new ClusteredFleet({
    ...{
      id: "one",
      store: memoryCoordinationStore(clock, systemTimers),
      clock,
      timers,
      ids: createIdGenerator(() => nowMs),
    },
    bumpVersion: async (workspaceId) => {
      if (isAway) throw new Error("away");
      touched.push(workspaceId);
    },
    warn: () => undefined,
  });
  const changesSince = async (seq: number) => ({ seq, of: new Set<string>() });
  await fleet.start({ latestSeq: async () => 0, changesSince, purge: async () => undefined });
  await expect(fleet.publishChange("ws")).rejects.toThrow(ChangeNotPropagated);
  isAway = false;
  beats.shift()?.();
  await expect.poll(() => touched).toEqual(["ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 an instance that missed changes that are forgotten loads everything", async () => {
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
  const changesSince = async (seq: number) => ({ seq: 9, of: seq === 9 ? new Set<string>() : ("missed" as const) });
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

test("BILL-07 SCALE-03 what was changed while SQL was there is known when it is away, also of a workspace nobody has asked for since", async () => {
  let sql: "there" | "away" = "there";
  const rings: (() => void)[] = [];
  const timers: Timers = {
    after(_ms, ring) {
      rings.push(ring);
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
    if (sql === "away") throw new StoreError("unavailable", "away");
    const of = new Set(changed.splice(0));
    return { seq: seq + of.size, of };
  };
  await fleet.start({ latestSeq: async () => 0, changesSince, purge: async () => undefined });
  const nothing = async () => undefined;
  await fleet.follow({
    reloadWorkspace: async (id) => void loaded.push(id),
    reloadDeployment: nothing,
    reloadAll: nothing,
  });
  changed = ["ws"];
  await store.put("changes", "another word", 60_000);
  rings.shift()?.();
  await expect.poll(() => loaded).toEqual(["ws"]);
  await expect.poll(() => rings.length).toBe(1);
  sql = "away";
  await fleet.refreshWorkspace("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(true);
  // What is changed from here on is not known, and nobody is served as if it were.
  await store.put("changes", "a third word", 60_000);
  await expect(fleet.refreshWorkspace("ws", "later")).rejects.toThrow("cannot be loaded");
  await fleet.stop();
});

test("SCALE-02 a change under a lock that was lost meanwhile is undone", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "told-"));
  const sqlite = await openSqlite(dataDir, systemClock);
  const held = memoryCoordinationStore(systemClock, systemTimers);
  let isHeld = true;
  const lock = {
    get isHeld() {
      return isHeld;
    },
    release: async () => undefined,
  };
  const fleet = new ClusteredFleet({
    ...{ id: "one", clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    store: { ...held, acquireLock: async () => lock },
    bumpVersion: async () => undefined,
    warn: () => undefined,
  });
  const store = replicatingStore(sqlite, fleet);
  const change = (id: string) => store.change(async () => ({ answer: id, audit: { ...audit, id } }));
  expect(await fleet.withLock("job", () => change("a"))).toBe("a");
  const late = fleet.withLock("job", async () => {
    isHeld = false;
    return change("b");
  });
  await expect(late).rejects.toMatchObject({ code: "service_unavailable", headers: { "retry-after": "2" } });
  expect(await change("c")).toBe("c");
  // What goes on after its turn needs none.
  isHeld = true;
  const turnIsOver = Promise.withResolvers<void>();
  const { after } = await fleet.withLock("job", async () => ({ after: turnIsOver.promise.then(() => change("d")) }));
  isHeld = false;
  turnIsOver.resolve();
  expect(await after).toBe("d");
  expect(await store.changes.latestSeq()).toBe(3);
  await store.close();
  await rm(dataDir, { recursive: true });
});
