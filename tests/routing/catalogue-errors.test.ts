import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { openTwoProviders, type TwoProviderScene } from "../support/two-providers.ts";
import type { Script } from "../support/upstream.ts";

const CLAIMS = { features: { logprobs: true, reasoning: true, reasoning_control: true, tools: true } };
const DEAR = { prices: [{ currency: "EUR", input_per_1m_tokens: 9, output_per_1m_tokens: 9 }] };

const CLAIMED = Array.from({ length: 10 }, (_, at) => `claimed-${at}`);

let scene: TwoProviderScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openTwoProviders([
    // What a provider rejected is remembered, so each test has endpoints of its own.
    ...CLAIMED.map((name) => ({ name, surface: "chat", endpoint: CLAIMS, shut: DEAR })),
    { name: "unknown", surface: "chat", shut: DEAR },
    { name: "listed", surface: "chat", endpoint: { supported_params: ["seed"] }, shut: DEAR },
    {
      name: "vectors",
      surface: "embeddings",
      model: { modalities_out: ["embedding"], embedding_dimensions: 8 },
      endpoint: { embeddings: { interface: "openai", dimensions: true } },
      shut: DEAR,
    },
  ]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const rejected = (param: string | null, more: Json = { code: "unsupported_parameter" }, status = 400): Script => ({
  status,
  json: { error: { message: `Unsupported parameter: '${param}'.`, type: "invalid_request_error", param, ...more } },
});
const CHAT = { messages: [{ role: "user", content: "Hi" }] };
const chat = (model: string, more: Json) =>
  scene.call(tenant.key, "/v1/chat/completions", { ...CHAT, model: `lab/${model}`, ...more });
const counts = () => [scene.at("open").requests.length, scene.at("shut").requests.length];

async function metric(parameter: string): Promise<number> {
  const { text } = await scene.gateway.call(scene.gateway.adminToken, "/metrics");
  const line = text
    .split("\n")
    .find((one) => one.startsWith(`gateway_catalogue_errors_total{provider="open",parameter="${parameter}"}`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

test.each<[string, string, Json, Script]>([
  ["logprobs", "claimed-0", { logprobs: true }, rejected("logprobs")],
  [
    "top_logprobs",
    "claimed-1",
    { logprobs: true, top_logprobs: 2 },
    rejected("top_logprobs", { code: "unknown_parameter" }),
  ],
  ["reasoning_effort", "claimed-0", { reasoning_effort: "low" }, rejected("reasoning_effort")],
  [
    "tools",
    "claimed-2",
    { tools: [{ type: "function", function: { name: "f" } }] },
    rejected("tools[0].function", { code: null }),
  ],
  ["seed", "listed", { seed: 7 }, rejected("seed")],
  [
    "reasoning_effort",
    "claimed-3",
    { reasoning_effort: "low" },
    {
      status: 422,
      json: {
        detail: [{ type: "extra_forbidden", loc: ["body", "reasoning_effort"], msg: "Extra inputs are not permitted" }],
      },
    },
  ],
])(
  "PARAM-09 %s is rejected though the catalogue claims it: the next endpoint serves",
  async (parameter, model, more, script) => {
    const [before, known] = [counts(), await metric(parameter)];
    scene.at("open").next(script);
    const { status, headers, text } = await chat(model, more);
    expect([status, headers.get("x-svc-provider")], text).toEqual([200, "shut"]);
    expect(counts()).toEqual(before.map((count) => count + 1));
    expect(await metric(parameter)).toBe(known + 1);
    const row = await scene.gateway.manage("GET", `/requests/${headers.get("x-svc-request-id")}`);
    expect(row.attempts[0]).toMatchObject({
      provider: "open",
      reason: expect.stringContaining(`rejected ${parameter}, which the catalogue says it supports`),
    });
  },
);

test("PARAM-09 the next request with the parameter is not sent there, others are, and the decision says why", async () => {
  scene.at("open").next(rejected("thinking"));
  const body = { reasoning_effort: "low" };
  expect((await chat("claimed-7", body)).headers.get("x-svc-provider")).toBe("shut");
  const [open, shut = 0] = counts();
  const again = await chat("claimed-7", body);
  expect([again.status, counts()]).toEqual([200, [open, shut + 1]]);
  const { decision } = await scene.gateway.manage("GET", `/requests/${again.headers.get("x-svc-request-id")}`);
  expect(decision.candidates).toContainEqual(
    expect.objectContaining({
      endpoint: "open:one:lab/claimed-7",
      outcome: "excluded",
      reason: expect.stringContaining("rejected reasoning_effort within the last hour"),
    }),
  );
  expect((await chat("claimed-7", {})).headers.get("x-svc-provider")).toBe("open");
});

test("PARAM-09 a rejection by a workspace's own account is not remembered: another account may support it", async () => {
  const own = `/workspaces/${tenant.slug}/providers/open`;
  await scene.gateway.manage("PUT", own, { key: "own-key-4b825dc6", skip_test: true });
  scene.at("open").next(rejected("logprobs"));
  const { headers } = await chat("claimed-9", { logprobs: true });
  const { attempts } = await scene.gateway.manage("GET", `/requests/${headers.get("x-svc-request-id")}`);
  expect(attempts[0]).toMatchObject({ own_key: true, upstream_status: 400 });
  expect((await chat("claimed-9", { logprobs: true })).headers.get("x-svc-provider")).toBe("open");
});

test("PARAM-09 ROUTE-04 where every endpoint rejected it, they are still tried: one may support it by now", async () => {
  for (const provider of ["open", "shut"] as const) scene.at(provider).next(rejected("logprobs"));
  expect((await chat("claimed-8", { logprobs: true })).status).toBe(400);
  const later = await chat("claimed-8", { logprobs: true });
  expect([later.status, later.headers.get("x-svc-provider")]).toEqual([200, "open"]);
});

test("PARAM-09 the operator finds the endpoint and the parameter among the checks", async () => {
  scene.at("open").next(rejected("logprobs"));
  await chat("claimed-4", { logprobs: true });
  const { checks } = await scene.gateway.manage("GET", "/doctor");
  const check = checks.find(({ name }: Json) => name === "catalogue claims");
  expect(check).toMatchObject({
    status: "warning",
    detail: expect.stringContaining("logprobs at open:one:lab/claimed-4"),
  });
});

test("PARAM-09 EMB-01 other surfaces do the same", async () => {
  const before = counts();
  scene.at("open").next(rejected("dimensions"));
  await scene.call(tenant.key, "/v1/embeddings", { input: "Hi", dimensions: 4, model: "lab/vectors" });
  expect(counts()).toEqual(before.map((count) => count + 1));
  await scene.call(tenant.key, "/v1/embeddings", { input: "Hi", dimensions: 4, model: "lab/vectors" });
  expect(counts()).toEqual(before.map((count, at) => count + 1 + at));
});

test.each<[string, string, Json, Script]>([
  ["a parameter that the catalogue does not claim", "unknown", { logprobs: true }, rejected("logprobs")],
  [
    "a value of a claimed parameter",
    "claimed-5",
    { reasoning_effort: "low" },
    rejected("reasoning_effort", { code: "invalid_value", message: "Invalid value." }),
  ],
  ["no parameter", "claimed-5", { logprobs: true }, rejected(null)],
  ["a field that is no parameter", "claimed-5", { logprobs: true }, rejected("messages.0.content")],
  [
    "only in prose",
    "claimed-5",
    { logprobs: true },
    { status: 400, json: { error: { message: "logprobs is not supported" } } },
  ],
])("PARAM-09 ERR-06 a 400 about %s is final", async (_, model, more, script) => {
  const [open = 0, shut] = counts();
  scene.at("open").next(script);
  const { status, body } = await chat(model, more);
  expect([status, body.error.code]).toEqual([400, "provider_error"]);
  expect(counts()).toEqual([open + 1, shut]);
});

test("PARAM-09 ERR-06 if every endpoint rejects the parameter, the caller gets the provider's refusal", async () => {
  for (const provider of ["open", "shut"] as const) scene.at(provider).next(rejected("logprobs"));
  const { status, body } = await chat("claimed-6", { logprobs: true });
  expect([status, body.error.code, body.error.message]).toEqual([
    400,
    "provider_error",
    expect.stringContaining("Unsupported parameter: 'logprobs'"),
  ]);
  const { balance } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
  expect(Number(balance)).toBe(10);
});
