import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, spawnGateway, temporaryFolder } from "../edge/child.ts";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { awayFromMidnight, decimal, holdNanos, limitsOf, setLimits } from "../support/limits.ts";
import { callerWith } from "../support/response-callers.ts";
import { chatBody, connectedTo, costNanos, MODEL, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, startUpstream } from "../support/upstream.ts";

const REQUEST = { max_tokens: 500 };
const COST = costNanos("deepinfra", { input: 11, output: 7 });

let scene: Scene;
let tenant: Tenant;
let hold: bigint;
beforeAll(async () => {
  await awayFromMidnight();
  scene = await openScene(["deepinfra"], { GATEWAY_RPM_TEST: "1000000" });
  hold = await holdNanos(scene, REQUEST);
}, 60_000);
afterAll(async () => {
  await cleanUp();
  await scene.close();
});
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const set = (body: Record<string, unknown>) => setLimits(scene, tenant.slug, body);
const ask = (key = tenant.key, more: Record<string, unknown> = {}) => scene.chat(key, { ...REQUEST, ...more });
const manage = (method: string, target: string, body?: unknown) =>
  scene.gateway.manage(method, `/workspaces/${tenant.slug}${target}`, body);

async function personalKey(email: string, environment = "live"): Promise<string> {
  await manage("POST", "/members", { email }).catch(() => undefined);
  await manage("PATCH", "/key-policy", { personal_keys: true });
  return (await manage("POST", "/keys", { name: `${email} ${environment}`, environment, member: email })).key;
}

describe("a reached limit", () => {
  const nextDay = () => new Date(Date.UTC(...ymd(), 0) + 86_400_000).toISOString();
  const ymd = (): [number, number, number] => {
    const now = new Date();
    return [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  };

  test.each([false, true])(
    "ERR-05 BILL-04 gets 402 with limit, size and reset time, without a call or a hold (stream: %s)",
    async (stream) => {
      await set({ key: tenant.keyId, day: "0.0000015" });
      const before = scene.at("deepinfra").requests.length;
      const { status, headers, body } = await ask(tenant.key, { stream });
      expect([status, body.error.type, body.error.code]).toEqual([402, "billing_error", "spend_limit_reached"]);
      expect(headers.get("x-should-retry")).toBe("false");
      expect(body.error.message).toContain(`daily spend limit of key "key" (${tenant.keyId}) is 0.0000015 EUR`);
      expect(body.error.message).toContain(`resets at ${nextDay()}`);
      expect(scene.at("deepinfra").requests.length).toBe(before);
      expect(await scene.wallet(tenant)).toEqual({ balance: "10.00", held: "0.00", currency: "EUR" });
      expect(await scene.rows(tenant)).toMatchObject([
        { status: 402, error_code: "spend_limit_reached", cost: "0.00" },
      ]);
    },
  );

  test("ERR-05 names workspace and member, and a month resets on its first day", async () => {
    const key = await personalKey("ada@example.eu");
    await set({ month: "0" });
    const { body } = await ask(key);
    const [year, month] = ymd();
    expect(body.error.message).toContain(`monthly spend limit of workspace ${tenant.slug} is 0.00 EUR`);
    expect(body.error.message).toContain(`resets at ${new Date(Date.UTC(year, month + 1, 1)).toISOString()}`);
    await set({ month: null });
    await set({ member: "ada@example.eu", day: "0" });
    expect((await ask(key)).body.error.message).toContain("daily spend limit of member ada@example.eu is 0.00 EUR");
    expect((await ask()).status).toBe(200);
  });

  test("ERR-05 each surface uses its own error format", async () => {
    await set({ day: "0" });
    const messages = await scene.gateway.call(tenant.key, "/v1/messages", {
      body: { model: MODEL, max_tokens: 50, messages: [{ role: "user", content: "Hi" }] },
    });
    expect([messages.status, messages.body.type]).toEqual([402, "error"]);
    expect(messages.body.error).toMatchObject({ type: "billing_error" });
    expect(messages.body.error.message).toContain("daily spend limit");
    const responses = await scene.gateway.call(tenant.key, "/v1/responses", { body: { model: MODEL, input: "Hi" } });
    expect([responses.status, responses.body.error.code]).toEqual([402, "spend_limit_reached"]);
  });
});

describe("what counts", () => {
  test("BILL-04 a limit below current spend refuses the next request; raising or lifting it admits it", async () => {
    expect((await ask()).status).toBe(200);
    await set({ day: decimal(COST - 1n) });
    expect((await ask()).status).toBe(402);
    // A request fits when its hold is at most what is left.
    await set({ day: decimal(COST + hold - 1n) });
    expect((await ask()).status).toBe(402);
    await set({ day: decimal(COST + hold) });
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(402);
    await set({ day: null });
    expect((await ask()).status).toBe(200);
    expect((await limitsOf(scene, tenant.slug)).day).toMatchObject({ limit: null, remaining: null });
  });

  test("BILL-04 day and month both count, and setting one leaves the other", async () => {
    await set({ day: "5" });
    const after = await set({ month: decimal(hold) });
    expect([after.day.limit, nanosOf(after.month.limit)]).toEqual(["5.00", hold]);
    expect((await ask()).status).toBe(200);
    // While the month's limit is reached, the reset is not the next day.
    for (const day of ["5", "0"]) {
      await set({ day });
      const { status, body } = await ask();
      expect([status, /(daily|monthly) spend limit/.exec(body.error.message)?.[1]]).toEqual([402, "monthly"]);
    }
  });

  test("BILL-04 failures cost nothing of a limit, and a running request takes its hold", async () => {
    await set({ day: decimal(hold) });
    scene.at("deepinfra").next({ status: 400, json: {} });
    expect((await ask()).status).toBe(400);
    const gate = Promise.withResolvers<void>();
    const count = scene.at("deepinfra").requests.length;
    scene.at("deepinfra").next({ json: chatJson(), gate: gate.promise });
    const running = ask();
    await scene.at("deepinfra").arrived(count + 1);
    const { held, remaining } = (await limitsOf(scene, tenant.slug)).day;
    expect([nanosOf(held), remaining]).toEqual([hold, "0.00"]);
    expect((await ask()).body.error.message).toContain("held for running requests");
    gate.resolve();
    expect((await running).status).toBe(200);
    expect((await limitsOf(scene, tenant.slug)).day).toMatchObject({ held: "0.00" });
  });

  test("BILL-04 personal keys of both environments count for their member; other keys do not", async () => {
    const [live, tested] = [await personalKey("ada@example.eu"), await personalKey("ada@example.eu", "test")];
    const other = await personalKey("bob@example.eu");
    await set({ member: "ada@example.eu", day: decimal(COST + hold) });
    expect((await ask(live)).status).toBe(200);
    expect((await ask(tested)).status).toBe(200);
    expect([(await ask(live)).status, (await ask(tested)).status]).toEqual([402, 402]);
    expect([(await ask(other)).status, (await ask()).status]).toEqual([200, 200]);
    const { day } = await limitsOf(scene, tenant.slug, "?member=ada@example.eu");
    expect(nanosOf(day.spent)).toBe(2n * COST);
    expect(nanosOf((await limitsOf(scene, tenant.slug)).day.spent)).toBe(4n * COST);
  });

  test("BILL-04 a rotated key and its successor share one limit and count", async () => {
    await set({ key: tenant.keyId, day: decimal(COST + hold) });
    expect((await ask()).status).toBe(200);
    const next = await scene.gateway.manage("POST", `/keys/${tenant.keyId}/rotate`, {});
    expect((await ask(next.key)).status).toBe(200);
    expect([(await ask()).status, (await ask(next.key)).status]).toEqual([402, 402]);
    const shown = await limitsOf(scene, tenant.slug, `?key=${next.id}`);
    expect([shown.key, nanosOf(shown.day.spent)]).toEqual([next.id, 2n * COST]);
    expect((await manage("GET", "/limits/all")).data).toMatchObject([{ of: "key", key: next.id }]);
  });

  test("BILL-04 background responses are limited and counted", async () => {
    const caller = callerWith(scene.gateway, tenant.key);
    await set({ day: decimal(hold) });
    const gate = Promise.withResolvers<void>();
    scene.at("deepinfra").next({ frames: chatFrames(["Hello", " there"], { usage: "asked" }), gate: gate.promise });
    const made = await caller.post({ background: true, max_output_tokens: 400 });
    expect([made.status, made.body.status], made.text).toEqual([200, "queued"]);
    expect((await ask()).status).toBe(402);
    gate.resolve();
    await caller.once(made.body.id, "completed");
    expect((await limitsOf(scene, tenant.slug)).day).toMatchObject({ spent: decimal(COST).replace(/0+$/, "") });
    await set({ day: "0" });
    expect((await caller.post({ background: true })).body.error.code).toBe("spend_limit_reached");
  });
});

describe("management", () => {
  test("BILL-04 limits are shown, listed and audited, and removed with their member", async () => {
    await personalKey("ada@example.eu");
    await set({ day: "2.50" });
    await set({ member: "ADA@example.eu", month: "7" });
    await set({ key: tenant.keyId, day: "1", month: "20" });
    const { data, next } = await manage("GET", "/limits/all");
    expect(next).toBeNull();
    expect(data.map((row: Json) => [row.of, row.member ?? row.key, row.day.limit, row.month.limit])).toEqual([
      ["workspace", null, "2.50", null],
      ["member", "ada@example.eu", null, "7.00"],
      ["key", tenant.keyId, "1.00", "20.00"],
    ]);
    const first = await manage("GET", "/limits/all?limit=2");
    const second = await manage("GET", `/limits/all?limit=2&cursor=${first.next}`);
    expect([first.data.length, second.data.map((row: Json) => row.of), second.next]).toEqual([2, ["key"], null]);
    const audit = (await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}`)).data;
    expect(audit[0]).toMatchObject({
      action: "limits.change",
      target: tenant.keyId,
      detail: {
        of: "key",
        before: { day: null, month: null },
        after: { day: "1.00", month: "20.00" },
        currency: "EUR",
      },
    });
    await manage("DELETE", "/members/ada@example.eu");
    expect((await manage("GET", "/limits/all")).data.map((row: Json) => row.of)).toEqual(["workspace", "key"]);
  });

  test.each([
    [{}, 400, "day"],
    [{ key: "K" }, 400, "day"],
    [{ day: "-1" }, 400, "day"],
    [{ day: "1e3" }, 400, "day"],
    [{ month: "0.0000000001" }, 400, "month"],
    [{ month: "1000000001" }, 400, "month"],
    [{ day: 5 }, 400, "day"],
    [{ week: "5" }, 400, "week"],
    [{ key: "K", member: "ada@example.eu", day: "1" }, 400, "member"],
    [{ key: "key_of_nobody", day: "1" }, 404, undefined],
    [{ member: "absent@example.eu", day: "1" }, 404, undefined],
  ])("BILL-04 %j is refused and sets nothing", async (body, status, param) => {
    const answer = await scene.gateway.call(scene.gateway.adminToken, `/manage/workspaces/${tenant.slug}/limits`, {
      method: "PUT",
      body,
    });
    expect([answer.status, answer.body.error.param]).toEqual([status, param]);
    expect((await manage("GET", "/limits/all")).data).toEqual([]);
  });

  test("BILL-04 a key of another workspace is not found", async () => {
    const other = await scene.gateway.tenant();
    await expect(set({ key: other.keyId, day: "1" })).rejects.toThrow(/404/);
  });

  test("BILL-04 the command line sets, shows and lists them, and an empty string lifts one", async () => {
    const cli = async (...args: string[]) => scene.gateway.cli("limits", ...args, "--json");
    const made = await cli("set", tenant.slug, "--day", "2.5", "--month", "40");
    expect(made.stderr).toBe("");
    expect(made.json).toMatchObject({ of: "workspace", day: { limit: "2.50" }, month: { limit: "40.00" } });
    await cli("set", tenant.slug, "--key", tenant.keyId, "--day", "0");
    expect((await cli("set", tenant.slug, "--day", "")).json).toMatchObject({
      day: { limit: null },
      month: { limit: "40.00" },
    });
    expect((await cli("show", tenant.slug, "--key", tenant.keyId)).json).toMatchObject({
      of: "key",
      key: tenant.keyId,
      key_name: "key",
      day: { limit: "0.00", spent: "0.00", held: "0.00", remaining: "0.00" },
    });
    expect((await cli("list", tenant.slug)).json).toMatchObject({ data: [{ of: "workspace" }, { of: "key" }] });
    expect((await cli("set", tenant.slug)).code).toBe(2);
    expect((await cli("set", tenant.slug, "--day", "much")).code).toBe(2);
    expect((await cli("set", tenant.slug, "--member", "absent@example.eu", "--day", "1")).code).toBe(1);
    const shown = await scene.gateway.cli("wallet", "show", tenant.slug, "--json");
    expect(shown.json).toEqual({ balance: "10.00", held: "0.00", currency: "EUR" });
  });
});

const SETTINGS = { GATEWAY_SANDBOX: "off", GATEWAY_RPM_LIVE: "1000000", GATEWAY_RPM_IP: "0" };

describe("restarts", () => {
  test("BILL-04 a restart keeps limits and spend", async () => {
    const upstream = await startUpstream();
    const env = { ...SETTINGS, ...connectedTo(new Map([["deepinfra", upstream]])) };
    const dataDir = temporaryFolder();
    const chat = (gateway: Awaited<ReturnType<typeof startGateway>>, key: string) =>
      gateway.call(key, "/v1/chat/completions", { body: chatBody(REQUEST) });
    const first = await startGateway({ env, dataDir });
    const team = await first.tenant({ credit: "5" });
    await first.manage("PUT", `/workspaces/${team.slug}/limits`, { key: team.keyId, month: decimal(COST + hold) });
    expect([(await chat(first, team.key)).status, (await chat(first, team.key)).status]).toEqual([200, 200]);
    await first.close();
    // As if it had been spent at the beginning of the month.
    const database = openBooks(dataDir);
    database.exec("update requests_daily set day = substr(day, 1, 8) || '01'");
    database.close();
    const second = await startGateway({ env, dataDir });
    const shown = await second.manage("GET", `/workspaces/${team.slug}/limits?key=${team.keyId}`);
    expect(nanosOf(shown.month.spent)).toBe(2n * COST);
    expect((await chat(second, team.key)).body.error.code).toBe("spend_limit_reached");
    await second.manage("PUT", `/workspaces/${team.slug}/limits`, { key: team.keyId, month: null });
    expect((await chat(second, team.key)).status).toBe(200);
    await second.close();
    await upstream.close();
  });

  test("BILL-04 charges that an earlier version left out of the roll-ups count", async () => {
    const upstream = await startUpstream();
    const env = { ...SETTINGS, ...connectedTo(new Map([["deepinfra", upstream]])) };
    const dataDir = temporaryFolder();
    const first = await startGateway({ env, dataDir });
    const teams = [await first.tenant({ credit: "5" }), await first.tenant({ credit: "5" })];
    for (const { key } of [...teams, ...teams.slice(1)])
      expect((await first.call(key, "/v1/chat/completions", { body: chatBody(REQUEST) })).status).toBe(200);
    await first.close();
    const database = openBooks(dataDir);
    for (const table of ["requests_daily", "requests_hourly"]) database.exec(`update ${table} set cost_nanos = 0`);
    database.exec("delete from schema_migrations where number = 31");
    database.close();

    const second = await startGateway({ env, dataDir });
    const each = (target: string) =>
      Promise.all(teams.map(({ slug }): Promise<Json> => second.manage("GET", `/workspaces/${slug}${target}`)));
    expect((await each("/limits")).map(({ month }) => nanosOf(month.spent))).toEqual([COST, 2n * COST]);
    const usage = (await each("/usage?group=key")).map(({ data }) =>
      data.map(({ name, requests, cost }: Json) => [name, requests, nanosOf(cost)]),
    );
    expect(usage).toEqual(
      teams.map(({ keyId }, at) => [
        [null, 0, BigInt(at + 1) * COST],
        [keyId, at + 1, 0n],
      ]),
    );
    const keys = (await each("/keys")).map(({ data }) => data.map(({ id }: Json) => id));
    expect(keys).toEqual(teams.map(({ keyId }) => [keyId]));
    expect(await second.manage("GET", "/doctor")).toMatchObject({ ok: true });
    await second.close();
    await upstream.close();
  });

  test("BILL-04 BILL-07 kill -9: charges count, holds do not", async () => {
    const upstream = await startUpstream();
    const dataDir = temporaryFolder();
    const env = {
      ...SETTINGS,
      ...connectedTo(new Map([["deepinfra", upstream]])),
      DATA_DIR: dataDir,
      GATEWAY_ADMIN_TOKEN: "token-of-this-test-1f3870be274f6c49",
      LOG_LEVEL: "warn",
    };
    const call = async (
      origin: string,
      method: string,
      target: string,
      token: string,
      body?: unknown,
    ): Promise<Json> => {
      const answer = await fetch(`${origin}${target}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    };
    const first = spawnGateway(env);
    let origin = await first.ready();
    const operate = async (method: string, target: string, body?: unknown): Promise<Json> =>
      (await call(origin, method, `/manage${target}`, env.GATEWAY_ADMIN_TOKEN, body)).body;
    await operate("POST", "/workspaces", { slug: "killed" });
    await operate("POST", "/workspaces/killed/wallet/credits", { amount: "5" });
    const { key } = await operate("POST", "/workspaces/killed/keys", { name: "k", environment: "live" });
    await operate("PUT", "/workspaces/killed/limits", { day: decimal(2n * COST + 2n * hold) });
    const chat = () => call(origin, "POST", "/v1/chat/completions", key, chatBody(REQUEST));
    expect((await chat()).status).toBe(200);
    upstream.next({ json: chatJson(), gate: new Promise(() => undefined) });
    const hanging = chat().catch(() => undefined);
    await upstream.arrived(2);
    // Charged just before the kill, so that it is at most in the journal.
    expect((await chat()).status).toBe(200);
    first.child.kill("SIGKILL");
    await first.exited;
    await hanging;

    const second = spawnGateway(env);
    origin = await second.ready();
    const { day } = await operate("GET", "/workspaces/killed/limits");
    expect([nanosOf(day.spent), day.held]).toEqual([2n * COST, "0.00"]);
    await operate("PUT", "/workspaces/killed/limits", { day: decimal(2n * COST + hold - 1n) });
    expect((await chat()).body.error.code).toBe("spend_limit_reached");
    await operate("PUT", "/workspaces/killed/limits", { day: decimal(2n * COST + hold) });
    expect((await chat()).status).toBe(200);
    expect(await operate("GET", "/doctor")).toMatchObject({ ok: true });
    await second.stop();
    await upstream.close();
  });
});

describe("doctor", () => {
  const checks = async (): Promise<Json> =>
    Object.fromEntries((await scene.gateway.manage("GET", "/doctor")).checks.map((check: Json) => [check.name, check]));

  test("BILL-01 BILL-04 live balance and spend counters equal the ledger, also under load", async () => {
    let stop = false;
    const load = Array.from({ length: 4 }, async () => {
      while (!stop) await ask();
    });
    for (let look = 0; look < 5; look += 1) {
      const { wallets, limits } = await checks();
      expect([wallets.ok, limits.ok], `${wallets.detail} ${limits.detail}`).toEqual([true, true]);
    }
    stop = true;
    await Promise.all(load);
    const { wallets, limits } = await checks();
    expect(wallets.detail).toMatch(/^\d+ wallets? compared with the ledger, no differences$/);
    expect(limits.detail).toMatch(/^\d+ spend counters? compared with the ledger, no differences$/);
  });

  test("BILL-01 BILL-04 finds ledger changes behind a running gateway's back", async () => {
    expect((await ask()).status).toBe(200);
    await scene.rows(tenant);
    const database = openBooks(scene.gateway.dataDir);
    const change = (sign: string) => {
      database.exec(`update requests_daily set cost_nanos = cost_nanos ${sign} 7 where key_id = '${tenant.keyId}'`);
      const id = String(database.prepare("select id from workspaces where slug = ?").get(tenant.slug)?.["id"]);
      database.exec(`update wallets set balance_nanos = balance_nanos ${sign} 5 where workspace_id = '${id}'`);
    };
    change("+");
    const { wallets, limits } = await checks();
    change("-");
    database.close();
    expect([wallets.ok, limits.ok]).toEqual([false, false]);
    expect(wallets.detail).toContain(`the wallet of ${tenant.slug} is `);
    expect(limits.detail).toContain(tenant.keyId);
    await eventually(async () => expect((await checks()).wallets.ok).toBe(true));
  });
});
