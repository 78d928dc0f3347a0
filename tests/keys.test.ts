import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "./support/eventually.ts";
import { startGateway, type TestGateway } from "./support/gateway.ts";
import { type Operator, operatorOf } from "./support/operator.ts";

let gateway: TestGateway;
let operator: Operator;

beforeAll(async () => {
  gateway = await startGateway();
  operator = operatorOf(gateway);
  await operator.post("/manage/workspaces", { slug: "keys", name: "Key tests" });
  await operator.post("/manage/workspaces/keys/members", { email: "ada@example.eu", role: "member" });
  await operator.patch("/manage/workspaces/keys/key-policy", { personal_keys: true });
});
afterAll(() => gateway.close());

type Issued = { id: string; key: string; prefix: string };

async function create(body: Record<string, unknown> = {}): Promise<Issued> {
  const { status, json } = await operator.post("/manage/workspaces/keys/keys", body);
  expect(status).toBe(201);
  return { id: String(json["id"]), key: String(json["key"]), prefix: String(json["prefix"]) };
}

/** The status of a call with a key; validating is free. */
async function call(key: string, target = "/v1/auth/validate") {
  const { status, body, headers } = await gateway.call(key, target);
  return { status, code: body.error?.code, json: body, headers };
}

test("PORTAL-02 the list of keys has each key's last use and spend of the month", async () => {
  await operator.post("/manage/workspaces", { slug: "used", currency: "CHF" });
  await operator.post("/manage/workspaces/used/wallet/credits", { amount: "5" });
  const made = await Promise.all(
    ["busy", "idle"].map((name) => gateway.manage("POST", "/workspaces/used/keys", { name })),
  );
  const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };
  expect((await gateway.call(made[0]?.key, "/v1/chat/completions", { body })).status).toBe(200);
  await eventually(async () => {
    const { data } = await gateway.manage("GET", "/workspaces/used/keys");
    expect(Object.fromEntries(data.map((key: Record<string, unknown>) => [key["name"], key]))).toMatchObject({
      busy: {
        last_used_at: expect.any(String),
        requests_month: 1,
        spent_month: expect.stringMatching(/^0\.0*[1-9]/),
        currency: "CHF",
      },
      idle: { last_used_at: null, requests_month: 0, spent_month: "0.00", currency: "CHF" },
    });
    for (const { id, ...listed } of data) expect(await gateway.manage("GET", `/keys/${id}`)).toEqual({ id, ...listed });
  });
});

describe("validating a key", () => {
  test("KEY-01 AUTH-10 each kind of key has its prefix, and validation names it in exactly eight fields", async () => {
    for (const [body, prefix, environment] of [
      [{ name: "a" }, "sk_svc_live_", "PRODUCTION"],
      [{ name: "a", environment: "test" }, "sk_svc_test_", "TEST"],
      [{ name: "a", member: "ada@example.eu" }, "sk_svc_user_live_", "PRODUCTION"],
      [{ name: "a", member: "ada@example.eu", environment: "test" }, "sk_svc_user_test_", "TEST"],
    ] as const) {
      const issued = await create(body);
      expect(issued.key.startsWith(prefix)).toBe(true);
      const { status, json } = await call(issued.key);
      expect(status).toBe(200);
      expect(json).toEqual({
        valid: true,
        team_id: expect.stringMatching(/^ws_/),
        team_name: "Key tests",
        api_key_id: issued.id,
        api_key_name: "a",
        api_key_prefix: prefix,
        environment,
        scopes: null,
      });
    }
  });

  test("AUTH-10 scopes are the key's own, and none is needed to validate it", async () => {
    const { key } = await create({ scopes: ["inference:embeddings"] });
    expect((await call(key)).json.scopes).toEqual(["inference:embeddings"]);
  });

  test("KEY-02 the key is in no file of the data folder and in no later response", async () => {
    const { id, key, prefix } = await create({ name: "secret-marked" });
    expect((await call(key)).status).toBe(200);
    const bare = key.slice(prefix.length);
    const later = await Promise.all(
      [`/manage/keys/${id}`, "/manage/workspaces/keys/keys", "/manage/audit"].map((target) => operator.get(target)),
    );
    expect(JSON.stringify(later)).not.toContain(bare);
    for (const file of filesIn(gateway.dataDir)) expect(readFileSync(file).includes(bare), file).toBe(false);
    expect(filesIn(gateway.dataDir).some((file) => readFileSync(file).includes("secret-marked"))).toBe(true);
  });
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

describe("key life cycle", () => {
  test("KEY-03 after a rotation both keys work; the new one has the old one's settings", async () => {
    const old = await create({ name: "rotating", scopes: ["inference:chat"], rpm: 50, environment: "test" });
    const { status, json } = await operator.post(`/manage/keys/${old.id}/rotate`, {});
    expect(status).toBe(201);
    expect(Object.keys(json)).toEqual(["id", "key", "prefix", "name", "environment", "expires_at"]);
    expect(json).toMatchObject({ name: "rotating", environment: "test", prefix: "sk_svc_test_", expires_at: null });
    expect((await call(old.key)).status).toBe(200);
    expect((await call(String(json["key"]))).json.scopes).toEqual(["inference:chat"]);
    const { json: view } = await operator.get(`/manage/keys/${old.id}`);
    const graceMs = Date.parse(String(view["grace_until"])) - Date.now();
    expect(Math.round(graceMs / 86_400_000)).toBe(7);
    expect((await operator.get(`/manage/keys/${json["id"]}`)).json).toMatchObject({ rpm: 50, rotated_from: old.id });
  });

  test("KEY-03 AUTH-05 a rotated key expires after its grace period", async () => {
    const old = await create();
    await operator.post(`/manage/keys/${old.id}/rotate`, { grace: "0s" });
    const refused = await call(old.key);
    expect([refused.status, refused.code]).toEqual([401, "expired_api_key"]);
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("KEY-04 a revoked key is refused on the very next request", async () => {
    const active = await create();
    const deprecated = await create();
    await operator.post(`/manage/keys/${deprecated.id}/rotate`, {});
    for (const { id, key } of [active, deprecated]) {
      expect((await call(key)).status).toBe(200);
      expect((await operator.post(`/manage/keys/${id}/revoke`)).json["state"]).toBe("revoked");
      const refused = await call(key);
      expect([refused.status, refused.code]).toEqual([401, "invalid_api_key"]);
    }
  });

  test("KEY-05 AUTH-05 a key past its expiry is refused, also when created so", async () => {
    const made = await create({ expires_at: "2020-01-01T00:00:00Z" });
    expect((await call(made.key)).code).toBe("expired_api_key");
    const later = await create();
    expect((await call(later.key)).status).toBe(200);
    await operator.patch(`/manage/keys/${later.id}`, { expires_at: new Date(Date.now() - 1).toISOString() });
    const refused = await call(later.key);
    expect([refused.status, refused.code]).toEqual([401, "expired_api_key"]);
    expect((await operator.get(`/manage/keys/${later.id}`)).json["state"]).toBe("expired");
  });

  test("KEY-06 every setting can be changed and holds from the next request", async () => {
    const { id, key } = await create();
    const set = (body: Record<string, unknown>) => operator.patch(`/manage/keys/${id}`, body);
    await set({ ip_allowlist: ["203.0.113.0/24"] });
    expect((await call(key)).code).toBe("ip_not_allowed");
    await set({ ip_allowlist: ["127.0.0.0/8", "::1"] });
    expect((await call(key)).status).toBe(200);
    await set({ scopes: ["inference:chat"] });
    expect((await call(key, "/v1/models")).code).toBe("insufficient_scope");
    await set({ scopes: [], rpm: 7 });
    const listed = await call(key, "/v1/models");
    expect([listed.status, listed.headers.get("x-ratelimit-limit")]).toEqual([200, "7"]);
  });
});

describe("personal keys", () => {
  test("KEY-07 exist only while the key policy enables them", async () => {
    await operator.post("/manage/workspaces", { slug: "closed" });
    await operator.post("/manage/workspaces/closed/members", { email: "bo@example.eu" });
    const body = { member: "bo@example.eu" };
    const refused = await operator.post("/manage/workspaces/closed/keys", body);
    expect([refused.status, refused.code]).toEqual([403, "not_allowed"]);
    await operator.patch("/manage/workspaces/closed/key-policy", { personal_keys: true });
    const key = String((await operator.post("/manage/workspaces/closed/keys", body)).json["key"]);
    expect((await call(key)).status).toBe(200);
    await operator.patch("/manage/workspaces/closed/key-policy", { personal_keys: false });
    expect((await call(key)).code).toBe("invalid_api_key");
  });

  test("KEY-07 wait for approval when required, and cannot be approved while they are disabled", async () => {
    const policy = (body: object) => operator.patch("/manage/workspaces/keys/key-policy", body);
    await policy({ approval: true });
    const waiting = await create({ member: "ada@example.eu" });
    const refused = await call(waiting.key);
    expect([refused.status, refused.code]).toEqual([401, "invalid_api_key"]);
    expect(refused.json.error.message).toContain("waiting for approval");
    // Workspace keys need no approval.
    expect((await call((await create()).key)).status).toBe(200);
    await policy({ personal_keys: false });
    expect((await operator.post(`/manage/keys/${waiting.id}/approve`)).code).toBe("not_allowed");
    await policy({ personal_keys: true });
    expect((await operator.post(`/manage/keys/${waiting.id}/approve`)).json["state"]).toBe("active");
    expect((await call(waiting.key)).status).toBe(200);
    await policy({ approval: false });
  });

  test("KEY-08 stop on the next request when the member leaves", async () => {
    await operator.post("/manage/workspaces/keys/members", { email: "cy@example.eu" });
    const { key } = await create({ member: "cy@example.eu" });
    expect((await call(key)).status).toBe(200);
    const removed = await operator.delete("/manage/workspaces/keys/members/cy%40example.eu");
    expect(removed.status).toBe(200);
    const refused = await call(key);
    expect([refused.status, refused.code]).toEqual([401, "invalid_api_key"]);
  });

  test("KEY-08 no API key, not even an owner's own, opens the management API", async () => {
    await operator.post("/manage/workspaces/keys/members", { email: "dee@example.eu", role: "owner" });
    for (const body of [{}, { member: "dee@example.eu" }]) {
      const { key } = await create(body);
      const refused = await operatorOf({ ...gateway, adminToken: key }).post("/manage/workspaces/keys/keys", {});
      expect([refused.status, refused.code]).toEqual([401, "invalid_admin_token"]);
    }
  });
});
