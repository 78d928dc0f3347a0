import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Tenant, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";

describe.skipIf(!hasPostgres || !hasRedis)("a change of money that is left half done", () => {
  let fleet: TestFleet;
  let stays: TestGateway;
  beforeAll(async () => {
    fleet = await startFleet();
    stays = await fleet.add();
  }, 60_000);
  afterAll(async () => {
    await cleanUp();
    await fleet?.close();
  });

  const asked = async (statement: string) => {
    const database = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await database.connect();
    const { rows } = await database.query(statement).finally(() => database.end());
    return rows.length;
  };
  const balance = async ({ slug }: Tenant) => {
    const answer = await stays.call(stays.adminToken, `/manage/workspaces/${slug}/wallet`);
    return answer.body.balance ?? answer.status;
  };

  test("SCALE-03 BILL-02 kill -9 after a top-up is in SQL and before Redis has it: all instances have it soon, and once", async () => {
    const tenant = await stays.tenant({ credit: "5" });
    const dataDir = temporaryFolder();
    const dies = spawnGateway({ ...fleet.env, DATA_DIR: dataDir });
    const url = await dies.ready();
    // SQL waits for this one, so that Redis can fall silent just before the commit.
    const guard = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    guard.on("error", () => {});
    await guard.connect();
    await guard.query("begin; lock table ledger_transactions in share row exclusive mode");
    const credited = fetch(`${url}/manage/workspaces/${tenant.slug}/wallet/credits`, {
      method: "POST",
      headers: { authorization: `Bearer ${stays.adminToken}`, "content-type": "application/json" },
      body: JSON.stringify({ amount: "2", note: "half-done" }),
    }).then(
      () => "answered",
      () => "cut",
    );
    await expect.poll(() => asked("select from pg_locks where not granted"), { timeout: 10_000 }).toBe(1);
    fleet.redis.pause();
    await guard.query("commit");
    await guard.end();
    const booked = "select from ledger_transactions where note = 'half-done'";
    await expect.poll(() => asked(booked), { timeout: 10_000 }).toBe(1);
    dies.child.kill("SIGKILL");
    expect([await credited, await dies.exited]).toEqual(["cut", "SIGKILL"]);
    fleet.redis.resume();
    await expect.poll(() => balance(tenant), { timeout: 10_000 }).toBe("5.00");

    // It left word that money was moving. The time after which nobody waits for it is over now.
    const moving = "gateway:{fleet}:moving";
    const [left] = [await fleet.redis.ask("ZRANGE", moving, "0", "-1")].flat();
    expect(left).toEqual(expect.any(String));
    const again = spawnGateway({ ...fleet.env, DATA_DIR: dataDir });
    await again.ready();
    await fleet.redis.ask("ZADD", moving, "1", String(left));
    await expect.poll(() => balance(tenant), { timeout: 15_000 }).toBe("7.00");
    expect(await fleet.redis.ask("ZCARD", moving)).toBe(0);
    const { checks } = await stays.manage("GET", "/doctor");
    expect(checks.filter(({ status }: { status: string }) => status === "fail")).toEqual([]);
  });
});
