import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";

/** Real client requests that other dialects need in another order or size. */
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud", "anthropic", "google-ai-studio", "aws-bedrock"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const TOOL = { name: "f", input_schema: { type: "object", properties: {} } };

type Exchange = { readonly status: number; readonly sent: Json; readonly answer: Called };

async function ask(dialect: keyof typeof DIALECT_SCRIPTS, more: Record<string, unknown>): Promise<Exchange> {
  const { provider, model, whole } = DIALECT_SCRIPTS[dialect];
  scene.at(provider).next(whole({ text: "Hello" }));
  const body = { model, max_tokens: 100, messages: [{ role: "user", content: "Hello" }], ...more };
  const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body });
  expect(answer.status, answer.text).toBe(200);
  return { status: answer.status, answer, sent: scene.at(provider).requests.at(-1)?.json };
}

describe("tool results in several messages, after other content", () => {
  const call = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: `result ${id}` });
  const messages = [
    { role: "user", content: "Go." },
    { role: "assistant", content: [call("a"), call("b")] },
    { role: "system", content: "In between." },
    { role: "user", content: [{ type: "text", text: "Before." }, result("b")] },
    { role: "user", content: [result("a"), { type: "text", text: "After." }] },
    { role: "assistant", content: "Done." },
    { role: "user", content: "More." },
  ];

  test("MSG-02 chat completions get them right after their calls", async () => {
    const { sent } = await ask("D1", { tools: [TOOL], messages });
    expect(sent.messages.map(({ role, content }: Json) => [role, content])).toEqual([
      ["user", "Go."],
      ["assistant", null],
      ["tool", "result b"],
      ["tool", "result a"],
      // Not as system message: many servers accept it only as the first message.
      ["user", "In between.\n\nBefore."],
      ["user", "After."],
      ["assistant", "Done."],
      ["user", "More."],
    ]);
  });

  test("MSG-02 Gemini gets them first, in the order of the calls", async () => {
    const { sent } = await ask("D3", { tools: [TOOL], messages });
    expect(sent.contents.map(({ role }: Json) => role)).toEqual(["user", "model", "user", "model", "user"]);
    expect(sent.contents[2].parts).toEqual([
      { functionResponse: { name: "f", response: { result: "result a" } } },
      { functionResponse: { name: "f", response: { result: "result b" } } },
      { text: "In between." },
      { text: "Before." },
      { text: "After." },
    ]);
  });

  test("MSG-02 Converse gets them first, in one message", async () => {
    const { sent } = await ask("D4", { tools: [TOOL], messages });
    expect(sent.messages.map(({ role }: Json) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
    expect(sent.messages[2].content).toMatchObject([
      { toolResult: { toolUseId: "b" } },
      { toolResult: { toolUseId: "a" } },
      { text: "In between." },
      { text: "Before." },
      { text: "After." },
    ]);
  });
});

describe("a limit above the model's maximum", () => {
  const LIMIT_OF = { D1: 65_536, D3: 65_535, D4: 64_000 } as const;
  const limitIn: Readonly<Record<keyof typeof LIMIT_OF, (sent: Json) => number>> = {
    D1: (sent) => sent.max_tokens,
    D3: (sent) => sent.generationConfig.maxOutputTokens,
    D4: (sent) => sent.inferenceConfig.maxTokens,
  };

  test.each(["D1", "D3", "D4"] as const)("MSG-02 %s gets its own maximum, and the log records it", async (dialect) => {
    const { sent, answer } = await ask(dialect, { max_tokens: 5_000_000 });
    expect(limitIn[dialect](sent)).toBe(LIMIT_OF[dialect]);
    const row = await scene.row(answer.headers.get("x-svc-request-id") ?? "");
    expect(row.attempts[0].reason).toContain(`adjusted: max_tokens above ${LIMIT_OF[dialect]}`);
  });

  test("MSG-02 a prompt uses its share of a context window that it shares with the output", async () => {
    const provider = "ovhcloud";
    scene.at(provider).next(DIALECT_SCRIPTS.D1.whole({ text: "Hello" }));
    const model = "alibaba/qwen2.5-vl-72b-instruct";
    const content = "word ".repeat(8_000);
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", {
      body: { model, max_tokens: 32_000, messages: [{ role: "user", content }] },
    });
    expect(answer.status, answer.text).toBe(200);
    const sent: Json = scene.at(provider).requests.at(-1)?.json;
    expect(sent.max_tokens).toBeGreaterThan(15_000);
    expect(sent.max_tokens).toBeLessThan(32_768 - 8_000);
  });
});

test("HDR-06 an effort that the model does not support: the provider chose", async () => {
  for (const more of [{ thinking: { type: "adaptive" } }, { thinking: { type: "disabled" } }]) {
    const { answer, sent } = await ask("D1", { model: "alibaba/qwen3.5-397b-a17b", ...more });
    expect(sent.reasoning_effort).toBeUndefined();
    expect(answer.headers.get("x-svc-reasoning-chosen-by")).toBe("provider_default");
    expect(answer.headers.get("x-svc-reasoning-effort")).toBeNull();
  }
  const { answer } = await ask("D3", { thinking: { type: "adaptive" }, output_config: { effort: "high" } });
  expect(answer.headers.get("x-svc-reasoning-chosen-by")).toBe("caller");
  expect(answer.headers.get("x-svc-reasoning-effort")).toBe("high");
});

describe("MSG-02 HDR-06 reasoning off", () => {
  const thinks = "moonshotai/kimi-k2.6";
  const off = { thinking: { type: "disabled" } };
  const effortOf = ({ answer, sent }: Exchange) => [
    sent.reasoning_effort,
    answer.headers.get("x-svc-reasoning-effort"),
    answer.headers.get("x-svc-reasoning-chosen-by"),
  ];

  test("is sent to a model behind chat completions that supports it", async () => {
    expect(effortOf(await ask("D1", { model: thinks, ...off }))).toEqual(["none", "none", "caller"]);
    expect(effortOf(await ask("D1", { model: thinks, ...off, tools: [TOOL] }))).toEqual(["none", "none", "caller"]);
    expect(effortOf(await ask("D1", { model: thinks, ...off, output_config: { effort: "high" } }))).toEqual([
      "none",
      "none",
      "caller",
    ]);
  });

  test("is sent in a stream as well", async () => {
    scene.at("deepinfra").next(DIALECT_SCRIPTS.D1.streamed({ text: "Hello" }));
    const body = {
      model: thinks,
      max_tokens: 100,
      messages: [{ role: "user", content: "Hello" }],
      ...off,
      stream: true,
    };
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body });
    expect(answer.text).toContain("message_stop");
    expect(effortOf({ status: 200, answer, sent: scene.at("deepinfra").requests.at(-1)?.json })).toEqual([
      "none",
      "none",
      "caller",
    ]);
  });

  test.each([
    ["never thinks", "meta/llama-3.3-70b-instruct"],
    ["reasons without a setting", "alibaba/qwen3.5-397b-a17b"],
  ])("is not sent to a model that %s, which is still called", async (_what, model) => {
    expect(effortOf(await ask("D1", { model, ...off }))).toEqual([undefined, null, "provider_default"]);
  });

  test("is not sent to a server that does not know the value, which is still called", async () => {
    const only = { provider: { only: ["ovhcloud"] } };
    const body = { model: "openai/gpt-oss-20b", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
    scene.at("ovhcloud").next(DIALECT_SCRIPTS.D1.whole({ text: "Hello" }));
    const answer = await scene.gateway.call(tenant.key, "/v1/messages", { body: { ...body, ...off, ...only } });
    expect(answer.status, answer.text).toBe(200);
    const sent: Json = scene.at("ovhcloud").requests.at(-1)?.json;
    expect(effortOf({ status: 200, answer, sent })).toEqual([undefined, null, "provider_default"]);
  });
});

test.each([
  [{ thinking: { type: "adaptive" } }, null, "provider_default"],
  [{ thinking: { type: "between_tools" } }, null, "provider_default"],
  [{ thinking: { type: "adaptive" }, output_config: { effort: "high" } }, "high", "caller"],
  [{ thinking: { type: "disabled" } }, "none", "caller"],
  [{ thinking: { type: "enabled", budget_tokens: 2048 } }, "low", "caller"],
])("HDR-06 the header reports the level in the caller's body, and none without one: %j", async (more, effort, by) => {
  const { answer } = await ask("D2", { max_tokens: 4096, ...more });
  expect(answer.headers.get("x-svc-reasoning-effort")).toBe(effort);
  expect(answer.headers.get("x-svc-reasoning-chosen-by")).toBe(by);
});

test("PARAM-04 MSG-03 a null limit is no limit where tokens are counted", async () => {
  const body = { model: DIALECT_SCRIPTS.D1.model, max_tokens: null, messages: [{ role: "user", content: "Hello" }] };
  const { status, body: counted, text } = await scene.gateway.call(tenant.key, "/v1/messages/count_tokens", { body });
  expect(status, text).toBe(200);
  expect(counted.input_tokens).toBeGreaterThan(0);
  expect((await scene.gateway.call(tenant.key, "/v1/messages", { body })).body.error.param).toBe("max_tokens");
});
