import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Unheard } from "../../domain/fleet/fleet.ts";
import { memoryBoard } from "../../io/workers/memory-board.ts";
import { systemClock } from "../../kit/clock.ts";
import { createIdGenerator } from "../../kit/id-generator.ts";
import { systemTimers, type Timers } from "../../kit/timers.ts";
import { openSqlite } from "../store/sql/sqlite/open.ts";
import { StoreError } from "../store/sql/store-error.ts";
import { SharedFleet } from "./shared-fleet.ts";
import { toldStore } from "./told-store.ts";

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
      throw new Unheard();
    },
  };
  const change = async () => ({ answer: 1, audit });
  await expect(toldStore(store, fleet).change(change)).rejects.toThrow(Unheard);
  const cut = new StoreError("unavailable", "cut");
  const losing: typeof store = {
    ...store,
    change: async (work) => {
      await store.change(async (writers) => ({ ...(await work(writers)), audit: null }));
      throw cut;
    },
  };
  await expect(toldStore(losing, fleet).change(change)).rejects.toBe(cut);
  expect(told).toEqual(["ws", "ws"]);
  await store.close();
  await rm(dataDir, { recursive: true });
});

test("SCALE-02 an instance that waits for SQL is alive", async () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const board = memoryBoard(clock, systemTimers);
  const rings: (() => void)[] = [];
  const timers: Timers = {
    after(_ms, ring) {
      rings.push(ring);
      return systemTimers.after(0, () => undefined);
    },
  };
  const never = new Promise<never>(() => undefined);
  const fleet = new SharedFleet({
    ...{ id: "one", board, clock, timers, ids: createIdGenerator(() => nowMs) },
    touch: async () => undefined,
    warn: () => undefined,
  });
  await fleet.begin({ newest: async () => 0, since: () => never, sweep: async () => undefined });
  const reload = { workspace: () => never, deployment: () => never, everything: () => never };
  void fleet.follow(reload);
  for (let beat = 0; beat < 30; beat += 1) {
    nowMs += 1000;
    rings.shift()?.();
    await expect.poll(() => rings.length).toBe(1);
  }
  expect(await fleet.peers()).toEqual(["one"]);
});

test("KEY-04 SCALE-03 a board and versions that are again what they were before a change are not believed after a loss", async () => {
  let filling = "first";
  let changed: string[] = [];
  const loaded: string[] = [];
  const board = memoryBoard(systemClock, systemTimers);
  const fleet = new SharedFleet({
    ...{ id: "one", board, clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    touch: async () => undefined,
    filling: () => filling,
    warn: () => undefined,
  });
  await board.put("changes", "word", 60_000);
  let meanwhile: () => void = () => undefined;
  const since = async (seq: number) => {
    meanwhile();
    return { seq: seq + changed.length, of: new Set(changed) };
  };
  await fleet.begin({ newest: async () => 0, since, sweep: async () => undefined });
  const nothing = async () => undefined;
  await fleet.follow({ workspace: async (id) => void loaded.push(id), deployment: nothing, everything: nothing });
  await fleet.freshen("ws", "version");
  expect([fleet.isCurrent("ws", "version"), loaded]).toEqual([true, []]);
  // What was told of this is lost with the Redis that heard of it.
  changed = ["ws"];
  filling = "second";
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  await fleet.freshen("ws", "version");
  expect([fleet.isCurrent("ws", "version"), loaded]).toEqual([true, ["ws"]]);
  // What was heard before a loss says nothing after it, also where it is loaded just then, beside other requests.
  filling = "third";
  changed = [];
  meanwhile = () => {
    filling = "fourth";
    expect(fleet.isCurrent("ws", "version")).toBe(false);
  };
  await fleet.freshen("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(false);
  meanwhile = () => undefined;
  changed = ["ws"];
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws"]);
  // Also where the board has lost its word.
  filling = "fifth";
  await board.drop("changes");
  await fleet.catchUp();
  expect(loaded).toEqual(["ws", "ws", "ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 what is changed while an instance loads is loaded for whoever asks then, and whoever sees a new version finds what it stands for", async () => {
  const board = memoryBoard(systemClock, systemTimers);
  const changed: string[] = [];
  const change = async (id: string) => {
    changed.push(id);
    await board.put("changes", `word ${changed.length}`, 60_000);
  };
  let fails = false;
  let meanwhile: () => Promise<void> = async () => undefined;
  const since = async (seq: number) => {
    const found = { seq: changed.length, of: new Set(changed.slice(seq)) };
    await meanwhile();
    return found;
  };
  const timers: Timers = { after: () => systemTimers.after(0, () => undefined) };
  const begun = async (id: string, touch: (workspaceId: string) => Promise<void>) => {
    const loaded: string[] = [];
    const fleet = new SharedFleet({
      ...{ id, board, clock: systemClock, timers, ids: createIdGenerator(Date.now), touch },
      warn: () => undefined,
    });
    await fleet.begin({ newest: async () => changed.length, since, sweep: async () => undefined });
    const nothing = async () => undefined;
    const workspace = async (ws: string) => {
      if (fails) throw new StoreError("unavailable", "away");
      loaded.push(ws);
    };
    await fleet.follow({ workspace, deployment: nothing, everything: nothing });
    return { fleet, loaded };
  };
  const two = await begun("two", async () => undefined);
  let loadedThen: string[] = [];
  const one = await begun("one", async (workspaceId) => {
    await two.fleet.freshen(workspaceId, "another version");
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
  await one.fleet.changed("third");
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
  const fleet = new SharedFleet({
    ...{ id: "one", board: memoryBoard(clock, systemTimers), clock, timers, ids: createIdGenerator(() => nowMs) },
    touch: async (workspaceId) => {
      if (isAway) throw new Error("away");
      touched.push(workspaceId);
    },
    warn: () => undefined,
  });
  const since = async (seq: number) => ({ seq, of: new Set<string>() });
  await fleet.begin({ newest: async () => 0, since, sweep: async () => undefined });
  await expect(fleet.changed("ws")).rejects.toThrow(Unheard);
  isAway = false;
  beats.shift()?.();
  await expect.poll(() => touched).toEqual(["ws"]);
  await fleet.stop();
});

test("KEY-04 SCALE-02 an instance that missed changes that are forgotten loads everything", async () => {
  const loaded: string[] = [];
  const load = async (what: string) => void loaded.push(what);
  const fleet = new SharedFleet({
    ...{ id: "one", board: memoryBoard(systemClock, systemTimers), clock: systemClock, timers: systemTimers },
    ...{ ids: createIdGenerator(Date.now), touch: async () => undefined, warn: () => undefined },
  });
  const since = async (seq: number) => ({ seq: 9, of: seq === 9 ? new Set<string>() : ("missed" as const) });
  await fleet.begin({ newest: async () => 3, since, sweep: async () => undefined });
  await fleet.follow({ workspace: load, deployment: () => load("deployment"), everything: () => load("everything") });
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
  const board = memoryBoard(systemClock, systemTimers);
  const fleet = new SharedFleet({
    ...{ id: "one", board, clock: systemClock, timers, ids: createIdGenerator(Date.now) },
    touch: async () => undefined,
    warn: () => undefined,
  });
  const loaded: string[] = [];
  let changed: string[] = [];
  const since = async (seq: number) => {
    if (sql === "away") throw new StoreError("unavailable", "away");
    const of = new Set(changed.splice(0));
    return { seq: seq + of.size, of };
  };
  await fleet.begin({ newest: async () => 0, since, sweep: async () => undefined });
  const nothing = async () => undefined;
  await fleet.follow({ workspace: async (id) => void loaded.push(id), deployment: nothing, everything: nothing });
  changed = ["ws"];
  await board.put("changes", "another word", 60_000);
  rings.shift()?.();
  await expect.poll(() => loaded).toEqual(["ws"]);
  await expect.poll(() => rings.length).toBe(1);
  sql = "away";
  await fleet.freshen("ws", "version");
  expect(fleet.isCurrent("ws", "version")).toBe(true);
  // What is changed from here on is not known, and nobody is served as if it were.
  await board.put("changes", "a third word", 60_000);
  await expect(fleet.freshen("ws", "later")).rejects.toThrow("cannot be loaded");
  await fleet.stop();
});

test("SCALE-02 a change under a lock that was lost meanwhile is undone", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "told-"));
  const sqlite = await openSqlite(dataDir, systemClock);
  const held = memoryBoard(systemClock, systemTimers);
  let isHeld = true;
  const lock = {
    get isHeld() {
      return isHeld;
    },
    release: async () => undefined,
  };
  const fleet = new SharedFleet({
    ...{ id: "one", clock: systemClock, timers: systemTimers, ids: createIdGenerator(Date.now) },
    board: { ...held, lock: async () => lock },
    touch: async () => undefined,
    warn: () => undefined,
  });
  const store = toldStore(sqlite, fleet);
  const change = (id: string) => store.change(async () => ({ answer: id, audit: { ...audit, id } }));
  expect(await fleet.alone("job", () => change("a"))).toBe("a");
  const late = fleet.alone("job", async () => {
    isHeld = false;
    return change("b");
  });
  await expect(late).rejects.toMatchObject({ code: "service_unavailable", headers: { "retry-after": "2" } });
  expect(await change("c")).toBe("c");
  // What goes on after its turn needs none.
  isHeld = true;
  const turnIsOver = Promise.withResolvers<void>();
  const { after } = await fleet.alone("job", async () => ({ after: turnIsOver.promise.then(() => change("d")) }));
  isHeld = false;
  turnIsOver.resolve();
  expect(await after).toBe("d");
  expect(await store.changes.newest()).toBe(3);
  await store.close();
  await rm(dataDir, { recursive: true });
});
