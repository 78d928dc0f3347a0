import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogFilter, RequestRecord } from "../../src/domain/record/record.ts";
import type { UsageQuery } from "../../src/domain/record/usage-sums.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { type QuantileSketch, sketchCount, sketchQuantiles } from "../../src/kit/quantile-sketch.ts";
import { chargedRecord, finishedRecord } from "./records.ts";

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2027, 0, 15);

async function allIds(store: Store, filter: LogFilter, limit: number, between: () => Promise<void> = async () => {}) {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.log.list("ws_1", filter, limit, cursor);
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    ids.push(...page.rows.map(({ id }) => id));
    cursor = page.next;
    await between();
  } while (cursor !== null);
  return ids;
}

/** The expected rows of a filter, by reading everything. */
function expected(records: readonly RequestRecord[], filter: LogFilter): string[] {
  const { keyId, memberId, model, provider, app, environment, status, statusClass, surface, sinceMs, untilMs } = filter;
  return records
    .filter(
      (one) =>
        one.workspaceId === "ws_1" &&
        (keyId === undefined || one.keyId === keyId) &&
        (memberId === undefined || one.memberId === memberId) &&
        (model === undefined || one.model === model || one.modelRequested === model) &&
        (provider === undefined || one.provider === provider) &&
        (app === undefined || one.app === app) &&
        (environment === undefined || one.environment === environment) &&
        (status === undefined || one.status === status) &&
        (statusClass === undefined || Math.floor(one.status / 100) === statusClass) &&
        (surface === undefined || one.surface === surface) &&
        (sinceMs === undefined || one.createdAtMs >= sinceMs) &&
        (untilMs === undefined || one.createdAtMs < untilMs),
    )
    .toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
}

const keyId = fc.constantFrom("key_1", "key_2", "key_3");
const memberId = fc.constantFrom("mem_1", "mem_2");
const model = fc.constantFrom("a/one", "a/two", "auto");
const provider = fc.constantFrom("p", "q");
const app = fc.constantFrom("editor", "batch", "Büro");
const environment = fc.constantFrom("live" as const, "test" as const);
const status = fc.constantFrom(200, 429, 502);
const statusClass = fc.constantFrom(2, 4, 5);
const surface = fc.constantFrom("chat" as const, "speech" as const);
const atMs = fc.integer({ min: 1000, max: 1030 });

const changes = fc.record({
  createdAtMs: atMs,
  workspaceId: fc.constantFrom("ws_1", "ws_1", "ws_1", "ws_2"),
  keyId,
  memberId: fc.option(memberId),
  environment,
  app: fc.option(app),
  modelRequested: fc.option(model),
  model: fc.option(model),
  provider: fc.option(provider),
  status,
  surface,
});
const filters = fc.record(
  { keyId, memberId, model, provider, app, environment, status, statusClass, surface, sinceMs: atMs, untilMs: atMs },
  { requiredKeys: [] },
);

export function logQueryTests(current: () => Store): void {
  test("LOG-02 combined filters show the right rows once, page by page, under concurrent writes", async () => {
    const store = current();
    const all: RequestRecord[] = [];
    let made = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(changes, { minLength: 1, maxLength: 40 }),
        fc.array(changes, { maxLength: 3 }),
        filters,
        fc.integer({ min: 1, max: 9 }),
        async (before, meanwhile, filter, limit) => {
          const write = async (drafts: typeof before) => {
            const records = drafts.map((draft) => finishedRecord(`r${String(made++).padStart(5, "0")}`, draft));
            await store.ingest(records);
            all.push(...records);
          };
          await write(before);
          const meant = expected(all, filter);
          const seen = await allIds(store, filter, limit, () => write(meanwhile));
          expect(new Set(seen).size).toBe(seen.length);
          const known = new Set(meant);
          expect(seen.filter((id) => known.has(id))).toEqual(meant);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("LOG-02 requests without common attributes are found like any other", async () => {
    const store = current();
    const records = Array.from({ length: 4100 }, (_, n) =>
      finishedRecord(`r${String(n).padStart(5, "0")}`, {
        createdAtMs: 1000 + Math.floor(n / 3),
        app: `job ${n}`,
        keyId: n % 40 === 0 ? "key_2" : "key_1",
      }),
    );
    await store.ingest(records);
    for (const filter of [{ keyId: "key_1" }, { keyId: "key_2" }, { app: "job 7" }, { status: 200, untilMs: 1200 }])
      expect(await allIds(store, filter, 700)).toEqual(expected(records, filter));
    expect((await allIds(store, { keyId: "key_2" }, 5)).length).toBe(103);
  });

  test("LOG-02 rare rows are found behind very many newer ones, whatever the number of their shapes", async () => {
    const store = current();
    const newer = Array.from({ length: 4050 }, (_, n) =>
      finishedRecord(`n${String(n).padStart(5, "0")}`, { createdAtMs: 9000 + n, keyId: "key_9", provider: "new" }),
    );
    const older = Array.from({ length: 4700 }, (_, n) =>
      finishedRecord(`o${String(n).padStart(5, "0")}`, {
        createdAtMs: 1000 + Math.floor(n / 7),
        provider: "old",
        keyId: n % 20 === 0 ? "key_2" : "key_1",
        app: n % 100 === 1 ? "editor" : `job ${n}`,
        model: n % 100 === 1 ? "a/one" : "a/two",
      }),
    );
    // A few of each among the newest too, so that a page begins there and ends far behind.
    const mixed = older.slice(0, 3).map((record, n) => ({ ...record, id: `m${n}`, createdAtMs: 9500 + n }));
    for (const records of [newer, older, mixed]) await store.ingest(records);
    const all = [...newer, ...older, ...mixed];
    for (const [filter, limit] of [
      [{ provider: "old" }, 900],
      [{ keyId: "key_2" }, 130],
      [{ keyId: "key_2", untilMs: 1400 }, 80],
      [{ app: "editor" }, 30],
      [{ model: "a/one", sinceMs: 1100 }, 50],
      [{ app: "job 7" }, 5],
      [{ app: "unknown" }, 5],
      [{ provider: "old", keyId: "key_9" }, 5],
    ] as const)
      expect(await allIds(store, filter, limit), JSON.stringify(filter)).toEqual(expected(all, filter));
  });

  test("LOG-02 finds all of very many different requests of one moment", async () => {
    const store = current();
    const records = Array.from({ length: 300 }, (_, n) => finishedRecord(`r${n}`, { app: `job ${n % 150}` }));
    await store.ingest(records);
    expect(await allIds(store, { status: 200 }, 7)).toEqual(expected(records, { status: 200 }));
  });

  test("LOG-01 a member's own requests are distinguished from others'", async () => {
    const { ingest, log } = current();
    await ingest([
      finishedRecord("mine", { memberId: "mem_1" }),
      finishedRecord("theirs", { memberId: "mem_2" }),
      finishedRecord("unowned", { memberId: null }),
    ]);
    const { rows } = await log.list("ws_1", { memberId: "mem_1" }, 10, null);
    expect(rows.map(({ id }) => id)).toEqual(["mine"]);
  });
}

export function usageTests(current: () => Store): void {
  const query: UsageQuery = {
    fromMs: START_MS,
    toMs: START_MS + 24 * HOUR_MS,
    stepMs: HOUR_MS,
    group: null,
    filter: {},
  };
  const mixed = [
    chargedRecord("r1", 5n, { createdAtMs: START_MS }),
    chargedRecord("r2", 7n, { createdAtMs: START_MS + HOUR_MS - 1, app: "editor", memberId: "mem_1" }),
    chargedRecord("r3", 11n, { createdAtMs: START_MS + HOUR_MS, keyId: "key_2", model: "other/model" }),
    chargedRecord("r4", 13n, { createdAtMs: START_MS + HOUR_MS, environment: "test" }),
    finishedRecord("r5", {
      createdAtMs: START_MS + 2 * HOUR_MS,
      status: 502,
      errorCode: "upstream_error",
      usage: null,
      charge: null,
      model: null,
      provider: null,
    }),
    chargedRecord("r6", 17n, { createdAtMs: START_MS, workspaceId: "ws_2" }),
  ];

  test("LOG-04 usage is summed by hour, once, with test traffic separate", async () => {
    const { ingest, rollups } = current();
    await ingest(mixed);
    await ingest(mixed);
    const hours = async (filter: UsageQuery["filter"]) =>
      (await rollups.usage("ws_1", { ...query, filter }, 100)).map((row) => [
        (row.startMs - START_MS) / HOUR_MS,
        row.requests,
        row.errors,
        row.outputTokens,
        row.costNanos,
      ]);
    expect(await hours({ environment: "live" })).toEqual([
      [0, 2, 0, 600, 12n],
      [1, 1, 0, 300, 11n],
      [2, 1, 1, 0, 0n],
    ]);
    expect(await hours({ environment: "test" })).toEqual([[1, 1, 0, 300, 13n]]);
    expect(await hours({ keyId: "key_2" })).toEqual([[1, 1, 0, 300, 11n]]);
  });

  test("LOG-04 usage is grouped by attributes and by day", async () => {
    const { ingest, rollups } = current();
    await ingest(mixed);
    const by = async (group: UsageQuery["group"]) =>
      (await rollups.usage("ws_1", { ...query, stepMs: 24 * HOUR_MS, group }, 100)).map((row) => [
        row.name,
        row.requests,
      ]);
    expect(await by("environment")).toEqual([
      ["live", 4],
      ["test", 1],
    ]);
    expect(await by("app")).toEqual([
      ["editor", 1],
      ["support-desk", 4],
    ]);
    expect(await by("member")).toEqual([
      ["", 4],
      ["mem_1", 1],
    ]);
    expect(await by("model")).toEqual([
      ["", 1],
      ["example/model-large", 3],
      ["other/model", 1],
    ]);
    expect(await by("level")).toEqual([["L2", 5]]);
    expect(await by("country")).toEqual([["FR", 5]]);
    expect(await by("status")).toEqual([
      ["200", 4],
      ["502", 1],
    ]);
    expect(await rollups.usage("ws_1", { ...query, fromMs: query.toMs, toMs: query.toMs + HOUR_MS }, 100)).toEqual([]);
    expect(await rollups.usage("ws_1", query, 2)).toHaveLength(2);
  });
}

/** Latency of requests. */
export function timeTests(current: () => Store): void {
  test("PORTAL-04 roll-ups have the latency of served requests, and TTFB of streams", async () => {
    const { ingest, rollups, ledger } = current();
    const at = (id: string, more: Partial<Parameters<typeof finishedRecord>[1]>) =>
      finishedRecord(id, { createdAtMs: START_MS, charge: null, ...more });
    await ingest([
      at("t1", { totalMs: 100.4, ttfbMs: 90, streaming: false }),
      at("t2", { totalMs: 300, ttfbMs: 40.4, streaming: true }),
      at("t3", { totalMs: 200, ttfbMs: null, streaming: true }),
    ]);
    await ingest([
      at("t4", { totalMs: 9000, ttfbMs: 5, streaming: true, status: 503, errorCode: "upstream_error" }),
      at("t5", { totalMs: 50, ttfbMs: 20, streaming: true }),
    ]);
    const query = { fromMs: START_MS, toMs: START_MS + HOUR_MS, stepMs: HOUR_MS, group: null, filter: {} } as const;
    const times = { timedRequests: 4, totalMs: 650, streamedRequests: 2, firstByteMs: 60 };
    expect(await rollups.usage("ws_1", query, 10)).toMatchObject([{ requests: 5, errors: 1, ...times }]);
    const day = new Date(START_MS).toISOString().slice(0, 10);
    expect(await rollups.daily("ws_1", day, day)).toMatchObject([times]);
    expect(await ledger.audit()).toEqual([]);
  });
  sketchTests(current);
  activityTests(current);
}

/** Distributions of latency, TTFB and tokens per second. */
function sketchTests(current: () => Store): void {
  const query: UsageQuery = {
    ...{ fromMs: START_MS, toMs: START_MS + 2 * HOUR_MS, stepMs: 2 * HOUR_MS, group: "level", filter: {} },
  };

  test("LOG-21 batches that are ingested at once into the same hours merge to exact distributions", async () => {
    const { ingest, rollups } = current();
    const random = fc.sample(fc.double({ min: 1, max: 60_000, noNaN: true }), { numRuns: 600, seed: 21 });
    const records = random.map((totalMs, at) =>
      finishedRecord(`s${at}`, {
        ...{ createdAtMs: START_MS + (at % 2) * HOUR_MS, charge: null, totalMs, ttfbMs: totalMs / 4 },
        ...{ streaming: at % 3 === 0, level: at % 5 === 0 ? "L3" : "L1" },
      }),
    );
    const batches = Array.from({ length: 12 }, (_, at) => records.slice(at * 50, at * 50 + 50));
    await Promise.all(batches.map((batch) => ingest(batch)));
    // Sent again: nothing counts twice.
    await ingest(records.slice(0, 100));
    const rows = await rollups.usageSketches("ws_1", query);
    for (const level of ["L1", "L3"] as const) {
      const own = records.filter((record) => record.level === level);
      const [latency, firstByte, speed] = rows.find(({ name }) => name === level)?.sketches ?? [];
      expectQuantiles(
        latency,
        own.map(({ totalMs }) => totalMs),
      );
      expectQuantiles(
        firstByte,
        own.filter(({ streaming }) => streaming).map(({ ttfbMs }) => ttfbMs ?? 0),
      );
      expectQuantiles(
        speed,
        own.map(({ totalMs }) => 300_000 / totalMs),
      );
    }
    expect(rows.map(({ startMs }) => startMs)).toEqual([START_MS, START_MS]);
  });

  test("LOG-21 a failed request is in no distribution, and a replaced one counts once", async () => {
    const { ingest, rollups } = current();
    const free = finishedRecord("free", { createdAtMs: START_MS, charge: null, totalMs: 40 });
    await ingest([
      free,
      finishedRecord("failed", { ...free, id: "failed", status: 503, errorCode: "upstream_error", totalMs: 9 }),
    ]);
    await ingest([chargedRecord("free", 5n, { createdAtMs: START_MS, totalMs: 80 })]);
    const [row] = await rollups.usageSketches("ws_1", query);
    expect(row?.sketches.map(sketchCount)).toEqual([1, 0, 1]);
    expectQuantiles(row?.sketches[0], [80]);
  });
}

function expectQuantiles(sketch: QuantileSketch | undefined, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  expect(sketchCount(sketch ?? new Map())).toBe(values.length);
  const quantiles = [0.5, 0.95, 0.99];
  const found = sketchQuantiles(sketch ?? new Map(), quantiles) ?? [];
  for (const [at, quantile] of quantiles.entries()) {
    const exact = sorted[Math.ceil(quantile * sorted.length) - 1] ?? 0;
    expect(Math.abs((found[at] ?? 0) - exact) / exact).toBeLessThan(0.0101);
  }
}

/** What processes counted for the status page. */
function activityTests(current: () => Store): void {
  test("PORTAL-23 activity of several processes is merged by endpoint, replaced by its process, and expires", async () => {
    const { activity } = current();
    const row = (endpoint: string, served: number, latency: number) => ({
      ...{ span: "hour" as const, startMs: START_MS, endpoint, served, failed: 1 },
      latencyMs: new Map([[latency, served]]),
    });
    await activity.put("p1", [row("a", 5, 100), row("b", 1, 90)]);
    await activity.put("p1", [row("a", 7, 100)]);
    await activity.put("p2", [row("a", 2, 101), { ...row("a", 9, 100), span: "day" }]);
    await activity.put("p2", [{ ...row("a", 50, 1), startMs: START_MS - HOUR_MS }]);
    const sums = (await activity.since("hour", START_MS)).toSorted((x, y) => (x.endpoint < y.endpoint ? -1 : 1));
    expect(sums).toEqual([
      {
        ...{ endpoint: "a", served: 9, failed: 2 },
        latencyMs: new Map([
          [100, 7],
          [101, 2],
        ]),
      },
      { endpoint: "b", served: 1, failed: 1, latencyMs: new Map([[90, 1]]) },
    ]);
    await activity.sweep("hour", START_MS + 1);
    expect(await activity.since("hour", 0)).toEqual([]);
    expect((await activity.since("day", 0)).map(({ served }) => served)).toEqual([9]);
  });
}

/** Last use and spend of keys, for the list of keys. */
export function keyUseTests(current: () => Store): void {
  test("PORTAL-02 each key has its last use and its spend since a day", async () => {
    const store = current();
    const { rollups } = store;
    const before = Date.UTC(2026, 11, 31, 23);
    await store.ingest([
      chargedRecord("k-1", 5n, { createdAtMs: before, keyId: "key_1" }),
      chargedRecord("k-2", 7n, { createdAtMs: START_MS, keyId: "key_1", app: "one" }),
      chargedRecord("k-3", 11n, { createdAtMs: START_MS - 2 * HOUR_MS, keyId: "key_1", app: "two" }),
      chargedRecord("k-4", 13n, { createdAtMs: before, keyId: "key_2" }),
      chargedRecord("k-5", 17n, { createdAtMs: START_MS, keyId: "key_3" }),
      // Refused: in the log, but no use of the key.
      chargedRecord("k-6", 0n, { createdAtMs: START_MS + 1, keyId: "key_1", status: 401 }),
      chargedRecord("k-7", 0n, { createdAtMs: START_MS, keyId: "key_unused", status: 401 }),
    ]);
    const keyIds = ["key_1", "key_2", "key_unused"];
    expect(await rollups.keyUsage("ws_1", keyIds, "2027-01-01")).toEqual([
      { keyId: "key_1", lastUsedMs: START_MS, requests: 2, costNanos: 18n },
      { keyId: "key_2", lastUsedMs: before, requests: 0, costNanos: 0n },
    ]);
    expect(await rollups.keyUsage("ws_2", keyIds, "2027-01-01")).toEqual([]);
    expect(await rollups.keyUsage("ws_1", [], "2027-01-01")).toEqual([]);
    // A row that has left the log is unknown; its spend stays.
    await store.log.sweep(START_MS + 2, 100);
    expect(await rollups.keyUsage("ws_1", ["key_1", "key_2"], "2027-01-01")).toEqual([
      { keyId: "key_1", lastUsedMs: null, requests: 2, costNanos: 18n },
    ]);
  });
}

export function retentionTests(current: () => Store): void {
  test("BILL-02 LOG-03 a request that has left the log and is sent again is not charged or counted again", async () => {
    const { ingest, log, ledger, rollups } = current();
    const late = chargedRecord("late", 3n, { createdAtMs: START_MS });
    await ingest([late]);
    expect(await log.sweep(START_MS + HOUR_MS, 10)).toBe(1);
    await ingest([late, late]);
    await ingest([late]);
    expect((await log.list("ws_1", {}, 10, null)).rows.length).toBeLessThanOrEqual(1);
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(-3n);
    const days = await rollups.daily("ws_1", "2027-01-15", "2027-01-15");
    expect(days.map(({ requests, costNanos }) => [requests, costNanos])).toEqual([[1, 3n]]);
    const all = { fromMs: START_MS, toMs: START_MS + HOUR_MS, stepMs: HOUR_MS, group: null, filter: {} };
    expect((await rollups.usage("ws_1", all, 10)).map(({ costNanos }) => costNanos)).toEqual([3n]);
  });

  test("SCALE-23 the last requests of several workspaces are found at once", async () => {
    const { ingest, log } = current();
    await ingest([
      finishedRecord("r1", { createdAtMs: 1000 }),
      finishedRecord("r2", { createdAtMs: 1500 }),
      finishedRecord("r3", { createdAtMs: 1200, workspaceId: "ws_2" }),
    ]);
    expect(await log.lastRequestTimes([])).toEqual(new Map());
    expect(await log.lastRequestTimes(["ws_1", "ws_2", "ws_3"])).toEqual(
      new Map([
        ["ws_1", 1500],
        ["ws_2", 1200],
      ]),
    );
  });

  test("LOG-03 expired rows leave the log in small batches, and their sums stay", async () => {
    const { ingest, log, ledger, rollups } = current();
    const old = Array.from({ length: 7 }, (_, n) =>
      chargedRecord(`old${n}`, 3n, { createdAtMs: START_MS + n, workspaceId: n < 4 ? "ws_1" : "ws_2" }),
    );
    await ingest([...old, chargedRecord("new", 3n, { createdAtMs: START_MS + HOUR_MS })]);
    expect(await log.sweep(START_MS + HOUR_MS, 3)).toBe(3);
    expect((await log.list("ws_1", {}, 10, null)).rows.map(({ id }) => id)).toEqual(["new", "old3"]);
    expect(await log.sweep(START_MS + HOUR_MS, 100)).toBe(4);
    expect(await log.sweep(START_MS + HOUR_MS, 100)).toBe(0);
    expect(await log.find("old3")).toBeUndefined();
    expect(await log.find("new")).toBeDefined();
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(-15n);
    expect((await ledger.entries("ws_1", 100, null)).rows).toHaveLength(5);
    expect(await ledger.audit()).toEqual([]);
    const [day] = await rollups.daily("ws_1", "2027-01-15", "2027-01-15");
    expect(day?.requests).toBe(5);
    const all = { fromMs: START_MS, toMs: START_MS + HOUR_MS, stepMs: HOUR_MS, group: null, filter: {} };
    expect((await rollups.usage("ws_1", all, 10)).map(({ requests }) => requests)).toEqual([4]);
  });
}
