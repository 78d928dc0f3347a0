import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { gatewayForTest, type Json, type Tenant } from "../support/gateway.ts";
import { agentForTest, chatAnswer, createNode, localForTest, startLocal, waitForNodeState } from "../support/nodes.ts";
import { gate } from "../support/response-callers.ts";
import { eventsOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  // An open circuit stays open, however slow the machine is.
  scene = await openScene(["deepinfra"], { GATEWAY_ASIDE_MS: "600000" });
});
afterAll(() => scene.close());

const OWN = "node/rack/tiny";
const MAPPED = { mapping: { tiny: MODEL } };

type Local = NonNullable<Parameters<typeof localForTest>[0]>;
type Response = Parameters<NonNullable<Local["answer"]>>[1];

async function withNode(tenant: Tenant, options: { local?: Local; node?: Json } = {}, { gateway } = scene) {
  const local = await localForTest(options.local);
  const node = await createNode(gateway, tenant.slug, "rack", options.node);
  agentForTest(gateway.url, node.token, local.url);
  await waitForNodeState(gateway, tenant.slug, "rack", "connected");
  return { local, node };
}

function sendJson(response: Response, body: Json): void {
  response.setHeader("content-type", "application/json");
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

const setPolicy = (tenant: Tenant, policy: Json) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, policy);

describe("policy", () => {
  test("NODE-03 a node satisfies the floor of its country, and demands for no retention and no training", async () => {
    const tenant = await scene.gateway.tenant();
    await withNode(tenant, { node: MAPPED });
    await setPolicy(tenant, { floor: "L1", zero_data_retention: true, no_training: true });
    const { status, headers, body } = await scene.chat(tenant.key);
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "node-rack"]);
    const { candidates } = (await scene.row(body.id)).decision;
    expect(candidates.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
      ["node-rack", "planned"],
      ["deepinfra", "excluded"],
    ]);
  });

  test("NODE-03 the declared country must be allowed, and follows the workspace's declaration", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { node: { country: "CH" } });
    await setPolicy(tenant, { countries: ["DE", "FR"] });
    const refused = await scene.chat(tenant.key, { model: OWN });
    expect([refused.status, refused.body.error.code]).toEqual([403, "compute_country_not_allowed"]);
    expect(local.received).toEqual([]);
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { country: "FR" });
    const { status, headers } = await scene.chat(tenant.key, { model: OWN });
    expect([status, headers.get("x-svc-compute-countries")]).toEqual([200, "FR"]);
  });

  test("NODE-03 POL-02 a country declared during a request counts before it reaches the node", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { node: { ...MAPPED, country: "DE" } });
    await setPolicy(tenant, { countries: ["DE", "US"] });
    const provider = scene.at("deepinfra");
    const before = provider.requests.length;
    const held = Promise.withResolvers<void>();
    provider.next({ status: 503, json: {}, gate: held.promise });
    const running = scene.chat(tenant.key, { provider: { order: ["deepinfra", "node-rack"] } });
    await provider.arrived(before + 1);
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { country: "CH" });
    held.resolve();
    const { status, body } = await running;
    expect([status, body.error.code]).toEqual([403, "compute_country_not_allowed"]);
    expect(local.received).toEqual([]);
  });

  test("NODE-03 a node without a declared country is unclassified, and is excluded where countries are set", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { node: { ...MAPPED, country: undefined } });
    await setPolicy(tenant, { zero_data_retention: true, no_training: true });
    const served = await scene.chat(tenant.key, { model: OWN });
    expect([served.status, served.headers.get("x-svc-compute-countries")]).toEqual([200, null]);
    expect(served.headers.get("x-svc-sovereignty-level")).toBe("UNCLASSIFIED");
    expect((await scene.row(served.body.id)).countries).toEqual([]);
    const { body: models } = await scene.gateway.call(tenant.key, "/v1/models");
    expect(models.data.find(({ id }: Json) => id === OWN)).toMatchObject({
      svc_levels: ["UNCLASSIFIED"],
      svc_countries: [],
    });

    await setPolicy(tenant, { zero_data_retention: false, no_training: false, countries: ["DE", "US"] });
    const refused = await scene.chat(tenant.key, { model: OWN });
    expect([refused.status, refused.body.error.code]).toEqual([403, "compute_country_not_allowed"]);
    const { decision } = await scene.row(refused.body.error.request_id);
    expect(decision.candidates[0].reason).toContain("compute countries are unknown");
    expect(local.received).toHaveLength(1);

    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/nodes/rack`, { country: "DE" });
    const declared = await scene.chat(tenant.key, { model: OWN });
    expect([declared.status, declared.headers.get("x-svc-compute-countries")]).toEqual([200, "DE"]);
  });

  test("NODE-03 a node can be blocked like any provider, and its models allowed like any", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { local: { models: ["tiny", "small"] } });
    await setPolicy(tenant, { allowed_models: [OWN] });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(200);
    const other = await scene.chat(tenant.key, { model: "node/rack/small" });
    expect([other.status, other.body.error.code]).toEqual([403, "model_not_permitted"]);
    await setPolicy(tenant, { blocked_providers: ["node-rack"] });
    const blocked = await scene.chat(tenant.key, { model: OWN });
    expect([blocked.status, blocked.body.error.code]).toEqual([403, "provider_blocked"]);
    expect(local.received).toHaveLength(1);
    await expect(setPolicy(tenant, { blocked_providers: ["node-nobody"] })).rejects.toThrow("there is no provider");
  });

  test("NODE-03 a workspace with a node does not get a simulated model by default", async () => {
    const gateway = await gatewayForTest();
    const [mine, other] = [await gateway.tenant(), await gateway.tenant()];
    const local = await localForTest();
    const { token } = await createNode(gateway, mine.slug, "rack");
    agentForTest(gateway.url, token, local.url);
    await waitForNodeState(gateway, mine.slug, "rack", "connected");
    const body = { model: "auto", messages: [{ role: "user", content: "hi" }] };
    const served = async ({ key }: Tenant) =>
      (await gateway.call(key, "/v1/chat/completions", { body })).headers.get("x-svc-model");
    expect([await served(mine), await served(other)]).toEqual([OWN, expect.stringMatching(/^sandbox\//)]);
  });
});

const whole = (model: string) => chatAnswer(model);
const withMember = (x: Json) => (model: string) => ({ ...whole(model), x });
const nested = (levels: number): Json => (levels === 0 ? 0 : [nested(levels - 1)]);
const withUsage = (usage: Json) => (model: string) => ({ ...whole(model), usage });

describe("a node with implausible replies", () => {
  const LIES: readonly (readonly [string, (model: string) => Json, string])[] = [
    ["another model", () => whole("bigger"), 'its model is "bigger" instead of "tiny"'],
    ["a model that is no text", (model) => ({ ...whole(model), model: 7 }), "its model is not a string"],
    ["an id that is no text", (model) => ({ ...whole(model), id: 12 }), "its id is not a string"],
    ["a negative figure", withUsage({ prompt_tokens: -1, completion_tokens: 5 }), "an invalid token count"],
    ["half a token", withUsage({ prompt_tokens: 1, completion_tokens: 0.5 }), "an invalid token count"],
    ["more than it wrote", withUsage({ prompt_tokens: 1, completion_tokens: 900_000 }), "900000 output tokens"],
    ["more than its input", withUsage({ prompt_tokens: 700_000, completion_tokens: 5 }), "700000 input tokens"],
    ["more than any model reads", withUsage({ prompt_tokens: 9e15 }), "context of 8000000 tokens"],
    ["a usage that is no object", withUsage("many"), "its usage is not an object"],
    ["no answer", () => ({ hello: "world" }), "not a valid response of its dialect"],
    ["no JSON", () => "<html>hello</html>", "not a valid response of its dialect"],
    ["too many members", withMember(Array.from({ length: 400_000 }, () => 0)), "more than 400000 members and items"],
    ["deep nesting", withMember(nested(200)), "nested deeper than 128 levels"],
  ];

  test.each(LIES)(
    "NODE-03 %s: the request fails over, and the node's circuit opens with the reason",
    async (...lie) => {
      const [, answer, reason] = lie;
      const tenant = await scene.gateway.tenant();
      const { local, node } = await withNode(tenant, {
        node: MAPPED,
        local: { answer: (body, response) => sendJson(response, answer(body.model)) },
      });
      scene.at("deepinfra").next({ json: chatJson({ content: "the truth" }) });
      const { body } = await scene.chat(tenant.key);
      expect(body.choices[0].message.content).toBe("the truth");
      const row = await scene.row(body.id);
      expect(row.attempts.map(({ provider }: Json) => provider)).toEqual(["node-rack", "deepinfra"]);
      expect(row.attempts[0].reason).toContain(reason);
      const { data } = await scene.gateway.manage("GET", "/audit?action=node.set_aside&limit=1");
      expect(data[0]).toMatchObject({ actor: "gateway", target: node.id, workspace: tenant.slug });
      expect(data[0].detail.reason).toContain(reason);
      expect(local.received).toHaveLength(1);
    },
  );

  test("NODE-03 by its own name it gets 502, is not called while open, then probed, and opens longer each time", async () => {
    const openMs = 3_000;
    const brief = await openScene([], { GATEWAY_ASIDE_MS: String(openMs) });
    onTestFinished(() => brief.close());
    const { gateway } = brief;
    const tenant = await gateway.tenant({ credit: "0" });
    const lies = { now: true };
    const answer: Local["answer"] = (body, response) => sendJson(response, whole(lies.now ? "bigger" : body.model));
    const { local } = await withNode(tenant, { local: { answer } }, brief);
    const ask = () => brief.chat(tenant.key, { model: OWN });
    const lied = await ask();
    expect([lied.status, lied.body.error.code]).toEqual([502, "upstream_error"]);
    const excluded = await ask();
    expect(excluded.body.error.message).toContain("The circuit of node rack is open until");
    const shown = await gateway.manage("GET", `/workspaces/${tenant.slug}/nodes/rack`);
    expect(shown).toMatchObject({ state: "set_aside", set_aside: { reason: expect.stringContaining("bigger") } });
    expect(local.received).toHaveLength(1);
    const spanMs = async () => {
      const { data } = await gateway.manage("GET", "/audit?action=node.set_aside&limit=1");
      return Date.parse(data[0].detail.until) - Date.parse(data[0].at);
    };
    expect(await spanMs()).toBe(openMs);
    await waitForNodeState(gateway, tenant.slug, "rack", "connected");
    expect((await ask()).status).toBe(502);
    expect(local.received).toHaveLength(2);
    expect(await spanMs()).toBe(2 * openMs);
    lies.now = false;
    await waitForNodeState(gateway, tenant.slug, "rack", "connected");
    expect((await ask()).status).toBe(200);
  });

  test("NODE-03 a model under its default tag, or in other case, is the same model", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    await withNode(tenant, { local: { answer: (_body, response) => sendJson(response, whole("TINY:latest")) } });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(200);
  });

  const chunk = (more: Json) =>
    `data: ${JSON.stringify({ id: "c-1", object: "chat.completion.chunk", created: 1, ...more })}\n\n`;
  const delta = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

  test("NODE-03 in a stream a wrong model is found before anything was sent: the request fails over", async () => {
    const tenant = await scene.gateway.tenant();
    await withNode(tenant, {
      node: MAPPED,
      local: {
        answer(_body, response) {
          response.setHeader("content-type", "text/event-stream");
          response.end(chunk({ model: "bigger", ...delta("Lies.") }));
        },
      },
    });
    scene.at("deepinfra").next({ json: chatJson({ content: "the truth" }) });
    const { text, headers } = await scene.chat(tenant.key, { stream: true });
    expect(text).not.toContain("Lies.");
    const row = await scene.row(String(headers.get("x-svc-request-id")));
    expect(row.attempts[0].reason).toContain('its model is "bigger"');
    await waitForNodeState(scene.gateway, tenant.slug, "rack", "set_aside");
  });

  test.each([
    ["its id changed", (model: string) => chunk({ id: "c-2", model, ...delta("mixed up") })],
    ["has an invalid token count", (model: string) => chunk({ model, choices: [], usage: { completion_tokens: -3 } })],
  ])("NODE-03 a stream that %s ends with an error frame, and the circuit opens", async (reason, wrong) => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const rest = gate();
    await withNode(tenant, {
      local: {
        answer({ model }, response) {
          response.setHeader("content-type", "text/event-stream");
          response.write(chunk({ model, ...delta("So far so good.") }));
          void rest.closed.then(() => response.end(`${wrong(model)}data: [DONE]\n\n`));
        },
      },
    });
    const stream = await scene.open(tenant.key, { model: OWN, stream: true });
    await stream.until("So far so good.");
    rest.open();
    await stream.over;
    const { text } = stream;
    expect(text).not.toContain("mixed up");
    expect(JSON.parse(eventsOf(text).at(-1) ?? "").error.code).toBe("upstream_error");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row.attempts[0].reason).toContain(reason);
    await waitForNodeState(scene.gateway, tenant.slug, "rack", "set_aside");
  });

  test("NODE-03 an error of the local server is relayed and opens no circuit", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    await withNode(tenant, {
      local: {
        answer(body, response) {
          response.statusCode = body.max_tokens === 1 ? 404 : 400;
          sendJson(response, { error: { message: "this server does not do that", type: "invalid" } });
        },
      },
    });
    const refused = await scene.chat(tenant.key, { model: OWN });
    expect([refused.status, refused.body.error.message]).toEqual([400, "this server does not do that"]);
    const missing = await scene.chat(tenant.key, { model: OWN, max_tokens: 1 });
    expect([missing.status, missing.body.error.message]).toEqual([
      502,
      expect.stringContaining("rejected the request (404)"),
    ]);
    const shown = await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
    expect(shown.last_error.message).toContain("rejected the request (404)");
  });

  test("NODE-03 the same for an error in the middle of a stream", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const rest = gate();
    await withNode(tenant, {
      local: {
        answer({ model }, response) {
          response.setHeader("content-type", "text/event-stream");
          response.write(chunk({ model, ...delta("So far so good.") }));
          void rest.closed.then(() => response.end(chunk({ error: { message: "not this", code: 400 } })));
        },
      },
    });
    const stream = await scene.open(tenant.key, { model: OWN, stream: true });
    await stream.until("So far so good.");
    rest.open();
    await stream.over;
    const { error } = JSON.parse(eventsOf(stream.text).at(-1) ?? "");
    expect(error).toMatchObject({ code: "provider_error", message: "not this" });
    expect(await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected")).toMatchObject({ last_error: null });
  });
});

describe("a node whose local server is this gateway", () => {
  test("NODE-02 a looped request is refused by its hop header: it fails over, or gets 502", async () => {
    const gateway = await gatewayForTest({ env: { GATEWAY_RPM_IP: "0" } });
    const tenant = await gateway.tenant();
    const { token } = await createNode(gateway, tenant.slug, "mirror", { mapping: { "sandbox/chat": "sandbox/chat" } });
    const local = { base: new URL(`${gateway.url}/v1`), key: tenant.key };
    agentForTest(gateway.url, token, `${gateway.url}/v1`, { local, chosen: ["sandbox/chat"] });
    await waitForNodeState(gateway, tenant.slug, "mirror", "connected");
    const router = { nodes: "first", models: ["sandbox/chat"] };
    await gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/home`, router);
    const ask = (model: string) =>
      gateway.call(tenant.key, "/v1/chat/completions", {
        body: { model, messages: [{ role: "user", content: "hi" }], max_tokens: 20 },
      });
    const rows = async () => (await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=50`)).data;

    const served = await ask(`@${tenant.slug}/home`);
    expect([served.status, served.headers.get("x-svc-provider")]).toEqual([200, expect.stringMatching(/^sandbox/)]);
    const both: Json[] = await rows();
    expect(both.map(({ status, error_code }) => [status, error_code])).toEqual(
      expect.arrayContaining([
        [200, null],
        [508, "loop_detected"],
      ]),
    );
    expect(both).toHaveLength(2);
    expect(both.find(({ status }) => status === 508).attempts).toEqual([]);
    const outer = both.find(({ status }) => status === 200).attempts;
    expect(outer.map(({ provider }: Json) => provider)).toEqual(["node-mirror", served.headers.get("x-svc-provider")]);
    expect(outer[0].reason).toContain("508");

    const alone = await ask("node/mirror/sandbox/chat");
    expect([alone.status, alone.body.error.code]).toEqual([502, "upstream_error"]);
    expect(await rows()).toHaveLength(4);
  });

  test("NODE-02 a provider whose base URL is this gateway is detected in the same way", async () => {
    // A port that was free a moment ago.
    const { url, close } = await startLocal();
    await close();
    const env = { PORT: new URL(url).port, PROVIDER_DEEPINFRA_BASE_URL: url, GATEWAY_SANDBOX: "off" };
    const gateway = await gatewayForTest({ env });
    const tenant = await gateway.tenant();
    await gateway.manage("PUT", "/providers/deepinfra", { key: tenant.key, skip_test: true });
    const answer = await gateway.call(tenant.key, "/v1/chat/completions", {
      body: { model: MODEL, messages: [{ role: "user", content: "hi" }] },
    });
    expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_error"]);
    const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/requests`);
    expect(data.map(({ status }: Json) => status).toSorted()).toEqual([502, 508]);
  });

  test("NODE-02 forwards the hop marks of other gateways with its own, up to a limit", async () => {
    const tenant = await scene.gateway.tenant();
    const upstream = scene.at("deepinfra");
    const ask = (hops: string) =>
      scene.gateway.call(tenant.key, "/v1/chat/completions", {
        body: { model: MODEL, messages: [{ role: "user", content: "hi" }] },
        headers: { "x-svc-hop": hops },
      });
    upstream.next({ json: chatJson() });
    expect((await ask("one, two, <no mark>")).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers["x-svc-hop"]).toMatch(/^one, two, [\w-]{12}$/);
    const many = await ask(Array.from({ length: 9 }, (_, n) => `gateway-${n}`).join(","));
    expect([many.status, many.body.error.code]).toEqual([508, "loop_detected"]);
  });
});
