import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, Tenant, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";
import { childrenOf, waitForLog } from "../workers/scene.ts";

const WHOLE = { model: MODEL, messages: [{ role: "user", content: "Hello!" }] };
const BACKGROUND = { model: MODEL, input: "Say hello.", background: true };

describe.skipIf(!hasPostgres || !hasRedis)("an instance killed and restarted on its folder", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  let stays: TestGateway;
  let tenant: Tenant;
  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([
      startFleet(),
      startUpstream(replyingWith("translated", ["Hello", " there"])),
    ]);
    stays = await fleet.add(connectedTo(new Map([["ionos", upstream]])));
  }, 60_000);
  beforeEach(async () => {
    tenant = await stays.tenant({ credit: "5" });
  });
  afterAll(async () => {
    await cleanUp();
    await fleet?.close();
    await upstream?.close();
  });

  const held = async () => (await stays.manage("GET", `/workspaces/${tenant.slug}/wallet`)).held;
  const charges = async () =>
    (await stays.manage("GET", `/workspaces/${tenant.slug}/wallet/entries?kind=charge`)).data.map(({ id }: Json) => id);
  const at = (path: string, body: object) => async (key: string) =>
    (await stays.call(tenant.key, path, { body, headers: { "idempotency-key": key } })).status;
  const whole = at("/v1/chat/completions", WHOLE);
  const background = at("/v1/responses", BACKGROUND);

  type CallSpec = {
    readonly path: string;
    readonly body: object;
    readonly key: string;
    readonly by?: string;
    /** Killed in the middle of the provider's output, not before it. */
    readonly isHalfMade?: () => Promise<boolean>;
  };

  /** Serves these requests and is killed during them. */
  const killedOver = async (requests: readonly CallSpec[], more: Record<string, string> = {}) => {
    const env = { ...fleet.env, ...connectedTo(new Map([["ionos", upstream]])), DATA_DIR: temporaryFolder() };
    const dies = spawnGateway({ ...env, ...more });
    const url = await dies.ready();
    if (more["GATEWAY_WORKERS"] !== undefined) await waitForLog(dies, "workers: all ready");
    const rest = gate();
    const frames = framesOf("translated", ["Hello", " there"]);
    const stalling = frames.map((data, at) => ({ data, afterMs: 0, ...(at < 2 ? {} : { gate: rest.closed }) }));
    const cut: Promise<unknown>[] = [];
    for (const { path, body, key, by = tenant.key, isHalfMade } of requests) {
      const before = upstream.requests.length;
      upstream.next(isHalfMade === undefined ? { gate: rest.closed } : { frames: stalling });
      const headers = { authorization: `Bearer ${by}`, "content-type": "application/json", "idempotency-key": key };
      cut.push(fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => "cut"));
      await upstream.arrived(before + 1);
      if (isHalfMade !== undefined) await expect.poll(isHalfMade, { timeout: 10_000 }).toBe(true);
    }
    dies.child.kill("SIGKILL");
    await dies.exited;
    await Promise.all(cut);
    rest.open();
    return { back: (more: Record<string, string> = {}) => spawnGateway({ ...env, ...more }) };
  };

  test("BILL-09 BILL-03 SCALE-03 frees holds and idempotency keys of its requests; those of other instances stay", async () => {
    const rest = gate();
    const before = upstream.requests.length;
    upstream.next({ gate: rest.closed, json: chatJson({ content: "Hello there" }) });
    const runs = whole("runs");
    await upstream.arrived(before + 1);
    const heldByRunning = await held();
    // A worker then, and restarted as the only process of its machine.
    const workers = { GATEWAY_WORKERS: "2" };
    const { back } = await killedOver([{ path: "/v1/chat/completions", body: WHOLE, key: "killed" }], workers);
    expect(await whole("killed")).toBe(409);
    expect(await held()).not.toBe(heldByRunning);

    await back().ready();
    await expect.poll(held, { timeout: 10_000 }).toBe(heldByRunning);
    expect([await whole("killed"), await whole("runs")]).toEqual([200, 409]);
    rest.open();
    expect(await runs).toBe(200);
    expect(await held()).toBe("0.00");
    expect(await charges()).toHaveLength(2);
  }, 60_000);

  test("BILL-03 SCALE-04 with fewer workers it recovers the missing ones' holds, also if the first worker crashes", async () => {
    const calls = ["one", "two", "three"].map((key) => ({ path: "/v1/chat/completions", body: WHOLE, key }));
    const { back } = await killedOver(calls, { GATEWAY_WORKERS: "3" });
    expect(await held()).not.toBe("0.00");
    // Until it is renamed back nothing can be released.
    const { id } = await stays.manage("GET", `/workspaces/${tenant.slug}`);
    const [money, renamed] = ["money", "aside"].map((name) => `gateway:{${id}}:${name}`);
    await fleet.redis.ask("RENAME", String(money), String(renamed));
    await fleet.redis.ask("SET", String(money), "in the way");
    const gateway = back({ GATEWAY_WORKERS: "2" });
    await waitForLog(gateway, "workers: all ready");
    const [first] = childrenOf(gateway.child.pid ?? 0);
    process.kill(first ?? 0, "SIGKILL");
    await waitForLog(gateway, "workers: exited unexpectedly");
    await fleet.redis.ask("RENAME", String(renamed), String(money));
    await expect.poll(held, { timeout: 20_000 }).toBe("0.00");
  }, 90_000);

  test("RESP-05 BILL-09 a resumed background response keeps hold and key; a half-made or revoked one fails and frees them", async () => {
    const other = await stays.tenant({ credit: "5" });
    const revoked = await stays.manage("POST", `/workspaces/${other.slug}/keys`, { name: "r", environment: "live" });
    const unfinished = async (isAnswering: 0 | 1) => {
      const database = new Client({ connectionString: fleet.env["DATABASE_URL"] });
      await database.connect();
      const open = `key_id in ('${other.keyId}', '${revoked.id}') and status in ('queued', 'in_progress')`;
      const { rows } = await database
        .query(`select 1 from stored_responses where ${open} and answering >= ${isAnswering}`)
        .finally(() => database.end());
      return rows.length;
    };
    const call = { path: "/v1/responses", body: BACKGROUND };
    const { back } = await killedOver([
      { ...call, key: "taken-up" },
      { ...call, key: "revoked", by: revoked.key },
      { ...call, key: "half", by: other.key, isHalfMade: async () => (await unfinished(1)) > 0 },
    ]);
    await stays.manage("POST", `/keys/${revoked.id}/revoke`);
    const kept = await held();
    expect(kept).not.toBe("0.00");
    const rest = gate();
    upstream.next({ frames: framesOf("translated", ["Hello", " there"]), gate: rest.closed });
    const before = upstream.requests.length;
    await back().ready();
    expect([await background("taken-up"), await held()]).toEqual([409, kept]);
    await upstream.arrived(before + 1);
    expect([await background("taken-up"), await held()]).toEqual([409, kept]);
    rest.open();
    await expect.poll(charges, { timeout: 15_000 }).toHaveLength(1);
    expect(await held()).toBe("0.00");

    tenant = other;
    await expect.poll(() => unfinished(0), { timeout: 40_000 }).toBe(0);
    await expect.poll(held, { timeout: 10_000 }).toBe("0.00");
    for (let turn = 0; turn < 2; turn += 1) upstream.next({ frames: framesOf("translated", ["Hello", " there"]) });
    expect([await background("half"), await background("revoked")]).toEqual([200, 200]);
    await expect.poll(charges, { timeout: 15_000 }).toHaveLength(2);
  }, 90_000);

  test("RESP-05 BILL-09 a background response resumed while its key's owner is unknown fails, and frees the key later", async () => {
    const names = async (pattern: string) => [await fleet.redis.ask("KEYS", pattern)].flat().map(String);
    const before = new Set(await names("gateway:use:*"));
    await killedOver([{ path: "/v1/responses", body: BACKGROUND, key: "untold" }]);
    const [use = ""] = (await names("gateway:use:*")).filter((name) => !before.has(name));
    await fleet.redis.ask("RENAME", use, "aside");
    await fleet.redis.ask("SET", use, "in the way");
    // Its lease on the work has expired now.
    for (const word of await names("gateway:{board}:note:working:*")) await fleet.redis.ask("DEL", word);
    const failed = async () => (await stays.manage("GET", `/workspaces/${tenant.slug}/requests`)).data;
    await expect.poll(failed, { timeout: 60_000 }).toMatchObject([{ error_code: "service_unavailable" }]);
    await fleet.redis.ask("RENAME", "aside", use);
    await expect.poll(() => background("untold"), { timeout: 20_000 }).toBe(200);
  }, 120_000);
});
