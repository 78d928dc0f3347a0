import { readFileSync } from "node:fs";
import path from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { eventually } from "../support/eventually.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, Tenant, TestGateway } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { chatFrames, type Script, startUpstream, type Upstream } from "../support/upstream.ts";

describe.skipIf(!hasPostgres || !hasRedis)("an unreachable instance, and another that took over its work", () => {
  let fleet: TestFleet;
  let upstream: Upstream;
  /** It is the leader. */
  let stays: TestGateway;
  let tenant: Tenant;
  let caller: Caller;
  beforeAll(async () => {
    [fleet, upstream] = await Promise.all([
      startFleet(),
      startUpstream(replyingWith("translated", ["Hello", " there"])),
    ]);
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
  const failed = async () => (await stays.manage("GET", "/doctor")).checks.filter(({ ok }: Json) => !ok);
  /** Remaining problems after a while: the other's journal may not be ingested yet. */
  const problems = async () => {
    await expect.poll(failed, { timeout: 30_000, interval: 200 }).toEqual([]);
    return [];
  };

  /** Replies by request: two runs of several responses come in any order. */
  const scripts = new Map<string, Script[]>();
  const asksFor = (input: string) => (received: { readonly raw: Buffer }) => received.raw.includes(input);
  const arrived = (input: string, count: number) =>
    eventually(
      () => {
        const received = upstream.requests.filter(asksFor(input))[count - 1];
        if (received === undefined) throw new Error(`"${input}" was not asked ${count} times`);
        return received;
      },
      { timeout: 60_000 },
    );

  /** One instance calls and stalls, and the other calls again. All tests of the file at once, to save time. */
  const takenUp = async (input: string, answers: { readonly first?: Script; readonly second: Script }) => {
    const [first, second] = [gate(), gate()];
    scripts.set(input, [
      { gate: first.closed, ...answers.first },
      { gate: second.closed, ...answers.second },
    ]);
    const by = await stays.tenant({ credit: "5" });
    const sleeps = spawnGateway({
      ...fleet.env,
      ...connectedTo(new Map([["ionos", upstream]])),
      DATA_DIR: temporaryFolder(),
    });
    const url = await sleeps.ready();
    const running = () => metricSum({ gateway: { url } }, "gateway_running_requests");
    const runningWhenIdle = await running();
    const made = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${by.key}`,
        "content-type": "application/json",
        "idempotency-key": "two-runs",
      },
      body: JSON.stringify({ model: MODEL, input, background: true }),
    });
    const id = made.headers.get("x-svc-request-id") ?? "";
    const abandoned = await arrived(input, 1);
    expect(await running()).toBe(runningWhenIdle + 1);
    sleeps.child.kill("SIGSTOP");
    // It may have renewed its lease: that has expired now.
    const word = `gateway:{board}:note:working:${readFileSync(path.join(sleeps.dataDir, "instance-id"), "utf8").trim()}`;
    await fleet.redis.ask("DEL", word);
    await arrived(input, 2);
    const wake = () => sleeps.child.kill("SIGCONT");
    /** It has ended its run, and has written everything it ever will. */
    const ended = async () => {
      await expect.poll(running, { timeout: 30_000 }).toBe(runningWhenIdle);
      expect(await sleeps.stop()).toBe(0);
    };
    return { input, by, id, abandoned, first, second, wake, ended };
  };
  type TakenUp = Awaited<ReturnType<typeof takenUp>>;
  const HELLO = { frames: framesOf("translated", ["Hello", " there"]) };
  const REFUSED = { status: 400, json: { error: { message: "no", type: "invalid_request_error" } } };
  const usage = { prompt_tokens: 9, completion_tokens: 700, total_tokens: 709 };
  let stopping: TakenUp;
  let failing: TakenUp;
  let whole: TakenUp;
  beforeAll(async () => {
    const usual = replyingWith("translated", ["Hello", " there"]);
    upstream.always((received) => {
      const [, script] = [...scripts].find(([input]) => asksFor(input)(received)) ?? [];
      return script?.shift() ?? (typeof usual === "function" ? usual(received) : usual);
    });
    [stopping, failing, whole] = await Promise.all([
      takenUp("Stop without a word.", { second: HELLO }),
      takenUp("Fail without a word.", { first: REFUSED, second: HELLO }),
      takenUp("Be whole twice.", { first: { frames: chatFrames(["Much"], { usage }) }, second: HELLO }),
    ]);
  });
  const use = (one: TakenUp): TakenUp => {
    tenant = one.by;
    caller = callerWith(stays, tenant.key);
    return one;
  };
  const again = async (input: string) => {
    const { status, body } = await stays.call(tenant.key, "/v1/responses", {
      body: { model: MODEL, input, background: true },
      headers: { "idempotency-key": "two-runs" },
    });
    return [status, body.error?.code];
  };

  test("RESP-05 RESP-04 BILL-02 a resumed instance finds its work taken over and stops; the reply is charged once", async () => {
    const { input, id, abandoned, first, second, wake } = use(stopping);
    wake();
    expect(await abandoned.over).toBe("aborted");
    expect((await caller.get(id)).body.status).toBe("in_progress");
    expect(await rows(id)).toEqual([]);
    // Hold and key belong to the other instance now.
    expect(await held()).not.toBe("0.00");
    expect(await again(input)).toEqual([409, "idempotency_key_in_use"]);
    second.open();
    expect((await caller.once(id, "completed")).output.at(-1).content[0].text).toBe("Hello there");
    await expect.poll(charges).toEqual([`charge:${id}`]);
    expect([await rows(id), await held(), await problems()]).toEqual([[200], "0.00", []]);
    expect(upstream.requests.filter(asksFor(input))).toHaveLength(2);
    first.open();
  }, 90_000);

  test("RESP-05 BILL-09 BILL-02 a resumed instance with a failure releases neither hold nor key, and logs nothing", async () => {
    const { input, id, abandoned, first, second, wake, ended } = use(failing);
    // It is there before the first query of SQL.
    first.open();
    await abandoned.over;
    wake();
    await ended();
    expect([(await caller.get(id)).body.status, await rows(id)]).toEqual(["in_progress", []]);
    expect(await held()).not.toBe("0.00");
    expect(await again(input)).toEqual([409, "idempotency_key_in_use"]);
    second.open();
    await caller.once(id, "completed");
    await expect.poll(charges).toEqual([`charge:${id}`]);
    expect([await rows(id), await held(), await problems()]).toEqual([[200], "0.00", []]);
  }, 90_000);

  test("RESP-05 BILL-02 of two concurrent complete replies one is stored and charged", async () => {
    const { id, abandoned, first, second, wake, ended } = use(whole);
    // Neither can store it before both are there.
    const guard = new Client({ connectionString: fleet.env["DATABASE_URL"] });
    await guard.connect();
    await guard.query("begin; lock table stored_responses in exclusive mode");
    for (const { open } of [first, second]) open();
    await abandoned.over;
    wake();
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%"ending"%'`;
    await expect.poll(() => sql(waiting), { timeout: 20_000 }).toHaveLength(2);
    await guard.query("commit").finally(() => guard.end());
    const { output, usage } = await caller.once(id, "completed");
    await ended();
    const kept = output.at(-1).content[0].text;
    expect([kept, usage.output_tokens === 700]).toEqual(kept === "Much" ? ["Much", true] : ["Hello there", false]);
    const logged = (await of("requests")).filter((row: Json) => row.id === id);
    expect(logged).toMatchObject([{ status: 200, usage: { output_tokens: usage.output_tokens } }]);
    expect([await charges(), await held(), await problems()]).toEqual([[`charge:${id}`], "0.00", []]);
  }, 90_000);

  for (const [how, status] of [
    ["breaks off", "completed"],
    ["becomes whole", "failed"],
    ["becomes whole", "cancelled"],
  ])
    test(`RESP-05 BILL-02 a response that another ended as ${status} stays so and uncharged, and ours ${how}`, async () => {
      const rest = gate();
      const before = upstream.requests.length;
      const frames = framesOf("translated", ["Hello", " there"]);
      upstream.next({
        frames: [...frames.slice(0, 2), { data: frames.slice(2).join(""), afterMs: 0, gate: rest.closed }],
      });
      const { id } = (await caller.post({ background: true })).body;
      const made = await upstream.arrived(before + 1);
      const answering = `select from stored_responses where id = '${id}' and answering = 1`;
      await expect.poll(() => sql(answering)).toHaveLength(1);
      await sql(`update stored_responses set runs = 2, status = '${status}' where id = '${id}'`);
      if (how === "becomes whole") rest.open();
      expect(await made.over).toBe(how === "becomes whole" ? "whole" : "aborted");
      await expect.poll(() => rows(id)).toEqual([200]);
      expect((await caller.get(id)).body.status).toBe(status);
      expect([await charges(), await held(), await problems()]).toEqual([[], "0.00", []]);
      rest.open();
    }, 30_000);
});
