import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { responseJson } from "../support/responses-native.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type Script } from "../support/upstream.ts";

/** An error with status 200 is classified by its body, complete or in a stream. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud", "openai", "anthropic", "google-ai-studio"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const CLAUDE = "anthropic/claude-sonnet-4-5";
const user = [{ role: "user", content: "Hello" }];
const tooLong = { error: { message: "prompt is too long", code: 400 } };
const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
const badRequest = { type: "error", error: { type: "invalid_request_error", message: "max_tokens: too many" } };

type Surface = "chat/completions" | "messages" | "responses";
const BODIES: Record<Surface, object> = {
  "chat/completions": { messages: user },
  messages: { messages: user, max_tokens: 50 },
  responses: { input: "Hello" },
};

async function send(surface: Surface, model: string, provider: Provider, script: Script, stream = false) {
  scene.at(provider).next(script);
  const before = scene.at("ovhcloud").requests.length;
  const answer = await scene.gateway.call(tenant.key, `/v1/${surface}`, {
    body: { model, stream, ...BODIES[surface] },
  });
  const { status, body, text } = answer;
  const { error } = body ?? JSON.parse(text.slice(text.indexOf("{")));
  return { status, error, elsewhere: scene.at("ovhcloud").requests.length - before };
}

const failedResponse = (code: string) =>
  responseJson({ status: "failed", output: [], error: { code, message: "no such thing" } });

describe.each([false, true])("streaming: %s", (stream) => {
  test.each<[string, Surface, string, Provider, unknown, number]>([
    ["chat to chat", "chat/completions", MODEL, "deepinfra", tooLong, 400],
    ["messages to chat", "messages", MODEL, "deepinfra", tooLong, 400],
    ["responses to chat", "responses", MODEL, "deepinfra", tooLong, 400],
    ["messages to messages", "messages", CLAUDE, "anthropic", badRequest, 400],
    ["chat to messages", "chat/completions", CLAUDE, "anthropic", badRequest, 400],
    ["chat to Gemini", "chat/completions", "google/gemini-2.5-flash", "google-ai-studio", tooLong, 400],
    ["responses to responses", "responses", "openai/gpt-5", "openai", failedResponse("invalid_prompt"), 400],
    ["the same, at its limit", "responses", "openai/gpt-5", "openai", failedResponse("rate_limit_exceeded"), 429],
    ["an overloaded one", "messages", CLAUDE, "anthropic", overloaded, 502],
  ])(
    "ERR-06 %s: the caller gets the error about its request",
    async (_name, surface, model, provider, json, status) => {
      const outcome = await send(surface, model, provider, { json }, stream);
      expect([outcome.status, outcome.elsewhere]).toEqual([status, 0]);
    },
  );

  test("ERR-06 a refused request is not retried elsewhere; a rate limit fails over", async () => {
    const refused = await send("chat/completions", MODEL, "deepinfra", { json: tooLong }, stream);
    expect(refused).toMatchObject({ status: 400, elsewhere: 0, error: { code: "provider_error" } });
    expect(refused.error.message).toContain("prompt is too long");
    scene.at("deepinfra").next({ json: { error: { message: "slow down", code: "429" } } });
    const { status, headers } = await scene.chat(tenant.key, { stream });
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "ovhcloud"]);
  });
});

test("reads a status that is text in a stream as a number", async () => {
  scene.at("deepinfra").next({ frames: [`data: ${JSON.stringify({ error: { message: "bad", code: "400" } })}\n\n`] });
  const { status, body } = await scene.chat(tenant.key, { stream: true });
  expect([status, body?.error.code]).toEqual([400, "provider_error"]);
});

test("a complete response to a streaming request is malformed and fails over", async () => {
  scene.at("deepinfra").next({ json: chatJson() });
  const { status, headers } = await scene.chat(tenant.key, { stream: true });
  expect([status, headers.get("x-svc-provider")]).toEqual([200, "ovhcloud"]);
});
