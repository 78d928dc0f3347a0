import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["scaleway", "ionos", "openai", "deepseek", "zai", "together", "cohere"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

test.each(["user", "seed", "logit_bias", "frequency_penalty", "parallel_tool_calls", "service_tier"])(
  "PARAM-01 %s is honoured by the dialect and sent even if the provider does not list it",
  async (name) => {
    const values: Record<string, unknown> = {
      user: "someone",
      seed: 1,
      logit_bias: { "1": 1 },
      frequency_penalty: 0.5,
      parallel_tool_calls: true,
      service_tier: "auto",
    };
    for (const provider of ["scaleway", "ionos"] as const) {
      const { status, body } = await scene.chat(tenant.key, { provider: { only: [provider] }, [name]: values[name] });
      expect(status, JSON.stringify(body)).toBe(200);
      const received: Json = scene.at(provider).requests.at(-1)?.json;
      expect(received[name]).toEqual(values[name]);
    }
  },
);

describe("the two names of the output limit", () => {
  const LIMITS: readonly (readonly [Provider, string, "max_tokens" | "max_completion_tokens"])[] = [
    ["scaleway", MODEL, "max_tokens"],
    ["openai", "openai/gpt-5-mini", "max_completion_tokens"],
    ["deepseek", "deepseek/deepseek-v4-pro", "max_tokens"],
    ["zai", "zhipuai/glm-5.3", "max_tokens"],
    ["together", MODEL, "max_tokens"],
    ["cohere", "cohere/command-a-03-2025", "max_tokens"],
  ];
  test.each(LIMITS)("PARAM-01 max_tokens under either name reaches %s (%s) as %s", async (provider, model, name) => {
    for (const sent of ["max_tokens", "max_completion_tokens"]) {
      const { status, body } = await scene.chat(tenant.key, { model, provider: { only: [provider] }, [sent]: 33 });
      expect(status, JSON.stringify(body)).toBe(200);
      const received: Json = scene.at(provider).requests.at(-1)?.json;
      expect({ max_tokens: received.max_tokens, max_completion_tokens: received.max_completion_tokens }).toEqual({
        max_tokens: undefined,
        max_completion_tokens: undefined,
        [name]: 33,
      });
    }
  });

  test("PARAM-01 different max_tokens and max_completion_tokens are refused, and the refusal names both", async () => {
    const { status, body } = await scene.chat(tenant.key, { max_tokens: 5, max_completion_tokens: 6 });
    expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    expect(body.error.message).toMatch(/max_tokens.*max_completion_tokens/);
  });
});
