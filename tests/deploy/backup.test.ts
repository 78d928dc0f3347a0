import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { type Json, runCli, spawnCli } from "../support/gateway.ts";
import { hasPostgres, PASSWORD, startCluster } from "../support/postgres.ts";

const hasDump = spawnSync("/bin/sh", ["-c", "command -v pg_dump && command -v pg_restore"]).status === 0;
const RESPONSE = { model: "sandbox/chat", input: "Remember this.", store: true };

/** A gateway in a separate process, as an operator runs it, with a few requests. */
async function operated(dataDir: string, env: Record<string, string> = {}) {
  const child = spawnGateway({ DATA_DIR: dataDir, LOG_LEVEL: "silent", ...env });
  const origin = await child.ready();
  const call = async (key: string, where: string, body?: unknown): Promise<Json> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(`${origin}${where}`, { ...init, headers });
    if (!answer.ok) throw new Error(`${where}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const token = env["GATEWAY_ADMIN_TOKEN"] ?? readFileSync(path.join(dataDir, "admin-token"), "utf8").trim();
  const manage = (where: string, body?: unknown) => call(token, `/manage${where}`, body);
  return { child, call, manage };
}

test("BILL-07 a backup made during requests restores balance, keys, log and encrypted responses", async () => {
  onTestFinished(cleanUp);
  const dataDir = path.join(temporaryFolder(), "data");
  mkdirSync(dataDir);
  const saved = path.join(temporaryFolder(), "backup");
  const before = await operated(dataDir);
  await before.manage("/workspaces", { slug: "research", currency: "EUR" });
  await before.manage("/workspaces/research/wallet/credits", { amount: "10" });
  const { key } = await before.manage("/workspaces/research/keys", { name: "app", environment: "live" });
  const kept = await before.call(key, "/v1/responses", RESPONSE);
  const ask = () =>
    before.call(key, "/v1/chat/completions", {
      model: "sandbox/chat",
      messages: [{ role: "user", content: "Hello!" }],
    });
  const answered = await Promise.all(Array.from({ length: 20 }, ask));
  const costBefore = answered.reduce((sum, { usage }) => sum + Math.round(Number(usage.cost) * 1e9), 0);
  expect(costBefore).toBeGreaterThan(0);
  // Their cost may be in the backup or not: they run while it is made, and none may be partial.
  const during = Promise.all(Array.from({ length: 40 }, ask));
  const report = await spawnCli(["--json", "backup", saved], { DATA_DIR: dataDir });
  expect(statSync(path.join(saved, "gateway.sqlite")).mode & 0o077, "the copy is for this user alone").toBe(0);
  expect(report.json).toMatchObject({ folder: saved, secrets: ["admin-token", "master-key"] });
  await during;

  before.child.child.kill("SIGKILL");
  await before.child.exited;
  rmSync(dataDir, { recursive: true, force: true });
  cpSync(saved, dataDir, { recursive: true });

  const after = await operated(dataDir);
  const nanos = (amount: string) => Math.round(Number(amount) * 1e9);
  const { data: rows } = await after.manage("/workspaces/research/requests?limit=100");
  expect(new Set(rows.map(({ id }: Json) => id)).size).toBe(rows.length);
  const whole = rows.filter(({ error_code }: Json) => error_code === null);
  expect(whole.length).toBeGreaterThanOrEqual(answered.length + 1);
  const charged = rows.reduce((sum: number, { cost }: Json) => sum + nanos(cost), 0);
  expect(charged).toBeGreaterThanOrEqual(costBefore);
  expect(nanos((await after.manage("/workspaces/research/wallet")).balance)).toBe(10 * 1e9 - charged);
  expect((await after.call(key, `/v1/responses/${kept.id}`)).output).toEqual(kept.output);
  expect((await after.manage("/doctor")).ok).toBe(true);
  expect(await after.child.stop()).toBe(0);
}, 60_000);

test("a backup can exclude secrets, needs an empty folder, and leaves PostgreSQL to its own tools", async () => {
  onTestFinished(cleanUp);
  const dataDir = temporaryFolder();
  const saved = path.join(temporaryFolder(), "backup");
  await (await openSqlite(dataDir, systemClock)).close();
  for (const secret of ["admin-token", "master-key"]) writeFileSync(path.join(dataDir, secret), "secret");
  const run = (...args: string[]) => runCli(args, { DATA_DIR: dataDir });

  expect(await run("backup", saved, "--without-secrets")).toMatchObject({ code: 0 });
  expect(readdirSync(saved).filter((name) => /token|key/.test(name))).toEqual([]);
  expect(existsSync(path.join(saved, "gateway.sqlite"))).toBe(true);
  expect(statSync(saved).mode & 0o777).toBe(0o700);
  const again = await run("backup", saved);
  expect(again).toMatchObject({ code: 1 });
  expect(again.stderr).toContain("is not empty");
  // The system has no such folder there.
  for (const folder of [path.join(saved, "gateway.sqlite", "x"), "/proc/x"])
    expect((await run("backup", folder)).stderr).toMatch(/cannot be used \(\w+\)\. Choose a writable folder/);
  const elsewhere = await runCli(["backup", path.join(saved, "x")], { DATABASE_URL: "postgres://127.0.0.1/gateway" });
  expect(elsewhere.stderr).toContain("pg_dump");
});

test("BILL-07 a backup has the master key that opens it or reports its absence; earlier backups are not in it", async () => {
  onTestFinished(cleanUp);
  const dataDir = temporaryFolder();
  const [former, used] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const store = await openSqlite(dataDir, systemClock);
  await store.dataKeys.add(new MasterKeys(used).wrap("ws_1", Buffer.alloc(32, 3)));
  await store.close();
  mkdirSync(path.join(dataDir, "journal"));
  writeFileSync(path.join(dataDir, "journal", "segment-000000000001.journal"), "");
  const saved = async (name: string, env: Record<string, string> = {}) => {
    const report = await runCli(["--json", "backup", path.join(dataDir, name)], { DATA_DIR: dataDir, ...env });
    const files = readdirSync(path.join(dataDir, name), { recursive: true, encoding: "utf8" });
    expect(files.filter((file) => file.endsWith(".journal"))).toEqual(["journal/segment-000000000001.journal"]);
    const { secrets, journal_files: journals }: Json = report.json;
    expect(files.filter((file) => file.startsWith("master-key"))).toEqual(secrets);
    return [secrets, journals];
  };

  writeFileSync(path.join(dataDir, "master-key"), used.toString("base64"));
  expect(await saved("good")).toEqual([["master-key"], 1]);
  writeFileSync(path.join(dataDir, "master-key"), former.toString("base64"));
  expect(await saved("file-of-before")).toEqual([[], 1]);
  const { stdout } = await runCli(["backup", path.join(dataDir, "told")], { DATA_DIR: dataDir });
  expect(stdout).toContain("The master key is not included");
  writeFileSync(path.join(dataDir, "master-key.next"), used.toString("base64"));
  expect(await saved("while-it-changes")).toEqual([["master-key", "master-key.next"], 1]);
  expect(await saved("from-settings", { GATEWAY_MASTER_KEY: used.toString("base64") })).toEqual([[], 1]);
});

describe.skipIf(!hasPostgres || !hasDump)("a dump of PostgreSQL, restored by the guide", () => {
  const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");
  const section = /^## PostgreSQL$.*?^### /ms.exec(read("docs/guides/backup.md"))?.[0] ?? "";
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, lines = ""]) => lines);
  const [dumping = "", forOneRole = "", forTwoRoles = ""] = blocks;
  const oneRole = { owner: "gateway", app: "gateway", restoring: forOneRole };
  const twoRoles = { owner: "gateway_owner", app: "gateway_app", restoring: forTwoRoles };
  const env = { GATEWAY_ADMIN_TOKEN: "a".repeat(40), GATEWAY_MASTER_KEY: "6d".repeat(32), GATEWAY_SANDBOX: "on" };

  /** A server whose administrator is `postgres`, with an empty database. */
  async function administered() {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    const address = await cluster.database("empty");
    const { hostname: PGHOST, port: PGPORT, pathname } = new URL(address.url);
    return {
      database: pathname.slice(1),
      query: (statements: string) => cluster.query(address, statements),
      as(role: string, database: string): string {
        const url = new URL(address.url);
        url.username = role;
        url.pathname = database;
        return url.href;
      },
      /** Commands of the guide, without the password prompt, which needs a terminal. */
      type(lines: string, dump: string, more: Record<string, string> = {}) {
        const typed = lines.replace("/backup/gateway.dump", dump).replace(/^psql .*\\password.*\n/m, "");
        const whose = { PATH: process.env["PATH"] ?? "", PGHOST, PGPORT, PGUSER: "postgres", PGPASSWORD: PASSWORD };
        const done = spawnSync("/bin/sh", ["-ec", typed], { cwd: PROJECT_ROOT, env: { ...whose, ...more } });
        expect({ status: done.status, stderr: String(done.stderr) }, typed).toEqual({ status: 0, stderr: "" });
      },
    };
  }

  test.each([
    { title: "one role", ...oneRole, servers: ["the same server"] },
    { title: "two roles", ...twoRoles, servers: ["the same server", "another server"] },
  ])(
    "BILL-07 $title on $servers: a gateway starts with its balance, keys and encrypted responses",
    { timeout: 90_000 },
    async ({ owner, app, restoring, servers }) => {
      onTestFinished(cleanUp);
      const source = await administered();
      const { database } = source;
      if (owner === app) await source.query(`create role ${app} login; alter database ${database} owner to ${app}`);
      else await source.query(read("deploy/postgres/roles.sql"));
      const started = async (server: typeof source, name: string) => {
        for (const role of new Set([owner, app])) await server.query(`alter role ${role} password '${PASSWORD}'`);
        const both = owner === app ? {} : { DATABASE_MIGRATION_URL: server.as(owner, name) };
        return operated(temporaryFolder(), { ...env, DATABASE_URL: server.as(app, name), ...both });
      };
      const before = await started(source, database);
      await before.manage("/workspaces", { slug: "research", currency: "EUR" });
      await before.manage("/workspaces/research/wallet/credits", { amount: "10" });
      const { key } = await before.manage("/workspaces/research/keys", { name: "app", environment: "live" });
      const kept = await before.call(key, "/v1/responses", RESPONSE);
      // A stopped gateway leaves nothing in its journal.
      expect(await before.child.stop()).toBe(0);

      const dump = path.join(temporaryFolder(), "gateway.dump");
      source.type(dumping, dump, { DATABASE_URL: source.as(owner, database) });
      for (const server of servers) {
        const target = server === "the same server" ? source : await administered();
        target.type(restoring, dump);
        const after = await started(target, "gateway_restored");
        const { data: rows } = await after.manage("/workspaces/research/requests?limit=10");
        expect(rows.map(({ id }: Json) => id)).toEqual([kept.id]);
        const { balance } = await after.manage("/workspaces/research/wallet");
        expect(Math.round(Number(balance) * 1e9)).toBe(10 * 1e9 - Math.round(Number(rows[0].cost) * 1e9));
        expect((await after.call(key, `/v1/responses/${kept.id}`)).output).toEqual(kept.output);
        expect((await after.manage("/doctor")).ok).toBe(true);
        expect(await after.child.stop()).toBe(0);
      }
    },
  );
});
