import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { messageJson } from "../support/messages.ts";
import { responseJson } from "../support/responses-native.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";

/** A model is told how hard to think in words that it knows, whatever word the caller has for it. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "openai", "nebius", "anthropic"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const told = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;
const header = (headers: Headers) => headers.get("x-svc-reasoning-effort");
const messages = (model: string, effort: string) =>
  scene.gateway.call(tenant.key, "/v1/messages", {
    body: {
      model,
      max_tokens: 4000,
      messages: [{ role: "user", content: "Hello" }],
      thinking: { type: "adaptive" },
      output_config: { effort },
    },
  });
const responses = (model: string, reasoning: object) =>
  scene.gateway.call(tenant.key, "/v1/responses", { body: { model, input: "Hello", reasoning } });

describe("a word that the model does not know", () => {
  test.each([
    ["openai/gpt-5", "max", "high"],
    ["openai/gpt-5", "minimal", "minimal"],
    ["openai/gpt-5.1", "minimal", "low"],
    ["openai/gpt-5.1", "xhigh", "high"],
    ["openai/gpt-5.2", "max", "xhigh"],
    ["openai/gpt-5.6-sol", "max", "max"],
    ["openai/gpt-5.1", "none", "none"],
  ])(
    "HDR-06 CHAT-05 %s, asked for %s, is told %s over chat completions, and the header says so",
    async (model, asked, said) => {
      const { status, headers } = await scene.chat(tenant.key, { model, reasoning_effort: asked });
      expect([status, told("openai").reasoning_effort, header(headers)]).toEqual([200, said, said]);
    },
  );

  test.each([
    ["openai/gpt-5", "openai", "max", "high"],
    ["openai/gpt-5.4", "openai", "max", "xhigh"],
    [MODEL, "deepinfra", "xhigh", "high"],
    ["moonshotai/kimi-k2.6", "deepinfra", "max", "high"],
    ["moonshotai/kimi-k2.6", "deepinfra", "low", "low"],
  ] as const)(
    "MSG-02 HDR-06 what a coding client asks of %s at %s with every request, %s, is told as %s",
    async (model, provider, asked, said) => {
      const { status, headers } = await messages(model, asked);
      expect([status, told(provider).reasoning_effort, header(headers)]).toEqual([200, said, said]);
    },
  );

  test("RESP-02 HDR-06 it is told as the nearest to an endpoint of the responses dialect, and the rest is left as it was", async () => {
    scene.at("openai").next({ json: responseJson({ output: [] }) });
    const { status, headers } = await responses("openai/gpt-5", { effort: "xhigh", summary: "auto" });
    expect([status, header(headers)]).toEqual([200, "high"]);
    expect(told("openai").reasoning).toEqual({ effort: "high", summary: "auto" });
  });

  test.each([
    ["anthropic/claude-opus-4-6", "xhigh", "high"],
    ["anthropic/claude-opus-4-6", "max", "max"],
    ["anthropic/claude-opus-4-7", "xhigh", "xhigh"],
    ["anthropic/claude-sonnet-4-6", "minimal", "low"],
  ])("CHAT-05 HDR-06 %s, asked for %s, is told %s", async (model, asked, said) => {
    scene.at("anthropic").next({ json: CLAUDE_ANSWER });
    const { status, headers } = await scene.chat(tenant.key, { model, reasoning_effort: asked });
    expect([status, told("anthropic").output_config, header(headers)]).toEqual([200, { effort: said }, said]);
  });

  test.each([
    ["anthropic/claude-opus-4-6", "xhigh", "high"],
    ["anthropic/claude-sonnet-4-6", "xhigh", "high"],
    ["anthropic/claude-sonnet-4-6", "minimal", "low"],
    ["anthropic/claude-opus-4-6", "max", "max"],
    ["anthropic/claude-opus-4-7", "xhigh", "xhigh"],
    ["anthropic/claude-opus-5", "xhigh", "xhigh"],
  ])("MSG-01 HDR-06 %s, asked for %s in its own format, is told %s", async (model, asked, said) => {
    scene.at("anthropic").next({ json: CLAUDE_ANSWER });
    const { status, headers } = await messages(model, asked);
    expect([status, told("anthropic").output_config, header(headers)]).toEqual([200, { effort: said }, said]);
  });

  test("MSG-01 in a model's own format nothing beside the word changes, and counting is asked with the same one", async () => {
    const format = '"format":{"type":"json_schema","schema":{"type":"number","maximum":1.0}}';
    const body = (model: string, effort: string) =>
      `{ "model":"${model}", "max_tokens":4000, "thinking":{"type":"disabled"},  "output_config":{${format},"effort":"${effort}"},
        "messages":[{"role":"user","content":"Hello"}] }`;
    const send = (path: string, answer: Json) => {
      scene.at("anthropic").next({ json: answer });
      return scene.gateway.call(tenant.key, path, { body: body("anthropic/claude-opus-4-6", "xhigh") });
    };
    const { headers } = await send("/v1/messages", CLAUDE_ANSWER);
    expect(String(scene.at("anthropic").requests.at(-1)?.raw)).toBe(body("claude-opus-4-6", "high"));
    expect(header(headers)).toBe("none");
    await send("/v1/messages/count_tokens", { input_tokens: 5 });
    expect(told("anthropic").output_config).toMatchObject({ effort: "high" });
  });
});

test("CHAT-05 a demand to a model whose words nobody knows goes out as it is", async () => {
  const { headers } = await scene.chat(tenant.key, { model: "moonshotai/kimi-k2.6", reasoning_effort: "max" });
  expect([told("deepinfra").reasoning_effort, header(headers)]).toEqual(["max", "max"]);
});

test("PARAM-03 not to think is refused by name where the model always does", async () => {
  const { status, body } = await scene.chat(tenant.key, { model: "openai/gpt-5", reasoning_effort: "none" });
  expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "reasoning_effort"]);
});

test("the sandbox knows its models' words, and is told no other", async () => {
  const gateway = await startGateway();
  try {
    for (const model of ["sandbox/chat-mini", "sandbox/chat"]) {
      const { status, body } = await gateway.call(gateway.key, "/v1/chat/completions", {
        body: { model, messages: [{ role: "user", content: "Hello" }], reasoning_effort: "max" },
      });
      expect([status, body.choices?.[0].finish_reason]).toEqual([200, "stop"]);
    }
  } finally {
    await gateway.close();
  }
});

const CLAUDE_ANSWER = messageJson([{ type: "text", text: "Hello." }]);
