import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ExplainView } from "../../src/contract/schemas/manage-routing.ts";
import { filesWith } from "../edge/child.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { chatBody, costNanos, MODEL, nanosOf, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR, FR and DE. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos"];

beforeAll(async () => {
  scene = await openScene(ALL);
  for (const provider of ALL) scene.at(provider).always({ json: chatJson() });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (where: string) => `/workspaces/${tenant.slug}${where}`;
const putRouter = (slug: string, spec: object) => scene.gateway.manage("PUT", at(`/routers/${slug}`), spec);
const calls = () => ALL.reduce((sum, provider) => sum + scene.at(provider).requests.length, 0);

async function explain(request: object, more: object = {}): Promise<Json> {
  const answer = await scene.gateway.manage("POST", at("/routing/explain"), { request, ...more });
  expect(ExplainView.safeParse(answer).error).toBeUndefined();
  return answer;
}

/** The explanation, and the result of the same request. */
async function both(body: Record<string, unknown>): Promise<{ explained: Json; answer: Json; row: Json }> {
  const explained = await explain(chatBody(body), { key: tenant.keyId });
  const answer = await scene.chat(tenant.key, body);
  const row = await scene.row(answer.body.id ?? answer.body.error.request_id);
  return { explained, answer, row };
}

describe("an explanation is what happens", () => {
  test("ROUTE-07 a plain model: order, candidates and reason are those of the next request", async () => {
    const { explained, answer, row } = await both({});
    expect(answer.status).toBe(200);
    expect(explained.refusal).toBeNull();
    expect(explained.order).toEqual(row.decision.order);
    expect(explained.order).toHaveLength(ALL.length);
    expect(explained.candidates.map(({ expected_cost: _, ...rest }: Json) => rest)).toEqual(row.decision.candidates);
    expect(explained.route_reason).toBe(answer.headers.get("x-svc-route-reason"));
    expect([explained.model, explained.surface, explained.router, explained.currency]).toEqual([
      MODEL,
      "chat",
      null,
      "EUR",
    ]);
  });

  test("ROUTE-02 ROUTE-07 a prompt that is too long by estimate is counted exactly before it is refused", async () => {
    const { body: model } = await scene.gateway.call(tenant.key, `/v1/models/${MODEL}`);
    const sentence = "Please read the report of last week, and tell the office what has changed since then. ";
    const prompt = (chars: number) => ({
      messages: [{ role: "user", content: sentence.repeat(Math.ceil(chars / sentence.length)) }],
    });
    // The estimate is four characters per token; these words take nearly five.
    const fitting = await both(prompt(4.2 * model.context_length));
    expect([fitting.answer.status, fitting.explained.refusal]).toEqual([200, null]);
    expect(fitting.explained.expected.input_tokens).toBeLessThan(model.context_length);
    expect(fitting.row.decision.order).toEqual(fitting.explained.order);
    // Other endpoints are excluded for another reason: a policy, or a router's model that lacks the capability.
    await scene.gateway.manage("PATCH", at("/policy"), { floor: "L3" });
    const floored = await both(prompt(4.2 * model.context_length));
    expect([floored.answer.status, floored.explained.refusal]).toEqual([200, null]);
    await scene.gateway.manage("PATCH", at("/policy"), { floor: null });
    const beyond = await both(prompt(6 * model.context_length));
    expect([beyond.answer.status, beyond.answer.body.error.code]).toEqual([400, "context_length_exceeded"]);
    expect(beyond.explained.refusal.message).toBe(beyond.answer.body.error.message);
    const [, tokens] = /too long: (\d+) tokens/.exec(beyond.explained.refusal.message) ?? [];
    expect(Number(tokens)).toBeLessThan((6 / 4.4) * model.context_length);
  });

  test("ROUTE-07 the expected cost is the price of the expected tokens, in the wallet's currency", async () => {
    const explained = await explain(chatBody({ max_tokens: 100 }));
    const { endpoint, input_tokens, output_tokens, cost } = explained.expected;
    expect(endpoint).toBe(explained.order[0]);
    expect(output_tokens).toBeLessThanOrEqual(100);
    const wanted = Number(costNanos("deepinfra", { input: input_tokens, output: output_tokens }));
    expect(Math.abs(Number(nanosOf(cost)) - wanted)).toBeLessThanOrEqual(1);
    const costs = explained.candidates.map(({ expected_cost }: Json) => Number(expected_cost));
    expect(costs).toEqual(costs.toSorted((a: number, b: number) => a - b));
  });

  test("ROUTE-07 a router: by slug or full name, with version, weights, score parts and effort", async () => {
    await putRouter("cheap", { models: [MODEL], weights: { cost: 1 }, reasoning_effort: "low" });
    const explained = await explain(chatBody(), { model: "cheap" });
    expect(await explain(chatBody(), { model: `@${tenant.slug}/cheap` })).toEqual(explained);
    expect(explained).toMatchObject({
      model: `@${tenant.slug}/cheap`,
      router: { slug: "cheap", version: 1 },
      weights: { quality: 0, cost: 1, latency: 0 },
      reasoning: { effort: "low", chosen_by: "router" },
    });
    for (const { scores } of explained.candidates)
      expect(scores).toMatchObject({ quality: expect.any(Number), cost: expect.any(Number), total: scores.cost });
    const answer = await scene.chat(tenant.key, { model: `@${tenant.slug}/cheap` });
    expect(explained.route_reason).toBe(answer.headers.get("x-svc-route-reason"));
    expect((await scene.row(answer.body.id)).decision.order).toEqual(explained.order);
  });

  test("ROUTE-07 auto needs no router, and a model in the request is enough", async () => {
    const explained = await explain({ messages: chatBody()["messages"], model: "auto" });
    expect(explained).toMatchObject({ model: "auto", router: null, weights: { quality: 1, cost: 1, latency: 1 } });
    expect(explained.order.length).toBeGreaterThan(0);
  });

  test("ROUTE-07 shows an existing session and leaves it unchanged", async () => {
    const session = { session_id: "a", messages: [{ role: "user", content: "x".repeat(400) }] };
    await scene.chat(tenant.key, { ...session, provider: { only: ["ionos"] } });
    const { explained, row } = await both(session);
    expect(explained.session).toMatchObject({ use: "first" });
    expect(explained.order[0]).toContain("ionos");
    expect(explained.session).toEqual(row.decision.session);
    await explain(chatBody({ session_id: "never" }));
    expect((await explain(chatBody({ session_id: "never" }))).session).toBeNull();
  });
});

describe("refusals", () => {
  test.each<[string, object, Record<string, unknown>, string]>([
    ["a floor no endpoint reaches", { floor: "L4" }, {}, "sovereignty_floor_not_met"],
    ["a model that is not allowed", { allowed_models: ["openai/gpt-oss-20b"] }, {}, "model_not_permitted"],
    ["preferences without an eligible endpoint", {}, { provider: { only: ["mistral"] } }, "no_eligible_endpoint"],
    ["a model that does not exist", {}, { model: "acme/none" }, "model_not_found"],
    ["a router that does not exist", {}, { model: "@other/none" }, "router_not_found"],
    ["a field that is not known", {}, { nonsense: 1 }, "unsupported_parameter"],
    ["a value out of range", {}, { temperature: 9 }, "invalid_value"],
    ["a parameter that no endpoint takes", {}, { top_k: 5 }, "unsupported_parameter"],
  ])("ROUTE-07 %s: the same error as the request gets", async (_, policy, body, code) => {
    await scene.gateway.manage("PATCH", at("/policy"), policy);
    const explained = await explain(chatBody(body), { key: tenant.keyId });
    const before = calls();
    const answer = await scene.chat(tenant.key, body);
    expect(calls()).toBe(before);
    expect(answer.body.error.code).toBe(code);
    const { message, param } = answer.body.error;
    expect(explained.refusal).toEqual({ status: answer.status, code, message, param: param ?? null });
    expect([explained.order, explained.route_reason, explained.expected]).toEqual([[], null, null]);
  });
});

test("ROUTE-07 a name that is no router, no model and not auto is not found", async () => {
  const ask = (model: string) =>
    scene.gateway.call(scene.gateway.adminToken, `/manage${at("/routing/explain")}`, {
      body: { request: chatBody(), model },
    });
  const answer = await ask("nope");
  const shown = await scene.gateway.call(scene.gateway.adminToken, `/manage${at("/routers/nope")}`);
  expect([answer.status, answer.body.error.message]).toEqual([404, shown.body.error.message]);
  for (const model of ["auto", "acme/none"]) expect((await ask(model)).status).toBe(200);
});

describe("the policy in force", () => {
  test("POL-01 ROUTE-07 every rule is shown with its source", async () => {
    await scene.gateway.manage("PATCH", at("/policy"), { floor: "L1", countries: ["FR", "DE", "US"] });
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, {
      policy: { countries: ["FR", "DE"], blocked_providers: ["scaleway"] },
    });
    await putRouter("strict", { models: [MODEL], floor: "L3", quality_floor: 0.1 });
    const request = chatBody({ provider: { data_collection: "deny" } });
    const explained = await explain(request, { model: "strict", key: tenant.keyId });
    expect(explained.policy).toEqual({
      floor: "L3",
      countries: ["FR", "DE"],
      zero_data_retention: false,
      no_training: true,
      blocked_providers: ["scaleway"],
      allowed_models: [MODEL],
      own_nodes: "subject",
      test_keys: "any",
      parameters: null,
    });
    expect(explained.rules).toEqual([
      { rule: "floor", value: "L3", from: ["router"] },
      { rule: "countries", value: ["FR", "DE"], from: ["workspace", "key"] },
      { rule: "no_training", value: true, from: ["request"] },
      { rule: "blocked_providers", value: ["scaleway"], from: ["key"] },
      { rule: "allowed_models", value: [MODEL], from: ["router"] },
      { rule: "quality_floor", value: 0.1, from: ["router"] },
    ]);
    const out = explained.candidates.filter(({ outcome }: Json) => outcome === "excluded");
    expect(out.map(({ provider }: Json) => provider).toSorted()).toEqual(["deepinfra", "scaleway"]);
    // Without the key its rules are missing.
    expect((await explain(request, { model: "strict" })).policy.blocked_providers).toEqual([]);
  });

  test("a key of another workspace is not found", async () => {
    const other = await scene.gateway.tenant();
    const response = scene.gateway.manage("POST", at("/routing/explain"), { request: chatBody(), key: other.keyId });
    await expect(response).rejects.toThrow(/400.*key/s);
  });
});

describe("no side effects", () => {
  test("ROUTE-07 calls no provider, and charges, holds, logs and stores nothing", async () => {
    const secret = "canary-of-a-private-prompt-91f3";
    const before = { calls: calls(), wallet: await scene.wallet(tenant), rows: await scene.rows(tenant) };
    await explain(chatBody({ messages: [{ role: "user", content: secret }], stream: true }), { model: "auto" });
    expect({ calls: calls(), wallet: await scene.wallet(tenant), rows: await scene.rows(tenant) }).toEqual(before);
    expect(filesWith(scene.gateway.dataDir, [secret])).toEqual([]);
  });
});
