import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, Tenant, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { type ReplySource, startUpstream, type Upstream } from "../support/upstream.ts";

describe.skipIf(!hasPostgres || !hasRedis)("unfinished work of a killed instance", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  /** It is the leader. */
  let stays: TestGateway;
  let tenant: Tenant;
  let left: string;
  const held = gate();
  const words = replyingWith("translated", ["Hello", " there"]);
  /** By request: resumed work may come in between. */
  const replySource: ReplySource = (received) => {
    const [first, second, ...rest] = framesOf("translated", ["Hello", " there"]);
    const text = JSON.stringify(received.json);
    if (text.includes("Half of it"))
      return { frames: [first ?? "", second ?? "", { data: rest.join(""), afterMs: 0, gate: held.closed }] };
    return text.includes("Not wanted") ? { gate: held.closed } : words(received);
  };
  const requestCount = (input: string) =>
    upstream.requests.filter(({ json }) => JSON.stringify(json).includes(input)).length;
  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([startFleet(), startUpstream(replySource)]);
    stays = await fleet.add(connectedTo(new Map([["ionos", upstream]])));
    tenant = await stays.tenant({ credit: "5" });
  }, 60_000);
  afterAll(async () => {
    held.open();
    await cleanUp();
    await fleet?.close();
    await upstream?.close();
  });

  const query = async (statement: string) => {
    const database = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await database.connect();
    const { rows } = await database.query(statement).finally(() => database.end());
    return rows.length;
  };
  const balance = async () => {
    const answer = await stays.call(stays.adminToken, `/manage/workspaces/${tenant.slug}/wallet`);
    return answer.body.balance ?? answer.status;
  };

  /** Polled: another instance's journal may not be ingested yet. */
  const problems = async () => (await stays.manage("GET", "/doctor")).checks.filter(({ ok }: Json) => !ok);

  test("SCALE-03 BILL-02 kill -9 between SQL and Redis of a top-up: all instances get it soon, and once", async () => {
    const dataDir = temporaryFolder();
    const dies = spawnGateway({
      ...fleet.env,
      ...connectedTo(new Map([["ionos", upstream]])),
      DATA_DIR: dataDir,
    });
    const url = await dies.ready();
    upstream.next({ gate: held.closed });
    const made = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: MODEL, input: "Remember me", background: true }),
    });
    left = made.headers.get("x-svc-request-id") ?? "";
    await upstream.arrived(1);
    // SQL waits for this lock, so that Redis can stop responding just before the commit.
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
    await expect.poll(() => query("select from pg_locks where not granted"), { timeout: 10_000 }).toBe(1);
    fleet.redis.pause();
    await guard.query("commit");
    await guard.end();
    const booked = "select from ledger_transactions where note = 'half-done'";
    await expect.poll(() => query(booked), { timeout: 10_000 }).toBe(1);
    dies.child.kill("SIGKILL");
    expect([await credited, await dies.exited]).toEqual(["cut", "SIGKILL"]);
    fleet.redis.resume();
    await expect.poll(() => balance(), { timeout: 10_000 }).toBe("5.00");

    // It announced a money transfer. The time after which others stop waiting for it is over now.
    const moving = "gateway:{fleet}:moving";
    const [word] = [await fleet.redis.ask("ZRANGE", moving, "0", "-1")].flat();
    expect(word).toEqual(expect.any(String));
    // Without a provider, so that it cannot resume anything itself.
    const again = spawnGateway({ ...fleet.env, DATA_DIR: dataDir });
    await again.ready();
    await fleet.redis.ask("ZADD", moving, "1", String(word));
    await expect.poll(() => balance(), { timeout: 15_000 }).toBe("7.00");
    expect(await fleet.redis.ask("ZCARD", moving)).toBe(0);
    await expect.poll(problems, { timeout: 30_000 }).toEqual([]);
  });

  test("RESP-05 RESP-04 kill -9 during a background response: it is not made twice, a cancelled one not at all", async () => {
    const dataDir = temporaryFolder();
    const env = { ...fleet.env, ...connectedTo(new Map([["ionos", upstream]])), DATA_DIR: dataDir };
    const dies = spawnGateway(env);
    const url = await dies.ready();
    const post = async (input: string) => {
      const made = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: MODEL, input, background: true }),
      });
      return made.headers.get("x-svc-request-id") ?? "";
    };
    const read = async (id: string) => (await stays.call(tenant.key, `/v1/responses/${id}`)).body;
    const half = await post("Half of it");
    await expect.poll(() => query(`select from stored_responses where id = '${half}' and answering = 1`)).toBe(1);
    const unwanted = await post("Not wanted");
    await expect.poll(() => requestCount("Not wanted")).toBe(1);
    dies.child.kill("SIGKILL");
    await dies.exited;
    const cancelled = await stays.call(tenant.key, `/v1/responses/${unwanted}/cancel`, { method: "POST" });
    expect(cancelled.status).toBe(200);
    await expect.poll(async () => (await read(half)).status, { timeout: 45_000, interval: 200 }).toBe("failed");
    expect((await read(half)).error).toMatchObject({ code: "interrupted" });
    await expect.poll(async () => (await read(unwanted)).status, { timeout: 45_000, interval: 200 }).toBe("cancelled");
    expect([requestCount("Half of it"), requestCount("Not wanted")]).toEqual([1, 1]);
    // Restarted, with its journal.
    await spawnGateway(env).ready();
    const rows = async () => (await stays.manage("GET", `/workspaces/${tenant.slug}/requests`)).data;
    await expect.poll(async () => (await rows()).find(({ id }: Json) => id === half)?.error_code).toBe("interrupted");
    await expect.poll(problems, { timeout: 30_000 }).toEqual([]);
  }, 90_000);

  test("RESP-05 RESP-04 kill -9 of the instance that made a background response: another one makes it, billed once", async () => {
    const read = async () => (await stays.call(tenant.key, `/v1/responses/${left}`)).body;
    await expect.poll(async () => (await read()).status, { timeout: 25_000, interval: 200 }).toBe("completed");
    expect((await read()).output.at(-1).content[0].text).toBe("Hello there");
    expect(requestCount("Remember me")).toBe(2);
    const { data: rows } = await stays.manage("GET", `/workspaces/${tenant.slug}/requests`);
    expect(rows.filter(({ id }: Json) => id === left)).toMatchObject([{ status: 200 }]);
    const { data } = await stays.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?kind=charge`);
    expect(data.map(({ id }: Json) => id)).toEqual([`charge:${left}`]);
  }, 40_000);
});
