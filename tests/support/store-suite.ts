import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../src/contract/faults.ts";
import { topupOf } from "../../src/domain/billing/ledger.ts";
import type { AuditEntry } from "../../src/domain/record/audit.ts";
import { RecordRejectedError } from "../../src/domain/record/record-batch.ts";
import type { ApiKey } from "../../src/domain/tenancy/key.ts";
import { OPEN_POLICY } from "../../src/domain/tenancy/policy.ts";
import type { Router } from "../../src/domain/tenancy/router.ts";
import type { Workspace } from "../../src/domain/tenancy/workspace.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { alertTests } from "./alert-suite.ts";
import { batchTests } from "./batch-suite.ts";
import { captureTests } from "./capture-suite.ts";
import { changeTests } from "./change-suite.ts";
import { idempotencyTests } from "./idempotency-suite.ts";
import { limitTests } from "./limit-suite.ts";
import { logOutboxTests } from "./log-outbox-suite.ts";
import { keyUseTests, logQueryTests, retentionTests, timeTests, usageTests } from "./log-suite.ts";
import { nodeTests } from "./node-suite.ts";
import { ownKeyTests } from "./own-key-suite.ts";
import { paymentTests } from "./payment-suite.ts";
import { peopleTests } from "./people-suite.ts";
import { policyTests } from "./policy-suite.ts";
import { proofTests } from "./proof-suite.ts";
import { rateTests } from "./rate-suite.ts";
import { chargedRecord, finishedRecord } from "./records.ts";
import { responseTests } from "./response-suite.ts";
import { OPEN_ROUTER } from "./routing.ts";

const workspace: Workspace = {
  id: "ws_1",
  slug: "demo",
  name: "Demo",
  currency: "EUR",
  createdAtMs: 1_800_000_000_000,
  policy: { ...OPEN_POLICY, floor: "L2", countries: ["DE", "FR"], blockedProviders: ["p"] },
  keyPolicy: { personalKeys: true, approval: false, ipAllowlist: ["10.0.0.0/8"] },
};
const key: ApiKey = {
  id: "key_1",
  workspaceId: "ws_1",
  memberId: null,
  name: "first",
  kind: "workspace",
  environment: "live",
  digest: "d".repeat(64),
  state: "active",
  scopes: ["inference:chat"],
  ipAllowlist: ["10.0.0.0/8"],
  expiresAtMs: 1_900_000_000_000,
  graceUntilMs: null,
  rpm: 42,
  policy: null,
  version: 3,
  createdAtMs: 1_800_000_000_001,
  rotatedFrom: null,
};
const membership = { role: "admin", pending: true } as const;
const member = { id: "mem_1", workspaceId: "ws_1", email: "a@example.com", createdAtMs: 5, ...membership };
const topup = (id: string, nanos: bigint, createdAtMs = 1) =>
  topupOf({ id, workspaceId: "ws_1", currency: "EUR", nanos, createdAtMs, note: "manual" });

/** What every engine behind the stores must do. `open` returns a fresh, empty store; `reopen` the same data again. */
export function storeSuite(name: string, open: () => Promise<{ store: Store; reopen(): Promise<Store> }>): void {
  describe(name, () => {
    let store: Store;
    let reopen: () => Promise<Store>;
    beforeEach(async () => {
      const opened = await open();
      store = opened.store;
      reopen = async () => {
        store = await opened.reopen();
        return store;
      };
    });
    afterEach(() => store.close());

    tenancyTests(
      () => store,
      () => reopen(),
    );
    policyTests(
      () => store,
      () => reopen(),
      { workspace, key },
    );
    changeTests(() => store);
    ledgerTests(() => store);
    paymentTests(() => store);
    peopleTests(() => store);
    ingestTests(() => store);
    logTests(() => store);
    logQueryTests(() => store);
    usageTests(() => store);
    keyUseTests(() => store);
    timeTests(() => store);
    retentionTests(() => store);
    logOutboxTests(
      () => store,
      () => reopen(),
    );
    idempotencyTests(
      () => store,
      () => reopen(),
    );
    limitTests(
      () => store,
      () => reopen(),
    );
    responseTests(
      () => store,
      () => reopen(),
    );
    batchTests(() => store);
    ownKeyTests(
      () => store,
      () => reopen(),
    );
    nodeTests(
      () => store,
      () => reopen(),
    );
    alertTests(
      () => store,
      () => reopen(),
    );
    proofTests(
      () => store,
      () => reopen(),
    );
    rateTests(
      () => store,
      () => reopen(),
    );
    captureTests(
      () => store,
      () => reopen(),
    );
    smallStoreTests(
      () => store,
      () => reopen(),
    );
  });
}

function tenancyTests(current: () => Store, reopen: () => Promise<Store>): void {
  test("KEY-01 tenants and keys are returned as saved", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(workspace);
    await tenancy.saveMember(member);
    const personal: ApiKey = { ...key, id: "key_2", digest: "e".repeat(64), memberId: "mem_1", kind: "personal" };
    await tenancy.saveKeys([key, { ...personal, scopes: null, ipAllowlist: null, expiresAtMs: null, rpm: null }]);
    const loaded = await (await reopen()).tenancy.loadAll();
    expect(loaded).toEqual({
      workspaces: [workspace],
      members: [member],
      keys: [key, { ...personal, scopes: null, ipAllowlist: null, expiresAtMs: null, rpm: null }],
      routers: [],
      tokens: [],
    });
  });

  test("ROUTE-01 every version of a router is kept, and the last one is in force", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(workspace);
    const first: Router = { workspaceId: "ws_1", slug: "fast", version: 1, createdAtMs: 7, spec: OPEN_ROUTER };
    const second: Router = {
      ...first,
      version: 2,
      createdAtMs: 8,
      spec: {
        weights: { quality: 0.5, cost: 0, latency: 2 },
        floor: "L2",
        qualityFloor: 0.4,
        countries: ["FR"],
        models: ["a/b"],
        fallback: ["a/c"],
        reasoningEffort: "low",
        nodes: "first",
      },
    };
    await tenancy.saveRouterVersion(first);
    await tenancy.saveRouterVersion(second);
    await tenancy.saveRouterVersion({ ...first, slug: "gone" });
    await tenancy.saveRouterVersion({ ...first, slug: "gone", version: 2, spec: null });
    await expect(tenancy.saveRouterVersion(second)).rejects.toMatchObject({ failure: "conflict" });
    const { tenancy: later } = await reopen();
    expect((await later.loadAll()).routers).toEqual([second]);
    expect(await later.routerHistory("ws_1", "fast")).toEqual([second, first]);
    expect((await later.routerHistory("ws_1", "gone")).map(({ spec }) => spec)).toEqual([null, OPEN_ROUTER]);
    expect(await later.routerHistory("ws_2", "fast")).toEqual([]);
  });

  test("saving again changes, removing removes", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(workspace);
    await tenancy.saveWorkspace({ ...workspace, name: "Other", policy: OPEN_POLICY });
    await tenancy.saveMember(member);
    await tenancy.saveMember({ ...member, role: "owner", pending: false });
    await tenancy.saveKeys([key]);
    await tenancy.saveKeys([{ ...key, state: "revoked", version: 4 }]);
    const loaded = await tenancy.loadAll();
    expect(loaded.workspaces[0]).toMatchObject({ name: "Other", policy: OPEN_POLICY });
    expect(loaded.members[0]).toMatchObject({ role: "owner", pending: false });
    expect(loaded.keys[0]).toMatchObject({ state: "revoked", version: 4 });
    await tenancy.removeMember("mem_1");
    expect(await tenancy.loadAll()).toMatchObject({ members: [], keys: [{}] });
  });

  test("two keys change together or not at all", async () => {
    const { tenancy } = current();
    await tenancy.saveWorkspace(workspace);
    await tenancy.saveKeys([key]);
    const twin = { ...key, id: "key_2" };
    await expect(tenancy.saveKeys([{ ...key, state: "deprecated" }, twin])).rejects.toMatchObject({
      failure: "conflict",
    });
    expect((await tenancy.loadAll()).keys).toEqual([key]);
  });

  test("BILL-06 a wallet keeps its currency", async () => {
    const { tenancy, ledger } = current();
    await tenancy.saveWorkspace(workspace);
    expect(await ledger.wallet("ws_1")).toEqual({ workspaceId: "ws_1", currency: "EUR", balanceNanos: 0n });
    await expect(tenancy.saveWorkspace({ ...workspace, currency: "USD" })).rejects.toMatchObject({
      failure: "conflict",
    });
    expect((await tenancy.loadAll()).workspaces).toEqual([workspace]);
  });
}

function ledgerTests(current: () => Store): void {
  test("BILL-01 a posting moves the wallet once, however often it is sent", async () => {
    const { ledger } = current();
    expect(await ledger.post(topup("t1", 10n))).toBe(true);
    expect(await ledger.post(topup("t1", 10n))).toBe(false);
    expect(await ledger.post(topup("t1", 99n))).toBe(false);
    expect(await ledger.post(topup("t1", 10n, 5))).toBe(false);
    expect(await ledger.wallets()).toEqual([{ workspaceId: "ws_1", currency: "EUR", balanceNanos: 10n }]);
    expect(await ledger.wallet("ws_2")).toBeUndefined();
    expect(await ledger.audit()).toEqual([]);
  });

  test("BILL-01 amounts beyond 2^53 stay exact", async () => {
    const { ledger, ingest, log } = current();
    const large = 2n ** 53n + 1n;
    await ledger.post(topup("t1", large));
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(9_007_199_254_740_993n);
    expect((await ledger.entries("ws_1", 1, null)).rows[0]?.entries.map(({ nanos }) => nanos)).toEqual([-large, large]);
    await ingest([chargedRecord("r1", 2n ** 60n + 1n)]);
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(large - (2n ** 60n + 1n));
    expect((await log.find("r1"))?.charge?.nanos).toBe("1152921504606846977");
    expect(await ledger.audit()).toEqual([]);
  });

  test("BILL-01 an unbalanced transaction is refused", async () => {
    const { ledger } = current();
    const good = topup("t1", 10n);
    await expect(ledger.post({ ...good, entries: good.entries.slice(1) })).rejects.toThrow("not to zero");
    expect(await ledger.wallets()).toEqual([]);
  });

  test("BILL-06 a wallet is never moved in another currency", async () => {
    const { ledger } = current();
    await ledger.post(topup("t1", 10n));
    const dollars = topupOf({ id: "t2", workspaceId: "ws_1", currency: "USD", nanos: 5n, createdAtMs: 2 });
    await expect(ledger.post(dollars)).rejects.toMatchObject({ failure: "rejected" });
    expect((await ledger.entries("ws_1", 10, null)).rows.map(({ id }) => id)).toEqual(["t1"]);
    expect(await ledger.audit()).toEqual([]);
  });

  test("BILL-01 concurrent postings all count", async () => {
    const { ledger } = current();
    await Promise.all(Array.from({ length: 50 }, (_, n) => ledger.post(topup(`t${n % 40}`, 1n))));
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(40n);
  });

  test("transactions are listed newest first, paginated", async () => {
    const { ledger } = current();
    for (const [id, atMs] of [
      ["a", 1],
      ["b", 3],
      ["c", 3],
      ["d", 2],
    ] as const)
      await ledger.post(topup(id, 7n, atMs));
    const first = await ledger.entries("ws_1", 3, null);
    expect(first.rows.map(({ id }) => id)).toEqual(["c", "b", "d"]);
    expect(first.rows[0]).toMatchObject({ kind: "topup", note: "manual", detail: null });
    const second = await ledger.entries("ws_1", 3, first.next);
    expect(second.rows.map(({ id }) => id)).toEqual(["a"]);
    expect(second.next).toBeNull();
  });
}

function ingestTests(current: () => Store): void {
  test("BILL-02 a request is charged and counted once, in one batch or in several", async () => {
    const { ledger, ingest, rollups, log } = current();
    await ledger.post(topup("t1", 1_000_000n));
    const first = chargedRecord("r1", 300n);
    await ingest([first, first, chargedRecord("r2", 50n)]);
    await ingest([first, chargedRecord("r2", 50n), chargedRecord("r3", 7n)]);
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(1_000_000n - 357n);
    expect((await log.list("ws_1", {}, 10, null)).rows).toHaveLength(3);
    const [day] = await rollups.daily("ws_1", "2027-01-15", "2027-01-15");
    expect(day).toMatchObject({ requests: 3, errors: 0, inputTokens: 3600, outputTokens: 900, costNanos: 357n });
    expect(await ledger.audit()).toEqual([]);
  });

  test("BILL-06 the price row and the exchange rate are stored with the charge", async () => {
    const { ledger, ingest } = current();
    const record = chargedRecord("r1", 300n);
    await ingest([record]);
    const [charge] = (await ledger.entries("ws_1", 10, null)).rows;
    expect(charge).toEqual({
      id: "charge:r1",
      kind: "charge",
      workspaceId: "ws_1",
      createdAtMs: record.createdAtMs,
      note: null,
      detail: { price: record.charge?.price, rate: record.charge?.rate },
      entries: [
        { account: "wallet", workspaceId: "ws_1", currency: "EUR", nanos: -300n },
        { account: "revenue", workspaceId: "ws_1", currency: "EUR", nanos: 300n },
      ],
    });
  });

  test("BILL-02 an uncharged request is logged and moves nothing", async () => {
    const { ledger, ingest, log, rollups } = current();
    await ingest([
      finishedRecord("r1", {
        charge: null,
        usage: null,
        status: 502,
        errorCode: "upstream_error",
        model: null,
        provider: null,
      }),
      chargedRecord("r2", 0n),
    ]);
    expect(await ledger.wallets()).toEqual([]);
    expect((await ledger.entries("ws_1", 10, null)).rows).toEqual([]);
    expect((await log.find("r1"))?.errorCode).toBe("upstream_error");
    const days = await rollups.daily("ws_1", "2027-01-01", "2027-01-31");
    expect(days.map(({ model, requests, errors }) => [model, requests, errors])).toEqual([
      ["", 1, 1],
      ["example/model-large", 1, 0],
    ]);
  });

  test("LOG-04 roll-ups separate days, keys, models and environments", async () => {
    const { ingest, rollups } = current();
    const day = 86_400_000;
    const start = Date.UTC(2027, 0, 15);
    await ingest([
      finishedRecord("r1", { createdAtMs: start }),
      finishedRecord("r2", { createdAtMs: start + day - 1 }),
      finishedRecord("r3", { createdAtMs: start + day }),
      finishedRecord("r4", { createdAtMs: start, environment: "test" }),
      finishedRecord("r5", { createdAtMs: start, keyId: "key_2" }),
      finishedRecord("r6", { createdAtMs: start, workspaceId: "ws_2" }),
    ]);
    const rows = await rollups.daily("ws_1", "2027-01-15", "2027-01-16");
    expect(rows.map((row) => [row.day, row.keyId, row.environment, row.requests])).toEqual([
      ["2027-01-15", "key_1", "live", 2],
      ["2027-01-15", "key_1", "test", 1],
      ["2027-01-15", "key_2", "live", 1],
      ["2027-01-16", "key_1", "live", 1],
    ]);
  });

  test("BILL-01 a batch with an invalid record changes nothing at all", async () => {
    const { ledger, ingest, log } = current();
    await ledger.post(topup("t1", 100n));
    const record = finishedRecord("r2");
    const bad = [
      { ...record, charge: record.charge && { ...record.charge, nanos: "-5" } },
      { ...record, charge: record.charge && { ...record.charge, nanos: "1.5" } },
      { ...record, charge: record.charge && { ...record.charge, nanos: (2n ** 63n).toString() } },
      { ...record, charge: record.charge && { ...record.charge, currency: "USD" } },
    ];
    for (const one of bad) {
      await expect(ingest([chargedRecord("r1", 5n), one]), one.charge?.nanos).rejects.toThrow(RecordRejectedError);
      expect(await log.find("r1")).toBeUndefined();
    }
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(100n);
    await ingest([chargedRecord("r1", 5n)]);
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(95n);
  });

  test("BILL-01 concurrent batches and postings do not interfere", async () => {
    const { ledger, ingest } = current();
    const batch = (n: number) => ingest(Array.from({ length: 20 }, (_, at) => chargedRecord(`r${n}-${at}`, 1n)));
    await Promise.all(Array.from({ length: 10 }, (_, n) => [batch(n), ledger.post(topup(`t${n}`, 100n))]).flat());
    expect((await ledger.wallet("ws_1"))?.balanceNanos).toBe(800n);
    expect(await ledger.audit()).toEqual([]);
  });
}

function logTests(current: () => Store): void {
  test("LOG-01 a record is returned as written", async () => {
    const { ingest, log } = current();
    const record = finishedRecord("r1", { memberId: "mem_1", router: "fast", streaming: true });
    await ingest([record]);
    expect(await log.find("r1")).toEqual(record);
    expect((await log.list("ws_1", {}, 10, null)).rows).toEqual([record]);
    expect(await log.find("r2")).toBeUndefined();
  });

  test("LOG-02 newest first and by cursor: every row once, also where times are equal", async () => {
    const { ingest, log } = current();
    const ids = Array.from({ length: 25 }, (_, n) => `r${String(n).padStart(2, "0")}`);
    await ingest(ids.map((id, n) => finishedRecord(id, { createdAtMs: 1000 + Math.floor(n / 7) })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await log.list("ws_1", {}, 4, cursor);
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(ids.toReversed());
  });

  test("LOG-02 a page has at most 1000 rows, and at least one", async () => {
    const { ingest, log } = current();
    await ingest(Array.from({ length: 1001 }, (_, n) => finishedRecord(`r${n}`)));
    expect((await log.list("ws_1", {}, 5000, null)).rows).toHaveLength(1000);
    expect((await log.list("ws_1", {}, 0, null)).rows).toHaveLength(1);
  });

  test("LOG-02 a full last page has no next one", async () => {
    const { ingest, log } = current();
    await ingest(["a", "b"].map((id) => finishedRecord(id)));
    expect((await log.list("ws_1", {}, 2, null)).next).toBeNull();
  });

  test("LOG-02 each filter excludes what it should, and other workspaces are never visible", async () => {
    const { ingest, log } = current();
    await ingest([
      finishedRecord("plain", { createdAtMs: 1000 }),
      finishedRecord("key", { createdAtMs: 2000, keyId: "key_2" }),
      finishedRecord("auto", { createdAtMs: 3000, modelRequested: "auto", model: "other/model", provider: "other" }),
      finishedRecord("app", { createdAtMs: 4000, app: null }),
      finishedRecord("test", { createdAtMs: 5000, environment: "test" }),
      finishedRecord("failed", { createdAtMs: 6000, status: 502 }),
      finishedRecord("foreign", { createdAtMs: 7000, workspaceId: "ws_2" }),
    ]);
    const ids = async (filter: Parameters<typeof log.list>[1]) =>
      (await log.list("ws_1", filter, 100, null)).rows.map(({ id }) => id);
    expect(await ids({})).toEqual(["failed", "test", "app", "auto", "key", "plain"]);
    expect(await ids({ keyId: "key_2" })).toEqual(["key"]);
    expect(await ids({ model: "auto" })).toEqual(["auto"]);
    expect(await ids({ model: "other/model" })).toEqual(["auto"]);
    expect(await ids({ provider: "other" })).toEqual(["auto"]);
    expect(await ids({ app: "support-desk" })).toEqual(["failed", "test", "auto", "key", "plain"]);
    expect(await ids({ environment: "test" })).toEqual(["test"]);
    expect(await ids({ status: 502 })).toEqual(["failed"]);
    expect(await ids({ sinceMs: 2000, untilMs: 4000 })).toEqual(["auto", "key"]);
  });

  test("LOG-02 an invented cursor is refused by name", async () => {
    const { log } = current();
    const refused = await log.list("ws_1", {}, 10, "nonsense").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Fault);
    expect(refused).toMatchObject({ code: "invalid_value", param: "cursor" });
  });
}

function smallStoreTests(current: () => Store, reopen: () => Promise<Store>): void {
  test("LOG-05 the audit log lists its entries newest first, for a workspace or for all", async () => {
    const { audit } = current();
    const entry = (id: string, atMs: number, workspaceId: string | null): AuditEntry => ({
      id,
      atMs,
      actor: "operator",
      action: "key.revoke",
      workspaceId,
      target: "key_1",
      detail: { before: { state: "active" } },
    });
    const entries = [entry("a1", 1, "ws_1"), entry("a2", 2, "ws_2"), entry("a3", 3, null), entry("a4", 4, "ws_1")];
    for (const one of entries) await audit.append(one);
    expect((await audit.list({ workspaceId: "ws_1" }, 10, null)).rows).toEqual([entries[3], entries[0]]);
    const first = await audit.list({}, 3, null);
    expect(first.rows.map(({ id }) => id)).toEqual(["a4", "a3", "a2"]);
    expect((await audit.list({}, 3, first.next)).rows.map(({ id }) => id)).toEqual(["a1"]);
    await expect(audit.append(entry("a1", 9, null))).rejects.toMatchObject({ failure: "conflict" });
  });

  test("facts about the deployment survive a restart", async () => {
    const { meta, ping } = current();
    await ping();
    expect(await meta.get("first_start_done")).toBeUndefined();
    for (const value of ["yes", "still"]) await meta.set("first_start_done", value);
    for (const name of ["seen_b", "seenXc"]) await meta.add(name, "yes");
    expect(await meta.names("seen_")).toEqual(["seen_b"]);
    expect(await (await reopen()).meta.get("first_start_done")).toBe("still");
  });
}
