import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type CompiledQuery, type Dialect, Kysely, type LogEvent } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { listeningLog } from "../../../../tests/support/journal-fixture.ts";
import { hasPostgres } from "../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../tests/support/postgres-file.ts";
import { chargedRecord, finishedRecord } from "../../../../tests/support/records.ts";
import { layTables } from "../../../../tests/support/tables.ts";
import { systemClock } from "../../../kit/clock.ts";
import { Mutex } from "../../../kit/mutex.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { bigintPlugin } from "./bigint-plugin.ts";
import type { PlanHints } from "./engine.ts";
import { evidenceStore } from "./evidence-store.ts";
import { ledgerStore } from "./ledger-store.ts";
import { logStore } from "./log-store.ts";
import { poolDialect } from "./postgres/dialect.ts";
import { openPostgres, POSTGRES_HINTS } from "./postgres/open.ts";
import { openPool } from "./postgres/pool.ts";
import { rollupStore } from "./rollup-store.ts";
import type { Database } from "./schema.ts";
import { sqliteWorkerDialect } from "./sqlite/dialect.ts";
import { DATABASE_FILE, openSqlite, SQLITE_HINTS, SQLITE_WORKER } from "./sqlite/open.ts";
import { registerFunctions } from "./sqlite/open-database-file.ts";
import { SqliteReader } from "./sqlite/reader.ts";
import type { Store } from "./store.ts";

const START_MS = Date.UTC(2027, 0, 15);

/** Behind the newest 4,000 requests that a filter scans first there are those of many shapes. */
async function fill(store: Store): Promise<void> {
  const old = Array.from({ length: 100 }, (_, n) =>
    finishedRecord(`a${n}`, { createdAtMs: START_MS - DAY_MS + n, app: `job ${n}`, provider: "gone" }),
  );
  const recent = Array.from({ length: 4100 }, (_, n) => chargedRecord(`b${n}`, 5n, { createdAtMs: START_MS + n }));
  await store.ingest([...old, ...recent]);
}

/** The statements of all log, ledger and usage queries. */
async function statementsOf(dialect: Dialect, hints: PlanHints): Promise<readonly CompiledQuery[]> {
  const seen: CompiledQuery[] = [];
  const log = ({ query }: LogEvent) => void seen.push(query);
  const reads = new Kysely<Database>({ dialect, plugins: [bigintPlugin], log });
  const ledger = ledgerStore(reads, { reads, hints });
  const requests = logStore({ db: reads, reads, hints });
  const rollups = rollupStore(reads);
  const evidence = evidenceStore(reads);
  const period = { fromMs: START_MS - DAY_MS, toMs: START_MS + DAY_MS };
  const usage = { ...period, stepMs: DAY_MS, group: "model", filter: {} } as const;
  const first = await requests.list("ws_1", {}, 20, null);
  await requests.list("ws_1", {}, 20, first.next);
  for (const filter of [{ provider: "gone" }, { app: "job 7" }, { status: 200, untilMs: START_MS + DAY_MS }])
    await requests.list("ws_1", filter, 20, null);
  await requests.find("b7");
  await requests.lastRequestTimes(["ws_1", "ws_2"]);
  const entries = await ledger.entries("ws_1", 20, null);
  await ledger.entries("ws_1", 20, entries.next, { kinds: ["charge"] });
  await ledger.entries("ws_1", 20, null, { kinds: ["topup"] });
  await ledger.entries("ws_1", 20, entries.next, { kinds: ["topup", "refund"] });
  await ledger.balances("ws_1", 20, entries.next);
  await ledger.statement("ws_1", period);
  await ledger.spent("ws_1", "charges", [period]);
  await ledger.findCharge("ws_1", "b7", period);
  await rollups.usage("ws_1", usage, 100);
  await rollups.usageSketches("ws_1", usage);
  await rollups.daily("ws_1", "2027-01-01", "2027-01-31");
  await rollups.spendSince("2027-01-01", ["ws_1"]);
  await rollups.keyUsage("ws_1", ["key_1"], "2027-01-01");
  await evidence.firstRequestAtMs("ws_1", 0);
  await evidence.sums("ws_1", period.fromMs, period.toMs);
  await reads.destroy();
  return seen;
}

const isList = ({ sql }: CompiledQuery) => /order by [^()]* desc limit/s.test(sql) && !/head_ms|from page/.test(sql);

test("SCALE-23 every log, ledger and usage query on SQLite seeks an index, and no list is sorted", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-plans-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await layTables(folder);
  const store = await openSqlite(folder, systemClock);
  await fill(store);
  await store.close();
  const file = path.join(folder, DATABASE_FILE);
  const statements = await statementsOf(
    sqliteWorkerDialect(new SqliteReader(SQLITE_WORKER, file), new Mutex()),
    SQLITE_HINTS,
  );
  const db = new DatabaseSync(file);
  registerFunctions(db);
  const planOf = ({ sql }: CompiledQuery) =>
    db
      .prepare(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
  const TABLES = /^SCAN (?:\w+ AS )?(request_\w+|requests_\w+|ledger_\w+|posted|given)\b/;
  const bad = statements.flatMap((statement) => {
    const plan = planOf(statement);
    const isSorted = isList(statement) && plan.some((line) => line.includes("TEMP B-TREE"));
    return isSorted || plan.some((line) => TABLES.test(line)) ? [{ sql: statement.sql, plan }] : [];
  });
  db.close();
  expect(bad).toEqual([]);
  expect(statements.length).toBeGreaterThan(30);
});

const cluster = clusterForFile();

describe.skipIf(!hasPostgres)("PostgreSQL", () => {
  test("SCALE-23 every log, ledger and usage query on PostgreSQL has an index, and no list is sorted", async () => {
    const address = await cluster.database("migrated");
    const dataDir = cluster.folder();
    const store = await openPostgres({ address, connections: 2, dataDir, clock: systemClock, log: listeningLog() });
    await fill(store);
    await cluster.query(address, "analyze");
    const statements = await statementsOf(poolDialect(openPool(address, 2, "default")), POSTGRES_HINTS);
    const pool = openPool(address, 1, "default");
    // A small table is scanned for good reason: without the choice, what remains has no index.
    await pool.query("set enable_seqscan = off; set enable_sort = off");
    const bad: object[] = [];
    for (const statement of statements) {
      const { rows } = await pool.query(`explain ${statement.sql}`, [...statement.parameters]);
      const plan = rows.map((row: Record<string, unknown>) => String(row["QUERY PLAN"]).trim());
      // Limited selects are few rows, which it may sort.
      const isSorted =
        isList(statement) &&
        !statement.sql.includes("union all") &&
        plan.some((line) => /^(->\s+)?Sort +\(/.test(line));
      if (isSorted || plan.some((line) => line.includes("Seq Scan"))) bad.push({ sql: statement.sql, plan });
    }
    await pool.end();
    await store.close();
    expect(bad).toEqual([]);
  });
});
