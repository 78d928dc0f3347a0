import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ReplayView } from "../../src/contract/schemas/manage-routing.ts";
import { formatNanos } from "../../src/kit/money.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { operatorOf } from "../support/operator.ts";
import { costNanos, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR, FR and DE: cheapest first. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos"];
/** What every scripted reply reports. */
const USED = { input: 11, output: 7 };

beforeAll(async () => {
  scene = await openScene(ALL);
  for (const provider of ALL) scene.at(provider).always({ json: chatJson() });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (where: string) => `/workspaces/${tenant.slug}${where}`;
const putRouter = (slug: string, spec: object) => scene.gateway.manage("PUT", at(`/routers/${slug}`), spec);
const refusalOf = (slug: string, body: object) =>
  operatorOf(scene.gateway).post(`/manage${at(`/routers/${slug}/replay`)}`, body);
const euros = (provider: Provider, times: number) => formatNanos(costNanos(provider, USED) * BigInt(times));

async function replay(slug: string, body: object = {}): Promise<Json> {
  const answer = await scene.gateway.manage("POST", at(`/routers/${slug}/replay`), body);
  expect(ReplayView.safeParse(answer).error).toBeUndefined();
  return answer;
}

async function ask(times: number, body: Record<string, unknown> = {}): Promise<void> {
  for (let count = 0; count < times; count += 1) expect((await scene.chat(tenant.key, body)).status).toBe(200);
}

describe("replay: actual and simulated results", () => {
  test("ROUTE-07 notes that a replay uses none of the workspace's own provider keys", async () => {
    const ownKeyNotes = async () =>
      (await replay("auto")).notes.filter((note: string) => note.includes("own provider keys"));
    expect(await ownKeyNotes()).toEqual([]);
    await scene.gateway.manage("PUT", at("/providers/mistral"), { key: "of-its-own", skip_test: true });
    expect(await ownKeyNotes()).toHaveLength(1);
  });

  test("ROUTE-07 both sides are what the workspace pays, with its margin", async () => {
    await scene.gateway.manage("PUT", at("/margin"), { margin: "1" });
    await ask(1);
    await putRouter("eu", { models: [MODEL], floor: "L3", weights: { cost: 1 } });
    // A margin of 100% is the price of twice the amount, rounded once.
    const doubled = (provider: Provider) => formatNanos(costNanos(provider, { input: 22, output: 14 }));
    expect(await replay("eu")).toMatchObject({
      happened: { requests: 1, cost: doubled("deepinfra") },
      replayed: { requests: 1, cost: doubled("ovhcloud") },
    });
  });

  test("ROUTE-07 uses real token counts at the prices of the endpoint that the router would choose", async () => {
    await ask(3);
    await putRouter("eu", { models: [MODEL], floor: "L3", weights: { cost: 1 } });
    const compared = await replay("eu");
    expect(compared).toMatchObject({
      router: `@${tenant.slug}/eu`,
      version: 1,
      since: null,
      currency: "EUR",
      found: 3,
      more: false,
      compared: 3,
      moved: 3,
      left_out: [],
      happened: { requests: 3, cost: euros("deepinfra", 3) },
      replayed: { requests: 3, cost: euros("ovhcloud", 3) },
    });
    const charges = await scene.charges(tenant);
    expect(compared.happened.cost).toBe(formatNanos(charges.reduce((sum, { nanos }) => sum + nanos, 0n)));
    expect(compared.models).toMatchObject([{ model: MODEL, happened: { requests: 3 }, replayed: { requests: 3 } }]);
  });

  test("ROUTE-07 a router with the same choices changes nothing", async () => {
    await ask(2);
    const { happened, replayed, moved, latency_requests } = await replay("auto", {
      spec: { models: [MODEL], weights: { cost: 1 } },
    });
    expect([moved, latency_requests]).toEqual([0, 2]);
    expect(replayed).toEqual(happened);
  });

  test("ROUTE-07 compares latency only where both sides were measured", async () => {
    const fresh = await openScene(["deepinfra", "ionos"]);
    try {
      for (const provider of ["deepinfra", "ionos"] as const) fresh.at(provider).always({ json: chatJson() });
      const { slug, key } = await fresh.gateway.tenant();
      await fresh.chat(key);
      const again = () =>
        fresh.gateway.manage("POST", `/workspaces/${slug}/routers/r/replay`, {
          spec: { models: [MODEL], floor: "L3" },
        });
      expect(await again()).toMatchObject({ latency_requests: 0, happened: { latency_ms: null } });
      await fresh.chat(key, { provider: { only: ["ionos"] } });
      const compared = await again();
      expect(compared.latency_requests).toBe(2);
      expect(compared.happened.latency_ms).toBeGreaterThan(0);
      expect(compared.replayed.latency_ms).toBeGreaterThan(0);
    } finally {
      await fresh.close();
    }
  });

  test("ROUTE-07 quality is the catalogue's score, and is labelled so", async () => {
    await ask(1);
    const { body: model } = await scene.gateway.call(tenant.key, `/v1/public/models/${MODEL}`);
    const compared = await replay("auto", { spec: { models: [MODEL] } });
    expect(compared.quality_requests).toBe(1);
    expect(compared.replayed.quality).toBe(compared.happened.quality);
    expect(compared.replayed.quality).toBeCloseTo(model.quality.score, 4);
    expect(compared.notes.join(" ")).toContain("catalogue's score");
  });

  test("ROUTE-07 requirements and routing hints of a request apply in the replay", async () => {
    await ask(1, { provider: { only: ["ionos"] }, max_tokens: 50, temperature: 0.5, cost_tier: "low" });
    const [row] = await scene.rows(tenant);
    expect((await scene.row(row.id)).decision.demand).toMatchObject({
      needs: [],
      parameters: expect.arrayContaining(["temperature"]),
      max_output_tokens: 50,
      cost_tier: "low",
      provider: { only: ["ionos"] },
    });
    const kept = await replay("auto", { spec: { models: [MODEL] } });
    expect(kept).toMatchObject({ moved: 0, replayed: { cost: euros("ionos", 1) } });
    const refused = await replay("auto", { spec: { models: ["openai/gpt-oss-20b"] } });
    expect(refused.compared).toBe(0);
  });
});

describe("selection of requests", () => {
  test("ROUTE-07 requests without usage, and those the router would refuse, are counted with the reason", async () => {
    await ask(2);
    await scene.chat(tenant.key, { model: "acme/none" });
    const compared = await replay("auto", { spec: { models: [MODEL], floor: "L4" } });
    expect(compared).toMatchObject({
      found: 3,
      compared: 0,
      left_out: [
        { requests: 2, reason: "the router would refuse it: sovereignty_floor_not_met" },
        { requests: 1, reason: "not served, so there are no token counts" },
      ],
      happened: { requests: 0, cost: "0.00", latency_ms: null, quality: null },
    });
  });

  test("applies today's policy, including the key's", async () => {
    await ask(1);
    await scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy: { blocked_providers: ["deepinfra"] } });
    const compared = await replay("auto", { spec: { models: [MODEL], weights: { cost: 1 } } });
    expect(compared).toMatchObject({ moved: 1, replayed: { cost: euros("ovhcloud", 1) } });
  });

  test("period, limit, model and key select the requests, newest first", async () => {
    await ask(2);
    const second = await scene.gateway.manage("POST", at("/keys"), {});
    await scene.chat(second.key);
    expect(await replay("auto", { limit: 2 })).toMatchObject({ found: 2, more: true });
    expect(await replay("auto", { limit: 3 })).toMatchObject({ found: 3, more: false });
    expect(await replay("auto", { key: second.id })).toMatchObject({ found: 1 });
    expect(await replay("auto", { model: MODEL })).toMatchObject({ found: 3 });
    expect(await replay("auto", { model: "auto" })).toMatchObject({ found: 0, compared: 0 });
    const past = { since: "2020-01-01", until: "2020-02-01T00:00:00Z" };
    expect(await replay("auto", past)).toMatchObject({
      found: 0,
      since: "2020-01-01T00:00:00.000Z",
      until: "2020-02-01T00:00:00.000Z",
    });
  });

  test("never includes traffic of other workspaces", async () => {
    await ask(1);
    const other = await scene.gateway.tenant();
    const seen = await scene.gateway.manage("POST", `/workspaces/${other.slug}/routers/auto/replay`, {});
    expect(seen.found).toBe(0);
  });

  test.each([
    [{ limit: 10_001 }, "limit"],
    [{ limit: 0 }, "limit"],
    [{ since: "yesterday" }, "since"],
    [{ since: "2026-02-01", until: "2026-01-01" }, "since"],
    [{ since: "2026-01-01", until: "2026-01-01" }, "since"],
    [{ spec: { models: ["acme/none"] } }, "spec.models"],
    [{ spec: { weights: { quality: -1 } } }, "spec.weights.quality"],
  ])("refuses %j by name", async (body, param) => {
    expect(await refusalOf("auto", body)).toMatchObject({ status: 400, code: "invalid_value", param });
  });

  test("an unknown router is 404, unless its spec is in the body", async () => {
    expect(await refusalOf("none", {})).toMatchObject({ status: 404, code: "not_found" });
    expect(await replay("none", { spec: {} })).toMatchObject({ router: `@${tenant.slug}/none`, version: null });
    expect((await refusalOf("none", {})).status).toBe(404);
  });

  test("ROUTE-07 calls no provider, charges nothing and logs nothing", async () => {
    await ask(1);
    const seen = async () => ({
      calls: ALL.map((provider) => scene.at(provider).requests.length),
      wallet: await scene.wallet(tenant),
      rows: (await scene.rows(tenant)).length,
    });
    const before = await seen();
    await replay("auto");
    expect(await seen()).toEqual(before);
  });
});
