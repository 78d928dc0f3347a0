import { readFileSync } from "node:fs";
import path from "node:path";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { APP_ROLE, hasPostgres, PASSWORD } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord, finishedRecord } from "../../../../../tests/support/records.ts";
import { topupOf } from "../../../../domain/billing/ledger.ts";
import { encodeBatch } from "../../../../domain/record/record-batch.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { sha256Hex } from "../../../../kit/secret.ts";
import { DAY_MS } from "../../../../kit/time.ts";
import { PROJECT_ROOT } from "../../../../settings/config.ts";
import { MIGRATIONS } from "../migrations/all.ts";
import type { Store } from "../store.ts";
import type { DatabaseAddress } from "./address.ts";
import { postgresDdl } from "./ddl.ts";
import { ingestInto } from "./ingest.ts";
import { migratePostgres, openPostgres, type PostgresSettings } from "./open.ts";
import { openPool } from "./pool.ts";

const NOW_MS = Date.UTC(2027, 0, 30, 12);

const cluster = clusterForFile();

function open(address: DatabaseAddress, more: Partial<PostgresSettings> = {}): Promise<Store> {
  const clock = { nowMs: () => NOW_MS, monotonicMs: () => 0 };
  return openPostgres({ address, connections: 4, dataDir: cluster.folder(), clock, log: listeningLog(), ...more });
}

/** Where the rows are, by partition. */
async function places(address: DatabaseAddress): Promise<Record<string, string>> {
  const rows = await cluster.query(
    address,
    `select replace(tableoid::regclass::text, 'request_records_', '') as part, string_agg(id, ' ' order by id) as ids
     from request_records group by 1`,
  );
  return Object.fromEntries(rows.map(({ part, ids }) => [String(part), String(ids)]));
}

async function partsOf(address: DatabaseAddress): Promise<string[]> {
  const rows = await cluster.query(address, "select part from request_log_parts order by from_ms nulls last");
  return rows.map(({ part }) => String(part).replace("request_records_", ""));
}

const at = (id: string, createdAtMs: number) => chargedRecord(id, 1n, { createdAtMs });

const NEWEST_MS = Date.now();

/** Requests of the last days, one for each. */
const batch = (name: string) =>
  encodeBatch(Array.from({ length: 40 }, (_, n) => JSON.stringify(at(`${name}${n}`, NEWEST_MS - n * DAY_MS))));

/** Makes an empty database one of the last version whose log was one table. */
async function bringBeforeParts(address: DatabaseAddress): Promise<void> {
  await cluster.query(
    address,
    `create table schema_migrations (number bigint primary key, name text not null, checksum text not null,
      applied_at_ms bigint not null)`,
  );
  // The columns of these are written by the ingest of today, which stands for the one of then.
  const later = [38, 44, 48];
  const applied = MIGRATIONS.filter(({ number }) => number < 23 || later.includes(number));
  for (const { number, name, statements } of applied) {
    for (const statement of statements(postgresDdl)) await cluster.query(address, statement);
    const checksum = sha256Hex(statements(postgresDdl).join(";\n"));
    await cluster.query(
      address,
      `insert into schema_migrations (number, name, checksum, applied_at_ms) values (${number}, '${name}', '${checksum}', 1)`,
    );
  }
}

describe.skipIf(!hasPostgres)("the request log by time", () => {
  test("SCALE-01 requests go to the partition of their month, the next month is prepared, others go to the default", async () => {
    const address = await cluster.database("migrated");
    const app = cluster.asApp(address);
    const store = await open(app);
    expect(await partsOf(address)).toEqual(["2027_01_01", "2027_02_01", "2027_03_01", "rest"]);
    await store.ingest([
      at("now", NOW_MS),
      at("next", NOW_MS + 3 * DAY_MS),
      at("late", NOW_MS + 90 * DAY_MS),
      at("odd", 5),
    ]);
    expect(await places(address)).toEqual({ "2027_01_01": "now", "2027_02_01": "next", rest: "late odd" });
    // What waited moves to its own partition once that is there, and is the same request still.
    await store.log.prepare(NOW_MS + 90 * DAY_MS);
    expect((await places(address))["2027_04_01"]).toBe("late");
    await store.ingest([at("late", NOW_MS + 90 * DAY_MS), at("now", NOW_MS)]);
    expect((await store.log.list("ws_1", {}, 10, null)).rows.map(({ id }) => id)).toEqual([
      "late",
      "next",
      "now",
      "odd",
    ]);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-4n);
    await store.close();
  });

  test("BILL-07 a record waiting for the default partition while its own is added is stored, not rejected", async () => {
    const address = await cluster.database("migrated");
    const store = await open(cluster.asApp(address));
    const [day, late] = [Date.UTC(2027, 4, 10), Date.UTC(2027, 4, 10, 8)];
    await store.ingest([at("first", late)]);
    const client = new Client({ connectionString: address.url });
    await client.connect();
    await client.query("begin");
    await client.query("select request_log_add($1::bigint, $2::bigint)", [day, day + DAY_MS]);
    const second = store.ingest([at("second", late + 1)]);
    const waits = "select from pg_locks join pg_class on pg_class.oid = relation where relname = $1 and not granted";
    for (let found = 0; found === 0; ) found = (await client.query(waits, ["request_records_rest"])).rowCount ?? 0;
    await client.query("commit");
    await second;
    await client.end();
    expect(await places(address)).toEqual({ "2027_05_10": "first second" });
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-2n);
    await store.close();
  });

  test("SCALE-01 a partition is dropped when all of it is expired; other expired rows are deleted singly", async () => {
    const address = await cluster.database("migrated");
    const store = await open(cluster.asApp(address));
    const days = [1, 20, 29].map((day) => at(`d${day}`, Date.UTC(2027, 0, day)));
    await store.ingest([...days, at("feb", Date.UTC(2027, 1, 3)), at("odd", 5)]);
    expect(await store.log.sweep(Date.UTC(2027, 0, 25), 100)).toBe(3);
    expect(Object.values(await places(address))).toEqual(["d29", "feb"]);
    expect(await store.log.sweep(Date.UTC(2027, 1, 2), 100)).toBe(0);
    expect(await places(address)).toEqual({ "2027_02_01": "feb" });
    expect(await partsOf(address)).toEqual(["2027_02_01", "2027_03_01", "rest"]);
    expect(await store.ledger.audit()).toEqual([]);
    await store.close();
  });

  test("SCALE-01 short retention uses daily partitions, also after monthly ones, and drops whole days", async () => {
    const address = await cluster.database("migrated");
    await (await open(cluster.asApp(address))).close();
    const later = { nowMs: () => NOW_MS + 60 * DAY_MS, monotonicMs: () => 0 };
    const store = await open(cluster.asApp(address), { logRetentionMs: 3 * DAY_MS, clock: later });
    expect((await partsOf(address)).slice(0, 5)).toEqual([
      "2027_01_01",
      "2027_02_01",
      "2027_03_01",
      "2027_04_01",
      "2027_04_02",
    ]);
    const day = Date.UTC(2027, 3, 2);
    await store.ingest([at("a", day), at("b", day + 1000), at("c", day + DAY_MS)]);
    expect(await store.log.sweep(day + 500, 100)).toBe(0);
    expect((await store.log.list("ws_1", {}, 10, null)).rows).toHaveLength(3);
    await store.log.sweep(day + DAY_MS, 100);
    expect(Object.values(await places(address))).toEqual(["c"]);
    await store.close();
  });

  test("SCALE-01 a lookup reads one partition, by the time in the request id or of the page", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    const id = `req_${NOW_MS.toString(16).padStart(12, "0")}7aaa8bbbbbbbbbbbbbbb`;
    await store.ingest([finishedRecord(id, { createdAtMs: NOW_MS })]);
    const client = new Client({ connectionString: address.url });
    await client.connect();
    await client.query("begin");
    // Nobody reads there: a look into that partition would wait for ever.
    await client.query("lock table request_records_2027_03_01 in access exclusive mode");
    expect((await store.log.find(id))?.id).toBe(id);
    const span = { sinceMs: NOW_MS - 1, untilMs: NOW_MS + 1 };
    expect((await store.log.list("ws_1", span, 10, null)).rows).toHaveLength(1);
    await client.query("rollback");
    await client.end();
    await store.close();
  });

  test("SCALE-01 partitioning keeps every row while an instance of the previous version writes", async () => {
    const address = await cluster.database("empty");
    await bringBeforeParts(address);
    const pool = openPool(address, 2, "default");
    const write = ingestInto(pool);
    await write(batch("old"));
    const file = "select pg_relation_filenode('request_records') as node";
    const [was] = await cluster.query(address, file);
    let goesOn = true;
    let written = 0;
    const writer = (async () => {
      while (goesOn) await write(batch(`w${written++}x`));
    })();
    await migratePostgres(address, { clock: systemClock });
    goesOn = false;
    await writer;
    await write(batch("old"));
    const [is] = await cluster.query(address, file.replace("request_records'", "request_records_before'"));
    expect(is).toEqual(was);
    const [count] = await cluster.query(
      address,
      `select (select count(*)::int from requests) as seen, (select count(*)::int from evidence_requests) as proven,
        (select sum(requests)::int from requests_daily) as counted, (select -balance_nanos::int from wallets) as spent`,
    );
    const all = 40 * (written + 1);
    expect(count).toEqual({ seen: all, proven: all, counted: all, spent: all });
    await pool.end();
  });

  test("SCALE-01 a backup that reads the log blocks no reader or writer, and the waiting migration is logged", async () => {
    const address = await cluster.database("empty");
    await bringBeforeParts(address);
    const pool = openPool(address, 2, "default");
    const write = ingestInto(pool);
    await write(batch("old"));
    const backup = new Client({ connectionString: address.url });
    await backup.connect();
    await backup.query("begin");
    await backup.query("lock table request_records in access share mode");
    const log = listeningLog();
    const migrating = migratePostgres(address, { clock: systemClock, log });
    const waiting = "select from pg_locks where not granted and relation = 'request_records'::regclass";
    await expect.poll(() => cluster.query(address, waiting), { timeout: 10_000, interval: 20 }).toHaveLength(1);
    await cluster.query(address, "set lock_timeout = '20s'; select from request_records");
    await write(batch("new"));
    await expect
      .poll(() => log.lines[0], { timeout: 10_000 })
      .toMatchObject({ level: "warn", detail: { migration: 23 } });
    await backup.query("commit");
    await backup.end();
    await migrating;
    expect(await cluster.query(address, "select count(*)::int as kept from requests")).toEqual([{ kept: 80 }]);
    await pool.end();
  }, 60_000);
});

describe.skipIf(!hasPostgres)("roles", () => {
  test("SCALE-01 BILL-01 the gateway's role can neither update nor delete append-only rows", async () => {
    const address = await cluster.database("migrated");
    const app = cluster.asApp(address);
    const store = await open(app);
    await store.ledger.post(topupOf({ id: "t", workspaceId: "ws_1", currency: "EUR", nanos: 5n, createdAtMs: 1 }));
    await store.ingest([at("r", NOW_MS)]);
    await store.close();
    const added = ["ledger_transactions", "ledger_returns", "audit_log", "exchange_rates", "policy_versions"];
    const refused = [
      ...[...added, "router_versions", "schema_migrations"].flatMap((table) => [
        `delete from ${table}`,
        `truncate ${table}`,
        `drop table ${table}`,
        `alter table ${table} disable trigger all`,
      ]),
      "update ledger_transactions set note = 'x'",
      "update audit_log set detail = 'x'",
      "insert into schema_migrations (number, name, checksum, applied_at_ms) values (999, 'x', 'x', 1)",
      "create or replace function refuse_change() returns trigger language plpgsql as $$ begin return null; end $$",
      "create table mine (id text)",
      `select gateway_grant('${APP_ROLE}')`,
    ];
    for (const statement of refused)
      await expect(cluster.query(app, statement), statement).rejects.toThrow(/permission denied|must be owner/);
  });

  test("SCALE-01 the owner's address migrates and grants the gateway's role; without it the error says what to set", async () => {
    const address = await cluster.database("empty");
    // The role is made with the first database that is migrated.
    await cluster.database("migrated");
    const app = cluster.asApp(address);
    await expect(open(app)).rejects.toThrow(/cannot migrate the tables .*DATABASE_MIGRATION_URL/);
    const store = await open(app, { owner: address });
    await store.ingest([at("r", NOW_MS)]);
    await store.close();
    const again = await open(app);
    expect(await again.log.find("r")).toBeDefined();
    await again.close();
  });
});

describe.skipIf(!hasPostgres)("deploy/postgres/roles.sql", () => {
  test("SCALE-01 with separate roles a gateway starts, writes, partitions its log and cannot change the ledger", async () => {
    const address = await cluster.database("empty");
    const file = path.join(PROJECT_ROOT, "deploy/postgres/roles.sql");
    await cluster.query(address, readFileSync(file, "utf8"));
    for (const role of ["gateway_owner", "gateway_app"])
      await cluster.query(address, `alter role ${role} password '${PASSWORD}'`);
    const as = (role: string) => ({ url: address.url.replace("//postgres:", `//${role}:`), shown: role });
    const store = await open(as("gateway_app"), { owner: as("gateway_owner") });
    await store.ingest([at("old", NOW_MS - 20 * DAY_MS), at("new", NOW_MS + 5 * DAY_MS)]);
    await store.log.sweep(NOW_MS + 3 * DAY_MS, 10);
    expect(await places(address)).toEqual({ "2027_02_01": "new" });
    expect(await store.ledger.audit()).toEqual([]);
    await store.close();
    const owned = await cluster.query(
      address,
      `select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = 'public'::regnamespace`,
    );
    expect(owned).toEqual([{ owner: "gateway_owner" }]);
    // Not even their owner, short of taking the triggers away.
    for (const role of ["gateway_owner", "gateway_app"])
      await expect(cluster.query(as(role), "delete from ledger_transactions")).rejects.toThrow(/append only|denied/);
  });
});

describe.skipIf(!hasPostgres)("several that write at once", () => {
  test("BILL-02 instances that ingest overlapping batches, in any order, charge and count each request once", async () => {
    const address = await cluster.database("migrated");
    const pools = Array.from({ length: 4 }, () => openPool(cluster.asApp(address), 1, "default"));
    const texts = Array.from({ length: 200 }, (_, n) =>
      JSON.stringify(
        chargedRecord(`r${n}`, 2n, { createdAtMs: NOW_MS + n, workspaceId: `ws_${n % 7}`, app: `job ${n % 31}` }),
      ),
    );
    const writers = pools.map(async (pool, own) => {
      const write = ingestInto(pool);
      for (let round = 0; round < 12; round += 1) {
        const turned = texts.slice(round * 13).concat(texts.slice(0, round * 13));
        await write(encodeBatch((own + round) % 2 === 0 ? turned : turned.toReversed()));
      }
    });
    await Promise.all(writers);
    const [sums] = await cluster.query(
      address,
      `select (select sum(requests)::int from requests_daily) as daily, (select sum(requests)::int from requests_hourly)
        as hourly, (select -sum(balance_nanos)::int from wallets) as spent, (select count(*)::int from request_records) as rows`,
    );
    expect(sums).toEqual({ daily: 200, hourly: 200, spent: 400, rows: 200 });
    for (const pool of pools) await pool.end();
  });

  test("BILL-02 a batch that deadlocks is retried and written", async () => {
    const address = await cluster.database("migrated");
    const pool = openPool(address, 1, "default");
    const write = ingestInto(pool);
    const record = (id: string, workspaceId: string) =>
      JSON.stringify(chargedRecord(id, 1n, { workspaceId, createdAtMs: NOW_MS }));
    await write(encodeBatch([record("a", "ws_1"), record("b", "ws_2")]));
    const other = new Client({ connectionString: address.url });
    await other.connect();
    // Patient, so that the batch is the one that is given up.
    await other.query(
      "set deadlock_timeout = '30s'; begin; update wallets set balance_nanos = balance_nanos where workspace_id = 'ws_2'",
    );
    const written = write(encodeBatch([record("c", "ws_1"), record("d", "ws_2")]));
    for (;;) {
      const waiting = await cluster.query(
        address,
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      if (waiting.length > 0) break;
    }
    await other.query("update wallets set balance_nanos = balance_nanos where workspace_id = 'ws_1'");
    await other.query("commit");
    await written;
    const [row] = await cluster.query(address, "select -sum(balance_nanos)::int as spent from wallets");
    expect(row).toEqual({ spent: 4 });
    await other.end();
    await pool.end();
  });
});
