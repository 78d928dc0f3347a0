import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ADVISORY_LOCKS } from "../../src/io/store/sql/postgres/instance-lock.ts";
import { cleanUp, filesWith, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { cuttingProxy } from "../support/cutting-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { runCli, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { type Cluster, hasPostgres, PASSWORD, startCluster } from "../support/postgres.ts";
import { chatBody, connectedTo, costNanos, nanosOf } from "../support/scene.ts";
import { startUpstream, type Upstream, unusedPort } from "../support/upstream.ts";

const SECRETS = {
  GATEWAY_ADMIN_TOKEN: "operator-of-the-tests-1f3870be274f6c49b3e31a0c6728957f",
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
};

/** How often the database is killed under load. */
const CYCLES = 12;

let cluster: Cluster;
let upstream: Upstream;
let running: TestGateway | undefined;
beforeAll(async () => {
  if (!hasPostgres) return;
  cluster = await startCluster();
  upstream = await startUpstream();
}, 60_000);
afterEach(async () => {
  await running?.close();
  running = undefined;
});
afterAll(async () => {
  await cleanUp();
  if (!hasPostgres) return;
  await upstream.close();
  await cluster.close();
});

async function start(databaseUrl: string, dataDir: string, more: Record<string, string> = {}): Promise<TestGateway> {
  running = await startGateway({
    dataDir,
    env: {
      ...SECRETS,
      ...connectedTo(new Map([["deepinfra", upstream]])),
      DATABASE_URL: databaseUrl,
      GATEWAY_RPM_LIVE: "1000000",
      GATEWAY_RPM_IP: "0",
      GATEWAY_DRAIN_TIMEOUT_MS: "1000",
      ...more,
    },
  });
  return running;
}

const chat = (gateway: TestGateway, key: string) =>
  gateway.call(key, "/v1/chat/completions", { body: chatBody({ max_tokens: 50 }) });

/** All log rows of a workspace. */
async function rowsOf(gateway: TestGateway, { slug }: Tenant) {
  const rows = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await gateway.manage("GET", `/workspaces/${slug}/requests?limit=1000${after}`);
    rows.push(...page.data);
    cursor = page.next;
  } while (cursor !== null);
  return rows;
}

async function chargesOf(gateway: TestGateway, { slug }: Tenant): Promise<string[]> {
  const ids = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await gateway.manage("GET", `/workspaces/${slug}/wallet/entries?limit=1000${after}`);
    for (const entry of page.data) if (entry.kind === "charge") ids.push(entry.id);
    cursor = page.next;
  } while (cursor !== null);
  return ids;
}

describe.skipIf(!hasPostgres)("a gateway on PostgreSQL", () => {
  test("BILL-07 serves, logs and charges, and a restart keeps keys, log, wallet and ledger", async () => {
    const { url } = await cluster.database("empty");
    const dataDir = temporaryFolder();
    const first = await start(url, dataDir);
    expect(first.key).toMatch(/^sk_svc_test_/);
    const tenant = await first.tenant({ credit: "5" });
    const { status, body } = await chat(first, tenant.key);
    expect(status).toBe(200);
    const nanos = costNanos("deepinfra", { input: body.usage.prompt_tokens, output: body.usage.completion_tokens });
    const seen = async (gateway: TestGateway) => ({
      rows: (await rowsOf(gateway, tenant)).map(({ id, status: code, cost }) => [id, code, nanosOf(cost)]),
      charges: await chargesOf(gateway, tenant),
      balance: nanosOf((await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).balance),
      keys: (await gateway.manage("GET", `/workspaces/${tenant.slug}/keys`)).data.map(({ id }: { id: string }) => id),
    });
    const before = await seen(first);
    expect(before).toEqual({
      rows: [[body.id, 200, nanos]],
      charges: [`charge:${body.id}`],
      balance: 5_000_000_000n - nanos,
      keys: [tenant.keyId],
    });
    const models = await first.call(tenant.key, "/v1/models");
    expect(models.body.data.some(({ id }: { id: string }) => id.startsWith("sandbox/"))).toBe(false);
    await first.close();

    const second = await start(url, dataDir);
    expect(second.key).toBe("");
    expect(await seen(second)).toEqual(before);
    expect((await chat(second, tenant.key)).status).toBe(200);
    const doctor = await second.manage("GET", "/doctor");
    expect(doctor.ok).toBe(true);
    expect(JSON.stringify(doctor)).toContain("postgres://postgres@127.0.0.1:");
    expect(JSON.stringify(doctor)).not.toContain(PASSWORD);
  });

  test("BILL-07 inference continues while the database is killed repeatedly, and nothing is lost or repeated", {
    timeout: 180_000,
  }, async () => {
    const { url } = await cluster.database("empty");
    const gateway = await start(url, temporaryFolder());
    const tenant = await gateway.tenant({ credit: "100" });
    const answered: string[] = [];
    const refused: number[] = [];
    let isRunning = true;
    const client = async () => {
      while (isRunning) {
        const { status, body } = await chat(gateway, tenant.key);
        if (status === 200) answered.push(body.id);
        else refused.push(status);
        await sleep(5);
      }
    };
    const clients = [client(), client(), client(), client()];
    const more = async (count: number) => {
      const wanted = answered.length + count;
      await eventually(() => expect(answered.length).toBeGreaterThan(wanted), { timeout: 20_000 });
    };
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      await more(10);
      await cluster.stop(cycle % 4 === 3 ? "fast" : "immediate");
      await more(10);
      if (cycle % 4 === 0) await expectAway(gateway, tenant);
      await cluster.start();
    }
    await more(20);
    isRunning = false;
    await Promise.all(clients);

    expect(refused).toEqual([]);
    const rows = await eventually(() => rowsOf(gateway, tenant), { timeout: 20_000 });
    expect(rows.map(({ id }) => id).toSorted()).toEqual(answered.toSorted());
    expect((await chargesOf(gateway, tenant)).toSorted()).toEqual(answered.map((id) => `charge:${id}`).toSorted());
    const spent = rows.reduce((sum, { cost }) => sum + nanosOf(cost), 0n);
    const wallet = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
    expect([nanosOf(wallet.balance), nanosOf(wallet.held)]).toEqual([100_000_000_000n - spent, 0n]);
    const keys = await gateway.manage("GET", `/workspaces/${tenant.slug}/keys`);
    expect(keys.data.map(({ id }: { id: string }) => id)).toEqual([tenant.keyId]);
    expect((await gateway.manage("GET", "/doctor")).checks).toContainEqual(
      expect.objectContaining({ name: "ledger", ok: true }),
    );
  });

  test("SCALE-03 BILL-07 inference continues while the database accepts and never responds; the ledger is exact", {
    timeout: 60_000,
  }, async () => {
    const database = new URL((await cluster.database("migrated")).url);
    const proxy = await cuttingProxy(Number(database.port));
    database.port = String(proxy.port);
    const gateway = await start(database.href, temporaryFolder());
    const tenant = await gateway.tenant({ credit: "100" });
    const answered: string[] = [];
    const serve = async (count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => chat(gateway, tenant.key)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      answered.push(...answers.map(({ body }) => body.id));
    };
    for (let round = 0; round < 3; round += 1) {
      await serve(5);
      // As likely within a batch as between two.
      proxy.hold();
      await serve(10);
      proxy.resume();
    }
    await eventually(async () => expect(await chargesOf(gateway, tenant)).toHaveLength(answered.length), {
      timeout: 20_000,
    });
    const rows = await rowsOf(gateway, tenant);
    expect(rows.map(({ id }) => id).toSorted()).toEqual(answered.toSorted());
    const spent = rows.reduce((sum, { cost }) => sum + nanosOf(cost), 0n);
    const wallet = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
    expect([nanosOf(wallet.balance), nanosOf(wallet.held)]).toEqual([100_000_000_000n - spent, 0n]);
    await gateway.close();
    await proxy.close();
  });

  test("SCALE-03 ERR-11 an unresponsive database delays no management call beyond its limit, nor the shutdown", async () => {
    const database = new URL((await cluster.database("migrated")).url);
    const proxy = await cuttingProxy(Number(database.port));
    database.port = String(proxy.port);
    const limits = { GATEWAY_DATABASE_TIMEOUT_MS: "2000", GATEWAY_DATABASE_CONNECTIONS: "2" };
    const gateway = await start(database.href, temporaryFolder(), limits);
    const tenant = await gateway.tenant({ credit: "100" });
    await rowsOf(gateway, tenant);
    proxy.hold();
    // More than there are connections: calls that wait for a connection or a lock are refused as well.
    await Promise.all([expectAway(gateway, tenant), expectAway(gateway, tenant)]);
    expect((await chat(gateway, tenant.key)).status).toBe(200);
    // It is known to be unavailable by now.
    await expectAway(gateway, tenant);
    proxy.resume();
    await eventually(async () => expect(await rowsOf(gateway, tenant)).toHaveLength(1));
    // A slow statement is not an unresponsive server.
    const slow = cluster.query(
      { url: database.href, shown: "" },
      "begin; lock table members in access exclusive mode; select pg_sleep(4); commit",
    );
    await eventually(async () => {
      const held = "select 1 from pg_locks where mode = 'AccessExclusiveLock' and relation = 'members'::regclass";
      expect(await cluster.query({ url: database.href, shown: "" }, held)).toHaveLength(1);
    });
    await gateway.manage("POST", `/workspaces/${tenant.slug}/members`, { email: "late@example.eu" });
    await slow;
    proxy.hold();
    await gateway.close();
    await proxy.close();
  });

  test("OPS-01 a gateway stops while its database is unresponsive", async () => {
    const database = new URL((await cluster.database("migrated")).url);
    const proxy = await cuttingProxy(Number(database.port));
    database.port = String(proxy.port);
    const gateway = spawnGateway({ ...SECRETS, DATABASE_URL: database.href, GATEWAY_DATABASE_TIMEOUT_MS: "2000" });
    await gateway.ready();
    proxy.hold();
    expect(await gateway.stop()).toBe(0);
    await proxy.close();
  });

  async function expectAway(gateway: TestGateway, { slug }: Tenant): Promise<void> {
    const answers = await Promise.all([
      gateway.call(SECRETS.GATEWAY_ADMIN_TOKEN, `/manage/workspaces/${slug}/requests`),
      gateway.call(SECRETS.GATEWAY_ADMIN_TOKEN, `/manage/workspaces/${slug}/keys`, { body: { name: "late" } }),
      gateway.call(SECRETS.GATEWAY_ADMIN_TOKEN, `/manage/workspaces/${slug}/wallet/credits`, { body: { amount: "1" } }),
    ]);
    for (const { status, headers, body } of answers) {
      expect([status, body.error.code]).toEqual([503, "service_unavailable"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const doctor = await gateway.call(SECRETS.GATEWAY_ADMIN_TOKEN, "/manage/doctor");
    expect(doctor.body.ok).toBe(false);
  }
});

describe.skipIf(!hasPostgres)("start-up", () => {
  test("OPS-05 needs the operator token and the master key beside DATABASE_URL, and names what is missing", async () => {
    const gateway = spawnGateway({ DATABASE_URL: `postgres://u:${PASSWORD}@127.0.0.1:1/x` });
    expect(await gateway.exited).toBe(1);
    expect(gateway.stderr().trim().split("\n")).toEqual([
      "error: GATEWAY_ADMIN_TOKEN: required, because DATABASE_URL is set",
      "GATEWAY_MASTER_KEY: required, because DATABASE_URL is set",
    ]);
  });

  test("OPS-05 `gateway migrate` makes the tables and exits, also as the owner, and a second time changes nothing", async () => {
    const owner = await cluster.database("empty");
    const env = { ...SECRETS, DATABASE_URL: owner.url };
    const [first, again] = [await runCli(["migrate"], env), await runCli(["migrate"], env)];
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^postgres:\S+ is up to date after \d+ migrations\n$/);
    expect(again.stdout).toMatch(/was up to date\n$/);
    // Makes the role, if no test has before.
    await cluster.database("migrated");
    const app = cluster.asApp(owner);
    const both = { ...SECRETS, DATABASE_URL: app.url, DATABASE_MIGRATION_URL: owner.url };
    expect((await runCli(["migrate", "--json"], both)).json).toEqual({ database: app.shown, applied: 0 });
    const { code, stderr } = await runCli(["migrate"], { DATA_DIR: temporaryFolder() });
    expect([code, stderr]).toEqual([1, expect.stringContaining("DATABASE_URL is not set")]);
  });

  test("OPS-04 an unreachable database ends it with one line without a password", async () => {
    const port = await unusedPort();
    const gateway = spawnGateway({ ...SECRETS, DATABASE_URL: `postgres://app:${PASSWORD}@127.0.0.1:${port}/gateway` });
    expect(await gateway.exited).toBe(1);
    expect(gateway.stderr()).toContain(
      `error: DATABASE_URL: postgres://app@127.0.0.1:${port}/gateway cannot be used (connect ECONNREFUSED`,
    );
    expect(gateway.stderr().trim().split("\n")).toHaveLength(1);
    expect(gateway.stdout()).toBe("");
    expect(gateway.stderr()).not.toContain(PASSWORD);
  });

  test("SCALE-21 a gateway whose database another one took over drains and exits with code 1", async () => {
    const { url } = await cluster.database("migrated");
    const gateway = spawnGateway({ ...SECRETS, DATABASE_URL: url });
    await gateway.ready();
    const other = new Client({ connectionString: url });
    await other.connect();
    const { ours, instance } = ADVISORY_LOCKS;
    const taking = other.query(`select pg_advisory_lock(${ours}, ${instance})`);
    await cluster.query(
      { url, shown: "" },
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and objid = ${instance}
        and database = (select oid from pg_database where datname = current_database())`,
    );
    await taking;
    expect(await gateway.exited).toBe(1);
    expect(gateway.stdout() + gateway.stderr()).toContain("instance-lock: database is in use by another gateway");
    await other.end();
  });

  test("OPS-04 a second gateway on the same database is refused without leaking the password", async () => {
    const { url, shown } = await cluster.database("migrated");
    const first = spawnGateway({ ...SECRETS, DATABASE_URL: url });
    await first.ready();
    const second = spawnGateway({ ...SECRETS, DATABASE_URL: url });
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toContain(`error: the database ${shown} is in use by another gateway`);
    expect(await first.stop()).toBe(0);
    for (const { stdout, stderr, dataDir } of [first, second]) {
      expect(stdout() + stderr()).not.toContain(PASSWORD);
      expect(filesWith(dataDir, [PASSWORD])).toEqual([]);
    }
  });
});
