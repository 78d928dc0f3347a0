import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { expectChangesAudited } from "../../../../../tests/support/audited-days.ts";
import { ROLLUPS_BROKEN } from "../../../../../tests/support/broken-rollups.ts";
import { cuttingProxy } from "../../../../../tests/support/cutting-proxy.ts";
import { eventually } from "../../../../../tests/support/eventually.ts";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { hasPostgres, PASSWORD } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord, finishedRecord } from "../../../../../tests/support/records.ts";
import { MASTER_KEY, runOf, storedResponse } from "../../../../../tests/support/response-suite.ts";
import { storeSuite } from "../../../../../tests/support/store-suite.ts";
import { LEDGER_COLUMNS } from "../../../../../tests/support/tables.ts";
import { expectUpgraded, oldStore } from "../../../../../tests/support/upgrade.ts";
import { unusedPort } from "../../../../../tests/support/upstream.ts";
import { vaultSuite } from "../../../../../tests/support/vault-suite.ts";
import { withWorkspaces } from "../../../../../tests/support/workspaces.ts";
import { topupOf } from "../../../../domain/billing/ledger.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { MasterKeys } from "../../../master-keys.ts";
import { openVault } from "../../../vault.ts";
import { MIGRATIONS } from "../migrations/all.ts";
import type { Store } from "../store.ts";
import { type DatabaseAddress, readDatabaseAddress } from "./address.ts";
import { postgresDdl } from "./ddl.ts";
import { DatabaseInUseError } from "./instance-lock.ts";
import { migratePostgres, openPostgres } from "./open.ts";
import { openPool } from "./pool.ts";

const cluster = clusterForFile();

function open(address: DatabaseAddress, log = listeningLog()): Promise<Store> {
  return openPostgres({ address, connections: 4, dataDir: cluster.folder(), clock: systemClock, log });
}

/** The same database by another way: other parameters, another port. */
function changed({ url }: DatabaseAddress, change: (url: URL) => void): DatabaseAddress {
  const other = new URL(url);
  change(other);
  const read = readDatabaseAddress(other.href);
  if ("problem" in read) throw new Error(read.problem);
  return read;
}

const topup = (id: string, nanos: bigint) =>
  topupOf({ id, workspaceId: "ws_1", currency: "EUR", nanos, createdAtMs: 1 });

async function filled(): Promise<DatabaseAddress> {
  const address = await cluster.database("migrated");
  const store = await open(address);
  await store.ledger.post(topup("t1", 100n));
  const entry = { id: "a1", atMs: 1, actor: "operator", action: "x.y", workspaceId: null, target: null, detail: {} };
  await store.audit.append(entry);
  await store.ingest([chargedRecord("r1", 30n)]);
  await store.close();
  return address;
}

describe.skipIf(!hasPostgres)("the suites", () => {
  let owned: Promise<DatabaseAddress> | undefined;
  storeSuite("PostgreSQL, by a role that may do no more than it must", async () => {
    owned ??= cluster.database("migrated");
    await cluster.empty(await owned);
    const address = cluster.asApp(await owned);
    const store = await open(address);
    return {
      store,
      async reopen() {
        await store.close();
        return open(address);
      },
    };
  });

  vaultSuite("the vault on PostgreSQL", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    return {
      store,
      async change(...statements) {
        await store.close();
        for (const statement of statements) await cluster.query(address, statement);
        return open(address);
      },
      async bytes() {
        await cluster.query(address, "checkpoint");
        const [row] = await cluster.query(address, "select oid from pg_database where datname = current_database()");
        return ["pg_wal", `base/${row?.["oid"]}`].flatMap((folder) =>
          readdirSync(path.join(cluster.data, folder), { withFileTypes: true })
            .filter((entry) => entry.isFile())
            .map(({ name }) => ({ file: name, bytes: readFileSync(path.join(cluster.data, folder, name)) })),
        );
      },
    };
  });
});

describe.skipIf(!hasPostgres)("the tables themselves", () => {
  test("LOG-01 a database of an earlier version opens with all its data", async () => {
    const address = await cluster.database("empty");
    for (const statement of oldStore(postgresDdl, (hex) => `'\\x${hex}'::bytea`))
      await cluster.query(address, statement);
    const store = await open(address);
    await expectUpgraded(store);
    await store.close();
  });

  test("BILL-01 ledger and audit rows cannot be changed or removed in PostgreSQL, not even all at once", async () => {
    const address = await filled();
    for (const table of ["ledger_transactions", "audit_log"])
      for (const statement of [
        `update ${table} set workspace_id = 'other'`,
        `delete from ${table}`,
        `truncate ${table}`,
      ])
        await expect(cluster.query(address, statement), statement).rejects.toThrow(`${table} is append only`);
  });

  test("BILL-01 the entries that PostgreSQL shows sum to zero, and those of a wallet to its balance", async () => {
    const sums = await cluster.query(
      await filled(),
      "select account, sum(amount_nanos)::text as sum from ledger_entries group by account order by account",
    );
    expect(sums).toEqual([
      { account: "revenue", sum: "30" },
      { account: "topup_clearing", sum: "-100" },
      { account: "wallet", sum: "70" },
    ]);
  });

  test("BILL-01 the audit reports rows that were corrupted outside the store, with the same text as SQLite", async () => {
    const address = await filled();
    await cluster.query(address, "update wallets set balance_nanos = balance_nanos + 1");
    const insert = `insert into ledger_transactions ${LEDGER_COLUMNS} values ('ws_1', 2, `;
    const same = `${insert} 'same', 'charge', 'revenue', 'revenue', 'EUR', 5, null, null)`;
    const back = `${insert} 'back', 'charge', 'promotion', 'revenue', 'EUR', -5, null, null)`;
    for (const statement of [same, back])
      await expect(cluster.query(address, statement)).rejects.toThrow("violates check constraint");
    for (const { conname } of await cluster.query(
      address,
      "select conname from pg_constraint where contype = 'c' and conrelid = 'ledger_transactions'::regclass",
    ))
      await cluster.query(address, `alter table ledger_transactions drop constraint ${conname}`);
    for (const statement of [same, back]) await cluster.query(address, statement);
    await cluster.query(address, `${insert} 'where', 'charge', 'promotion', 'nowhere', 'EUR', 5, null, null)`);
    await cluster.query(address, `${insert} 'charge:r1', 'charge', 'wallet', 'revenue', 'EUR', 30, null, null)`);
    await cluster.query(address, `update request_records set record = replace(record, '"nanos":"30"', '"nanos":"31"')`);
    const store = await open(address);
    expect((await store.ledger.audit()).toSorted()).toEqual([
      "cost_nanos of ws_1 on 1970-01-01 is 0 in requests_daily but 35 in the ledger: statements go by the first, wallets by the second",
      "ledger transaction back moves -5 from promotion to revenue",
      "ledger transaction charge:r1 was written 2 times",
      "ledger transaction same moves 5 from revenue to revenue",
      "ledger transaction where moves 5 from promotion to nowhere",
      "request r1 cost 31, but the ledger has -30",
      "the wallet of ws_1 has 71, but its ledger entries sum to 40",
    ]);
    await store.close();
  });

  test("SCALE-23 BILL-01 an audit of PostgreSQL's changes reads new and changed days, and every wallet", async () => {
    const address = await cluster.database("migrated");
    const store = await open(cluster.asApp(address));
    await expectChangesAudited(store, async (statement) => void (await cluster.query(address, statement)));
    await store.close();
  });

  test("BILL-01 the audit of PostgreSQL finds one nano-unit and one request by which roll-ups, log and ledger differ", async () => {
    for (const [statement, problems] of ROLLUPS_BROKEN) {
      const address = await filled();
      await cluster.query(address, statement);
      const store = await open(address);
      expect(await store.ledger.audit(), statement).toEqual(problems);
      await store.close();
    }
  });

  test("every text column is compared byte by byte, whatever the database locale: use `text` of Ddl", async () => {
    const address = await cluster.database("migrated");
    const [{ sorted } = {}] = await cluster.query(address, "select 'a' < 'B' as sorted");
    expect(sorted, "the database sorts by language").toBe(true);
    const others = await cluster.query(
      address,
      `select table_name, column_name from information_schema.columns
       where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'`,
    );
    expect(others).toEqual([]);
  });

  test("BILL-01 an integer that is not money and exceeds a safe number is an error", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    await withWorkspaces(store, "ws_1");
    await cluster.query(address, "update workspaces set created_at_ms = 9007199254740993");
    await expect(store.tenancy.loadAll()).rejects.toThrow("exceeds the safe integer range");
    await store.close();
  });

  test("characters that PostgreSQL cannot store do not reject a record or break reading the log", async () => {
    const store = await open(await cluster.database("migrated"));
    const asked = 'a\u0000b \ud800 \\u0000 \\\\ud800 \ud83d\ude00 "';
    await store.ingest([finishedRecord("r1", { modelRequested: asked, app: "x" }), finishedRecord("r2")]);
    const readable = 'a\ufffdb \ufffd \\u0000 \\\\ud800 \ud83d\ude00 "';
    expect((await store.log.list("ws_1", { app: "x" }, 10, null)).rows.map((row) => row.modelRequested)).toEqual([
      readable,
    ]);
    expect((await store.log.list("ws_1", { model: readable }, 10, null)).rows).toHaveLength(1);
    expect((await store.log.list("ws_1", {}, 10, null)).rows).toHaveLength(2);
    expect(await store.log.find("r\u0000")).toBeUndefined();
    await store.meta.set("name", "a\u0000b");
    expect(await store.meta.get("name")).toBe("a\ufffdb");
    await store.close();
  });
});

describe.skipIf(!hasPostgres)("two at once", () => {
  test.each([
    ["RESP-03", "deleted", "delete from stored_responses"],
    ["RESP-04", "ended", "update stored_responses set status = 'cancelled'"],
  ])("%s events of a response that is being %s at this moment are dropped without a word", async (_, __, statement) => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    const responses = store.responses(openVault(new MasterKeys(MASTER_KEY), store.dataKeys));
    await responses.add(storedResponse("resp_1", { status: "in_progress" }));
    const other = new Client({ connectionString: address.url });
    await other.connect();
    await other.query("begin");
    await other.query(statement);
    const appended = responses.appendEvents(runOf("resp_1"), [{ sequence: 0, text: "event" }]);
    await eventually(async () => {
      const waiting = await cluster.query(address, "select 1 from pg_stat_activity where wait_event_type = 'Lock'");
      expect(waiting).toHaveLength(1);
    });
    await other.query("commit");
    await other.end();
    expect(await appended).toBe("inactive");
    expect(await responses.events("ws_1", "resp_1", -1)).toEqual([]);
    await store.close();
  });

  test("BILL-02 the same batch sent twice at the same time is charged and counted once", async () => {
    const store = await open(await cluster.database("migrated"));
    const batch = Array.from({ length: 50 }, (_, n) => chargedRecord(`r${n}`, 2n));
    await Promise.all([store.ingest(batch), store.ingest(batch.toReversed()), store.ingest(batch)]);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-100n);
    expect((await store.rollups.daily("ws_1", "0", "9")).map(({ requests }) => requests)).toEqual([50]);
    await store.close();
  });
});

describe.skipIf(!hasPostgres)("migrations", () => {
  test("a changed migration and a database from the future are refused with a reason", async () => {
    const changedOne = await cluster.database("migrated");
    await cluster.query(changedOne, "update schema_migrations set checksum = 'x'");
    await expect(open(changedOne)).rejects.toThrow("a released migration was changed");
    const newer = await cluster.database("migrated");
    await cluster.query(
      newer,
      "insert into schema_migrations (number, name, checksum, applied_at_ms) values (999, 'later', 'x', 1)",
    );
    await expect(open(newer)).rejects.toThrow("migration 999 (later)");
    // The refusal lets go of the database again.
    await cluster.query(newer, "delete from schema_migrations where number = 999");
    await (await open(newer)).close();
  });

  test("of several instances that start together one migrates and the others find it done", async () => {
    const address = await cluster.database("empty");
    await Promise.all(Array.from({ length: 4 }, () => migratePostgres(address, { clock: systemClock })));
    const rows = await cluster.query(address, "select number::int from schema_migrations order by number");
    expect(rows.map(({ number }) => number)).toEqual(MIGRATIONS.map(({ number }) => number));
  });

  test("a database in another encoding is refused with a reason", async () => {
    const address = await cluster.database("empty");
    await cluster.query(
      address,
      "create database latin template template0 encoding latin1 locale_provider libc locale 'C'",
    );
    const latin = changed(address, (url) => {
      url.pathname = "/latin";
    });
    await expect(open(latin)).rejects.toThrow(
      "its encoding is LATIN1; UTF8 is required); create another database with createdb",
    );
  });
});

describe.skipIf(!hasPostgres)("one gateway for a database", () => {
  const holder = `
    import { openPostgres } from ${JSON.stringify(path.join(import.meta.dirname, "open.ts"))};
    import { systemClock } from ${JSON.stringify(path.join(import.meta.dirname, "../../../../kit/clock.ts"))};
    const [url, dataDir] = process.argv.slice(1);
    const log = { info() {}, warn() {}, error() {} };
    const store = await openPostgres({ address: { url, shown: "" }, connections: 2, dataDir, clock: systemClock, log });
    await store.meta.set("from", "child");
    console.log("open");
  `;

  test("a second gateway is refused with the holder's name, and a killed one blocks nobody", async () => {
    const address = await cluster.database("migrated");
    const args = ["--input-type=module-typescript", "-e", holder, address.url, cluster.folder()];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    const refused = await open(address).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DatabaseInUseError);
    expect(String(refused)).toContain(`the database ${address.shown} is in use by another gateway (at 127.0.0.1`);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    const store = await open(address);
    expect(await store.meta.get("from")).toBe("child");
    await store.close();
    await store.close();
    await expect(store.ping()).rejects.toMatchObject({ failure: "unavailable" });
  });
});

describe.skipIf(!hasPostgres)("failures", () => {
  test("BILL-07 a commit whose response is lost is unavailable, and repeating it changes nothing", async () => {
    const address = await cluster.database("migrated");
    const proxy = await cuttingProxy(Number(new URL(address.url).port));
    const store = await open(
      changed(address, (url) => {
        url.port = String(proxy.port);
      }),
    );
    await store.ledger.post(topup("t1", 100n));
    proxy.cutAfter("commit\0");
    await expect(store.ingest([chargedRecord("r1", 30n)])).rejects.toMatchObject({ failure: "unavailable" });
    await eventually(async () => expect(await store.log.find("r1")).toBeDefined());
    await store.ingest([chargedRecord("r1", 30n), chargedRecord("r2", 5n)]);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(65n);
    proxy.cutAfter("commit\0");
    await expect(store.ledger.post(topup("t2", 7n))).rejects.toMatchObject({ failure: "unavailable" });
    expect(await store.ledger.post(topup("t2", 7n))).toBe(false);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(72n);
    expect(await store.ledger.audit()).toEqual([]);
    await store.close();
    await proxy.close();
  });

  test("BILL-02 a new process waits for a commit that a killed process left in flight", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    const other = new Client({ connectionString: address.url });
    await other.connect();
    await other.query(`create function slowly() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
      create constraint trigger slow after insert on ledger_transactions deferrable initially deferred
      for each row execute function slowly();
      select pg_advisory_lock(1)`);
    const audit = { id: "a1", atMs: 1, actor: "operator", action: "x.y", workspaceId: null, target: null, detail: {} };
    const changing = store.change(async ({ ledger }) => ({ result: await ledger.post(topup("t1", 5n)), audit }));
    const waiting = async () =>
      (await other.query("select from pg_locks where locktype = 'advisory' and not granted")).rows.length;
    await eventually(async () => expect(await waiting()).toBe(1));
    expect(await store.ledger.find("t1")).toBeUndefined();
    const over = store.awaitPendingChanges().then(() => store.ledger.find("t1"));
    await eventually(async () => expect(await waiting()).toBe(2));
    await other.query("select pg_advisory_unlock(1)");
    expect(await over).toBeDefined();
    expect(await changing).toBe(true);
    await other.end();
    await store.close();
  });

  test("a statement that times out changes nothing, and its connection stays usable", async () => {
    const address = await cluster.database("migrated");
    const store = await open(changed(address, (url) => url.searchParams.set("statement_timeout", "2000")));
    await store.ledger.post(topup("t1", 1n));
    const blocker = new Client({ connectionString: address.url });
    await blocker.connect();
    await blocker.query("begin");
    await blocker.query("update wallets set balance_nanos = balance_nanos");
    await expect(store.ledger.post(topup("t2", 1n))).rejects.toMatchObject({
      failure: "unavailable",
      message: "canceling statement due to statement timeout",
    });
    await blocker.end();
    expect(await store.ledger.post(topup("t2", 1n))).toBe(true);
    await store.close();
  });

  test("sessions that an administrator ends, in use or idle, are unavailable once and then replaced", async () => {
    const address = await cluster.database("migrated");
    const store = await open(address);
    const posts = Array.from({ length: 40 }, (_, n) => store.ledger.post(topup(`t${n}`, 1n)).catch(String));
    await cluster.query(
      address,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    const ends = await Promise.all(posts);
    await eventually(() => store.ping());
    for (const [n, end] of ends.entries()) if (end !== true) await store.ledger.post(topup(`t${n}`, 1n));
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(40n);
    await store.close();
  });
});

describe.skipIf(!hasPostgres)("connections to the server", () => {
  test("OPS-04 an address that does not work is named without its password", async () => {
    const address = await cluster.database("migrated");
    const nowhere = await unusedPort();
    const gone = changed(address, (url) => Object.assign(url, { port: String(nowhere) }));
    const but = (parts: object) => changed(address, (url) => Object.assign(url, parts));
    const secure = changed(address, (url) => url.searchParams.set("sslmode", "require"));
    const wrong: [DatabaseAddress, string, string][] = [
      [gone, "ECONNREFUSED", "start PostgreSQL there"],
      [but({ password: `${PASSWORD}x` }), "password authentication failed", "add the user and password"],
      [but({ pathname: "/nothing" }), 'database "nothing" does not exist', "create it with createdb"],
      [secure, "does not support SSL", "remove sslmode"],
    ];
    for (const [other, why, next] of wrong) {
      const refused = await open(other).catch((error: unknown) => error);
      expect(String(refused)).toContain(`DATABASE_URL: ${other.shown} cannot be used (`);
      expect(String(refused)).toContain(why);
      expect(String(refused)).toContain(next);
      expect(String(refused)).not.toContain(PASSWORD);
    }
    const settings = { address, connections: 4, dataDir: cluster.folder(), clock: systemClock, log: listeningLog() };
    const unowned = await openPostgres({ ...settings, owner: gone }).catch((error: unknown) => error);
    expect(String(unowned)).toContain(`DATABASE_MIGRATION_URL: ${gone.shown} cannot be used (`);
  });

  test("a session has durable commits and read committed isolation, whatever the database defaults are", async () => {
    const address = await cluster.database("migrated");
    const name = new URL(address.url).pathname.slice(1);
    await cluster.query(address, `alter database ${name} set synchronous_commit = off`);
    await cluster.query(address, `alter database ${name} set default_transaction_isolation = serializable`);
    const pool = openPool(address, 1, "default");
    const { rows } = await pool.query(
      `select current_setting('synchronous_commit') as sync, current_setting('transaction_isolation') as isolation,
        current_setting('statement_timeout') as timeout`,
    );
    expect(rows).toEqual([{ sync: "on", isolation: "read committed", timeout: "30s" }]);
    await pool.end();
  });

  test("TLS verifies the certificate against `sslrootcert`, except with `no-verify`", async () => {
    const address = await cluster.database("migrated");
    const file = (name: string) => path.join(cluster.data, name);
    execFileSync(
      "openssl",
      `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost
       -keyout ${file("server.key")} -out ${file("server.crt")}`.split(/\s+/),
      { stdio: "ignore" },
    );
    const { uid, gid } = statSync(cluster.data);
    for (const name of ["server.key", "server.crt"]) chownSync(file(name), uid, gid);
    await cluster.query(address, "alter system set ssl = on");
    await cluster.query(address, "select pg_reload_conf()");
    const by = (mode: string, root?: string) =>
      changed(address, (url) => {
        url.hostname = "localhost";
        url.searchParams.set("sslmode", mode);
        if (root !== undefined) url.searchParams.set("sslrootcert", root);
      });
    const encrypted = async (target: DatabaseAddress) => {
      const pool = openPool(target, 1, "default");
      try {
        return (await pool.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()")).rows;
      } finally {
        await pool.end();
      }
    };
    await eventually(async () => expect(await encrypted(by("no-verify"))).toEqual([{ ssl: true }]));
    expect(await encrypted(by("verify-full", file("server.crt")))).toEqual([{ ssl: true }]);
    expect(await encrypted(by("disable"))).toEqual([{ ssl: false }]);
    await expect(encrypted(by("require"))).rejects.toThrow("self-signed certificate");
    const refused = async (target: DatabaseAddress) => String(await open(target).catch((error: unknown) => error));
    expect(await refused(by("verify-full"))).toMatch(/add sslrootcert=\/path\/to\/ca\.pem to the URL/);
    expect(await refused(by("verify-full", "/no/such/file"))).toMatch(
      /DATABASE_URL: postgres:\/\/postgres@localhost:.* correct the path of sslrootcert/,
    );
    const elsewhere = changed(by("verify-full", file("server.crt")), (url) => {
      url.hostname = "127.0.0.1";
    });
    expect(await refused(elsewhere)).toMatch(/use a host name of the server's certificate/);
  });
});
