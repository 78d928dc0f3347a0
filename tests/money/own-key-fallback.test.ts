import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { agentForTest, createNode, type LocalServer, localForTest, waitForNodeState } from "../support/nodes.ts";
import { inferences, keyOf, OWN, requireKey } from "../support/own-keys.ts";
import { chatBody, connectedTo, credentialOf, MODEL, QUIET } from "../support/scene.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

/** Ten providers of one model, the most expensive last: more than a request's attempts. */
const OTHERS = [
  "berget",
  "cerebras",
  "deepinfra",
  "evroc",
  "fireworks",
  "groq",
  "ionos",
  "nebius",
  "ovhcloud",
] as const;
const DEAREST = "regolo";
const TRIES = 5;

let gateway: TestGateway;
let others: Upstream;
let dearest: Upstream;
beforeAll(async () => {
  others = await startUpstream();
  dearest = await startUpstream();
  requireKey(others, new Set(OTHERS.map(credentialOf)));
  requireKey(dearest, new Set([OWN("behind"), credentialOf(DEAREST)]));
  const upstreams = new Map<string, Upstream>(OTHERS.map((provider) => [provider, others]));
  gateway = await startGateway({ env: { ...connectedTo(upstreams.set(DEAREST, dearest)), ...QUIET } });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([others.close(), dearest.close()]);
});

const chat = ({ key }: Tenant, more: Record<string, unknown> = {}) =>
  gateway.call(key, "/v1/chat/completions", { body: chatBody(more) });
const lastOf = async ({ slug }: Tenant): Promise<Json> => {
  const { data } = await gateway.manage("GET", `/workspaces/${slug}/requests?limit=1`);
  return gateway.manage("GET", `/requests/${data[0].id}`);
};

async function withKey(use: string, credit: string): Promise<Tenant> {
  const tenant = await gateway.tenant({ credit });
  await gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/${DEAREST}`, { key: OWN("behind"), use });
  return tenant;
}

async function withNode(local: LocalServer, capacity = 8): Promise<Tenant> {
  const tenant = await gateway.tenant({ credit: "0" });
  const { token } = await createNode(gateway, tenant.slug, "rack", { mapping: { tiny: MODEL } });
  agentForTest(gateway.url, token, local.url, { capacity });
  await waitForNodeState(gateway, tenant.slug, "rack", "connected");
  return tenant;
}

/** Sends a request and checks that no provider was called before the own key, which is free. */
async function servedByKey(tenant: Tenant, more: Record<string, unknown> = {}): Promise<Json> {
  const [before, at] = [inferences(others).length, inferences(dearest).length];
  const answer = await chat(tenant, more);
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  expect(answer.headers.get("x-svc-provider")).toBe(DEAREST);
  expect(answer.body.usage).not.toHaveProperty("cost");
  expect(inferences(dearest).slice(at).map(keyOf)).toEqual([OWN("behind")]);
  expect(inferences(others)).toHaveLength(before);
  return lastOf(tenant);
}

const reasonsOf = (row: Json, provider: string): string[] =>
  row.decision.candidates.filter((one: Json) => one.provider === provider).map(({ reason }: Json) => reason);

describe("BILL-08 own keys and nodes serve from any position of the plan", () => {
  test("BILL-08 fallback: with an empty wallet the own key serves, however many endpoints precede it", async () => {
    const row = await servedByKey(await withKey("fallback", "0"));
    expect(row).toMatchObject({ own_key: true, cost: null });
    expect(row.attempts.at(-1)).toMatchObject({ provider: DEAREST, own_key: true, outcome: "served" });
    expect(row.attempts[0].reason).toBe("skipped: its cost could not be held");
  });

  test("BILL-08 fallback: beyond a spend limit the own key serves", async () => {
    const tenant = await withKey("fallback", "1");
    await gateway.manage("PUT", `/workspaces/${tenant.slug}/limits`, { day: "0" });
    await servedByKey(tenant);
    expect(await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toMatchObject({ balance: "1.00" });
  });

  test("BILL-08 fallback: the last attempt is the own key's, and the decision states it", async () => {
    const tenant = await withKey("fallback", "1");
    const before = inferences(others).length;
    for (let n = 1; n < TRIES; n += 1) others.next({ status: 500, json: {} });
    const answer = await chat(tenant);
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, DEAREST]);
    expect(answer.body.usage).not.toHaveProperty("cost");
    expect(inferences(others)).toHaveLength(before + TRIES - 1);
    const row = await lastOf(tenant);
    expect(row.attempts).toHaveLength(TRIES);
    expect(row.attempts.at(-1)).toMatchObject({ own_key: true, outcome: "served" });
    expect(reasonsOf(row, DEAREST)).toContain(`rank ${TRIES}, with the workspace's own key`);
    expect(row.decision.order[TRIES - 1]).toContain(DEAREST);
    expect(await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`)).toMatchObject({ held: "0.00" });
  });

  test.each(["first", "only", "fallback"])(
    "BILL-08 %s: with an empty wallet it serves routers and sorted plans, after the whole platform",
    async (use) => {
      const tenant = await withKey(use, "0");
      const router = { models: [MODEL], weights: { quality: 0, cost: 1, latency: 0 } };
      await gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/r`, router);
      await servedByKey(tenant, { model: "auto" });
      await servedByKey(tenant, { model: `@${tenant.slug}/r` });
      await servedByKey(tenant, { provider: { sort: "price" } });
      if (use === "fallback") return;
      const row = await servedByKey(tenant, { model: "auto", provider: { sort: "price" } });
      expect(row.decision.order.findIndex((id: string) => id.startsWith(DEAREST))).toBeGreaterThanOrEqual(TRIES);
    },
  );

  test("NODE-01 with an empty wallet auto reaches a node mapped to a model, wherever it ranks", async () => {
    const tenant = await withNode(await localForTest());
    const dear = { weights: { quality: 1, cost: 0, latency: 0 } };
    await gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/auto`, dear);
    const before = inferences(others).length;
    const { status, headers } = await chat(tenant, { model: "auto" });
    expect([status, headers.get("x-svc-provider"), headers.get("x-svc-served-by")]).toEqual([
      200,
      "node-rack",
      "own-resource",
    ]);
    expect(inferences(others)).toHaveLength(before);
  });

  test("NODE-01 ERR-05 with an empty wallet a busy node is retryable", async () => {
    const local = await localForTest({ held: true });
    const tenant = await withNode(local, 1);
    const first = chat(tenant);
    await expect.poll(() => local.received.length).toBe(1);
    const { status, headers, body } = await chat(tenant);
    expect([status, body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect([headers.get("retry-after"), headers.get("x-should-retry")]).toEqual(["1", null]);
    local.release();
    expect((await first).status).toBe(200);
  });

  test("BILL-08 ERR-07 when own key or node fail, the error states that others were excluded for missing funds", async () => {
    const keyed = await withKey("fallback", "0");
    const limited = await withKey("fallback", "1");
    await gateway.manage("PUT", `/workspaces/${limited.slug}/limits`, { day: "0" });
    for (let n = 0; n < 2; n += 1) dearest.next({ status: 500, json: {} });
    const noded = await withNode(
      await localForTest({ answer: (_body, response) => response.writeHead(500).end("{}") }),
    );
    const expected = [
      [keyed, "has only 0.00 EUR available. Add funds to the wallet"],
      [limited, "The daily spend limit of workspace"],
      [noded, "has only 0.00 EUR available. Add funds to the wallet"],
    ] as const;
    for (const [tenant, why] of expected) {
      const { status, body } = await chat(tenant);
      expect([status, body.error.code]).toEqual([502, "upstream_error"]);
      expect(body.error.message).toContain("the cost of the other endpoints could not be held");
      expect(body.error.message).toContain(why);
      expect(body.error.message).not.toContain("no other endpoint is available");
    }
  });

  test("BILL-08 without credit, own keys or nodes the request is refused before any call", async () => {
    const tenant = await gateway.tenant({ credit: "0" });
    const { status, body } = await chat(tenant, { model: "auto" });
    expect([status, body.error.code]).toEqual([402, "insufficient_credits"]);
    expect((await lastOf(tenant)).attempts).toEqual([]);
  });
});
