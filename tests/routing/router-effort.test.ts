import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { holdNanos } from "../support/limits.ts";
import { messageJson } from "../support/messages.ts";
import { responseFrames, responseJson } from "../support/responses-native.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";

/** The reasoning effort that a router sets when the caller sets none. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["openai", "anthropic", "mistral", "ovhcloud", "aws-bedrock"]);
  tenant = await scene.gateway.tenant();
  scene.at("anthropic").always({ json: messageJson([{ type: "text", text: "Hello." }]) });
  scene.at("aws-bedrock").always({ json: CONVERSED });
});
afterAll(() => scene.close());

async function routed(model: string, effort: string, { slug } = tenant): Promise<string> {
  const spec = { models: [model], reasoning_effort: effort };
  await scene.gateway.manage("PUT", `/workspaces/${slug}/routers/thinks`, spec);
  return `@${slug}/thinks`;
}

const received = (provider: Provider) => scene.at(provider).requests.at(-1);
const sentTo = (provider: Provider): Json => received(provider)?.json;
const CONVERSED = {
  output: { message: { role: "assistant", content: [{ text: "Hello." }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 20, outputTokens: 30, totalTokens: 50 },
};
const TOOL = { name: "weather", parameters: { type: "object", properties: {} } };

/** What the caller gets: status, effort, who chose it, and the dialect of the upstream call. */
const effortOf = ({ status, headers }: Called) => [
  status,
  headers.get("x-svc-reasoning-effort"),
  headers.get("x-svc-reasoning-chosen-by"),
  headers.get("x-svc-upstream-surface"),
];
const NO_EFFORT = [200, null, "provider_default"] as const;

describe("over chat completions", () => {
  test.each([
    ["openai/gpt-5", "high", "high"],
    ["openai/gpt-5", "max", "high"],
    ["openai/gpt-5.1", "minimal", "low"],
    ["openai/o3", "low", "low"],
  ])("ROUTE-06 HDR-06 %s with router effort %s gets %s, complete and streamed", async (model, effort, expected) => {
    const name = await routed(model, effort);
    for (const stream of [false, true]) {
      expect(effortOf(await scene.chat(tenant.key, { model: name, stream }))).toEqual([
        200,
        expected,
        "router",
        "chat",
      ]);
      expect(sentTo("openai").reasoning_effort).toBe(expected);
    }
  });

  test.each([
    ["anthropic/claude-sonnet-4-5", { thinking: { type: "enabled", budget_tokens: 16_384 } }],
    ["anthropic/claude-opus-4-6", { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
  ])("ROUTE-06 HDR-06 %s gets the effort in its own parameter", async (model, way) => {
    const answer = await scene.chat(tenant.key, { model: await routed(model, "high") });
    expect(effortOf(answer)).toEqual([200, "high", "router", "messages"]);
    expect(sentTo("anthropic")).toMatchObject(way);
  });

  test("ROUTE-06 HDR-06 a model with reasoning on or off gets one of the two values", async () => {
    const name = await routed("mistral/mistral-small-2603", "low");
    expect(effortOf(await scene.chat(tenant.key, { model: name }))).toEqual([200, "high", "router", "chat"]);
    expect(sentTo("mistral").reasoning_effort).toBe("high");
  });

  test.each([
    ["none", "openai/gpt-5", "openai"],
    ["high", "openai/gpt-4.1", "openai"],
    ["high", "mistral/mistral-small-2506", "mistral"],
  ] as const)("ROUTE-06 HDR-06 %s does not get %s, which it does not support", async (effort, model, provider) => {
    const answer = await scene.chat(tenant.key, { model: await routed(model, effort) });
    expect(effortOf(answer)).toEqual([...NO_EFFORT, "chat"]);
    expect(sentTo(provider)).not.toHaveProperty("reasoning_effort");
  });

  test.each([{ temperature: 0.2 }, { top_p: 0.5 }, { logprobs: true }])(
    "ROUTE-06 HDR-06 yields to parameters that the model accepts only without reasoning: %j",
    async (more) => {
      const name = await routed("openai/gpt-5.2", "high");
      expect(effortOf(await scene.chat(tenant.key, { model: name, ...more }))).toEqual([...NO_EFFORT, "chat"]);
      expect(sentTo("openai")).toMatchObject(more);
      expect(sentTo("openai")).not.toHaveProperty("reasoning_effort");
      const own = await scene.chat(tenant.key, { model: name, ...more, reasoning_effort: "low" });
      expect(effortOf(own)).toEqual([200, "low", "caller", "chat"]);
    },
  );

  test("ROUTE-06 HDR-06 a default temperature, or reasoning off, excludes nothing", async () => {
    const high = await routed("openai/gpt-5.2", "high");
    expect(effortOf(await scene.chat(tenant.key, { model: high, temperature: 1 }))).toEqual([
      200,
      "high",
      "router",
      "chat",
    ]);
    const none = await routed("openai/gpt-5.2", "none");
    const off = await scene.chat(tenant.key, { model: none, temperature: 0.2 });
    expect(effortOf(off)).toEqual([200, "none", "router", "chat"]);
    expect(sentTo("openai")).toMatchObject({ reasoning_effort: "none", temperature: 0.2 });
  });
});

describe("the caller's own effort takes precedence", () => {
  const BUDGETED = "anthropic/claude-sonnet-4-5";
  const only = (provider: string) => ({ provider: { only: [provider] } });

  test.each([20, 1024])(
    "ROUTE-06 HDR-06 Claude gets no token limit larger than %i to reason in",
    async (max_tokens) => {
      const name = await routed(BUDGETED, "high");
      expect(effortOf(await scene.chat(tenant.key, { model: name, max_tokens, ...only("anthropic") }))).toEqual([
        ...NO_EFFORT,
        "messages",
      ]);
      expect(sentTo("anthropic")).toMatchObject({ max_tokens });
      expect(sentTo("anthropic")).not.toHaveProperty("thinking");
      expect(effortOf(await scene.chat(tenant.key, { model: name, max_tokens, ...only("aws-bedrock") }))).toEqual([
        ...NO_EFFORT,
        "chat",
      ]);
      expect(sentTo("aws-bedrock").inferenceConfig).toEqual({ maxTokens: max_tokens });
      expect(sentTo("aws-bedrock")).not.toHaveProperty("additionalModelRequestFields");
    },
  );

  test("ROUTE-06 HDR-06 Claude reasons within a limit that has room, and beyond it only at the caller's request", async () => {
    const name = await routed(BUDGETED, "high");
    const roomy = await scene.chat(tenant.key, { model: name, max_tokens: 1025, ...only("anthropic") });
    expect(effortOf(roomy)).toEqual([200, "minimal", "router", "messages"]);
    expect(sentTo("anthropic")).toMatchObject({ max_tokens: 1025, thinking: { budget_tokens: 1024 } });
    const body = { model: name, max_tokens: 20, reasoning_effort: "low", ...only("anthropic") };
    expect(effortOf(await scene.chat(tenant.key, body))).toEqual([200, "minimal", "caller", "messages"]);
    expect(sentTo("anthropic")).toMatchObject({ max_tokens: 1044, thinking: { budget_tokens: 1024 } });
  });

  test("BILL-03 ROUTE-06 nothing is reserved for reasoning that is not requested", async () => {
    const poor = await scene.gateway.tenant({ credit: "0" });
    const body = { max_tokens: 20, ...only("anthropic") };
    const held = await holdNanos(scene, { ...body, model: await routed(BUDGETED, "high", poor) }, poor);
    expect(held).toBeGreaterThan(0n);
    expect(held).toBe(await holdNanos(scene, { ...body, model: BUDGETED }, poor));
  });

  test.each([
    [BUDGETED, "anthropic", "messages"],
    ["anthropic/claude-opus-4-6", "anthropic", "messages"],
    [BUDGETED, "aws-bedrock", "chat"],
  ] as const)("ROUTE-06 HDR-06 %s at %s continues the caller's prefill without reasoning", async (model, at, way) => {
    const messages = [
      { role: "user", content: "List three." },
      { role: "assistant", content: "1." },
    ];
    const answer = await scene.chat(tenant.key, { model: await routed(model, "high"), messages, ...only(at) });
    expect(effortOf(answer)).toEqual([...NO_EFFORT, way]);
    for (const field of ["thinking", "output_config", "additionalModelRequestFields"])
      expect(sentTo(at)).not.toHaveProperty(field);
  });

  test.each([
    ["high", { max_tokens: 500 }],
    ["max", { temperature: 0.2 }],
    ["xhigh", { top_p: 0.5 }],
  ])("ROUTE-06 HDR-06 Nova with router effort %s gets medium beside %j", async (effort, more) => {
    const name = await routed("amazon/nova-2-lite", effort);
    expect(effortOf(await scene.chat(tenant.key, { model: name, ...more }))).toEqual([200, "medium", "router", "chat"]);
    expect(sentTo("aws-bedrock").additionalModelRequestFields.reasoningConfig.maxReasoningEffort).toBe("medium");
    expect(Object.values(sentTo("aws-bedrock").inferenceConfig)).toEqual(Object.values(more));
  });

  test.each([
    ["high", {}],
    ["medium", { max_tokens: 500, temperature: 0.2 }],
  ])("ROUTE-06 HDR-06 Nova gets %s with %j", async (effort, more) => {
    const name = await routed("amazon/nova-2-lite", effort);
    expect(effortOf(await scene.chat(tenant.key, { model: name, ...more }))).toEqual([200, effort, "router", "chat"]);
    expect(sentTo("aws-bedrock").additionalModelRequestFields.reasoningConfig.maxReasoningEffort).toBe(effort);
  });
});

describe("over an endpoint's own responses API", () => {
  const ask = (body: object | string, stream = false, provider: Provider = "openai") => {
    scene.at(provider).next(stream ? { frames: responseFrames(["Hello"]) } : { json: responseJson() });
    const text = typeof body === "string" ? body : { input: "Hello", store: false, stream, ...body };
    return scene.gateway.call(tenant.key, "/v1/responses", { body: text });
  };

  test.each([
    ["openai/gpt-5", "max", "high", "openai"],
    ["openai/gpt-5.4", "none", "none", "openai"],
    ["openai/gpt-oss-120b", "low", "low", "ovhcloud"],
  ] as const)(
    "RESP-06 HDR-06 %s with router effort %s gets %s, complete and streamed",
    async (model, effort, expected, provider) => {
      const name = await routed(model, effort);
      for (const stream of [false, true]) {
        const answer = await ask({ model: name }, stream, provider);
        expect(effortOf(answer)).toEqual([200, expected, "router", "responses"]);
        expect(sentTo(provider).reasoning).toEqual({ effort: expected });
      }
    },
  );

  test("RESP-06 keeps the caller's other reasoning options and every other byte", async () => {
    const name = await routed("openai/gpt-5", "low");
    const body = (model: string, reasoning: string) =>
      `{ "model":"${model}", "store":false,  "reasoning":${reasoning}, "novel":1.0,\n "input":"Hello" }`;
    for (const [sent, forwarded] of [
      ["null", '{"effort":"low"}'],
      ['{"summary":"auto","share":1.0}', '{"summary":"auto","share":1.0,"effort":"low"}'],
      ['{"effort":null,"summary":"auto"}', '{"effort":"low","summary":"auto"}'],
    ] as const) {
      expect(effortOf(await ask(body(name, sent)))).toEqual([200, "low", "router", "responses"]);
      expect(String(received("openai")?.raw)).toBe(body("gpt-5", forwarded));
    }
  });

  test("RESP-06 HDR-06 keeps the caller's own effort as written", async () => {
    const name = await routed("openai/gpt-5", "low");
    const answer = await ask({ model: name, reasoning: { effort: "high" } });
    expect(effortOf(answer)).toEqual([200, "high", "caller", "responses"]);
    expect(sentTo("openai").reasoning).toEqual({ effort: "high" });
  });

  test("RESP-06 HDR-06 a model that cannot reason with tools over chat completions can here", async () => {
    const name = await routed("openai/gpt-5.4", "high");
    const answer = await ask({ model: name, tools: [{ type: "function", ...TOOL }] });
    expect(effortOf(answer)).toEqual([200, "high", "router", "responses"]);
    expect(sentTo("openai").reasoning).toEqual({ effort: "high" });
  });

  test.each([
    ["minimal", { tools: [{ type: "function", ...TOOL }] }, "minimal"],
    ["low", { tools: [{ type: "web_search" }] }, "low"],
    ["minimal", { tools: [{ type: "web_search" }] }, null],
  ])("RESP-06 HDR-06 GPT-5 with router effort %s and %j gets %s", async (effort, more, expected) => {
    const answer = await ask({ model: await routed("openai/gpt-5", effort), ...more });
    expect(effortOf(answer)).toEqual(
      expected === null ? [...NO_EFFORT, "responses"] : [200, expected, "router", "responses"],
    );
    expect(sentTo("openai")).toMatchObject(more);
    expect(sentTo("openai").reasoning).toEqual(expected === null ? undefined : { effort: expected });
  });

  test("RESP-06 HDR-06 a dropped tool excludes nothing", async () => {
    const answer = await ask({ model: await routed("openai/gpt-5", "minimal"), tools: [{ type: "image_generation" }] });
    expect(effortOf(answer)).toEqual([200, "minimal", "router", "responses"]);
    expect(sentTo("openai")).not.toHaveProperty("tools");
  });

  test.each([
    ["openai/gpt-5.2", { temperature: 0.2 }],
    ["openai/gpt-5.2", { top_logprobs: 3 }],
    ["openai/gpt-5.2", { include: ["reasoning.encrypted_content", "message.output_text.logprobs"] }],
    ["openai/gpt-4.1", {}],
  ])("RESP-06 HDR-06 %s with %j is called without it", async (model, more) => {
    const answer = await ask({ model: await routed(model, "high"), ...more });
    expect(effortOf(answer)).toEqual([...NO_EFFORT, "responses"]);
    expect(sentTo("openai")).toMatchObject(more);
    expect(sentTo("openai")).not.toHaveProperty("reasoning");
  });
});

test("MSG-01 HDR-06 Claude gets the messages body byte for byte, without the router's effort", async () => {
  const name = await routed("anthropic/claude-opus-4-6", "high");
  const body = (model: string) =>
    `{ "model":"${model}", "max_tokens":64,  "messages":[{"role":"user","content":"Hello"}] }`;
  const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body: body(name) });
  expect(effortOf(answer)).toEqual([...NO_EFFORT, "messages"]);
  expect(String(received("anthropic")?.raw)).toBe(body("claude-opus-4-6"));
});
