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
  const rollups = rollupStore(reads, hints);
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

/** Rows like those of `ws_1` in others, and statistics of many times as many. */
const OTHER_WORKSPACES = [
  ...["request_records", "request_shapes", "requests_hourly", "requests_daily", "ledger_transactions"].map((table) => {
    const changes = [`'workspace_id', 'other_' || n`, ...(table === "request_records" ? ["'id', id || '.' || n"] : [])];
    return `insert into ${table} select (jsonb_populate_record(one, jsonb_build_object(${changes.join(", ")}))).*
      from ${table} as one, generate_series(1, 10) as n where one.workspace_id = 'ws_1'`;
  }),
  "analyze",
  `update pg_class set reltuples = reltuples * 250 where relname ~ '^(request|ledger)' and reltuples > 0`,
];

/** From the few thousand rows of `fill` to a million. */
const GROWTH = 250;

const isList = ({ sql }: Pick<CompiledQuery, "sql">) =>
  /order by [^()]* desc limit/s.test(sql) && !/head_ms|from page/.test(sql);

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
  expect(statements.length).toBeGreaterThan(30);
  expect(badPlans(file, statements)).toEqual([]);
  inFile(file, (db) => db.exec("analyze"));
  expect(badPlans(file, statements)).toEqual([]);
  inFile(file, plantMillionRows);
  expect(badPlans(file, statements)).toEqual([]);
});

function inFile<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file);
  try {
    registerFunctions(db);
    return work(db);
  } finally {
    db.close();
  }
}

/** Statements that scan a table that grows with requests, or sort a list. Statistics are read when the file is opened. */
function badPlans(file: string, statements: readonly CompiledQuery[]): object[] {
  const TABLES = /^SCAN (?:\w+ AS )?(request_\w+|requests_\w+|ledger_\w+|posted|given)\b/;
  return inFile(file, (db) =>
    statements.flatMap(({ sql }) => {
      const plan = db
        .prepare(`explain query plan ${sql}`)
        .all()
        .map(({ detail }) => String(detail));
      const isSorted = isList({ sql }) && plan.some((line) => line.includes("TEMP B-TREE"));
      return isSorted || plan.some((line) => TABLES.test(line)) ? [{ sql, plan }] : [];
    }),
  );
}

/** As `analyze` describes a store with this many times the rows: each distinct prefix of an index has as many more. */
function plantMillionRows(db: DatabaseSync): void {
  const update = db.prepare("update sqlite_stat1 set stat = ? where tbl = ? and idx is ?");
  for (const { tbl, idx, stat } of db.prepare("select tbl, idx, stat from sqlite_stat1").all()) {
    const larger = String(stat).replaceAll(/\b\d+\b/g, (rows) => (rows === "1" ? rows : String(Number(rows) * GROWTH)));
    update.run(larger, String(tbl), idx ?? null);
  }
}

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
    const badPlans = async (isBad: (statement: CompiledQuery, plan: readonly string[]) => boolean) => {
      const bad: object[] = [];
      for (const statement of statements) {
        const { rows } = await pool.query(`explain ${statement.sql}`, [...statement.parameters]);
        const plan = rows.map((row: Record<string, unknown>) => String(row["QUERY PLAN"]).trim());
        if (isBad(statement, plan)) bad.push({ sql: statement.sql, plan });
      }
      return bad;
    };
    const scans = (plan: readonly string[]) => plan.some((line) => line.includes("Seq Scan"));
    // Limited selects are few rows, which it may sort.
    const sorts = (statement: CompiledQuery, plan: readonly string[]) =>
      isList(statement) &&
      !/union all|cross join lateral/.test(statement.sql) &&
      plan.some((line) => /^(->\s+)?Sort +\(/.test(line));
    // A small table is scanned for good reason: without the choice, what remains has no index.
    await pool.query("set enable_seqscan = off; set enable_sort = off");
    expect(await badPlans((statement, plan) => sorts(statement, plan) || scans(plan))).toEqual([]);
    // With the choice, among other workspaces, and as if all tables were large.
    for (const statement of OTHER_WORKSPACES) await cluster.query(address, statement);
    await pool.query("set enable_seqscan = on; set enable_sort = on");
    // Partitions of the months around today are empty.
    const LARGE = /Seq Scan on (request_shapes|requests_|ledger_|request_records_rest)/;
    expect(await badPlans((_statement, plan) => plan.some((line) => LARGE.test(line)))).toEqual([]);
    await pool.end();
    await store.close();
  });
});
