import { readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { migrateStore, type StoreMigration } from "../../src/bootstrap/migrate-store.ts";
import { parseRecord } from "../../src/domain/record/record-schema.ts";
import { realDisk } from "../../src/io/journal/disk.ts";
import { openJournal } from "../../src/io/journal/open-journal.ts";
import { readDatabaseAddress } from "../../src/io/store/sql/postgres/address.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { type Json, spawnCli, type TestGateway } from "../support/gateway.ts";
import { listeningLog, tempFolder } from "../support/journal-fixture.ts";
import { OWN } from "../support/own-keys.ts";
import { OWNER, PASSWORD, peopleGateway } from "../support/people.ts";
import { type Cluster, hasPostgres, startCluster } from "../support/postgres.ts";
import { chargedRecord } from "../support/records.ts";
import { chatBody, connectedTo, MODEL, nanosOf } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const LEFT = `req_${Date.now().toString(16).padStart(12, "0")}7aaa8bbbbbbbbbbbbbb`;
/** More than one read batch, of tables with one key column and with several. */
const MANY = 120;

let cluster: Cluster;
let upstream: Upstream;
const folder = tempFolder("gateway-move-");
beforeAll(async () => {
  if (!hasPostgres) return;
  cluster = await startCluster();
  upstream = await startUpstream();
}, 60_000);
afterAll(async () => {
  folder.remove();
  if (!hasPostgres) return;
  await upstream.close();
  await cluster.close();
});

const settings = () => ({
  ...connectedTo(new Map([["deepinfra", upstream]])),
  GATEWAY_RPM_IP: "0",
  GATEWAY_DRAIN_TIMEOUT_MS: "1000",
  GATEWAY_WEBHOOK_PRIVATE: "on",
});

/** A little of everything that a gateway stores. */
async function fill(gateway: Awaited<ReturnType<typeof peopleGateway>>) {
  await gateway.setUp();
  await gateway.join("grace@example.eu");
  const tenant = await gateway.tenant({ credit: "50" });
  const at = `/workspaces/${tenant.slug}`;
  await gateway.manage("POST", `${at}/capture-windows`, { minutes: 5, reason: "naïve \u{1f600}" });
  const reply = await gateway.call(tenant.key, "/v1/chat/completions", {
    body: chatBody(),
    headers: { "idempotency-key": "once" },
  });
  const kept = await gateway.call(tenant.key, "/v1/responses", {
    body: { model: MODEL, input: "Hello.", store: true },
  });
  expect([reply.status, kept.status]).toEqual([200, 200]);
  await gateway.manage("POST", `${at}/wallet/refunds`, { request: reply.body.id, reference: "t", reason: "r" });
  await gateway.manage("PUT", `${at}/providers/deepinfra`, { key: OWN("moved"), skip_test: true });
  await gateway.manage("PUT", "/providers/mistral", { key: OWN("platform"), skip_test: true });
  await gateway.manage("PUT", `${at}/alerts`, { low_balance: "10.00", webhook_url: "http://127.0.0.1:9/hook" });
  await gateway.manage("PUT", `${at}/limits`, { day: "5.00" });
  await gateway.manage("PUT", `${at}/routers/fast`, { weights: { latency: 1 } });
  await gateway.manage("PUT", `${at}/margin`, { margin: "0.05" });
  await gateway.manage("POST", `${at}/nodes`, { name: "rack", country: "DE" });
  await gateway.manage("POST", `${at}/tokens`, { name: "terraform", access: "read" });
  await gateway.manage("POST", "/rates", { rates: { USD: "1.1604" }, date: "2026-11-13" });
  return { tenant, at, requestId: reply.body.id, responseId: kept.body.id };
}

/** The journal of a killed gateway: a charge that its store does not have. */
async function leaveInJournal(dataDir: string, id: string, workspaceId: string, keyId: string): Promise<void> {
  const dir = path.join(dataDir, "journal");
  const journal = await openJournal({ dir, clock: systemClock, syncEveryMs: 1, log: listeningLog(), disk: realDisk });
  const record = chargedRecord(id, 7n, { workspaceId, keyId, createdAtMs: Date.now() });
  await journal.append({ t: "done", record });
  await journal.close();
}

async function seen(gateway: TestGateway, at: string, { key, responseId }: { key: string; responseId: string }) {
  const rows = (await gateway.manage("GET", `${at}/requests?limit=100`)).data;
  return {
    balance: nanosOf((await gateway.manage("GET", `${at}/wallet`)).balance),
    entries: (await gateway.manage("GET", `${at}/wallet/entries?limit=100`)).data,
    requests: await Promise.all(rows.map(({ id }: Json) => gateway.manage("GET", `/requests/${id}`))),
    response: (await gateway.call(key, `/v1/responses/${responseId}`)).body,
    usage: await gateway.manage("GET", `${at}/usage`),
    people: (await gateway.manage("GET", "/people")).data,
    alerts: await gateway.manage("GET", `${at}/alerts`),
    // Viewing captured content is an audit entry too.
    audit: (await gateway.manage("GET", "/audit?limit=100")).data.filter(
      (line: Json) => line.action !== "capture.read",
    ),
  };
}

/** All rows of a table sorted by their text, bytes as hex. */
const asText = (rows: readonly Record<string, unknown>[]) =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => [
            name,
            value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value === null ? null : String(value),
          ]),
      ),
    )
    .toSorted();

describe.skipIf(!hasPostgres)("from the embedded store to PostgreSQL", () => {
  test("SCALE-05 everything is migrated: keys, money, log, contents, secrets, people, every row of every table", {
    timeout: 120_000,
  }, async () => {
    const dataDir = folder.path;
    const first = await peopleGateway({ dataDir, env: { ...settings(), GATEWAY_SANDBOX: "off" } });
    const { tenant, at, responseId } = await fill(first);
    const { id } = await first.manage("GET", at);
    const address = await cluster.database("empty");
    const read = readDatabaseAddress(address.url);
    if ("problem" in read) throw new Error(read.problem);
    const move = (more: Partial<StoreMigration> = {}) =>
      migrateStore({
        ...{ env: { DATA_DIR: dataDir }, from: undefined, to: read, dryRun: false },
        ...{ progress: () => {}, log: listeningLog() },
        ...more,
      });
    await expect(move()).rejects.toThrow("in use by another gateway");
    const before = await seen(first, at, { key: tenant.key, responseId });
    await first.close();
    await leaveInJournal(dataDir, `${LEFT}1`, id, tenant.keyId);
    await leaveInJournal(path.join(dataDir, "workers/2"), `${LEFT}2`, id, tenant.keyId);

    // An interrupted run and a dry run leave no row.
    const cut = (table: string) => {
      if (table === "requests_daily") throw new Error("the cable");
    };
    await expect(move({ progress: cut })).rejects.toThrow("the cable");
    // Data that another master key cannot open is not migrated.
    const otherKey = { DATA_DIR: dataDir, GATEWAY_MASTER_KEY: "6d".repeat(32) };
    await expect(move({ env: otherKey })).rejects.toThrow("cannot be decrypted with the master keys");
    const trial = await move({ dryRun: true });
    const dataKeys = trial.tables.find(({ name }) => name === "data_keys")?.rows ?? 0;
    // In addition one key of the workspace, one of the platform, and the secret of a webhook.
    expect(trial.secrets).toBe(dataKeys + 3);
    expect(
      await cluster.query(
        address,
        "select (select count(*)::int from workspaces) as w, (select count(*)::int from request_records) as r",
      ),
    ).toEqual([{ w: 0, r: 0 }]);

    const { code, stdout, stderr, json }: Json = await spawnCli(["migrate-store", "--to", address.url, "--json"], {
      ...{ DATA_DIR: dataDir, DATABASE_URL: address.url, REDIS_URL: "redis://127.0.0.1:1" },
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(json).toMatchObject({ from: dataDir, to: address.shown, dry_run: false, audit: [] });
    expect(stdout).not.toContain(new URL(address.url).password);
    await expect(move()).rejects.toThrow(`${address.shown} is not empty`);

    const source = new DatabaseSync(path.join(dataDir, "gateway.sqlite"), { readOnly: true });
    const tables = source
      .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")
      .all()
      .map(({ name }) => String(name));
    const filled: string[] = [];
    for (const table of tables.filter((name) => name !== "schema_migrations")) {
      const statement = source.prepare(`select * from ${table}`);
      statement.setReadBigInts(true);
      const whole = ({ record, ...others }: Record<string, unknown>) =>
        record === undefined ? others : { ...others, record: JSON.stringify(parseRecord(String(record))) };
      const rows = asText(statement.all().map(whole));
      const moved = await cluster.query(address, `select * from ${table}`);
      expect(asText(moved.map(whole)), table).toEqual(rows);
      if (rows.length > 0) filled.push(table);
    }
    source.close();
    const wanted = [
      "workspaces",
      "members",
      "api_keys",
      "management_tokens",
      "nodes",
      "router_versions",
      "spend_limits",
    ];
    const more = ["exchange_rates", "workspace_margins", "wallets", "ledger_transactions", "ledger_returns", "meta"];
    const log = [
      "request_records",
      "request_shapes",
      "requests_daily",
      "requests_hourly",
      "audit_log",
      "idempotency_keys",
    ];
    const sealed = [
      "data_keys",
      "workspace_credentials",
      "platform_credentials",
      "stored_responses",
      "captured",
      "capture_windows",
      "alert_rules",
    ];
    const people = ["people", "people_sessions", "people_accounts", "people_links", "policy_versions", "changes"];
    expect(filled).toEqual(expect.arrayContaining([...wanted, ...more, ...log, ...sealed, ...people]));

    const second = await peopleGateway({
      dataDir: path.join(dataDir, "elsewhere"),
      env: {
        ...settings(),
        DATABASE_URL: address.url,
        GATEWAY_MASTER_KEY: readFileSync(path.join(dataDir, "master-key"), "utf8").trim(),
        GATEWAY_ADMIN_TOKEN: first.adminToken,
      },
    });
    const after = await seen(second, at, { key: tenant.key, responseId });
    const isLeft = ({ id: one }: Json) => String(one).includes(LEFT);
    expect(after.requests.filter(isLeft)).toHaveLength(2);
    expect({
      ...after,
      balance: after.balance + 14n,
      entries: after.entries.filter((entry: Json) => !isLeft(entry)),
      requests: after.requests.filter((request: Json) => !isLeft(request)),
      usage: before.usage,
    }).toEqual(before);
    expect((await second.call(tenant.key, "/v1/chat/completions", { body: chatBody() })).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${OWN("moved")}`);
    const signedIn = await second
      .browser()
      .post("/manage/auth/sign-in/email", { email: OWNER.email, password: PASSWORD });
    expect(signedIn.status).toBe(200);
    await second.manage("POST", `${at}/wallet/credits`, { amount: "1" });
    expect((await second.manage("GET", "/doctor")).ok).toBe(true);
    await second.close();
  });

  test("SCALE-05 everything is migrated although the database cannot be analysed: that is a warning", async () => {
    const dataDir = path.join(folder.path, "small");
    const store = await openSqlite(dataDir, systemClock);
    const onDay = (day: number) => ({ createdAtMs: Date.UTC(2026, 0, 1 + day), keyId: `key_${day % 7}` });
    const records = Array.from({ length: MANY }, (_, n) => chargedRecord(`r${n}`, 1n, onDay(n)));
    records.push(chargedRecord("r-nul", 1n, { ...onDay(0), app: "no text of PostgreSQL: \u0000" }));
    await store.ingest(records);
    await store.close();
    const address = await cluster.database("migrated");
    // An expression index is evaluated again to analyse its table.
    await cluster.query(
      address,
      `create function no_analysis(text) returns text language plpgsql immutable as
       $$ begin if current_query() = 'analyze' then raise 'no room'; end if; return $1; end $$`,
    );
    await cluster.query(address, "create index on request_records (no_analysis(id))");
    const { code, stderr } = await spawnCli(["migrate-store", "--to", address.url, "--from", dataDir, "--json"], {});
    expect([code, stderr]).toEqual([0, expect.stringContaining("data is migrated, but ANALYZE failed")]);
    const moved = async (table: string) =>
      (await cluster.query(address, `select count(*)::int as rows from ${table}`))[0]?.["rows"];
    expect([await moved("request_records"), await moved("requests_daily")]).toEqual([MANY + 1, MANY]);
  });

  test("SCALE-05 with two roles, the printed instructions run the gateway as the role without ownership", {
    timeout: 60_000,
  }, async () => {
    onTestFinished(cleanUp);
    const dataDir = path.join(folder.path, "two-roles");
    const store = await openSqlite(dataDir, systemClock);
    await store.ingest([chargedRecord("r1", 1n)]);
    await store.close();
    const address = await cluster.database("empty");
    await cluster.query(address, readFileSync(path.join(PROJECT_ROOT, "deploy/postgres/roles.sql"), "utf8"));
    const as = (role: string) => address.url.replace("//postgres:", `//${role}:`);
    for (const role of ["gateway_owner", "gateway_app"])
      await cluster.query(address, `alter role ${role} password '${new URL(address.url).password}'`);
    const refused = await spawnCli(["migrate-store", "--to", as("gateway_app"), "--from", dataDir], {});
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("use the role that owns the database")]);
    const { stdout } = await spawnCli(["migrate-store", "--to", as("gateway_owner"), "--from", dataDir], {});
    expect(stdout).toMatch(/two roles.*gateway_app in DATABASE_URL.* DATABASE_MIGRATION_URL .*first start/);
    const gateway = spawnGateway({
      DATABASE_URL: as("gateway_app"),
      DATABASE_MIGRATION_URL: as("gateway_owner"),
      GATEWAY_ADMIN_TOKEN: "a".repeat(40),
      GATEWAY_MASTER_KEY: "6d".repeat(32),
    });
    await gateway.ready();
    expect(await gateway.stop()).toBe(0);
  });

  test("SCALE-05 a failed migration reports why, without a password", async () => {
    const nowhere = "postgres://me:very-secret@127.0.0.1:1/gateway";
    const away = await spawnCli(["migrate-store", "--to", nowhere, "--from", folder.path], {});
    const words = "nothing was copied to postgres://me@127.0.0.1:1/gateway (connect ECONNREFUSED";
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining(words)]);
    expect(away.stderr).not.toContain("very-secret");
    const empty = path.join(folder.path, "empty");
    const none = { env: { DATA_DIR: empty }, from: undefined, to: { url: nowhere, shown: "" }, dryRun: false };
    const refused = migrateStore({ ...none, progress: () => {}, log: listeningLog() });
    await expect(refused).rejects.toThrow(`there is no embedded store in ${empty}`);
  });
});
