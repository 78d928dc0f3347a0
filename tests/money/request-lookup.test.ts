import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CallInit, Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";

describe("looking up a request", () => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene(["deepinfra"]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());

  const get = (key: string, path: string, init: CallInit = {}) => scene.gateway.call(key, path, init);

  test("BILL-10 has its cost right after its reply, complete or streamed, and no content", async () => {
    for (const stream of [false, true]) {
      const answer = await scene.chat(tenant.key, { stream });
      const id = String(answer.headers.get("x-svc-request-id"));
      const { status, body, text, headers } = await get(tenant.key, `/v1/requests/${id}`);
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
      const row = await scene.row(id);
      expect(body).toEqual({
        id,
        object: "request",
        created_at: row.created_at,
        environment: "live",
        surface: "chat",
        model_requested: MODEL,
        model: MODEL,
        provider: "deepinfra",
        level: row.level,
        countries: row.countries,
        router: null,
        streaming: stream,
        status: 200,
        error_code: null,
        usage: row.usage,
        cost: row.cost,
        currency: "EUR",
        attempts: 1,
        ttfb_ms: row.ttfb_ms,
        total_ms: row.total_ms,
        overhead_ms: row.overhead_ms,
      });
      expect(body.cost).toMatch(/^0\.0000\d+$/);
      expect(text).not.toContain("endpoint");
    }
  });

  test("BILL-10 has refused requests too, at no cost", async () => {
    const answer = await scene.chat(tenant.key, { model: "unknown/nothing" });
    const { body } = await get(tenant.key, `/v1/requests/${answer.headers.get("x-svc-request-id")}`);
    expect(body).toMatchObject({ status: 404, error_code: "model_not_found", cost: "0.00", model: null });
  });

  test("BILL-10 another workspace's request gets the same error as one that never existed", async () => {
    const other = await scene.gateway.tenant();
    const answer = await scene.chat(other.key, {});
    const id = String(answer.headers.get("x-svc-request-id"));
    const missing = id.replace(/.{8}$/, "00000000");
    const errorFor = async (key: string, requestId: string) => {
      const { status, body } = await get(key, `/v1/requests/${requestId}`);
      return [status, body.error.code, body.error.message.replace(requestId, "…")];
    };
    expect(await errorFor(tenant.key, id)).toEqual(await errorFor(tenant.key, missing));
    expect((await errorFor(tenant.key, id)).slice(0, 2)).toEqual([404, "not_found"]);
    expect((await get(other.key, `/v1/requests/${id}`)).status).toBe(200);
  });

  test("LOG-01 a member sees requests of their own keys; owners, admins and workspace keys see all", async () => {
    const team = await scene.gateway.tenant();
    const workspace = `/workspaces/${team.slug}`;
    await scene.gateway.manage("PATCH", `${workspace}/key-policy`, { personal_keys: true, approval: false });
    const keyOf = async (role: string): Promise<string> => {
      const email = `${role}@example.eu`;
      await scene.gateway.manage("POST", `${workspace}/members`, { email, role });
      return (await scene.gateway.manage("POST", `${workspace}/keys`, { member: email }))["key"] as Json;
    };
    const [member, admin, owner] = [await keyOf("member"), await keyOf("admin"), await keyOf("owner")];
    const idOf = async (key: string) => String((await scene.chat(key, {})).headers.get("x-svc-request-id"));
    const [hers, ours] = [await idOf(member), await idOf(team.key)];
    const sees = async (key: string) => {
      const answers = await Promise.all([hers, ours].map((id) => get(key, `/v1/requests/${id}`)));
      return answers.map(({ status }) => status);
    };
    expect(await sees(member)).toEqual([200, 404]);
    for (const key of [admin, owner, team.key]) expect(await sees(key)).toEqual([200, 200]);
    const refused = await get(member, `/v1/requests/${ours}`);
    const unknown = await get(member, `/v1/requests/${ours.replace(/.{8}$/, "00000000")}`);
    expect(refused.body.error.message.length).toBe(unknown.body.error.message.length);
    expect(refused.body.error.code).toBe("not_found");
  });

  test("BILL-10 any key of the workspace may look up, whatever its scope; it is counted and free", async () => {
    const issued = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, {
      environment: "test",
      scopes: ["inference:embeddings"],
      rpm: 2,
    });
    const answer = await scene.chat(tenant.key, {});
    const path = `/v1/requests/${answer.headers.get("x-svc-request-id")}`;
    const before = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
    const first = await get(issued["key"] as Json, path);
    expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([200, "1"]);
    expect((await get(issued["key"] as Json, path)).status).toBe(200);
    expect((await get(issued["key"] as Json, path)).status).toBe(429);
    expect(await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toEqual(before);
    expect((await get("sk_svc_live_nobody", path)).status).toBe(401);
  });
});

describe("usage", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene(["deepinfra"]);
  });
  afterAll(() => scene.close());

  test("LOG-04 LOG-01 live traffic by default, test traffic on request", async () => {
    const tenant = await scene.gateway.tenant();
    const workspace = `/workspaces/${tenant.slug}`;
    const test = await scene.gateway.manage("POST", `${workspace}/keys`, { environment: "test", name: "trial" });
    for (const key of [tenant.key, tenant.key, String(test["key"])]) await scene.chat(key, {}, { "x-title": "Desk" });
    const usage = (query: string): Promise<Json> => scene.gateway.manage("GET", `${workspace}/usage?${query}`);
    expect(await usage("")).toMatchObject({
      environment: "live",
      by: "day",
      group: null,
      currency: "EUR",
      next: null,
      data: [{ name: null, requests: 2, errors: 0, input_tokens: 22, output_tokens: 14 }],
    });
    expect(await usage("env=test&by=hour&group=key")).toMatchObject({
      environment: "test",
      data: [{ name: test["id"], label: "trial", requests: 1 }],
    });
    expect(await usage("env=all&group=environment")).toMatchObject({
      data: [
        { name: "live", requests: 2 },
        { name: "test", requests: 1 },
      ],
    });
    expect(await usage("app=Desk&env=all")).toMatchObject({ data: [{ requests: 3 }] });
    expect((await usage("model=other/model")).data).toEqual([]);
    const refused = (query: string) => scene.gateway.manage("GET", `${workspace}/usage?${query}`);
    await expect(refused("by=hour&from=2020-01-01")).rejects.toThrow("31 days");
    await expect(refused("group=prompt")).rejects.toThrow("group");
    await expect(refused("from=2027-01-02&to=2027-01-01")).rejects.toThrow("before the end");
  });

  test("LOG-01 filters requests by the member whose keys were used", async () => {
    const tenant = await scene.gateway.tenant();
    const workspace = `/workspaces/${tenant.slug}`;
    await scene.gateway.manage("POST", `${workspace}/members`, { email: "ada@example.eu" });
    await scene.gateway.manage("PATCH", `${workspace}/key-policy`, { personal_keys: true, approval: false });
    const personal = await scene.gateway.manage("POST", `${workspace}/keys`, { member: "ada@example.eu" });
    await scene.chat(tenant.key, {});
    const hers = await scene.chat(String(personal["key"]), {});
    const { data }: Json = await scene.gateway.manage("GET", `${workspace}/requests?member=ada@example.eu`);
    expect(data).toMatchObject([{ id: hers.headers.get("x-svc-request-id"), member: "ada@example.eu" }]);
    expect(await scene.gateway.manage("GET", `${workspace}/requests?member=unknown`)).toEqual({ data: [], next: null });
  });
});
