import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { openTwoProviders, type TwoProviderScene } from "../support/two-providers.ts";
import type { Script } from "../support/upstream.ts";

const CLAIMS = { features: { logprobs: true, reasoning: true, reasoning_control: true, tools: true } };
const DEAR = { prices: [{ currency: "EUR", input_per_1m_tokens: 9, output_per_1m_tokens: 9 }] };

let scene: TwoProviderScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openTwoProviders([
    { name: "claimed", surface: "chat", endpoint: CLAIMS, shut: DEAR },
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
  ["logprobs", "claimed", { logprobs: true }, rejected("logprobs")],
  [
    "top_logprobs",
    "claimed",
    { logprobs: true, top_logprobs: 2 },
    rejected("top_logprobs", { code: "unknown_parameter" }),
  ],
  ["reasoning_effort", "claimed", { reasoning_effort: "low" }, rejected("reasoning_effort")],
  [
    "tools",
    "claimed",
    { tools: [{ type: "function", function: { name: "f" } }] },
    rejected("tools[0].function", { code: null }),
  ],
  ["seed", "listed", { seed: 7 }, rejected("seed")],
  [
    "reasoning_effort",
    "claimed",
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

test("PARAM-09 the operator finds the endpoint and the parameter among the checks", async () => {
  scene.at("open").next(rejected("logprobs"));
  await chat("claimed", { logprobs: true });
  const { checks } = await scene.gateway.manage("GET", "/doctor");
  const check = checks.find(({ name }: Json) => name === "catalogue claims");
  expect(check).toMatchObject({
    status: "warning",
    detail: expect.stringContaining("logprobs at open:one:lab/claimed"),
  });
});

test("PARAM-09 EMB-01 other surfaces do the same", async () => {
  const before = counts();
  scene.at("open").next(rejected("dimensions"));
  await scene.call(tenant.key, "/v1/embeddings", { input: "Hi", dimensions: 4, model: "lab/vectors" });
  expect(counts()).toEqual(before.map((count) => count + 1));
});

test.each<[string, string, Json, Script]>([
  ["a parameter that the catalogue does not claim", "unknown", { logprobs: true }, rejected("logprobs")],
  [
    "a value of a claimed parameter",
    "claimed",
    { reasoning_effort: "low" },
    rejected("reasoning_effort", { code: "invalid_value", message: "Invalid value." }),
  ],
  ["no parameter", "claimed", { logprobs: true }, rejected(null)],
  ["a field that is no parameter", "claimed", { logprobs: true }, rejected("messages.0.content")],
  [
    "only in prose",
    "claimed",
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
  const { status, body } = await chat("claimed", { logprobs: true });
  expect([status, body.error.code, body.error.message]).toEqual([
    400,
    "provider_error",
    expect.stringContaining("Unsupported parameter: 'logprobs'"),
  ]);
  const { balance } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/wallet`);
  expect(Number(balance)).toBe(10);
});
