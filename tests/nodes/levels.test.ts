import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { agentForTest, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["ovhcloud", "deepinfra"]);
});
afterAll(() => scene.close());

const OWN = "node/rack/tiny";
const MAPPED = { mapping: { tiny: MODEL } };
const ATTESTED = { level: "L3", name: "Ada Moreau", reason: "Own hardware in our own building, run by our own staff." };

async function withNode(tenant: Tenant, node: Json = {}) {
  const local = await localForTest();
  const created = await createNode(scene.gateway, tenant.slug, "rack", node);
  agentForTest(scene.gateway.url, created.token, local.url);
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
  return { local, node: created };
}

const setPolicy = (tenant: Tenant, policy: Json) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);
const nodePath = ({ slug }: Tenant, more = "") => `/workspaces/${slug}/nodes/rack${more}`;
const attest = (tenant: Tenant, body: Json = ATTESTED) =>
  scene.gateway.manage("PUT", nodePath(tenant, "/attestation"), body);
const levelOf = ({ status, headers }: { status: number; headers: Headers }) => [
  status,
  headers.get("x-svc-sovereignty-level"),
];

describe("the level of a node", () => {
  test.each([
    [null, "UNCLASSIFIED"],
    ["US", "L0"],
    ["CH", "L0"],
    ["GB", "L0"],
    ["DE", "L1"],
    ["NO", "L1"],
  ])(
    "NODE-04 a node declared in %s has the level %s: header, log, model list and node agree",
    async (country, level) => {
      const tenant = await scene.gateway.tenant();
      await withNode(tenant, { country });
      const served = await scene.chat(tenant.key, { model: OWN });
      expect(levelOf(served)).toEqual([200, level]);
      expect(await scene.row(served.body.id)).toMatchObject({ level, level_attested: false });
      const { body } = await scene.gateway.call(tenant.key, "/v1/models");
      expect(body.data.find(({ id }: Json) => id === OWN)).toMatchObject({ svc_levels: [level] });
      expect(await scene.gateway.manage("GET", nodePath(tenant))).toMatchObject({ level, attestation: null });
    },
  );

  test("NODE-04 a floor above its level excludes it, and no byte reaches it", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { country: "DE", ...MAPPED });
    await setPolicy(tenant, { floor: "L1" });
    expect(levelOf(await scene.chat(tenant.key, { model: OWN }))).toEqual([200, "L1"]);
    await setPolicy(tenant, { floor: "L2" });
    const refused = await scene.chat(tenant.key, { model: OWN });
    expect([refused.status, refused.body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
    expect(refused.body.error.message).toContain("level L1 is below the floor L2");
    scene.at("ovhcloud").next({ json: chatJson() });
    const other = await scene.chat(tenant.key);
    expect(other.headers.get("x-svc-provider")).toBe("ovhcloud");
    expect(local.received).toHaveLength(1);
  });

  test("NODE-04 an undeclared node meets no floor, L0 included", async () => {
    const tenant = await scene.gateway.tenant();
    await withNode(tenant, { country: null });
    await setPolicy(tenant, { floor: "L0" });
    const { status, body } = await scene.chat(tenant.key, { model: OWN });
    expect([status, body.error.code]).toEqual([403, "sovereignty_floor_not_met"]);
  });
});

describe("an attestation", () => {
  test("NODE-04 raises the level with name, reason and date; log, explanation, evidence and audit show it", async () => {
    const tenant = await scene.gateway.tenant();
    await withNode(tenant, { country: "FR" });
    await setPolicy(tenant, { floor: "L3" });
    const node = await attest(tenant);
    const recorded = { ...ATTESTED, recorded_by: "operator", ended_at: null, at: expect.any(String) };
    expect(node).toMatchObject({ level: "L3", attestation: recorded, attestations: [recorded] });
    expect(node["level_reason"]).toContain("attested by Ada Moreau on ");
    const served = await scene.chat(tenant.key, { model: OWN });
    expect(levelOf(served)).toEqual([200, "L3"]);
    const row = await scene.row(served.body.id);
    expect(row).toMatchObject({ level: "L3", level_attested: true });
    expect(row.decision.candidates[0]).toMatchObject({ provider: "node-rack", level: "L3", attested: true });
    const report = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/evidence`);
    const [evidence] = report["evidence"];
    expect(evidence).toMatchObject({ own_node: true, level: "L3", recorded_levels: ["L3"], attestations: [recorded] });
    const page = await scene.gateway.call(
      scene.gateway.adminToken,
      `/manage/workspaces/${tenant.slug}/evidence?format=html`,
    );
    expect(page.text).toContain(`Attested L3 by Ada Moreau`);
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=node.attest`);
    expect(data).toMatchObject([{ actor: "operator", detail: { name: "rack", before: "L1", attestation: ATTESTED } }]);
  });

  test("NODE-04 needs a country in the EEA, a level above L1, a name and a reason", async () => {
    const tenant = await scene.gateway.tenant();
    await createNode(scene.gateway, tenant.slug, "rack", { country: "US" });
    await expect(attest(tenant)).rejects.toThrow("has level L0: declared in US, outside the EEA");
    await scene.gateway.manage("PATCH", nodePath(tenant), { country: null });
    await expect(attest(tenant)).rejects.toThrow("has level UNCLASSIFIED");
    await scene.gateway.manage("PATCH", nodePath(tenant), { country: "IS" });
    await expect(attest(tenant, { ...ATTESTED, level: "L1" })).rejects.toThrow("level");
    await expect(attest(tenant, { level: "L2", name: "", reason: "x" })).rejects.toThrow("name");
    await expect(attest(tenant, { level: "L2", name: "Ada" })).rejects.toThrow("reason");
    expect(await attest(tenant)).toMatchObject({ level: "L3" });
  });

  test("NODE-04 ends when it is withdrawn, replaced, or the node moves; the history stays in the evidence", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { country: "FR" });
    await setPolicy(tenant, { floor: "L2" });
    await attest(tenant);
    await attest(tenant, { ...ATTESTED, level: "L2" });
    const served = await scene.chat(tenant.key, { model: OWN });
    expect(levelOf(served)).toEqual([200, "L2"]);
    const withdrawn = await scene.gateway.manage("DELETE", nodePath(tenant, "/attestation"));
    expect(withdrawn).toMatchObject({ level: "L1", attestation: null });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(403);
    await expect(scene.gateway.manage("DELETE", nodePath(tenant, "/attestation"))).rejects.toThrow("no attestation");
    await attest(tenant);
    // The same country again is no move.
    expect(await scene.gateway.manage("PATCH", nodePath(tenant), { country: "FR" })).toMatchObject({ level: "L3" });
    const moved = await scene.gateway.manage("PATCH", nodePath(tenant), { country: "DE" });
    expect(moved).toMatchObject({ level: "L1", attestation: null });
    expect(moved["attestations"].map(({ level, ended_at }: Json) => [level, typeof ended_at])).toEqual([
      ["L3", "string"],
      ["L2", "string"],
      ["L3", "string"],
    ]);
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(403);
    expect(local.received).toHaveLength(1);
    const { evidence } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/evidence`);
    expect(evidence[0]).toMatchObject({ recorded_levels: ["L2"], level: "L1", attestations: [{}, {}, {}] });
    const { data } = await scene.gateway.manage("GET", `/audit?workspace=${tenant.slug}&action=node`);
    const actions = data.map(({ action }: Json) => action);
    expect(actions).toContain("node.withdraw_attestation");
    const change = data.find(({ action, detail }: Json) => action === "node.change" && detail.after.country === "DE");
    expect(change.detail).toMatchObject({ before: { level: "L3" }, after: { level: "L1" } });
  });

  test("NODE-04 is made and withdrawn on the command line, which shows it", async () => {
    const tenant = await scene.gateway.tenant();
    const { cli } = scene.gateway;
    await cli("node", "create", tenant.slug, "rack", "--country", "FR");
    const { level, name, reason } = ATTESTED;
    const made = await cli("node", "attest", tenant.slug, "rack", "--level", level, "--name", name, "--reason", reason);
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining("Ada Moreau")]);
    expect((await cli("node", "list", tenant.slug)).stdout).toMatch(/L3\s+Ada Moreau/);
    const ended = await cli("node", "withdraw-attestation", tenant.slug, "rack", "--json");
    expect(ended.json).toMatchObject({ level: "L1", attestation: null });
    expect((await cli("node", "attest", tenant.slug, "rack", "--level", "L2")).code).toBe(2);
  });
});

describe("own nodes that are exempt from the workspace's floor", () => {
  test("NODE-04 serve below it, and header and log report the true level", async () => {
    const tenant = await scene.gateway.tenant();
    await withNode(tenant, { country: "US" });
    expect(await setPolicy(tenant, { floor: "L3" })).toMatchObject({ own_nodes: "subject" });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(403);
    expect(await setPolicy(tenant, { own_nodes: "exempt" })).toMatchObject({ floor: "L3", own_nodes: "exempt" });
    const served = await scene.chat(tenant.key, { model: OWN });
    expect(levelOf(served)).toEqual([200, "L0"]);
    const { policies, level } = await scene.row(served.body.id);
    expect([level, policies[0].policy]).toEqual(["L0", expect.objectContaining({ floor: "L3", own_nodes: "exempt" })]);
    const { data } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/policy/versions`);
    expect(data.map(({ policy }: Json) => policy.own_nodes).slice(0, 2)).toEqual(["exempt", "subject"]);
    const preview = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/policy/preview`, {
      own_nodes: "subject",
    });
    expect(preview["lost"]).toEqual([OWN]);
    await setPolicy(tenant, { own_nodes: "subject" });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(403);
  });

  test("NODE-04 POL-01 never serve below the floor of a key, a router or the default router", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { country: "DE", ...MAPPED });
    await setPolicy(tenant, { floor: "L3", own_nodes: "exempt" });
    const refusedBy = async (body: Json) => (await scene.chat(tenant.key, body)).body.error?.code ?? "served";
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: { floor: "L2" } });
    expect(await refusedBy({ model: OWN })).toBe("sovereignty_floor_not_met");
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: { floor: "L1" } });
    expect(await refusedBy({ model: OWN })).toBe("served");
    const router = `@${tenant.slug}/strict`;
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/strict`, { models: [OWN], floor: "L2" });
    expect(await refusedBy({ model: router })).toBe("sovereignty_floor_not_met");
    const explained = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/routing/explain`, {
      model: router,
      key: tenant.keyId,
      request: { model: router, messages: [{ role: "user", content: "hi" }] },
    });
    expect(explained["refusal"].code).toBe("sovereignty_floor_not_met");
    expect(explained["rules"]).toContainEqual({ rule: "own_nodes", value: "exempt", from: ["workspace"] });
    expect(local.received).toHaveLength(1);
  });

  test("NODE-04 ROUTE-04 failover and retries never reach a node below a floor that was not exempted", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { country: "DE", ...MAPPED });
    await setPolicy(tenant, { floor: "L2", own_nodes: "exempt" });
    const path = `/workspaces/${tenant.slug}/routers/strict`;
    await scene.gateway.manage("PUT", path, { models: [MODEL], floor: "L2", nodes: "fallback" });
    const model = `@${tenant.slug}/strict`;
    scene.at("ovhcloud").always({ status: 503, json: {} });
    const failed = await scene.chat(tenant.key, { model });
    expect(failed.status).toBe(502);
    expect(local.received).toEqual([]);
    await scene.gateway.manage("PUT", path, { models: [MODEL], floor: null, nodes: "fallback" });
    const served = await scene.chat(tenant.key, { model });
    expect([...levelOf(served), served.headers.get("x-svc-provider")]).toEqual([200, "L1", "node-rack"]);
    expect(local.received).toHaveLength(1);
    scene.at("ovhcloud").always({ json: chatJson() });
  });

  test("NODE-04 POL-02 an exemption that ends during a request counts before it reaches the node", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { country: "DE", ...MAPPED });
    await setPolicy(tenant, { floor: "L2", own_nodes: "exempt" });
    const provider = scene.at("ovhcloud");
    const before = provider.requests.length;
    const held = Promise.withResolvers<void>();
    provider.next({ status: 503, json: {}, gate: held.promise });
    const running = scene.chat(tenant.key, { provider: { order: ["ovhcloud", "node-rack"] } });
    await provider.arrived(before + 1);
    await setPolicy(tenant, { own_nodes: "subject" });
    held.resolve();
    const { status, body } = await running;
    expect([status, body.error.code, local.received]).toEqual([403, "sovereignty_floor_not_met", []]);
  });
});

test("NODE-04 doctor lists the workspaces whose nodes a floor excludes, with level and floor", async () => {
  const [floored, keyed, exempt] = [
    await scene.gateway.tenant(),
    await scene.gateway.tenant(),
    await scene.gateway.tenant(),
  ];
  for (const tenant of [floored, keyed, exempt])
    await createNode(scene.gateway, tenant.slug, "rack", { country: "DE" });
  await setPolicy(floored, { floor: "L2" });
  await scene.gateway.manage("PATCH", `/keys/${keyed.keyId}`, { policy: { floor: "L4" } });
  await setPolicy(exempt, { floor: "L4", own_nodes: "exempt" });
  const { checks } = await scene.gateway.manage("GET", "/doctor");
  const check = checks.find(({ name }: Json) => name === "node levels");
  expect(check).toMatchObject({ ok: true, status: "warning" });
  expect(check.detail).toContain(`${floored.slug}/rack (L1): the workspace requires L2`);
  expect(check.detail).toContain(`${keyed.slug}/rack (L1): the floor of key key`);
  expect(check.detail).not.toContain(exempt.slug);
});
