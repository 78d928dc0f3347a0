import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { whole } from "../support/gemini.ts";
import { inferences, keyOf, OWN, type OwnKeyScene, openOwnKeyScene, requireKey } from "../support/own-keys.ts";
import { gate } from "../support/response-callers.ts";
import { chatBody, connectedTo, credentialOf, QUIET } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

let scene: OwnKeyScene;
beforeAll(async () => {
  scene = await openOwnKeyScene();
});
afterAll(() => scene.close());

test("BILL-08 only: a postponed platform endpoint is not called after the own key was rejected", async () => {
  const narrow = await openOwnKeyScene({ GATEWAY_QUEUE_CONCURRENCY: "1", GATEWAY_ASIDE_FAILURES: "1" });
  onTestFinished(() => narrow.close());
  const [other, tenant] = [await narrow.tenant(), await narrow.tenant()];
  await narrow.put(tenant, "deepinfra", { key: OWN("gone"), use: "only", skip_test: true });
  const held = gate();
  narrow.nebius.next({ status: 500, json: {}, gate: held.closed });
  const first = narrow.chat(other);
  await eventually(() => expect(inferences(narrow.nebius)).toHaveLength(1));
  // Planned while nebius works; dequeued when its circuit is open.
  const second = narrow.chat(tenant, { provider: { order: ["nebius", "deepinfra"] } });
  await eventually(async () => {
    const metrics = await narrow.gateway.call(narrow.gateway.adminToken, "/metrics");
    expect(metrics.text).toMatch(/queue_waiting\S* 1\b/);
  });
  held.open();
  expect((await first).status).toBe(502);
  expect((await second).status).toBe(502);
  expect(inferences(narrow.nebius)).toHaveLength(1);
  expect((await narrow.last(tenant)).attempts).toMatchObject([
    { provider: "nebius", reason: expect.stringContaining("circuit opened since") },
    { provider: "deepinfra", own_key: true, reason: expect.stringContaining("rejected") },
    { provider: "nebius", reason: expect.stringContaining("only your own key") },
  ]);
});

test.each([
  ["first", { only: ["deepinfra"] }, 502],
  ["only", {}, 502],
  ["first", {}, 200],
] as const)(
  "BILL-08 ERR-01 %s, by %j: a key removed while queued is reported; the platform serves only if allowed: %i",
  async (use, provider, status) => {
    const narrow = await openOwnKeyScene({ GATEWAY_QUEUE_CONCURRENCY: "1" });
    onTestFinished(() => narrow.close());
    const [other, tenant] = [await narrow.tenant(), await narrow.tenant()];
    await narrow.put(tenant, "deepinfra", { key: OWN("taken"), use, skip_test: true });
    const held = gate();
    narrow.nebius.next({ status: 400, json: { error: { message: "no" } }, gate: held.closed });
    const first = narrow.chat(other);
    await eventually(() => expect(inferences(narrow.nebius)).toHaveLength(1));
    const second = narrow.chat(tenant, { provider });
    await eventually(async () => {
      const metrics = await narrow.gateway.call(narrow.gateway.adminToken, "/metrics");
      expect(metrics.text).toMatch(/queue_waiting\S* 1\b/);
    });
    await narrow.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
    held.open();
    await first;
    const answer = await second;
    expect(answer.status).toBe(status);
    if (status === 502)
      expect(answer.body.error).toMatchObject({
        code: "upstream_error",
        message:
          "The workspace's own key for deepinfra was removed before the request was sent, and no other endpoint is available. Retry: the request then uses the current keys.",
      });
    expect([inferences(narrow.deepinfra), inferences(narrow.nebius).slice(1)].map(({ length }) => length)).toEqual([
      0,
      status === 200 ? 1 : 0,
    ]);
    const { attempts, cost } = await narrow.last(tenant);
    const reason = "your key for deepinfra was removed since the plan was made";
    expect(attempts[0]).toMatchObject({ provider: "deepinfra", own_key: true, outcome: "next", reason });
    expect(cost === "0.00").toBe(status !== 200);
  },
);

test("BILL-08 ERR-01 fallback: a removed key hides no earlier attempts", async () => {
  const tenant = await scene.tenant();
  await scene.put(tenant, "deepinfra", { key: OWN("behind"), use: "fallback", skip_test: true });
  const before = inferences(scene.nebius).length;
  const held = gate();
  scene.nebius.next({ status: 429, headers: { "retry-after": "30" }, json: {}, gate: held.closed });
  const response = scene.chat(tenant);
  await eventually(() => expect(inferences(scene.nebius)).toHaveLength(before + 1));
  await scene.gateway.manage("DELETE", `/workspaces/${tenant.slug}/providers/deepinfra`);
  held.open();
  const { status, headers, body } = await response;
  expect([status, headers.get("retry-after")]).toEqual([429, "30"]);
  expect(body.error.message).toBe(
    "The provider nebius is at its rate limit, and no other endpoint is available. Try again in 30 s.",
  );
  expect((await scene.last(tenant)).attempts).toMatchObject([
    { provider: "nebius", upstream_status: 429 },
    { provider: "deepinfra", own_key: true, reason: "your key for deepinfra was removed since the plan was made" },
  ]);
});

/** The key file of an account in a project, which is part of the upstream URLs. */
const ACCOUNT = JSON.stringify({
  type: "service_account",
  project_id: "own-project",
  private_key: generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey,
  client_email: "own@own-project.iam.gserviceaccount.example",
  token_uri: "https://oauth2.googleapis.com/token",
});

test.each([
  ["first", { only: ["google-vertex"] }, 502],
  ["only", {}, 502],
  ["first", {}, 200],
] as const)(
  "BILL-08 ERR-01 %s, by %j: a key replaced by one for other URLs while queued is reported: %i",
  async (use, provider, status) => {
    const google = await startUpstream({ json: whole([{ text: "Hello" }]) });
    const narrow = await openOwnKeyScene({
      GATEWAY_QUEUE_CONCURRENCY: "1",
      PROVIDER_GOOGLE_VERTEX_BASE_URL: google.url,
      PROVIDER_GOOGLE_AI_STUDIO_BASE_URL: google.url,
      PROVIDER_GOOGLE_AI_STUDIO_API_KEY: credentialOf("google-ai-studio"),
    });
    onTestFinished(async () => {
      await narrow.close();
      await google.close();
    });
    const [other, tenant] = [await narrow.tenant(), await narrow.tenant()];
    await narrow.put(tenant, "google-vertex", { key: ACCOUNT, use, skip_test: true });
    const held = gate();
    narrow.nebius.next({ status: 400, json: { error: { message: "no" } }, gate: held.closed });
    const first = narrow.chat(other);
    await eventually(() => expect(inferences(narrow.nebius)).toHaveLength(1));
    const second = narrow.chat(tenant, { model: "google/gemini-2.5-flash", provider });
    await eventually(async () => {
      const metrics = await narrow.gateway.call(narrow.gateway.adminToken, "/metrics");
      expect(metrics.text).toMatch(/queue_waiting\S* 1\b/);
    });
    await narrow.put(tenant, "google-vertex", { key: OWN("plain"), skip_test: true });
    held.open();
    await first;
    const answer = await second;
    expect(answer.status).toBe(status);
    if (status === 502)
      expect(answer.body.error).toMatchObject({
        code: "upstream_error",
        message:
          "The workspace's own key for google-vertex was replaced before the request was sent, and no other endpoint is available. Retry: the request then uses the current keys.",
      });
    const keys = inferences(google).map(keyOf);
    expect(keys).toEqual(status === 200 ? [credentialOf("google-ai-studio")] : []);
    const { attempts, cost } = await narrow.last(tenant);
    const reason = "your key for google-vertex was replaced since the plan was made";
    expect(attempts[0]).toMatchObject({ provider: "google-vertex", own_key: true, outcome: "next", reason });
    expect(cost === "0.00").toBe(status !== 200);
  },
);

test("BILL-08 an own key's latency does not count for others", async () => {
  const [own, other] = [await scene.tenant(), await scene.tenant()];
  scene.letIn.add(OWN("quick"));
  await scene.put(own, "nebius", { key: OWN("quick"), use: "only" });
  const expected = async (tenant: Tenant) => {
    const question = { request: chatBody() };
    return (await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/routing/explain`, question)).expected;
  };
  expect((await scene.chat(own)).status).toBe(200);
  await scene.last(own);
  expect((await expected(other)).latency_ms).toBeNull();
  expect((await scene.chat(other)).status).toBe(200);
  await eventually(async () => expect((await expected(other)).latency_ms).not.toBeNull());
});

test("BILL-08 a simulated provider accepts no key: the wallet pays, or nothing is charged", async () => {
  const gateway = await startGateway({ env: { GATEWAY_RPM_IP: "0" } });
  onTestFinished(() => gateway.close());
  const put = await gateway.call(gateway.adminToken, "/manage/workspaces/demo/providers/sandbox-us", {
    method: "PUT",
    body: { key: OWN("free"), skip_test: true },
  });
  expect([put.status, put.body.error.code]).toEqual([409, "conflict"]);
});

test("BILL-08 refuses a body that is no JSON without quoting the key", async () => {
  const tenant = await scene.tenant();
  const where = `/manage/workspaces/${tenant.slug}/providers/nebius`;
  for (const body of [`{"key":"${OWN("torn")}`, `{"key" "${OWN("torn")}"}`, `{"key":["${OWN("torn")}"]}`]) {
    const answer = await scene.gateway.call(scene.gateway.adminToken, where, { method: "PUT", body });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain("canary");
  }
});

/** A gateway with the operator's and a workspace's own key at nebius. */
async function openKept(dataDir: string, nebius: Upstream): Promise<TestGateway> {
  return startGateway({ dataDir, env: { ...connectedTo(new Map([["nebius", nebius]])), ...QUIET } });
}

test.each(["only", "first"])(
  "BILL-08 %s: a key that cannot be decrypted counts as rejected, not as missing",
  async (use) => {
    const dataDir = mkdtempSync(path.join(os.tmpdir(), "gateway-own-"));
    const nebius = await startUpstream();
    onTestFinished(async () => {
      await nebius.close();
      rmSync(dataDir, { recursive: true, force: true });
    });
    requireKey(nebius, new Set([credentialOf("nebius"), OWN("shut")]));
    const first = await openKept(dataDir, nebius);
    const tenant = await first.tenant();
    const where = `/workspaces/${tenant.slug}/providers/nebius`;
    await first.manage("PUT", where, { key: OWN("shut"), use });
    await first.close();
    const db = openBooks(dataDir);
    db.exec("update workspace_credentials set secret = x'00'");
    db.close();

    const gateway = await openKept(dataDir, nebius);
    onTestFinished(() => gateway.close());
    const before = inferences(nebius).length;
    const chat = () => gateway.call(tenant.key, "/v1/chat/completions", { body: chatBody() });
    const answer = await chat();
    const keys = inferences(nebius).slice(before).map(keyOf);
    const [row] = (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=1`)).data;
    expect(row.attempts[0]).toMatchObject({ own_key: true, reason: "your key for nebius was rejected" });
    if (use === "only") expect([answer.status, keys, row.cost]).toEqual([502, [], "0.00"]);
    else expect([answer.status, keys]).toEqual([200, [credentialOf("nebius")]]);
    // It can be listed, tested, replaced and removed.
    expect((await gateway.manage("GET", where)).use).toBe(use);
    const tested: Json = await gateway.manage("POST", "/providers/nebius/test", { workspace: tenant.slug });
    expect([tested.ok, tested.result]).toEqual([false, "refused"]);
    await gateway.manage("PUT", where, { key: OWN("shut") });
    expect((await chat()).status).toBe(200);
    expect(keyOf(inferences(nebius).at(-1) ?? { headers: {} })).toBe(OWN("shut"));
  },
);
