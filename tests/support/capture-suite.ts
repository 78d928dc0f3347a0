import { expect, test } from "vitest";
import type { CapturedRequest, CaptureWindow } from "../../src/domain/record/capture.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { openVault } from "../../src/io/vault.ts";
import { HOUR_MS } from "../../src/kit/time.ts";
import { finishedRecord } from "./records.ts";
import { plainWorkspace, withWorkspaces } from "./workspaces.ts";

const NOW = 10_000;

const window = (id: string, more: Partial<CaptureWindow> = {}): CaptureWindow => ({
  id,
  workspaceId: "ws_1",
  openedAtMs: 1000,
  closesAtMs: 60_000,
  closedAtMs: null,
  retentionMs: 5000,
  scope: { keys: ["key_1"], surfaces: ["chat"], environment: "live" },
  openedBy: "operator",
  reason: null,
  ...more,
});

const item = (requestId: string, more: Partial<CapturedRequest> = {}): CapturedRequest => ({
  requestId,
  windowId: "cap_1",
  workspaceId: "ws_1",
  keyId: "key_1",
  capturedAtMs: NOW,
  expiresAtMs: NOW + 5000,
  request: '{"asked":"wörter"}',
  answer: null,
  cut: [{ part: "request", ofBytes: 99 }],
  ...more,
});

const MAX = 1_000_000;
const capturesOf = (store: Store) => store.captures(openVault(new MasterKeys(Buffer.alloc(32, 3)), store.dataKeys));

async function opened(store: Store, ...windows: readonly CaptureWindow[]) {
  await withWorkspaces(store);
  await store.change(async ({ captures }) => {
    for (const one of windows) await captures.open(one);
    return { result: null, audit: null };
  });
  return capturesOf(store);
}

/** What every engine must do for changes, capture windows, policy versions and evidence. */
export function captureTests(current: () => Store, reopen: () => Promise<Store>): void {
  windowTests(current, reopen);
  changeTests(current);
}

function windowTests(current: () => Store, reopen: () => Promise<Store>): void {
  test("LOG-03 captured content is returned unchanged, after a restart too, and only in its workspace", async () => {
    await (await opened(current(), window("cap_1"))).add(item("r1"), MAX);
    const captures = capturesOf(await reopen());
    expect(await captures.content("ws_1", "r1", NOW)).toEqual(item("r1"));
    expect(await captures.content("ws_2", "r1", NOW)).toBeUndefined();
    expect(await captures.openAt(NOW)).toMatchObject([{ ...window("cap_1"), items: 1, purgedAtMs: null }]);
    expect(await captures.openAt(60_000)).toEqual([]);
  });

  test("LOG-03 expired content is hidden, before the sweep and after it", async () => {
    const captures = await opened(current(), window("cap_1"));
    await captures.add(item("r1"), MAX);
    expect(await captures.content("ws_1", "r1", NOW + 5000)).toBeUndefined();
    expect(await captures.sweep(NOW + 4999)).toBe(0);
    expect(await captures.sweep(NOW + 5000)).toBe(1);
    expect(await captures.content("ws_1", "r1", NOW)).toBeUndefined();
  });

  test("LOG-03 a window accepts no more than its limit, and nothing after a purge", async () => {
    const store = current();
    const captures = await opened(store, window("cap_1"));
    expect(await captures.add(item("r1"), 60)).toBe("kept");
    expect(await captures.add(item("r2"), 60)).toBe("full");
    expect(await captures.content("ws_1", "r2", NOW)).toBeUndefined();
    const purged = await store.change(async (writers) => ({
      result: await writers.captures.purge("cap_1", NOW),
      audit: null,
    }));
    expect(purged).toBe(1);
    expect(await captures.add(item("r3"), MAX)).toBe("purged");
    expect(await captures.add(item("r4", { windowId: "cap_none" }), MAX)).toBe("purged");
  });

  test("LOG-03 closing a workspace's windows leaves those of others; a key's content is deleted separately", async () => {
    const store = current();
    const other = window("cap_2", { workspaceId: "ws_2" });
    const captures = await opened(store, window("cap_1"), other, window("cap_3", { closesAtMs: 2000 }));
    await captures.add(item("r1"), MAX);
    await captures.add(item("r2", { keyId: "key_2" }), MAX);
    await captures.add(item("r3", { windowId: "cap_2", workspaceId: "ws_2" }), MAX);
    const change = <T>(work: Parameters<typeof store.change<T>>[0]) => store.change(work);
    expect(await change(async (to) => ({ result: await to.captures.purgeKey("ws_1", "key_2"), audit: null }))).toBe(1);
    expect(await captures.content("ws_1", "r1", NOW)).toBeDefined();
    expect(
      await change(async (to) => ({ result: await to.captures.closeAndPurgeAll("ws_1", NOW), audit: null })),
    ).toEqual({
      closed: ["cap_1"],
      purged: 1,
    });
    expect(await captures.content("ws_2", "r3", NOW)).toBeDefined();
    expect((await captures.openAt(NOW)).map(({ id }) => id)).toEqual(["cap_2"]);
    expect((await captures.openWithin("ws_1", NOW, NOW + 1)).map(({ id }) => id)).toEqual([]);
    expect((await captures.openWithin("ws_1", 0, NOW)).map(({ id }) => id)).toEqual(["cap_1", "cap_3"]);
    const first = await captures.list(null, 2, null);
    expect(first.rows.map(({ id }) => id)).toEqual(["cap_3", "cap_2"]);
    expect((await captures.list(null, 2, first.next)).rows.map(({ id }) => id)).toEqual(["cap_1"]);
  });
}

function changeTests(current: () => Store): void {
  const line = (id: string) => ({
    ...{ id, atMs: 1, actor: "operator", action: "x.y", workspaceId: "ws_1", target: null },
    detail: {},
  });

  test("LOG-05 a change and its audit line are written together or not at all", async () => {
    const store = current();
    await store.change(async ({ tenancy }) => {
      await tenancy.saveWorkspace(plainWorkspace("ws_1"));
      return { result: null, audit: line("a1") };
    });
    const failed = store.change(async ({ tenancy }) => {
      await tenancy.saveWorkspace(plainWorkspace("ws_2"));
      return { result: null, audit: line("a1") };
    });
    await expect(failed).rejects.toMatchObject({ failure: "conflict" });
    const thrown = store.change(async ({ tenancy }) => {
      await tenancy.saveWorkspace(plainWorkspace("ws_2"));
      throw new Error("in the middle");
    });
    await expect(thrown).rejects.toThrow("in the middle");
    expect((await store.tenancy.loadAll()).workspaces.map(({ id }) => id)).toEqual(["ws_1"]);
    expect((await store.audit.list({}, 10, null)).rows.map(({ id }) => id)).toEqual(["a1"]);
  });

  test("LOG-05 a changed policy is a new version, the same one is none", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(plainWorkspace("ws_1"));
    const keep = (keyId: string | null, createdAtMs: number, floor: "L1" | "L2" | null) =>
      tenancy.savePolicyVersion({ workspaceId: "ws_1", keyId, createdAtMs, policy: floor === null ? null : { floor } });
    await keep(null, 1, "L1");
    await keep(null, 2, "L1");
    await keep(null, 3, "L2");
    await keep("key_1", 4, null);
    await keep("key_1", 5, "L2");
    await keep("key_1", 6, null);
    const history = await tenancy.policyHistory("ws_1");
    expect(history.map(({ keyId, version, createdAtMs, policy }) => [keyId, version, createdAtMs, policy])).toEqual([
      [null, 1, 1, { floor: "L1" }],
      [null, 2, 3, { floor: "L2" }],
      ["key_1", 1, 5, { floor: "L2" }],
      ["key_1", 2, 6, null],
    ]);
  });

  test("LOG-05 evidence sums equal rows of one workspace and period", async () => {
    const { ingest, evidence } = current();
    const refused = {
      ...{ provider: null, endpoint: null, model: null, level: null, countries: null, usage: null, charge: null },
      ...{ status: 403, errorCode: "sovereignty_floor_not_met" },
    };
    await ingest([
      finishedRecord("r1", { createdAtMs: 1000 }),
      finishedRecord("r2", { createdAtMs: 1999 }),
      finishedRecord("r3", { createdAtMs: 2000 }),
      finishedRecord("r4", { createdAtMs: 1500, workspaceId: "ws_2" }),
      finishedRecord("r5", { createdAtMs: 1500, ...refused }),
    ]);
    const sums = (await evidence.sums("ws_1", 1000, 2000)).toSorted((a, b) => b.requests - a.requests);
    expect(sums).toMatchObject([
      { requests: 2, level: "L2", countries: ["FR"], inputTokens: 2400, outputTokens: 600, costNanos: 3_000_000n },
      { requests: 1, endpoint: null, countries: [], errorCode: "sovereignty_floor_not_met", costNanos: 0n },
    ]);
    expect(await evidence.firstRequestAtMs("ws_1", 1001)).toBe(1500);
    expect(await evidence.firstRequestAtMs("ws_1", 2001)).toBeUndefined();
  });

  test("LOG-05 evidence has no row for free requests that were all replaced by their charges", async () => {
    const { ingest, evidence } = current();
    const free = { charge: null, endpoint: "example:us:example/model-large", countries: ["US"] };
    const { createdAtMs: hourMs, endpoint } = finishedRecord("r1");
    const charged = [finishedRecord("r1"), finishedRecord("r2")];
    const served = async () =>
      (await evidence.sums("ws_1", hourMs, hourMs + HOUR_MS)).map((sum) => [sum.endpoint, sum.requests]);
    await ingest(charged.map((record) => ({ ...record, ...free })));
    expect(await served()).toEqual([[free.endpoint, 2]]);
    await ingest(charged);
    expect(await served()).toEqual([[endpoint, 2]]);
  });

  test("SCALE-23 evidence of whole hours comes from roll-ups, and equals the records, old ones too", async () => {
    const { ingest, evidence } = current();
    const startMs = Date.UTC(2027, 0, 15);
    const routed = (version: number) => ({
      router: "acme/support",
      decision: { candidates: [], order: [], router: { slug: "support", version } },
    });
    const at = (hours: number) => ({ createdAtMs: startMs + hours * HOUR_MS });
    await ingest([
      finishedRecord("r1", at(0.5)),
      finishedRecord("r2", { ...at(1.5), errorCode: "upstream_error", charge: null }),
      finishedRecord("r3", { ...at(2.5), ...routed(3), routerVersion: "support@3" }),
      finishedRecord("r4", { ...at(2.6), router: "auto", routerVersion: "", countries: ["FR", "DE"] }),
      // From before records had the version of their router.
      finishedRecord("r5", { ...at(4.5), ...routed(2) }),
      finishedRecord("r6", { ...at(5.5), level: null, countries: null }),
      finishedRecord("r7", at(6.5)),
    ]);
    const sumsOf = async (fromMs: number, toMs: number, stepMs: number) => {
      const merged = new Map<string, number[]>();
      for (let atMs = fromMs; atMs < toMs; atMs += stepMs)
        for (const sum of await evidence.sums("ws_1", atMs, Math.min(toMs, atMs + stepMs))) {
          const { requests, inputTokens, outputTokens, costNanos, ...group } = sum;
          const name = JSON.stringify(Object.entries(group).toSorted());
          const amounts = [requests, inputTokens, outputTokens, Number(costNanos)];
          merged.set(
            name,
            (merged.get(name) ?? [0, 0, 0, 0]).map((amount, index) => amount + (amounts[index] ?? 0)),
          );
        }
      return [...merged].toSorted();
    };
    const fromMs = startMs + 0.25 * HOUR_MS;
    const toMs = startMs + 6.75 * HOUR_MS;
    // Steps shorter than an hour are read from the records.
    const records = await sumsOf(fromMs, toMs, HOUR_MS / 4);
    expect(records).toHaveLength(6);
    expect(await sumsOf(fromMs, toMs, toMs - fromMs)).toEqual(records);
    expect(await sumsOf(startMs, startMs + 7 * HOUR_MS, 7 * HOUR_MS)).toEqual(records);
  });
}
