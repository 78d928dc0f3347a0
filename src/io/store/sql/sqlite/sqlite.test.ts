import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { afterAll, describe, expect, test } from "vitest";
import { expectChangesAudited } from "../../../../../tests/support/audited-days.ts";
import { ROLLUPS_BROKEN } from "../../../../../tests/support/broken-rollups.ts";
import { chargedRecord } from "../../../../../tests/support/records.ts";
import { expectOneFactorEach } from "../../../../../tests/support/second-factors.ts";
import { storeSuite } from "../../../../../tests/support/store-suite.ts";
import { LEDGER_COLUMNS, layTables } from "../../../../../tests/support/tables.ts";
import { expectUpgraded, oldStore } from "../../../../../tests/support/upgrade.ts";
import { topupOf } from "../../../../domain/billing/ledger.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { DataDirInUseError } from "../data-dir-lock.ts";
import { sqliteDdl } from "./ddl.ts";
import { DATABASE_FILE, openSqlite, openSqliteEngine } from "./open.ts";

const folders: string[] = [];
function freshFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-store-"));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

storeSuite("SQLite", async () => {
  const folder = freshFolder();
  await layTables(folder);
  const store = await openSqlite(folder, systemClock);
  return {
    store,
    async reopen() {
      await store.close();
      return openSqlite(folder, systemClock);
    },
  };
});

/** The database file, opened past the store. */
function onFile<T>(folder: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path.join(folder, DATABASE_FILE));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

async function filledFolder(): Promise<string> {
  const folder = freshFolder();
  const store = await openSqlite(folder, systemClock);
  await store.ledger.post(topupOf({ id: "t1", workspaceId: "ws_1", currency: "EUR", nanos: 100n, createdAtMs: 1 }));
  await store.audit.append({
    id: "a1",
    atMs: 1,
    actor: "operator",
    action: "x.y",
    workspaceId: null,
    target: null,
    detail: {},
  });
  await store.ingest([chargedRecord("r1", 30n)]);
  await store.close();
  return folder;
}

describe("the file itself", () => {
  test("LOG-01 a store of an earlier version opens with all its data", async () => {
    const folder = freshFolder();
    onFile(folder, (db) => {
      for (const statement of oldStore(sqliteDdl, (hex) => `x'${hex}'`)) db.exec(statement);
    });
    const store = await openSqlite(folder, systemClock);
    await expectUpgraded(store);
    await store.close();
  });

  test("PORTAL-11 of several second factors the confirmed one is kept, and no second one can be added", async () => {
    const folder = freshFolder();
    await expectOneFactorEach(
      () => openSqlite(folder, systemClock),
      async (statements) =>
        onFile(folder, (db) => {
          for (const statement of statements) db.exec(statement);
        }),
    );
  });

  test("BILL-01 ledger and audit rows cannot be changed or removed, not even by REPLACE", async () => {
    const folder = await filledFolder();
    onFile(folder, (db) => {
      db.exec("pragma recursive_triggers = on");
      for (const table of ["ledger_transactions", "audit_log"]) {
        expect(() => db.exec(`update ${table} set workspace_id = 'other'`), table).toThrow("append only");
        expect(() => db.exec(`delete from ${table}`), table).toThrow("append only");
        expect(() => db.exec(`replace into ${table} select * from ${table}`), table).toThrow("append only");
      }
    });
  });

  test("BILL-01 the entries that SQL shows sum to zero, and those of a wallet to its balance", async () => {
    const folder = await filledFolder();
    const sums = onFile(folder, (db) =>
      db
        .prepare("select account, sum(amount_nanos) as sum from ledger_entries group by account order by account")
        .all(),
    );
    expect(sums.map(({ account, sum }) => [account, sum])).toEqual([
      ["revenue", 30],
      ["topup_clearing", -100],
      ["wallet", 70],
    ]);
  });

  test("BILL-01 the audit reports rows that were corrupted outside the store", async () => {
    const folder = await filledFolder();
    onFile(folder, (db) => {
      db.exec("update wallets set balance_nanos = balance_nanos + 1");
      const insert = `insert into ledger_transactions ${LEDGER_COLUMNS} values ('ws_1', 2, `;
      const same = `${insert} 'same', 'charge', 'revenue', 'revenue', 'EUR', 5, null, null)`;
      const back = `${insert} 'back', 'charge', 'promotion', 'revenue', 'EUR', -5, null, null)`;
      for (const statement of [same, back]) expect(() => db.exec(statement)).toThrow("CHECK constraint failed");
      db.exec("pragma ignore_check_constraints = on");
      for (const statement of [same, back]) db.exec(statement);
      db.exec(`${insert} 'where', 'charge', 'promotion', 'nowhere', 'EUR', 5, null, null)`);
      db.exec(`${insert} 'charge:r1', 'charge', 'wallet', 'revenue', 'EUR', 30, null, null)`);
      db.exec("update request_records set record = json_set(record, '$.charge.nanos', '31')");
    });
    const store = await openSqlite(folder, systemClock);
    expect(await store.ledger.audit()).toEqual([
      "ledger transaction back moves -5 from promotion to revenue",
      "ledger transaction same moves 5 from revenue to revenue",
      "ledger transaction where moves 5 from promotion to nowhere",
      "ledger transaction charge:r1 was written 2 times",
      "the wallet of ws_1 has 71, but its ledger entries sum to 40",
      "request r1 cost 31, but the ledger has -30",
      "cost_nanos of ws_1 on 1970-01-01 is 0 in requests_daily but 35 in the ledger: statements go by the first, wallets by the second",
    ]);
    await store.close();
  });

  test("BILL-01 the audit finds one nano-unit and one request by which roll-ups, log and ledger differ", async () => {
    const found = async (statement: string) => {
      const folder = await filledFolder();
      onFile(folder, (db) => db.exec(statement));
      const store = await openSqlite(folder, systemClock);
      const problems = await store.ledger.audit();
      await store.close();
      return problems;
    };
    for (const [statement, problems] of ROLLUPS_BROKEN) expect(await found(statement), statement).toEqual(problems);
  });

  test("SCALE-23 BILL-01 an audit of the changes reads new and changed days, and every wallet", async () => {
    const folder = freshFolder();
    await layTables(folder);
    const store = await openSqlite(folder, systemClock);
    await expectChangesAudited(store, async (statement) => onFile(folder, (db) => db.exec(statement)));
    await store.close();
  });

  test("KEY-01 only the digest of a key is stored: there is no column for the key", async () => {
    const folder = await filledFolder();
    const columns = onFile(folder, (db) => db.prepare("select name from pragma_table_info('api_keys')").all());
    expect(columns.map(({ name }) => name)).not.toContain("key");
  });

  test("a file that is no database is refused with a reason, and the folder is free again", async () => {
    const folder = freshFolder();
    const file = path.join(folder, DATABASE_FILE);
    writeFileSync(file, "no database ".repeat(1000));
    await expect(openSqlite(folder, systemClock)).rejects.toThrow("file is not a database");
    rmSync(file);
    await (await openSqlite(folder, systemClock)).close();
  });

  test("a transaction that finds the disk full fails, and the next one succeeds", async () => {
    const engine = await openSqliteEngine(freshFolder(), systemClock, "acquire");
    const pagesMax = (pages: number) => sql.raw(`pragma max_page_count = ${pages}`).execute(engine.db);
    const keep = (value: string) =>
      engine.db.transaction().execute((trx) => trx.insertInto("meta").values({ name: "x", value }).execute());
    await pagesMax(1);
    await expect(keep("x".repeat(2_000_000))).rejects.toThrow("database or disk is full");
    await pagesMax(1_000_000);
    await keep("y");
    await engine.close();
  });

  test("SCALE-23 a write and a list are done while a long read still runs", async () => {
    const engine = await openSqliteEngine(freshFolder(), systemClock, "acquire");
    const done: string[] = [];
    const counting = sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < 2000000)
      select max(i) from n`;
    const scan = engine.withoutStatementTimeout?.(async (session) => {
      await counting.execute(session);
      done.push("scan");
    });
    await engine.db.insertInto("meta").values({ name: "x", value: "y" }).execute();
    done.push("write");
    const found = await engine.reads?.selectFrom("meta").select("value").where("name", "=", "x").executeTakeFirst();
    done.push(`list with ${found?.value}`);
    await scan;
    expect(done).toEqual(["write", "list with y", "scan"]);
    await engine.close();
  });

  test("a changed migration and a store from the future are refused with a reason", async () => {
    const folder = await filledFolder();
    onFile(folder, (db) => db.exec("update schema_migrations set checksum = 'x'"));
    await expect(openSqlite(folder, systemClock)).rejects.toThrow("a released migration was changed");
    const newer = await filledFolder();
    onFile(newer, (db) =>
      db.exec("insert into schema_migrations (number, name, checksum, applied_at_ms) values (999, 'later', 'x', 1)"),
    );
    await expect(openSqlite(newer, systemClock)).rejects.toThrow("migration 999 (later)");
    // The refusal lets go of the folder again.
    onFile(newer, (db) => db.exec("delete from schema_migrations where number = 999"));
    await (await openSqlite(newer, systemClock)).close();
  });
});

describe("one process for a data directory", () => {
  const holder = `
    import { openSqlite } from ${JSON.stringify(path.join(import.meta.dirname, "open.ts"))};
    import { systemClock } from ${JSON.stringify(path.join(import.meta.dirname, "../../../../kit/clock.ts"))};
    const store = await openSqlite(process.argv[1], systemClock);
    await store.meta.set("from", "child");
    console.log("open");
    setInterval(() => {}, 1000);
  `;

  test("a second gateway is refused with the holder's process id, and a killed one blocks nobody", async () => {
    const folder = freshFolder();
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", holder, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const refused = await openSqlite(folder, systemClock).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DataDirInUseError);
    expect(String(refused)).toContain(`process ${child.pid}`);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    const store = await openSqlite(folder, systemClock);
    expect(await store.meta.get("from")).toBe("child");
    await store.close();
  });

  test("BILL-07 the process exits with a reason when the SQLite worker thread dies", async () => {
    const ended = `
      const threads = [];
      process.on("worker", (thread) => threads.push(thread));
      ${holder}
      threads[0].terminate();
    `;
    const args = ["--input-type=module-typescript", "-e", ended, freshFolder()];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    const said: string[] = [];
    child.stderr.on("data", (text) => said.push(String(text)));
    const [code] = await once(child, "close");
    expect(code).toBe(1);
    expect(said.join("")).toContain("the store worker exited");
  });

  test("OPS-04 in a folder that everyone may read, no file of the store can be read by others", async () => {
    const folder = freshFolder();
    chmodSync(folder, 0o755);
    const store = await openSqlite(folder, systemClock);
    await store.meta.set("written", "yes");
    const files = readdirSync(folder);
    expect(files).toEqual(expect.arrayContaining([DATABASE_FILE, `${DATABASE_FILE}-wal`, "gateway.lock"]));
    for (const file of files) expect([file, statSync(path.join(folder, file)).mode & 0o077]).toEqual([file, 0]);
    await store.close();
  });

  test("a second store in the same process is refused too", async () => {
    const folder = freshFolder();
    const store = await openSqlite(folder, systemClock);
    await expect(openSqlite(folder, systemClock)).rejects.toThrow(DataDirInUseError);
    await store.close();
    await store.close();
    await expect(store.ping()).rejects.toMatchObject({ failure: "unavailable" });
  });
});
