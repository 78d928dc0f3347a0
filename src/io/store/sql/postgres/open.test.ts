import type { Worker } from "node:worker_threads";
import { Client } from "pg";
import { expect, test } from "vitest";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { expectChargesAdded } from "../../../../../tests/support/missing-charges.ts";
import { hasPostgres } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord } from "../../../../../tests/support/records.ts";
import { BEFORE_ONE_FACTOR, expectOneFactorEach, factorRow } from "../../../../../tests/support/second-factors.ts";
import { LEDGER_COLUMNS } from "../../../../../tests/support/tables.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { ADVISORY_LOCKS } from "./instance-lock.ts";
import { migratePostgres, openPostgres } from "./open.ts";

const cluster = clusterForFile();

test.skipIf(!hasPostgres)(
  "KEY-04 BILL-02 what a killed gateway was committing is waited for: the next one loads it, and not what was before",
  async () => {
    const address = await cluster.database("migrated");
    // A session that goes on without whoever began it.
    const left = new Client({ connectionString: address.url });
    await left.connect();
    await left.query("begin");
    await left.query("insert into meta (name, value) values ('left', 'half done')");
    await left.query(`select pg_advisory_xact_lock(${ADVISORY_LOCKS.ours}, ${ADVISORY_LOCKS.change})`);
    const opening = openPostgres({
      ...{ address, connections: 2, dataDir: cluster.folder(), clock: systemClock, log: listeningLog() },
    });
    const waits = expect.poll(() => cluster.query(address, "select from pg_locks where not granted")).toHaveLength(1);
    expect(await Promise.race([opening.then(() => "open"), waits.then(() => "waits")])).toBe("waits");
    await left.query("commit");
    const store = await opening;
    expect(await store.meta.get("left")).toBe("half done");
    await store.close();
    await left.end();
  },
);

test.skipIf(!hasPostgres)(
  "BILL-07 a thread that ended is replaced by the next batch, and the log says so",
  async () => {
    const address = await cluster.database("migrated");
    const log = listeningLog();
    const store = await openPostgres({ address, connections: 2, dataDir: cluster.folder(), clock: systemClock, log });
    const threads: Worker[] = [];
    const started = (thread: Worker) => threads.push(thread);
    process.on("worker", started);
    await store.ingest([chargedRecord("r1", 1n)]);
    await threads[0]?.terminate();
    await store.ingest([chargedRecord("r1", 1n), chargedRecord("r2", 1n)]);
    process.off("worker", started);
    expect(threads).toHaveLength(2);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-2n);
    expect(log.lines.filter(({ level }) => level === "error").map(({ message }) => message)).toEqual([
      "store: ingest worker exited, next batch starts a new one",
    ]);
    await store.close();
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  },
);

test.skipIf(!hasPostgres)(
  "BILL-01 the audit takes no connection from others, has its own time, and tells what it found by then",
  async () => {
    const address = await cluster.database("migrated");
    // By the address a statement of everybody else may take far longer.
    const url = `${address.url}?statement_timeout=60000`;
    const store = await openPostgres({
      ...{ address: { ...address, url }, connections: 1, longStatementMs: 3_000 },
      ...{ dataDir: cluster.folder(), clock: systemClock, log: listeningLog() },
    });
    await store.ingest([chargedRecord("r1", 1n)]);
    expect(await store.ledger.audit()).toEqual([]);
    const busy = new Client({ connectionString: address.url });
    await busy.connect();
    await busy.query("begin");
    await busy.query("lock table request_records in access exclusive mode");
    const audit = store.ledger.audit().catch((error: unknown) => error);
    expect(await Promise.race([audit, store.meta.get("nothing")])).toBeUndefined();
    expect(await audit).toMatchObject({ name: "StoreError", reason: "statement_timeout" });
    await cluster.query(address, "update wallets set balance_nanos = 7");
    expect(await store.ledger.audit()).toEqual(["the wallet of ws_1 has 7, but its ledger entries sum to -1"]);
    await busy.end();
    expect(await store.ledger.audit()).toHaveLength(1);
    await expect.poll(() => cluster.query(address, GATEWAYS)).toEqual([{ sessions: 3 }]);
    await store.close();
  },
);

/** One for questions, one that writes records, one that keeps others out. */
const GATEWAYS = `select count(*)::int as sessions from pg_stat_activity
  where application_name = 'inference-gateway' and datname = current_database()`;

const BESIDE_CHARGES = "ledger_transactions_beside_charges";

test.skipIf(!hasPostgres).each([
  ["where there is none", `drop index ${BESIDE_CHARGES}`],
  ["after one was cut off", `update pg_index set indisvalid = false where indexrelid = '${BESIDE_CHARGES}'::regclass`],
])("SCALE-01 the ledger index is built while charges are written and other instances start, %s", async (_, before) => {
  const address = await cluster.database("migrated");
  await cluster.query(address, "delete from schema_migrations where number = 29");
  await cluster.query(address, before);
  const charge = (id: string) => `insert into ledger_transactions ${LEDGER_COLUMNS}
    values ('ws_1', 1, '${id}', 'charge', 'wallet', 'revenue', 'EUR', 1, null, null)`;
  const busy = new Client({ connectionString: address.url });
  await busy.connect();
  await busy.query("begin");
  await busy.query(charge("charge:r1"));
  const migrating = [1, 2].map(() => migratePostgres(address, { clock: systemClock }));
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '% index %'
    and datname = current_database() and pid <> pg_backend_pid()`;
  await expect.poll(() => cluster.query(address, waiting)).toHaveLength(1);
  await cluster.query(address, `set lock_timeout = '3s'; ${charge("charge:r2")}`);
  await busy.query("commit");
  await busy.end();
  await Promise.all(migrating);
  const valid = `select indisvalid from pg_index where indexrelid = '${BESIDE_CHARGES}'::regclass`;
  expect(await cluster.query(address, valid)).toEqual([{ indisvalid: true }]);
});

test.skipIf(!hasPostgres)(
  "SCALE-01 while a backup reads a table that a migration changes, others write to it; it goes on when the backup is over",
  async () => {
    const address = await cluster.database("migrated");
    await cluster.query(address, "delete from schema_migrations where number = 30");
    await cluster.query(address, "alter table stored_responses drop column answering, drop column called_off");
    const backup = new Client({ connectionString: address.url });
    await backup.connect();
    await backup.query("begin");
    await backup.query("lock table stored_responses in access share mode");
    const log = listeningLog();
    const migrating = migratePostgres(address, { clock: systemClock, log });
    const waiting = "select from pg_locks where not granted and relation = 'stored_responses'::regclass";
    await expect.poll(() => cluster.query(address, waiting), { timeout: 10_000, interval: 20 }).toHaveLength(1);
    await cluster.query(address, "set lock_timeout = '20s'; delete from stored_responses");
    await expect
      .poll(() => log.lines, { timeout: 10_000 })
      .toMatchObject([{ level: "warn", detail: { migration: 30 } }]);
    await backup.query("commit");
    await backup.end();
    await migrating;
    const added = "select answering, called_off from stored_responses";
    expect(await cluster.query(address, added)).toEqual([]);
  },
);

test.skipIf(!hasPostgres)(
  "BILL-01 charges that earlier versions left out of the roll-ups are added to them once",
  async () => {
    const address = await cluster.database("migrated");
    const open = () =>
      openPostgres({ address, connections: 2, dataDir: cluster.folder(), clock: systemClock, log: listeningLog() });
    await expectChargesAdded(open, (statements) => cluster.query(address, statements.join(";")).then(() => undefined));
  },
);

test.skipIf(!hasPostgres)(
  "PORTAL-11 of several second factors of a person the confirmed one stays in PostgreSQL, and no other comes",
  async () => {
    const address = await cluster.database("migrated");
    const open = () =>
      openPostgres({ address, connections: 2, dataDir: cluster.folder(), clock: systemClock, log: listeningLog() });
    await expectOneFactorEach(open, (statements) => cluster.query(address, statements.join(";")).then(() => undefined));
  },
);

test.skipIf(!hasPostgres)(
  "PORTAL-11 SCALE-01 a second factor that an instance of the version before is adding is waited for",
  async () => {
    const address = await cluster.database("migrated");
    const before = [
      ...BEFORE_ONE_FACTOR,
      `insert into people (id, name, email, email_verified, created_at, updated_at)
        values ('per_1', 'Ada', 'ada@example.eu', 1, '', '')`,
      factorRow("aut_01", "per_1", 0),
    ];
    await cluster.query(address, before.join(";"));
    const old = new Client({ connectionString: address.url });
    await old.connect();
    await old.query("begin");
    await old.query(factorRow("aut_02", "per_1", 0));
    const migrating = migratePostgres(address, { clock: systemClock });
    const waiting = "select from pg_locks where not granted and relation = 'people_two_factors'::regclass";
    await expect.poll(() => cluster.query(address, waiting), { timeout: 10_000, interval: 20 }).toHaveLength(1);
    await old.query("commit");
    await old.end();
    await migrating;
    expect(await cluster.query(address, "select id from people_two_factors")).toEqual([{ id: "aut_02" }]);
  },
);
