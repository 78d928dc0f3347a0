import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, Tenant, TestGateway } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, saying } from "../support/kept.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

describe.skipIf(!hasPostgres || !hasRedis)(
  "an instance that could not be heard of, and another that took up its work",
  () => {
    let fleet: TestFleet;
    let upstream: Upstream;
    /** It leads. */
    let stays: TestGateway;
    let tenant: Tenant;
    let caller: Caller;
    beforeAll(async () => {
      [fleet, upstream] = await Promise.all([startFleet(), startUpstream(saying("translated", ["Hello", " there"]))]);
      stays = await fleet.add(connectedTo(new Map([["ionos", upstream]])));
    }, 60_000);
    beforeEach(async () => {
      tenant = await stays.tenant({ credit: "5" });
      caller = callerWith(stays, tenant.key);
    });
    afterAll(async () => {
      await cleanUp();
      await fleet?.close();
      await upstream?.close();
    });

    const sql = async (statement: string) => {
      const database = new Client({ connectionString: fleet.env["DATABASE_URL"] });
      await database.connect();
      return (await database.query(statement).finally(() => database.end())).rows;
    };
    const of = async (what: string) => (await stays.manage("GET", `/workspaces/${tenant.slug}/${what}`)).data;
    const charges = async () => (await of("wallet/entries?kind=charge")).map(({ id }: Json) => id);
    const rows = async (id: string) =>
      (await of("requests")).filter((row: Json) => row.id === id).map(({ status }: Json) => status);
    const held = async () => (await stays.manage("GET", `/workspaces/${tenant.slug}/wallet`)).held;
    const problems = async () =>
      (await stays.manage("GET", "/doctor")).checks.filter(({ status }: Json) => status === "fail");

    test("RESP-05 RESP-04 BILL-02 one that wakes up finds its work taken up: it stops without a word, and the other makes the answer, which is paid for once", async () => {
      const [first, second] = [gate(), gate()];
      const sleeps = spawnGateway({
        ...fleet.env,
        ...connectedTo(new Map([["ionos", upstream]])),
        DATA_DIR: temporaryFolder(),
      });
      const url = await sleeps.ready();
      const before = upstream.requests.length;
      upstream.next({ gate: first.closed });
      const made = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tenant.key}`,
          "content-type": "application/json",
          "idempotency-key": "two-runs",
        },
        body: JSON.stringify({ model: MODEL, input: "Say hello.", background: true }),
      });
      const id = made.headers.get("x-svc-request-id") ?? "";
      const unheard = await upstream.arrived(before + 1);
      sleeps.child.kill("SIGSTOP");
      upstream.next({ frames: framesOf("translated", ["Hello", " there"]), gate: second.closed });
      await upstream.arrived(before + 2);
      sleeps.child.kill("SIGCONT");
      expect(await unheard.over).toBe("aborted");
      expect((await caller.get(id)).body.status).toBe("in_progress");
      expect(await rows(id)).toEqual([]);
      // Hold and key are the other one's now.
      expect(await held()).not.toBe("0.00");
      const again = await stays.call(tenant.key, "/v1/responses", {
        body: { model: MODEL, input: "Say hello.", background: true },
        headers: { "idempotency-key": "two-runs" },
      });
      expect([again.status, again.body.error.code]).toEqual([409, "idempotency_key_in_use"]);
      second.open();
      expect((await caller.once(id, "completed")).output.at(-1).content[0].text).toBe("Hello there");
      await expect.poll(charges).toEqual([`charge:${id}`]);
      expect([await rows(id), await held(), await problems()]).toEqual([[200], "0.00", []]);
      expect(upstream.requests).toHaveLength(before + 2);
      first.open();
    }, 90_000);

    test("RESP-05 BILL-02 what another has brought to an end is not charged for what was made of it here", async () => {
      const rest = gate();
      const before = upstream.requests.length;
      const frames = framesOf("translated", ["Hello", " there"]);
      upstream.next({
        frames: [...frames.slice(0, 2), { data: frames.slice(2).join(""), afterMs: 0, gate: rest.closed }],
      });
      const { id } = (await caller.post({ background: true })).body;
      const stopped = await upstream.arrived(before + 1);
      await expect.poll(() => sql(`select from stored_responses where id = '${id}' and answering = 1`)).toHaveLength(1);
      await sql(`update stored_responses set runs = 2, status = 'completed' where id = '${id}'`);
      expect(await stopped.over).toBe("aborted");
      await expect.poll(() => rows(id)).toEqual([200]);
      expect([await charges(), await held(), await problems()]).toEqual([[], "0.00", []]);
      rest.open();
    }, 30_000);
  },
);
