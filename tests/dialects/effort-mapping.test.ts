import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { messageJson } from "../support/messages.ts";
import { responseJson } from "../support/responses-native.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";

/** Maps the caller's reasoning effort to the values that a model knows. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "openai", "nebius", "anthropic"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const lastRequest = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;
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

describe("an effort value that the model does not know", () => {
  test.each([
    ["openai/gpt-5", "max", "high"],
    ["openai/gpt-5", "minimal", "minimal"],
    ["openai/gpt-5.1", "minimal", "low"],
    ["openai/gpt-5.1", "xhigh", "high"],
    ["openai/gpt-5.2", "max", "xhigh"],
    ["openai/gpt-5.6-sol", "max", "max"],
    ["openai/gpt-5.1", "none", "none"],
  ])(
    "HDR-06 CHAT-05 %s with effort %s gets %s over chat completions, and the header reports it",
    async (model, effort, expected) => {
      const { status, headers } = await scene.chat(tenant.key, { model, reasoning_effort: effort });
      expect([status, lastRequest("openai").reasoning_effort, header(headers)]).toEqual([200, expected, expected]);
    },
  );

  test.each([
    ["openai/gpt-5", "openai", "max", "high"],
    ["openai/gpt-5.4", "openai", "max", "xhigh"],
    [MODEL, "deepinfra", "xhigh", "high"],
    ["moonshotai/kimi-k2.6", "deepinfra", "max", "high"],
    ["moonshotai/kimi-k2.6", "deepinfra", "low", "low"],
  ] as const)(
    "MSG-02 HDR-06 the default effort of a coding client for %s at %s, %s, is sent as %s",
    async (model, provider, effort, expected) => {
      const { status, headers } = await messages(model, effort);
      expect([status, lastRequest(provider).reasoning_effort, header(headers)]).toEqual([200, expected, expected]);
    },
  );

  test("RESP-02 HDR-06 the nearest value is sent to an endpoint of the responses dialect, everything else unchanged", async () => {
    scene.at("openai").next({ json: responseJson({ output: [] }) });
    const { status, headers } = await responses("openai/gpt-5", { effort: "xhigh", summary: "auto" });
    expect([status, header(headers)]).toEqual([200, "high"]);
    expect(lastRequest("openai").reasoning).toEqual({ effort: "high", summary: "auto" });
  });

  test.each([
    ["anthropic/claude-opus-4-6", "xhigh", "high"],
    ["anthropic/claude-opus-4-6", "max", "max"],
    ["anthropic/claude-opus-4-7", "xhigh", "xhigh"],
    ["anthropic/claude-sonnet-4-6", "minimal", "low"],
  ])("CHAT-05 HDR-06 %s with effort %s gets %s", async (model, effort, expected) => {
    scene.at("anthropic").next({ json: CLAUDE_ANSWER });
    const { status, headers } = await scene.chat(tenant.key, { model, reasoning_effort: effort });
    expect([status, lastRequest("anthropic").output_config, header(headers)]).toEqual([
      200,
      { effort: expected },
      expected,
    ]);
  });

  test.each([
    ["anthropic/claude-opus-4-6", "xhigh", "high"],
    ["anthropic/claude-sonnet-4-6", "xhigh", "high"],
    ["anthropic/claude-sonnet-4-6", "minimal", "low"],
    ["anthropic/claude-opus-4-6", "max", "max"],
    ["anthropic/claude-opus-4-7", "xhigh", "xhigh"],
    ["anthropic/claude-opus-5", "xhigh", "xhigh"],
  ])("MSG-01 HDR-06 %s with effort %s in its own format gets %s", async (model, effort, expected) => {
    scene.at("anthropic").next({ json: CLAUDE_ANSWER });
    const { status, headers } = await messages(model, effort);
    expect([status, lastRequest("anthropic").output_config, header(headers)]).toEqual([
      200,
      { effort: expected },
      expected,
    ]);
  });

  test("MSG-01 in a model's own format only the effort changes, and token counting gets the same value", async () => {
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
    expect(lastRequest("anthropic").output_config).toMatchObject({ effort: "high" });
  });
});

test("CHAT-05 an effort for a model with unknown values is sent unchanged", async () => {
  const { headers } = await scene.chat(tenant.key, { model: "moonshotai/kimi-k2.6", reasoning_effort: "max" });
  expect([lastRequest("deepinfra").reasoning_effort, header(headers)]).toEqual(["max", "max"]);
});

test("PARAM-03 turning reasoning off is refused by name if the model always reasons", async () => {
  const { status, body } = await scene.chat(tenant.key, { model: "openai/gpt-5", reasoning_effort: "none" });
  expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "reasoning_effort"]);
});

test("the sandbox knows the effort values of its models and receives no others", async () => {
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
