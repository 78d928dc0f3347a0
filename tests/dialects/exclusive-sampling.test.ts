import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { messageJson } from "../support/messages.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";

/** Models that take temperature or top_p and refuse both in one request. */
const MODEL = "anthropic/claude-sonnet-4-5";
const user = [{ role: "user", content: "Hello" }];

const CLAUDE_ANSWER = messageJson([{ type: "text", text: "Hello." }]);
const CONVERSE_ANSWER = {
  output: { message: { role: "assistant", content: [{ text: "Hello." }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 5, outputTokens: 5, totalTokens: 10 },
};

describe.each([
  ["anthropic", CLAUDE_ANSWER, (body: Json) => [body.temperature, body.top_p]],
  ["aws-bedrock", CONVERSE_ANSWER, ({ inferenceConfig: config }: Json) => [config?.temperature, config?.topP]],
] as const)("at %s", (provider: Provider, answer, samplings) => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene([provider]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());
  const receivedSampling = () => samplings(scene.at(provider).requests.at(-1)?.json);

  test.each([
    [{ temperature: 0.5, top_p: 1 }, [0.5, undefined]],
    [{ temperature: 1, top_p: 0.9 }, [undefined, 0.9]],
    [{ temperature: 1, top_p: 1 }, [1, undefined]],
    [{ top_p: 0.9 }, [undefined, 0.9]],
  ])("PARAM-01 %j is sent without the value that is the default", async (sampling, sent) => {
    scene.at(provider).next({ json: answer });
    expect((await scene.chat(tenant.key, { model: MODEL, ...sampling })).status).toBe(200);
    expect(receivedSampling()).toEqual(sent);
  });

  test("PARAM-01 PARAM-03 both are refused by name before any provider is called", async () => {
    const before = scene.at(provider).requests.length;
    const { status, body } = await scene.chat(tenant.key, { model: MODEL, temperature: 0.5, top_p: 0.9 });
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "top_p"]);
    expect(body.error.message).toContain(MODEL);
    expect(body.error.message).toContain("supports temperature or top_p, not both");
    expect(scene.at(provider).requests).toHaveLength(before);
  });

  test("PARAM-04 RESP-02 a responses caller's temperature is kept, and the log names the dropped parameter", async () => {
    scene.at(provider).next({ json: answer });
    const { status, headers } = await scene.gateway.call(tenant.key, "/v1/responses", {
      body: { model: MODEL, input: "Hello", temperature: 0.5, top_p: 0.9 },
    });
    expect([status, receivedSampling()]).toEqual([200, [0.5, undefined]]);
    expect((await scene.row(headers.get("x-svc-request-id") ?? "")).omitted).toEqual(["top_p"]);
  });

  test("MSG-01 a messages request is forwarded unchanged", async () => {
    scene.at(provider).next({ json: CLAUDE_ANSWER });
    const body = { model: MODEL, max_tokens: 50, messages: user, temperature: 0.5, top_p: 0.9 };
    expect((await scene.gateway.call(tenant.key, "/v1/messages", { body })).status).toBe(200);
    expect(scene.at(provider).requests.at(-1)?.json).toMatchObject({ temperature: 0.5, top_p: 0.9 });
  });
});

test("the sandbox's Claude refuses both and receives one", async () => {
  const gateway = await startGateway();
  try {
    const sampling = { temperature: 0.5, top_p: 1 };
    const body = { model: "sandbox/claude", messages: user, max_tokens: 50, ...sampling };
    expect((await gateway.call(gateway.key, "/v1/chat/completions", { body })).status).toBe(200);
    const refused = await gateway.call(gateway.key, "/v1/messages", { body });
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining("cannot both be")]);
  } finally {
    await gateway.close();
  }
});
