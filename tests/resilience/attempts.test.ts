import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type Script } from "../support/upstream.ts";

/** One more than the attempts of a request. */
const CHOICE: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos", "nebius", "groq"];
const ALL: readonly Provider[] = [...CHOICE, "mistral", "alibaba"];
/** Two endpoints of one provider. */
const SECOND = "mistral/mistral-large-2512";
const LAST = "alibaba/qwen3.8-max";

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const DOWN: Script = { status: 503, json: { error: { message: "down" } } };
const everyone = (script: Script) => {
  for (const provider of ALL) scene.at(provider).always(script);
};

describe("more endpoints than a request has attempts", () => {
  test("ROUTE-01 ROUTE-04 tries a router's last fallback when all earlier endpoints are down", async () => {
    everyone(DOWN);
    scene.at("alibaba").always({ json: chatJson({ content: "from the last" }) });
    const spec = { models: [MODEL], fallback: [SECOND, LAST] };
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/r`, spec);
    const { status, body } = await scene.chat(tenant.key, { model: `@${tenant.slug}/r` });
    expect([status, body.choices?.[0].message.content]).toEqual([200, "from the last"]);
    const { attempts } = await scene.row(body.id);
    const models = attempts.map(({ endpoint }: { endpoint: string }) => endpoint.split(":")[2]);
    expect(models).toEqual([MODEL, MODEL, MODEL, SECOND, LAST]);
  });

  test.each<readonly [string, Script, number, string, string | null]>([
    ["503", DOWN, 502, "is overloaded", null],
    ["500", { ...DOWN, status: 500 }, 502, "returned no usable response", null],
    ["504", { ...DOWN, status: 504 }, 504, "did not respond in time", null],
    ["429", { ...DOWN, status: 429, headers: { "retry-after": "60" } }, 429, "is at its rate limit", "60"],
  ])(
    "ROUTE-04 RATE-07 %s from every tried endpoint: the error names the limit, not a missing endpoint",
    async (...of) => {
      const [, script, expected, state, wait] = of;
      everyone(script);
      const { status, body, headers } = await scene.chat(tenant.key);
      expect([status, headers.get("retry-after")]).toEqual([expected, wait]);
      expect(body.error.message).toContain(`${state}, and all 5 attempts of the request are used up. Try again`);
    },
  );

  test("ROUTE-04 states when no endpoint is left after the last attempt", async () => {
    everyone(DOWN);
    const { body } = await scene.chat(tenant.key, { provider: { ignore: ["groq"] } });
    expect(body.error.message).toContain("is overloaded, and no other endpoint is available.");
  });
});
