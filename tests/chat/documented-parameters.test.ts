import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../src/config.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";

const TOOL = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["scaleway", "ionos", "openai"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const excluded = async (id: string) =>
  (await scene.row(id)).decision.candidates.filter((one: Json) => one.outcome === "excluded");

describe("providers that list their parameters", () => {
  test.each([
    ["tools", { tools: [TOOL] }, "scaleway", "ionos"],
    ["tool_choice", { tools: [TOOL], tool_choice: "auto" }, "scaleway", "ionos"],
    ["seed", { seed: 1 }, "scaleway", "ionos"],
    ["reasoning_effort", { reasoning_effort: "low" }, "scaleway", "ionos"],
    ["reasoning_effort, by an alias,", { reasoning: { effort: "low" } }, "scaleway", "ionos"],
    ["frequency_penalty", { frequency_penalty: 0.5 }, "ionos", "scaleway"],
    ["user", { user: "someone" }, "ionos", "scaleway"],
  ])("PARAM-03 %s goes only to the one that lists it", async (name, more, taker, other) => {
    const { status, body, headers } = await scene.chat(tenant.key, more);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(headers.get("x-svc-provider")).toBe(taker);
    expect(await excluded(body.id)).toMatchObject([
      { provider: other, reason: expect.stringMatching(`does not take the parameter (tools|${name.split(",")[0]})`) },
    ]);
  });

  test("PARAM-03 one that nobody lists is refused by its name and the model's, and nobody is called", async () => {
    const before = [scene.at("scaleway").requests.length, scene.at("ionos").requests.length];
    const { status, body } = await scene.chat(tenant.key, { verbosity: "low" });
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "verbosity"]);
    expect(body.error.message).toContain("verbosity");
    expect(body.error.message).toContain(MODEL);
    expect([scene.at("scaleway").requests.length, scene.at("ionos").requests.length]).toEqual(before);
  });

  test("PARAM-03 the call itself, the gateway's own fields and nulls never count", async () => {
    const more = { n: 1, stream_options: null, session_id: "s", cost_tier: "low", verbosity: null, store: null };
    const { status, body } = await scene.chat(tenant.key, { ...more, max_completion_tokens: 9, response_format: null });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(await excluded(body.id)).toEqual([]);
    const streamed = await scene.chat(tenant.key, { stream: true, stream_options: { include_usage: true } });
    expect(await excluded(String(streamed.headers.get("x-svc-request-id")))).toEqual([]);
  });

  test("PARAM-03 no list of the shipped catalogue leaves out what every chat server takes", () => {
    const folder = path.join(PROJECT_ROOT, "catalogue/providers");
    let lists = 0;
    for (const file of readdirSync(folder)) {
      const { endpoints } = JSON.parse(readFileSync(path.join(folder, file), "utf8"));
      for (const { model, supported_params: list } of endpoints) {
        if (list === undefined) continue;
        lists += 1;
        const names = ["temperature", "top_p", "max_tokens", "stop", "response_format"];
        expect(list, `${file} ${model}`).toEqual(expect.arrayContaining(names));
      }
    }
    expect(lists).toBeGreaterThan(0);
  });
});

describe("the two names of the output limit", () => {
  const LIMITS: readonly (readonly [Provider, string, "max_tokens" | "max_completion_tokens"])[] = [
    ["scaleway", MODEL, "max_tokens"],
    ["openai", "openai/gpt-5-mini", "max_completion_tokens"],
  ];
  test.each(LIMITS)("PARAM-01 max_tokens under either name reaches %s (%s) as %s", async (provider, model, name) => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["ionos"] });
    for (const sent of ["max_tokens", "max_completion_tokens"]) {
      const { status, body } = await scene.chat(tenant.key, { model, [sent]: 33 });
      expect(status, JSON.stringify(body)).toBe(200);
      const received: Json = scene.at(provider).requests.at(-1)?.json;
      expect({ max_tokens: received.max_tokens, max_completion_tokens: received.max_completion_tokens }).toEqual({
        max_tokens: undefined,
        max_completion_tokens: undefined,
        [name]: 33,
      });
    }
  });

  test("PARAM-01 max_tokens and max_completion_tokens that disagree are refused, and the refusal names both", async () => {
    const { status, body } = await scene.chat(tenant.key, { max_tokens: 5, max_completion_tokens: 6 });
    expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    expect(body.error.message).toMatch(/max_tokens.*max_completion_tokens/);
  });
});
