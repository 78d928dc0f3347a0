import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "./support/gateway.ts";
import { type Browser, type PeopleGateway, peopleGateway } from "./support/people.ts";

let gateway: PeopleGateway;
let owner: Browser;

beforeAll(async () => {
  // Connected, with a credential that is never used: the lists call no provider.
  gateway = await peopleGateway({ env: { PROVIDER_SCALEWAY_API_KEY: "planted-secret-of-scaleway" } });
  owner = await gateway.setUp();
});
afterAll(() => gateway.close());

const MODELS = "/v1/public/models?limit=1000";
const CONNECTED = "mistral/mistral-small-2506";
const byId = (rows: Json): Map<string, Json> => new Map(rows.map((row: Json) => [row.id, row]));
const listed = async (key: string, query = ""): Promise<Json[]> =>
  (await gateway.call(key, `${MODELS}${query}`)).body.data;

describe("what a caller can call now", () => {
  test("PORTAL-20 an anonymous answer has no availability, is public and keyed by credentials", async () => {
    for (const headers of [{}, { authorization: "Bearer sk_svc_live_unknown" }, { cookie: "session=unknown" }]) {
      const answer = await gateway.call("", MODELS, { headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
      expect(answer.headers.get("vary")).toMatch(/^Authorization, X-Api-Key, Origin\b/);
      expect(answer.text).not.toContain('"available"');
    }
    for (const query of ["available=true", "available_first=true"])
      expect((await gateway.call("", `${MODELS}&${query}`)).body.error).toMatchObject({ code: "invalid_value" });
  });

  test("PORTAL-20 with a key, the available models are exactly those of GET /v1/models, and the answer is private", async () => {
    const { key } = await gateway.tenant();
    for (const headers of [{ authorization: `Bearer ${key}` }, { "x-api-key": key }]) {
      const answer = await gateway.call("", MODELS, { headers });
      expect(answer.headers.get("cache-control")).toBe("private, no-cache");
      expect(answer.headers.get("vary")).toMatch(/^Authorization, X-Api-Key, Cookie, Origin\b/);
      const callable = (await gateway.call(key, "/v1/models")).body.data.map(({ id }: Json) => id);
      const available = answer.body.data.filter((row: Json) => row.available);
      expect(available.map(({ id }: Json) => id).toSorted()).toEqual(callable.toSorted());
      expect(available.length).toBeLessThan(answer.body.data.length);
    }
    const tagged = await gateway.call(key, MODELS);
    const headers = { "if-none-match": tagged.headers.get("etag") ?? "" };
    expect((await gateway.call(key, MODELS, { headers })).status).toBe(304);
  });

  test("PORTAL-20 models and endpoints say why they are unavailable: provider, policy or catalogue", async () => {
    const { key, slug } = await gateway.tenant();
    const before = byId(await listed(key));
    const one = before.get(CONNECTED);
    expect(one).toMatchObject({ available: true, unavailable: null });
    const endpoint = (provider: string, model: Json = one) =>
      model.endpoints.find((row: Json) => row.provider === provider);
    expect(endpoint("scaleway")).toMatchObject({ available: true, unavailable: null });
    expect(endpoint("ovhcloud")).toMatchObject({
      available: false,
      unavailable: { code: "not_connected", reason: "provider ovhcloud is not connected" },
    });
    const elsewhere = [...before.values()].filter(({ providers }) => !providers.includes("scaleway"));
    expect(elsewhere.filter(({ unavailable }) => unavailable?.code === "not_connected").length).toBeGreaterThan(50);
    // An unknown price is no matter of a connection.
    const unpriced = [...before.values()].flatMap((model) => model.endpoints.filter((row: Json) => row.price === null));
    for (const row of unpriced) expect(row.unavailable.code).toBe("not_callable");

    await gateway.manage("PATCH", `/workspaces/${slug}/policy`, { countries: ["PT"] });
    const after = byId(await listed(key));
    expect(endpoint("scaleway", after.get(CONNECTED))).toMatchObject({
      available: false,
      unavailable: { code: "excluded_by_policy", reason: expect.stringContaining("FR") },
    });
    expect(after.get(CONNECTED)).toMatchObject({ available: false, unavailable: { code: "excluded_by_policy" } });
  });

  test("PORTAL-20 a key's own policy counts; a key without the scope of models stays anonymous", async () => {
    const { slug } = await gateway.tenant();
    const create = async (body: object) => (await gateway.manage("POST", `/workspaces/${slug}/keys`, body)).key;
    const narrow = await create({ policy: { allowed_models: ["sandbox/chat"] } });
    const available = (await listed(narrow)).filter((row) => row.available).map(({ id }) => id);
    expect(available).toEqual(["sandbox/chat"]);
    const unscoped = await create({ scopes: ["inference:chat"] });
    expect((await listed(unscoped))[0]).not.toHaveProperty("available");
  });

  test("PORTAL-20 the list is filtered by availability and puts available models first on every page", async () => {
    const { key } = await gateway.tenant();
    const all = await listed(key);
    const yes = await listed(key, "&available=true");
    const no = await listed(key, "&available=false");
    expect([yes.every((row) => row.available), no.some((row) => row.available)]).toEqual([true, false]);
    expect(yes.length + no.length).toBe(all.length);
    const sorted = await listed(key, "&available_first=true&sort=-quality");
    expect(sorted.slice(0, yes.length).every((row) => row.available)).toBe(true);
    const paged: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await gateway.call(
        key,
        `/v1/public/models?limit=40&available_first=true&sort=-quality${cursor}`,
      );
      paged.push(...body.data.map(({ id }: Json) => id));
      if (body.next === null) break;
      cursor = `&cursor=${body.next}`;
    }
    expect(paged).toEqual(sorted.map(({ id }) => id));
  });

  test("PORTAL-20 a session names its workspace; workspaces of others do not exist for it", async () => {
    const mine = await owner.get(`${MODELS}&workspace=demo`);
    expect(mine.headers.get("cache-control")).toBe("private, no-cache");
    expect(byId(mine.body.data).get("sandbox/chat")).toMatchObject({ available: true });
    const { slug } = await gateway.tenant();
    const member = await gateway.join("clara@example.eu", "member");
    expect((await member.get(`${MODELS}&workspace=demo`)).status).toBe(200);
    expect((await member.get(`${MODELS}&workspace=${slug}`)).status).toBe(404);
    expect((await gateway.browser().get(`${MODELS}&workspace=demo`)).status).toBe(401);
    // Without the parameter a session is nothing to the public list.
    expect((await member.get(MODELS)).headers.get("cache-control")).toMatch(/^public/);
    const token = { authorization: `Bearer ${gateway.adminToken}` };
    const provider = await gateway.call("", `/v1/public/providers/scaleway?workspace=${slug}`, { headers: token });
    expect(provider.body.endpoints.some((row: Json) => row.available)).toBe(true);
    const model = await gateway.call("", `/v1/public/models/${CONNECTED}?workspace=${slug}`, { headers: token });
    expect(model.body).toMatchObject({ available: true, unavailable: null });
  });
});

describe("the playground key", () => {
  const issue = (browser: Browser, body: object = {}, workspace = "demo") =>
    browser.post(`/manage/workspaces/${workspace}/playground-key`, body);
  const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };

  test("PORTAL-21 a member without personal keys sends a request within their limits, and the log shows them", async () => {
    const created = await owner.post("/manage/workspaces/demo/invitations", {
      email: "mara@example.eu",
      limits: { month: "5" },
    });
    expect(created.body.limits).toEqual({ day: null, month: "5.00" });
    const token = new URL(created.body.link).searchParams.get("token");
    const mara = gateway.browser();
    const account = { name: "Mara", password: "three green bicycles" };
    expect((await mara.post(`/manage/invitations/${token}/accept`, account)).status).toBe(200);
    const limits = (await mara.get("/manage/workspaces/demo/limits?member=mara%40example.eu")).body;
    expect(limits.month).toMatchObject({ limit: "5.00", spent: "0.00" });
    await gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: false, approval: true });

    const { key, id } = (await issue(mara)).body;
    const served = await gateway.call(key, "/v1/chat/completions", { body: chat });
    expect(served.status).toBe(200);
    await expect
      .poll(async () => (await mara.get("/manage/workspaces/demo/requests")).body.data)
      .toMatchObject([{ member: "mara@example.eu", key_id: id, status: 200 }]);
    await gateway.manage("PUT", "/workspaces/demo/limits", { member: "mara@example.eu", month: "0" });
    const limited = await gateway.call(key, "/v1/chat/completions", { body: chat });
    expect(limited.body.error.code).toBe("spend_limit_reached");
    await gateway.manage("PATCH", "/workspaces/demo/policy", { allowed_models: ["sandbox/claude"] });
    const excluded = await gateway.call(key, "/v1/chat/completions", { body: chat });
    await gateway.manage("PATCH", "/workspaces/demo/policy", { allowed_models: null });
    expect(excluded.body.error.code).toBe("model_not_permitted");
    await gateway.manage("DELETE", "/workspaces/demo/members/mara@example.eu");
    expect((await gateway.call(key, "/v1/chat/completions", { body: chat })).status).toBe(401);
  });

  test("PORTAL-21 every tab gets the same key; it is not listed and cannot be changed or rotated", async () => {
    await gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true, approval: false });
    const noor = await gateway.join("noor@example.eu", "member");
    const [first, second] = await Promise.all([issue(noor), issue(noor)]);
    expect(second?.body.key).toBe(first?.body.key);
    expect((await issue(noor, { environment: "test" })).body.key).not.toBe(first?.body.key);
    const others = await gateway.join("otto@example.eu", "member");
    expect((await issue(others)).body.key).not.toBe(first?.body.key);

    const keys = "/manage/workspaces/demo/keys";
    expect((await noor.get(keys)).body.data).toEqual([]);
    const hidden = (await noor.get(`${keys}?purpose=playground`)).body.data;
    expect(hidden.map(({ environment }: Json) => environment).toSorted()).toEqual(["live", "test"]);
    for (const key of hidden)
      expect(key).toMatchObject({ name: "Playground", purpose: "playground", member: "noor@example.eu" });
    const { id, key } = first?.body ?? {};
    for (const [method, path, body] of [
      ["PATCH", `/manage/keys/${id}`, { expires_at: null }],
      ["POST", `/manage/keys/${id}/rotate`, {}],
    ] as const)
      expect((await noor.ask(method, path, body)).body.error?.code).toBe("conflict");
    // Revoked, it is replaced.
    expect((await noor.post(`/manage/keys/${id}/revoke`)).status).toBe(200);
    expect((await gateway.call(key, "/v1/auth/validate")).status).toBe(401);
    const next = (await issue(noor)).body;
    expect((await gateway.call(next.key, "/v1/auth/validate")).status).toBe(200);
  });

  test("PORTAL-21 an operator without a membership gets a key of their own; tokens and strangers get none", async () => {
    const { slug } = await gateway.tenant();
    const operators = (await issue(owner, {}, slug)).body;
    expect((await gateway.call(operators.key, "/v1/auth/validate")).body).toMatchObject({
      valid: true,
      api_key_name: "Playground",
    });
    expect((await issue(owner, {}, slug)).body.key).toBe(operators.key);
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const byToken = await gateway.call("", `/manage/workspaces/${slug}/playground-key`, { method: "POST", headers });
    expect(byToken.body.error.code).toBe("not_allowed");
    const stranger = await gateway.join("pia@example.eu", "member");
    expect((await issue(stranger, {}, slug)).status).toBe(404);
  });
});
