import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { PARAMETERS } from "../../src/language/canon/parameters.ts";
import { ALIASES } from "../../src/language/dialects/chat/fields.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";

const PROVIDERS = Object.values(DIALECT_SCRIPTS).map(({ provider }) => provider);
const TOOLS = ["one", "two"].map((name) => ({ type: "function", function: { name } }));

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(PROVIDERS);
  tenant = await scene.gateway.tenant();
  for (const { provider, whole } of Object.values(DIALECT_SCRIPTS))
    scene.at(provider).always(whole({ text: "Hello." }));
});
afterAll(() => scene.close());

const callsOf = () => PROVIDERS.map((provider) => scene.at(provider).requests.length);
const received = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;
const { provider: CHAT, model: CHAT_MODEL } = DIALECT_SCRIPTS.D1;

/** A model of several providers is called at one. */
async function only(provider: Provider): Promise<void> {
  const blocked_providers = PROVIDERS.filter((other) => other !== provider);
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers });
}

async function refused(more: JsonObject): Promise<Json> {
  const before = callsOf();
  const { status, body } = await scene.chat(tenant.key, { model: CHAT_MODEL, ...more });
  expect(status, JSON.stringify(body)).toBe(400);
  expect(callsOf(), "a provider was called").toEqual(before);
  return body.error;
}

describe("shapes of routing hints", () => {
  test.each<[string, JsonObject, string]>([
    ["not a list", { allowed_tools: "one" }, "allowed_tools"],
    ["an empty list", { allowed_tools: [] }, "allowed_tools"],
    ["a list of tools instead of names", { allowed_tools: [TOOLS[0]] }, "allowed_tools.0"],
    ["an empty name", { allowed_tools: ["one", ""] }, "allowed_tools.1"],
    ["257 characters", { session_id: "x".repeat(257) }, "session_id"],
    ["no string", { session_id: 7 }, "session_id"],
    ["no tier", { cost_tier: "cheap" }, "cost_tier"],
    ["a tier in upper case", { cost_tier: "LOW" }, "cost_tier"],
    ["below 0", { remaining_turns: -1 }, "remaining_turns"],
    ["no integer", { remaining_turns: 1.5 }, "remaining_turns"],
    ["a number as text", { remaining_turns: "3" }, "remaining_turns"],
  ])("PARAM-06 %s is refused by the field's name: %j", async (_what, sent, param) => {
    expect(await refused({ tools: TOOLS, ...sent })).toMatchObject({
      code: "invalid_value",
      type: "invalid_request_error",
      param,
    });
  });

  test.each<JsonObject>([
    { session_id: "x" },
    { session_id: "x".repeat(256) },
    { cost_tier: "low" },
    { cost_tier: "medium" },
    { cost_tier: "high" },
    { remaining_turns: 0 },
    { remaining_turns: 1_000_000 },
  ])("PARAM-06 %j is accepted, and reaches no provider", async (sent) => {
    await only(CHAT);
    await scene.chat(tenant.key, { model: CHAT_MODEL });
    const plain = received(CHAT);
    const { status } = await scene.chat(tenant.key, { model: CHAT_MODEL, ...sent });
    expect(status).toBe(200);
    expect(received(CHAT)).toEqual(plain);
  });

  test.each([
    [undefined, "auto"],
    ["auto", "auto"],
    ["required", "required"],
  ])(
    "PARAM-06 allowed_tools with tool_choice %s becomes a tool_choice of its own type, mode %s",
    async (choice, mode) => {
      await only(CHAT);
      const more = { tools: TOOLS, allowed_tools: ["two"], ...(choice === undefined ? {} : { tool_choice: choice }) };
      expect((await scene.chat(tenant.key, { model: CHAT_MODEL, ...more })).status).toBe(200);
      const { tool_choice, tools, allowed_tools } = received(CHAT);
      expect(allowed_tools).toBeUndefined();
      expect(tools).toEqual(TOOLS);
      expect(tool_choice).toEqual({
        type: "allowed_tools",
        allowed_tools: { mode, tools: [{ type: "function", function: { name: "two" } }] },
      });
    },
  );
});

describe("allowed tools together with a tool choice", () => {
  const NAMED = { type: "function", function: { name: "two" } };
  const listed = (mode: string, ...names: string[]) => ({
    type: "allowed_tools",
    allowed_tools: { mode, tools: names.map((name) => ({ type: "function", function: { name } })) },
  });

  test.each<[string, unknown, unknown]>([
    ["none stays none", "none", "none"],
    ["a named tool of the list stays the one that is called", NAMED, NAMED],
    ["the dialect's own form keeps its mode: required", listed("required", "two"), listed("required", "two")],
    ["the dialect's own form keeps its mode: auto", listed("auto", "two"), listed("auto", "two")],
  ])("PARAM-01 allowed_tools with tool_choice: %s", async (_what, tool_choice, expected) => {
    await only(CHAT);
    const more = { tools: TOOLS, allowed_tools: ["two"], tool_choice };
    expect((await scene.chat(tenant.key, { model: CHAT_MODEL, ...more })).status).toBe(200);
    expect(received(CHAT)).toMatchObject({ tools: TOOLS, tool_choice: expected });
    expect(received(CHAT)).not.toHaveProperty("allowed_tools");
  });

  test.each<[string, JsonObject, string]>([
    ["a named tool that is not in the list", { tool_choice: NAMED }, "tool_choice"],
    ["another list in the dialect's own form", { tool_choice: listed("auto", "two") }, "allowed_tools"],
    [
      "a value that is not a list",
      { tool_choice: { type: "allowed_tools", allowed_tools: [] } },
      "tool_choice.allowed_tools",
    ],
  ])("PARAM-01 allowed_tools with %s is refused", async (_what, sent, param) => {
    await only(CHAT);
    const error = await refused({ tools: TOOLS, allowed_tools: ["one"], ...sent });
    expect(error).toMatchObject({ code: "invalid_value", param });
  });

  test.each<[string, JsonObject]>([
    ["allowed_tools", { tools: TOOLS, allowed_tools: ["one", "three"] }],
    ["tool_choice", { tools: TOOLS, tool_choice: listed("auto", "one", "three") }],
    ["tool_choice", { tool_choice: listed("required", "three") }],
  ])("PARAM-01 %s that no tool satisfies is refused by name: %j", async (param, sent) => {
    expect(await refused(sent)).toMatchObject({ code: "invalid_value", param });
  });

  test("PARAM-01 allowed_tools without tools has no effect and reaches no provider", async () => {
    await only(CHAT);
    await scene.chat(tenant.key, { model: CHAT_MODEL });
    const plain = received(CHAT);
    expect((await scene.chat(tenant.key, { model: CHAT_MODEL, allowed_tools: ["three"] })).status).toBe(200);
    expect(received(CHAT)).toEqual(plain);
  });
});

describe("aliases of the reasoning effort", () => {
  const DISABLED = { thinking: { type: "disabled" } };
  test.each<[string, JsonObject]>([
    ["reasoning_effort", { reasoning_effort: "low", reasoning: { effort: "high" } }],
    ["reasoning_effort", { reasoning_effort: "low", reasoning: "high" }],
    ["reasoning_effort", { reasoning_effort: "high", ...DISABLED }],
    ["reasoning_effort", { reasoning_effort: "none", reasoning: { enabled: true } }],
    ["reasoning.effort", { reasoning: { effort: "high" }, ...DISABLED }],
    ["reasoning.enabled", { reasoning: { enabled: false, effort: "high" }, thinking: { type: "adaptive" } }],
    ["reasoning.max_tokens", { reasoning: { max_tokens: 4000 }, thinking: { type: "enabled", budget_tokens: 5000 } }],
  ])("PARAM-01 reasoning_effort and aliases with different values are refused by %s: %j", async (param, sent) => {
    expect(await refused(sent)).toMatchObject({ code: "invalid_value", param });
  });

  test.each<[string, JsonObject]>([
    ["low", { reasoning_effort: "low", reasoning: { effort: "low" }, thinking: "low" }],
    ["high", { reasoning_effort: "high", thinking: { type: "enabled" } }],
    ["max", { reasoning_effort: "max", thinking: { type: "adaptive" }, reasoning: { enabled: true } }],
    ["none", { reasoning_effort: "none", reasoning: { enabled: false }, ...DISABLED }],
    ["low", { reasoning_effort: "low", reasoning: {} }],
    ["high", { reasoning: { enabled: true, effort: "high", max_tokens: 9000, exclude: false } }],
    ["medium", { reasoning: { enabled: true, effort: null, max_tokens: 4000 }, thinking: null }],
    ["low", { reasoning: { max_tokens: 2048 } }],
    ["medium", { reasoning: { max_tokens: 2049 } }],
    ["medium", { thinking: { type: "enabled", budget_tokens: 8192 } }],
    ["high", { thinking: { type: "enabled", budget_tokens: 8193 } }],
    ["medium", { reasoning: { enabled: true } }],
    ["none", { reasoning: { enabled: false, effort: "high" } }],
    ["none", { reasoning_effort: "minimal", ...DISABLED }],
    ["none", { thinking: { type: "disabled", budget_tokens: 5000 } }],
    ["low", { reasoning: { effort: "low", max_tokens: 9000 } }],
    ["high", { reasoning_effort: "high", thinking: { type: "enabled", budget_tokens: 4096 } }],
  ])("PARAM-01 reasoning_effort and aliases with the same value count once, %s: %j", async (expected, sent) => {
    await only(CHAT);
    const { status, text } = await scene.chat(tenant.key, { model: "deepseek/deepseek-v3.2", ...sent });
    expect(status, text).toBe(200);
    expect(received(CHAT)).toMatchObject({ reasoning_effort: expected });
    for (const alias of ["reasoning", "thinking"]) expect(received(CHAT)).not.toHaveProperty(alias);
  });
});

describe.each(Object.entries(DIALECT_SCRIPTS))("%s", (dialect, { provider, model }) => {
  test("PARAM-04 an explicit null equals an absent field, also for refused fields", async () => {
    await only(provider);
    expect((await scene.chat(tenant.key, { model })).status).toBe(200);
    const plain = received(provider);
    const fields = [...PARAMETERS, ...Object.keys(ALIASES), "stream", "stream_options", "n"];
    const nulls = Object.fromEntries(fields.map((field) => [field, null]));
    const { status, body } = await scene.chat(tenant.key, { model, ...nulls });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(received(provider)).toEqual(plain);
  });

  test("PARAM-02 an undeclared field is refused by name, with any value", async () => {
    await only(provider);
    for (const value of [1, null, { a: 1 }]) {
      expect(await refused({ model, temprature: value })).toMatchObject({
        code: "unsupported_parameter",
        param: "temprature",
        message: expect.stringContaining("temprature"),
      });
    }
  });

  test("PARAM-01 a field that no dialect takes is refused as unsupported, with any value", async () => {
    await only(provider);
    const never = ["min_p", "repetition_penalty", "store", "metadata", "modalities", "include_reasoning"];
    for (const param of [...never, "chat_template_kwargs"])
      for (const value of ["x", 7, true, [], {}])
        expect(await refused({ model, [param]: value })).toMatchObject({
          code: "unsupported_parameter",
          param,
          message: expect.stringContaining(model),
        });
  });

  test("PARAM-01 temperature above a dialect's maximum is clamped, and the log records it", async () => {
    await only(provider);
    const scaleEnd = dialect === "D2" || dialect === "D4" ? 1 : 2;
    const { status, headers } = await scene.chat(tenant.key, { model, temperature: 1.7 });
    expect(status).toBe(200);
    expect(JSON.stringify(received(provider))).toContain(`"temperature":${Math.min(1.7, scaleEnd)}`);
    const { attempts } = await scene.row(headers.get("x-svc-request-id") ?? "");
    const note = expect.stringContaining("adjusted: temperature above 1");
    expect(attempts.at(-1).reason).toEqual(scaleEnd === 1 ? note : "complete response");
  });

  test.each(["user", "safety_identifier"])("PARAM-01 %s is forwarded whole or ignored, with any value", async (row) => {
    await only(provider);
    const [isForwarded, long] = [dialect === "D1", "x".repeat(3000)];
    expect((await scene.chat(tenant.key, { model })).status).toBe(200);
    const plain = received(provider);
    expect((await scene.chat(tenant.key, { model, [row]: long })).status).toBe(200);
    expect(received(provider)).toEqual(isForwarded ? { ...plain, [row]: long } : plain);
    for (const odd of [7, { id: 7 }, [], true]) {
      if (isForwarded)
        expect(await refused({ model, [row]: odd })).toMatchObject({ code: "invalid_value", param: row });
      else expect((await scene.chat(tenant.key, { model, [row]: odd })).status).toBe(200);
    }
  });

  test.each<[string, JsonObject]>([
    ["reasoning.exclude", { reasoning: { effort: "high", exclude: true } }],
    ["reasoning.efort", { reasoning: { efort: "high" } }],
    ["thinking.efort", { thinking: { efort: "high" } }],
    ["thinking.display", { thinking: { type: "enabled", budget_tokens: 2048, display: "omitted" } }],
  ])("PARAM-02 %s, which no provider honours, is refused by name", async (param, sent) => {
    await only(provider);
    expect(await refused({ model, ...sent })).toMatchObject({ code: "unsupported_parameter", param });
  });

  test("PARAM-01 reasoning with exclude: false enables reasoning", async () => {
    await only(provider);
    expect((await scene.chat(tenant.key, { model, reasoning: { effort: "high", exclude: false } })).status).toBe(200);
  });

  test.each<[string, JsonObject]>([
    ["required without tools", { tool_choice: "required" }],
    ["required with an empty list", { tools: [], tool_choice: "required" }],
    ["a named tool without tools", { tool_choice: { type: "function", function: { name: "one" } } }],
    ["a missing tool", { tools: TOOLS, tool_choice: { type: "function", function: { name: "three" } } }],
  ])("CHAT-03 an unsatisfiable tool_choice is refused before any provider is called: %s", async (_what, sent) => {
    await only(provider);
    expect(await refused({ model, ...sent })).toMatchObject({ code: "invalid_value", param: "tool_choice" });
  });

  test("CHAT-03 calls sent as two assistant messages are answered together", async () => {
    await only(provider);
    const call = (id: string) => ({ id, type: "function", function: { name: "one", arguments: "{}" } });
    const calls = ["a", "b"].map((id) => ({ role: "assistant", content: null, tool_calls: [call(id)] }));
    const results = ["a", "b"].map((id) => ({ role: "tool", tool_call_id: id, content: "x" }));
    const messages = [{ role: "user", content: "Go." }, ...calls, ...results];
    const { status, text } = await scene.chat(tenant.key, { model, tools: TOOLS, messages });
    expect(status, text).toBe(200);
  });
});

test.each(["max_tokens", "max_completion_tokens"])(
  "ERR-10 %s above a model's output limit is out of range, and the refusal names models that take it",
  async (param) => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: [] });
    expect(await refused({ [param]: 9_000_000 })).toMatchObject({
      code: "invalid_value",
      param,
      message: expect.stringMatching(`${CHAT_MODEL}: ${param} .* supports at most \\d+ output tokens`),
    });
    expect(await refused({ [param]: 9_000_000, seed: 7, top_k: 5 })).toMatchObject({ code: "unsupported_parameter" });
  },
);

test.each<[string, JsonObject, RegExp]>([
  ["reasoning", { reasoning: "huge" }, /"none"\|.*"max", or object/],
  ["thinking", { thinking: "on" }, /"none"\|.*"max", or object/],
  ["reasoning.effort", { reasoning: { effort: "huge" } }, /"none"\|/],
  ["thinking.type", { thinking: { type: "on" } }, /"enabled"\|/],
])("PARAM-01 an alias of reasoning_effort in an unknown form is refused: %s", async (param, sent, message) => {
  expect(await refused(sent)).toMatchObject({ code: "invalid_value", param, message: expect.stringMatching(message) });
});

test.each(["9223372036854775807", "-9223372036854775808", "9007199254740993", "7"])(
  "PARAM-01 seed %s reaches the provider with all digits",
  async (seed) => {
    await only(CHAT);
    const body = `{"model":"${CHAT_MODEL}","messages":[{"role":"user","content":"Hi"}],"seed":${seed}}`;
    const { status, text } = await scene.gateway.call(tenant.key, "/v1/chat/completions", { body });
    expect(status, text).toBe(200);
    expect(scene.at(CHAT).requests.at(-1)?.raw.toString()).toContain(`"seed":${seed}}`);
  },
);

test.each([1.5, "7", 1e30])("PARAM-01 invalid seed %j is refused", async (seed) => {
  expect(await refused({ seed })).toMatchObject({ code: "invalid_value", param: "seed" });
});

describe("a parameter sent by an alias", () => {
  const ALWAYS_THINKS = "anthropic/claude-opus-5-5";
  const BY_BUDGET = "anthropic/claude-sonnet-4-5";

  test.each<[string, JsonObject, string, string]>([
    ["max_tokens", { max_completion_tokens: 9_000_000 }, CHAT_MODEL, "max_completion_tokens"],
    ["max_tokens", { max_tokens: 9_000_000, max_completion_tokens: 9_000_000 }, CHAT_MODEL, "max_tokens"],
    ["reasoning_effort", { reasoning_effort: "none" }, ALWAYS_THINKS, "reasoning_effort"],
    ["reasoning_effort", { thinking: { type: "disabled" } }, ALWAYS_THINKS, "thinking"],
    ["reasoning_effort", { reasoning: { enabled: false } }, ALWAYS_THINKS, "reasoning"],
    ["reasoning_effort", { reasoning: { max_tokens: 9 } }, BY_BUDGET, "reasoning"],
    ["reasoning_effort", { thinking: { type: "enabled", budget_tokens: 9 } }, BY_BUDGET, "thinking"],
  ])("PARAM-01 %s is refused by the name that was sent: %j", async (_row, sent, model, param) => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: [] });
    expect(await refused({ model, ...sent })).toMatchObject({ param });
  });
});

describe("one model on two dialects", () => {
  const MODEL = "anthropic/claude-sonnet-4-6";
  const served = () => ["anthropic", "aws-bedrock"] as const;
  const counts = () => served().map((provider) => scene.at(provider).requests.length);
  const ask = (more: JsonObject) => scene.chat(tenant.key, { model: MODEL, ...more });

  beforeAll(async () => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: [] });
  });

  test("PARAM-03 only the endpoint that honours the parameter is called, even if it fails", async () => {
    const [messages, converse] = counts();
    expect((await ask({ top_k: 5 })).headers.get("x-svc-provider")).toBe("anthropic");
    scene.at("anthropic").next({ status: 500, json: {} });
    expect((await ask({ top_k: 5 })).status).toBe(502);
    expect(counts()[1]).toBe(converse);
    expect(counts()[0]).toBeGreaterThan(messages ?? 0);
  });

  test("PARAM-03 without the parameter the request fails over", async () => {
    for (const provider of served()) {
      const other = served().find((one) => one !== provider);
      scene.at(provider).always({ status: 503, json: {} });
      const { status, headers } = await ask({ temperature: 0.5 });
      expect([status, headers.get("x-svc-provider")]).toEqual([200, other]);
      const { whole } = provider === "anthropic" ? DIALECT_SCRIPTS.D2 : DIALECT_SCRIPTS.D4;
      scene.at(provider).always(whole({ text: "Hello." }));
    }
  });

  test("PARAM-03 if no endpoint honours it, the refusal names it and the model, and no provider is called", async () => {
    expect(await refused({ model: MODEL, seed: 7 })).toMatchObject({
      code: "unsupported_parameter",
      param: "seed",
      message: expect.stringMatching(/claude-sonnet-4-6.*seed/),
    });
  });

  test("PARAM-03 the refusal names models that take the request, and suggests none if there are none", async () => {
    const seed = await refused({ model: MODEL, seed: 7 });
    const [, instead = ""] = /use another model: ([^,\s]+)/.exec(seed.message) ?? [];
    expect((await ask({ model: instead, seed: 7 })).status).toBe(200);
    for (const model of [MODEL, "auto"]) {
      const { message, param } = await refused({ model, min_p: 0.1 });
      expect([param, message]).toEqual(["min_p", expect.stringMatching(/Omit it: no callable endpoint/)]);
    }
  });
});

describe("conflicts found only while encoding", () => {
  const CLAUDE = "anthropic/claude-sonnet-4-6";
  const both = { temperature: 0.3, reasoning_effort: "high" };
  const put = (slug: string, spec: JsonObject) =>
    scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/${slug}`, spec);

  beforeAll(async () => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: [] });
  });

  test("PARAM-03 an endpoint that cannot express both is skipped without a call, and another serves", async () => {
    await put("both", { models: [CLAUDE], fallback: [CHAT_MODEL] });
    const [before, chat] = [callsOf(), scene.at(CHAT).requests.length];
    const { status, body, headers } = await scene.chat(tenant.key, { model: `@${tenant.slug}/both`, ...both });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(headers.get("x-svc-model")).toBe(CHAT_MODEL);
    expect(received(CHAT)).toMatchObject(both);
    expect(scene.at(CHAT).requests.length).toBe(chat + 1);
    expect(callsOf().reduce((sum, one) => sum + one, 0)).toBe(before.reduce((sum, one) => sum + one, 0) + 1);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(JSON.stringify(row)).toContain("cannot be encoded: unsupported_parameter (temperature)");
    expect(headers.get("x-svc-route-reason")).toMatch(/chosen after \d skipped$/);
  });

  test("LOG-01 BILL-02 a caller's id that an endpoint cannot express is not in its log row, at any length", async () => {
    const planted = "planted-".repeat(5000);
    const messages = [
      { role: "user", content: "Hi" },
      { role: "tool", tool_call_id: planted, content: "Unsolicited." },
    ];
    const { status, headers } = await scene.chat(tenant.key, { model: `@${tenant.slug}/both`, messages });
    expect([status, headers.get("x-svc-model")]).toEqual([200, CHAT_MODEL]);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(JSON.stringify(row)).not.toContain("planted");
    expect(row.attempts[0].reason).toBe("cannot be encoded: invalid_value (messages.1.tool_call_id)");
  });

  test("PARAM-03 if no endpoint can, the first candidate's reason is reported; a real failure takes precedence", async () => {
    expect(await refused({ model: CLAUDE, ...both })).toMatchObject({
      code: "unsupported_parameter",
      param: "temperature",
    });
    await put("failing", { models: [CHAT_MODEL], fallback: [CLAUDE] });
    for (let times = 0; times < 4; times += 1) scene.at(CHAT).next({ status: 500, json: {} });
    const failed = await scene.chat(tenant.key, { model: `@${tenant.slug}/failing`, ...both });
    expect([failed.status, failed.body.error.code]).toEqual([502, "upstream_error"]);
  });
});
