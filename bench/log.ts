import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { tallyPeriod } from "../src/app/manage/records/evidence-report.ts";
import { encodeBatch, type RecordBatch } from "../src/domain/record/record-batch.ts";
import { openPostgres } from "../src/io/store/sql/postgres/open.ts";
import { openSqlite } from "../src/io/store/sql/sqlite/open.ts";
import type { Store } from "../src/io/store/sql/store.ts";
import { systemClock } from "../src/kit/clock.ts";
import { startCluster } from "../tests/support/postgres.ts";
import { plainWorkspace } from "../tests/support/workspaces.ts";
import { DAYS, END_MS, GONE_PROVIDER, growthRecords, WORKSPACES, workspaceName } from "./growth-samples.ts";

/**
 * Measures what grows with the data: `node bench/log.ts [records] [sqlite|postgres] [folder]`, a million records by default.
 * 200 workspaces with ten keys each, spread over 90 days. With a folder the embedded store is kept there and used again.
 */
const BATCH = 2000;
const ROUNDS = 3;
const PAGE = 50;
const DAY_MS = 86_400_000;
const MONTH_DAYS = 31;
const RETENTION_ROWS = 500;
const total = Number(process.argv[2] ?? 1_000_000);
const engine = process.argv[3] === "postgres" ? "postgres" : "sqlite";
const keptFolder = process.argv[4];
const folder = keptFolder ?? mkdtempSync(path.join(tmpdir(), "gateway-growth-"));
const workspace = workspaceName(7);

type Opened = { readonly store: Store; filled(): Promise<unknown>; bytes(): Promise<number>; close(): Promise<void> };

const isFilled = existsSync(path.join(folder, "gateway.sqlite"));
const opened = await open();
const { store } = opened;
try {
  if (!isFilled) await fill();
  await opened.filled();
  print("bytes per logged request", `${Math.round((await opened.bytes()) / total)}`);
  await measureQueries();
  await measureAudit();
  await measureRetention();
} finally {
  await store.close();
  await opened.close();
  if (keptFolder === undefined) rmSync(folder, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  let spentMs = 0;
  let slowestMs = 0;
  for (const records of growthRecords(total, BATCH)) {
    const batch = shared(encodeBatch(records.map(store.encodeRecord)));
    const startedMs = performance.now();
    await store.ingestBatch(batch);
    const tookMs = performance.now() - startedMs;
    spentMs += tookMs;
    slowestMs = Math.max(slowestMs, tookMs);
  }
  for (let n = 0; n < WORKSPACES; n += 1) {
    await store.tenancy.saveWorkspace({ ...plainWorkspace(workspaceName(n)), slug: `workspace-${n}` });
    await topUp(workspaceName(n));
  }
  print("ingest, rows/s", `${Math.round((total / spentMs) * 1000)} (slowest batch ${Math.round(slowestMs)} ms)`);
}

async function topUp(workspaceId: string): Promise<void> {
  const entry = (account: "wallet" | "topup_clearing", nanos: bigint) => ({
    ...{ account, workspaceId, currency: "EUR", nanos },
  });
  const entries = [entry("wallet", 5n), entry("topup_clearing", -5n)];
  const createdAtMs = END_MS - DAYS * DAY_MS;
  await store.ledger.post({ id: `topup:${workspaceId}`, kind: "topup", workspaceId, createdAtMs, note: null, entries });
}

async function measureQueries(): Promise<void> {
  const quarter = { fromMs: END_MS - DAYS * DAY_MS, toMs: END_MS, stepMs: DAY_MS, group: "model", filter: {} } as const;
  const month = { fromMs: END_MS - MONTH_DAYS * DAY_MS, toMs: END_MS };
  const page = Array.from({ length: PAGE }, (_, n) => workspaceName(n));
  await timed("page of 50", () => store.log.list(workspace, {}, PAGE, null));
  await timed("filter that matches only old rows", () =>
    store.log.list(workspace, { provider: GONE_PROVIDER }, PAGE, null),
  );
  await timed("filter that matches few old rows", () =>
    store.log.list(workspace, { provider: GONE_PROVIDER, status: 502 }, PAGE, null),
  );
  await timed("usage by day, 90 days, by model", async () => {
    await store.rollups.usage(workspace, quarter, 10_001);
    await store.rollups.usageSketches(workspace, quarter);
  });
  await timed("evidence report of a month", () => tallyPeriod(store.evidence, workspace, month, []));
  await timed("workspace summaries, page of 50", async () => {
    await store.rollups.spendSince("2027-01-01", page);
    await store.log.lastRequestTimes(page);
  });
  await timed("ledger entries of one kind", () => store.ledger.entries(workspace, PAGE, null, { kinds: ["topup"] }));
  await timed("balances, page of 50", () => store.ledger.balances(workspace, PAGE, null));
}

/** The audits, and what others wait for meanwhile. */
async function measureAudit(): Promise<void> {
  const audits = [
    ["doctor, the first time", () => store.ledger.auditChanges()],
    ["doctor, later", () => store.ledger.auditChanges()],
    ["doctor --full", () => store.ledger.audit()],
  ] as const;
  for (const [name, run] of audits) {
    const startedMs = performance.now();
    let isRunning = true;
    const audit = run().finally(() => {
      isRunning = false;
    });
    let worstListMs = 0;
    let worstWriteMs = 0;
    while (isRunning) {
      const listedMs = performance.now();
      await store.log.list(workspaceName(3), {}, PAGE, null);
      const writtenMs = performance.now();
      await store.meta.set("bench", String(writtenMs));
      worstListMs = Math.max(worstListMs, writtenMs - listedMs);
      worstWriteMs = Math.max(worstWriteMs, performance.now() - writtenMs);
      await nextTurn();
    }
    const violations = await audit;
    print(name, `${Math.round(performance.now() - startedMs)} ms, ${violations.length} violations`);
    print("  another list meanwhile, worst", `${worstListMs.toFixed(1)} ms`);
    print("  a write meanwhile, worst", `${worstWriteMs.toFixed(1)} ms`);
  }
}

async function measureRetention(): Promise<void> {
  const beforeMs = END_MS - (DAYS - 1) * DAY_MS;
  let worstMs = 0;
  let removed = 0;
  const startedMs = performance.now();
  for (;;) {
    const batchMs = performance.now();
    const rows = await store.log.sweep(beforeMs, RETENTION_ROWS);
    worstMs = Math.max(worstMs, performance.now() - batchMs);
    removed += rows;
    if (rows < RETENTION_ROWS) break;
  }
  const perSecond = Math.round((removed * 1000) / (performance.now() - startedMs));
  print("retention, rows/s", `${perSecond} (${removed} rows, slowest batch ${worstMs.toFixed(1)} ms)`);
}

async function timed(name: string, work: () => Promise<unknown>): Promise<void> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now();
    await work();
    bestMs = Math.min(bestMs, performance.now() - startedMs);
  }
  print(name, `${bestMs.toFixed(1)} ms`);
}

function print(name: string, figure: string): void {
  console.log(`${name.padEnd(40)} ${figure}`);
}

async function open(): Promise<Opened> {
  const nothing = async () => {};
  if (engine === "sqlite") {
    const bytes = async () =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".sqlite"))
        .reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
    return { store: await openSqlite(folder, systemClock), filled: nothing, bytes, close: nothing };
  }
  const cluster = await startCluster();
  const address = await cluster.database("migrated");
  const silent = { info() {}, warn() {}, error() {} };
  const postgres = await openPostgres({ address, connections: 4, dataDir: folder, clock: systemClock, log: silent });
  const bytes = async () => {
    const [row] = await cluster.query(address, "select pg_database_size(current_database())::text as bytes");
    return Number(row?.["bytes"]);
  };
  // Autovacuum does this on a long-running server.
  const filled = () => cluster.query(address, "vacuum analyze");
  return { store: postgres, filled, bytes, close: () => cluster.close() };
}

/** In shared memory, like the journal reader's buffers: nothing is copied to the worker. */
function shared({ bytes, bounds }: RecordBatch): RecordBatch {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  copy.set(bytes);
  return { bytes: copy, bounds };
}
