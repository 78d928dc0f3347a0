import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "./support/gateway.ts";
import { MODEL, openScene, type Scene } from "./support/scene.ts";
import { chatJson } from "./support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_SANDBOX: "on", GATEWAY_RPM_TEST: "1000000" });
});
afterAll(() => scene.close());

const SIMULATED = { test_keys: "simulated" };

async function tenantWithTestKey(policy: Json = {}) {
  const tenant = await scene.gateway.tenant();
  const made = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { environment: "test" });
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);
  return { ...tenant, testKey: String(made["key"]), testKeyId: String(made["id"]) };
}

const modelsOf = async (key: string): Promise<string[]> =>
  (await scene.gateway.call(key, "/v1/models")).body.data.map(({ id }: Json) => id);

describe("test keys", () => {
  test("KEY-09 BILL-02 by default they call the same models at the same price as live keys", async () => {
    const { slug, key, testKey } = await tenantWithTestKey();
    scene.at("deepinfra").next({ json: chatJson() });
    scene.at("deepinfra").next({ json: chatJson() });
    const costs = [await scene.chat(key), await scene.chat(testKey)].map(({ body }) => body.usage.cost);
    expect(costs[0]).toBeGreaterThan(0);
    expect(costs[1]).toBe(costs[0]);
    expect(await modelsOf(testKey)).toEqual(await modelsOf(key));
    expect(await scene.gateway.manage("GET", `/workspaces/${slug}/policy`)).toMatchObject({ test_keys: "any" });
  });

  test("KEY-09 restricted, they reach simulated providers only, by name and through auto; live keys are unaffected", async () => {
    const { slug, key, testKey } = await tenantWithTestKey(SIMULATED);
    const before = scene.at("deepinfra").requests.length;
    const refused = await scene.chat(testKey);
    expect([refused.status, refused.body.error.code]).toEqual([403, "simulated_provider_required"]);
    expect(refused.body.error.message).toContain("test keys reach simulated providers only");
    for (const model of ["sandbox/chat", "auto"]) {
      const served = await scene.chat(testKey, { model });
      expect([served.status, served.headers.get("x-svc-provider")]).toEqual([200, expect.stringMatching(/^sandbox-/)]);
      expect(served.body.usage.cost).toBeGreaterThan(0);
    }
    expect(scene.at("deepinfra").requests).toHaveLength(before);
    const models = await modelsOf(testKey);
    expect(models.length).toBeGreaterThan(0);
    expect(models.filter((id) => !id.startsWith("sandbox/"))).toEqual([]);
    scene.at("deepinfra").next({ json: chatJson() });
    expect((await scene.chat(key)).status).toBe(200);
    const { rules } = await scene.gateway.manage("GET", `/workspaces/${slug}/evidence`).then(({ refused: rows }) => ({
      rules: rows.map(({ rule }: Json) => rule),
    }));
    expect(rules).toEqual(["simulated_provider_required"]);
  });

  test.each([
    ["/v1/messages", { model: MODEL, max_tokens: 9, messages: [{ role: "user", content: "hi" }] }],
    ["/v1/responses", { model: MODEL, input: "hi" }],
    ["/v1/embeddings", { model: "baai/bge-m3", input: "hi" }],
  ])("KEY-09 POL-02 restricted, no provider is called on %s", async (path, body) => {
    const { testKey } = await tenantWithTestKey(SIMULATED);
    const before = scene.at("deepinfra").requests.length;
    const refused = await scene.gateway.call(testKey, path, { body });
    expect([refused.status, refused.body.error.code]).toEqual([403, "simulated_provider_required"]);
    expect(scene.at("deepinfra").requests).toHaveLength(before);
  });

  test("KEY-09 ROUTE-04 a router with a fallback and a failing simulated provider never leave the simulated providers", async () => {
    const { slug, testKey, testKeyId } = await tenantWithTestKey(SIMULATED);
    await scene.gateway.manage("PUT", `/workspaces/${slug}/routers/mixed`, {
      models: ["sandbox/chat-fr"],
      fallback: [MODEL],
      countries: ["FR"],
    });
    const before = scene.at("deepinfra").requests.length;
    const model = `@${slug}/mixed`;
    const served = await scene.chat(testKey, { model });
    expect([served.status, served.headers.get("x-svc-provider")]).toEqual([200, "sandbox-fr"]);
    const explained = await scene.gateway.manage("POST", `/workspaces/${slug}/routing/explain`, {
      key: testKeyId,
      request: { model, messages: [{ role: "user", content: "hi" }] },
    });
    const outside = explained["candidates"].filter(({ provider }: Json) => !provider.startsWith("sandbox-"));
    expect(outside.length).toBeGreaterThan(0);
    expect(outside.every(({ outcome }: Json) => outcome === "excluded")).toBe(true);
    expect(explained["rules"]).toContainEqual({ rule: "test_keys", value: "simulated", from: ["workspace"] });
    await scene.gateway.manage("PUT", `/workspaces/${slug}/routers/mixed`, { models: [MODEL] });
    expect((await scene.chat(testKey, { model })).body.error.code).toBe("simulated_provider_required");
    expect(scene.at("deepinfra").requests).toHaveLength(before);
  });

  test("KEY-09 a restriction that begins during a request counts before the next attempt", async () => {
    const { slug, testKey } = await tenantWithTestKey();
    const provider = scene.at("deepinfra");
    const before = provider.requests.length;
    const held = Promise.withResolvers<void>();
    provider.next({ status: 503, json: {}, gate: held.promise });
    const running = scene.chat(testKey);
    await provider.arrived(before + 1);
    await scene.gateway.manage("PATCH", `/workspaces/${slug}/policy`, SIMULATED);
    held.resolve();
    expect((await running).body.error.code).toBe("simulated_provider_required");
    expect(provider.requests).toHaveLength(before + 1);
    expect(scene.at("ovhcloud").requests).toEqual([]);
  });

  test("KEY-09 keys and routers cannot set it, and creating a key on the command line says what it calls and costs", async () => {
    const { slug, testKeyId } = await tenantWithTestKey();
    await expect(scene.gateway.manage("PATCH", `/keys/${testKeyId}`, { policy: { test_keys: "any" } })).rejects.toThrow(
      "test_keys",
    );
    const created = await scene.gateway.cli("key", "create", slug, "--env", "test");
    expect(created.stdout + created.stderr).toContain("the same models at the same price as live keys");
    const set = await scene.gateway.cli(
      "policy",
      "set",
      slug,
      "--test-keys",
      "simulated",
      "--own-nodes",
      "exempt",
      "--json",
    );
    expect(set.json).toMatchObject({ test_keys: "simulated", own_nodes: "exempt" });
  });
});
