import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type Script } from "../support/upstream.ts";

const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos"];
const FAILING: Script = { status: 500, json: { error: { message: "broken" } } };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  const env = { GATEWAY_ASIDE_FAILURES: "5", GATEWAY_ASIDE_MS: "1000", GATEWAY_RETRY_PERCENT: "20" };
  scene = await openScene(ALL, env);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const attempts = () => ALL.reduce((sum, provider) => sum + scene.at(provider).requests.length, 0);

/** That many requests at a given concurrency; returns their statuses. */
async function storm(requests: number, atOnce: number): Promise<number[]> {
  const statuses: number[] = [];
  let left = requests;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      statuses.push((await scene.chat(tenant.key)).status);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return statuses;
}

describe("every attempt fails", () => {
  test("ROUTE-04 attempts stay within 1.2 per request, and all succeed once providers recover", async () => {
    for (const provider of ALL) scene.at(provider).always({ ...FAILING, beforeHeadersMs: 30 });
    const statuses = await storm(900, 120);
    expect(new Set(statuses)).toEqual(new Set([502]));
    const made = attempts();
    // The minimum retries count at the beginning and the end of the load: a slow machine makes more of them.
    expect(made).toBeLessThanOrEqual(1.2 * statuses.length + 40);
    // The budget is used.
    expect(made).toBeGreaterThan(1.1 * statuses.length);
    expect(await metricSum(scene, "gateway_retry_budget_spent_total")).toBeGreaterThan(0);
    const rows = await scene.rows(tenant);
    const spent = rows.find(({ attempts }) => attempts.at(-1).reason.includes("budget"));
    expect(spent).toMatchObject({ status: 502, error_code: "upstream_error", cost: "0.00" });
    expect(spent.attempts.at(-1)).toMatchObject({
      outcome: "stop",
      upstream_status: null,
      duration_ms: 0,
      maybe_accepted: false,
      reason: "not tried: the retry budget is exhausted",
    });
    for (const provider of ALL) scene.at(provider).always({ json: chatJson({ content: "well" }) });
    expect(new Set(await storm(20, 4))).toEqual(new Set([200]));
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
  });
});

test("ROUTE-04 a budget of zero leaves three concurrent retries, and a single request still fails over", async () => {
  const strict = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_RETRY_PERCENT: "0" });
  try {
    const caller = await strict.gateway.tenant();
    const gate = Promise.withResolvers<void>();
    strict.at("deepinfra").always({ ...FAILING, beforeHeadersMs: 100 });
    strict.at("ovhcloud").always({ json: chatJson({ content: "well" }), gate: gate.promise });
    const answers = Array.from({ length: 3 }, () => strict.chat(caller.key));
    await strict.at("ovhcloud").arrived(3);
    // Of this many requests, a fifth would be more than three.
    const others = await Promise.all(Array.from({ length: 30 }, () => strict.chat(caller.key)));
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([502]));
    for (const { body } of others)
      expect(body.error.message).toContain("no usable response, and the gateway's retry budget is exhausted.");
    gate.resolve();
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect((await strict.chat(caller.key)).status).toBe(200);
    expect(strict.at("ovhcloud").requests).toHaveLength(4);
    expect(await metricSum(strict, "gateway_retries_total", 'provider="ovhcloud"', 'at="next"')).toBe(4);
  } finally {
    await strict.close();
  }
});
