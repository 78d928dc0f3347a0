import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/kit/json.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson, type Script, UPSTREAM_USAGE } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** Among them one that may train on data and one that retains it; the first has the lowest price. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos", "nebius", "cerebras"];

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const ask = (body: object) => scene.chat(tenant.key, { ...body });
const prefer = (provider: object, more: object = {}) => ask({ provider, ...more });
const servedBy = ({ headers }: Called) => headers.get("x-svc-provider");
const BUSY: Script = { status: 503, json: { error: { message: "busy" } } };

/** The planned providers in order, from the log. */
async function orderOf(called: Called): Promise<string[]> {
  expect(called.status).toBe(200);
  const { decision } = await scene.row(called.body.id);
  return decision.order.map((endpoint: string) => endpoint.split(":")[0]);
}

describe("the provider object", () => {
  test("PARAM-05 only, ignore and order take providers, regions and endpoints", async () => {
    expect((await orderOf(await prefer({ only: ["ionos", "scaleway"] }))).toSorted()).toEqual(["ionos", "scaleway"]);
    expect(await orderOf(await prefer({ only: ["ovhcloud/gra"] }))).toEqual(["ovhcloud"]);
    expect(await orderOf(await prefer({ ignore: ["deepinfra", `ovhcloud:gra:${MODEL}`] }))).not.toContain("ovhcloud");
    const ordered = await orderOf(await prefer({ order: ["ionos", "scaleway"] }));
    expect(ordered.slice(0, 3)).toEqual(["ionos", "scaleway", "deepinfra"]);
  });

  test("PARAM-05 allow_fallbacks: false tries only the first endpoint, even when it fails", async () => {
    const before = scene.at("ovhcloud").requests.length;
    scene.at("deepinfra").next(BUSY);
    const { status, body } = await prefer({ allow_fallbacks: false });
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(scene.at("ovhcloud").requests.length).toBe(before);
    const { attempts, decision } = await scene.row(body.error.request_id);
    expect([attempts.length, decision.order.length]).toEqual([1, 1]);
    expect(servedBy(await prefer({ allow_fallbacks: true }))).toBe("deepinfra");
  });

  test("PARAM-05 data_collection, zdr and require_parameters", async () => {
    expect(await orderOf(await prefer({ data_collection: "deny" }))).not.toContain("cerebras");
    expect(await orderOf(await prefer({ data_collection: "allow" }))).toContain("cerebras");
    expect(await orderOf(await prefer({ zdr: true }))).not.toContain("nebius");
    expect(await orderOf(await prefer({ require_parameters: false }))).toHaveLength(ALL.length);
  });

  test("PARAM-05 max_price bounds the catalogue's prices in US dollars", async () => {
    // 0.039 and 0.09 dollars per million input tokens; 0.19 and 0.47 per million output tokens.
    expect(await orderOf(await prefer({ max_price: { prompt: 0.09 } }))).toEqual(["deepinfra", "ovhcloud"]);
    expect(await orderOf(await prefer({ max_price: { completion: "0.2" } }))).toEqual(["deepinfra"]);
    expect(await orderOf(await prefer({ max_price: { prompt: 1, completion: 0.47, image: 0 } }))).toHaveLength(2);
    const { status, body } = await prefer({ max_price: { prompt: 0.01 } });
    expect([status, body.error.code, body.error.param]).toEqual([403, "no_eligible_endpoint", "provider.max_price"]);
    expect(body.error.message).toContain("its prompt price is 0.039 USD");
  });

  test("PARAM-05 BILL-05 max_price bounds what the caller pays, the workspace's margin included", async () => {
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/margin`, { margin: "0.5" });
    // 0.0585 and 0.135 dollars with the margin.
    expect(await orderOf(await prefer({ max_price: { prompt: 0.09 } }))).toEqual(["deepinfra"]);
    expect(await orderOf(await prefer({ max_price: { prompt: 0.135 } }))).toEqual(["deepinfra", "ovhcloud"]);
    const { status, body } = await prefer({ max_price: { prompt: 0.05 } });
    expect([status, body.error.param]).toEqual([403, "provider.max_price"]);
    expect(body.error.message).toContain("its prompt price is 0.0585 USD");
  });

  test("PARAM-05 sorts by price, or by measured throughput and latency", async () => {
    const own = await openScene(["deepinfra", "ovhcloud"]);
    try {
      const { key } = await own.gateway.tenant();
      const first = async (sort: string) => {
        const called = await own.chat(key, { provider: { sort } });
        expect(called.status).toBe(200);
        return [servedBy(called), called.headers.get("x-svc-route-reason")];
      };
      own.at("deepinfra").next({ beforeHeadersMs: 1500, json: chatJson() });
      await own.chat(key, { provider: { only: ["deepinfra"] } });
      await own.chat(key, { provider: { only: ["ovhcloud"] } });
      expect(await first("price")).toEqual(["deepinfra", expect.stringContaining("lowest price")]);
      expect(await first("latency")).toEqual(["ovhcloud", expect.stringContaining("lowest latency")]);
      expect(await first("throughput")).toEqual([expect.any(String), expect.stringContaining("highest throughput")]);
    } finally {
      await own.close();
    }
  });

  test("PARAM-05 admits nothing that policy excludes", async () => {
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["deepinfra"] });
    const before = scene.at("deepinfra").requests.length;
    for (const provider of [{ order: ["deepinfra"] }, { sort: "price" }, { only: ["deepinfra", "ionos"] }])
      expect(await orderOf(await prefer(provider))).not.toContain("deepinfra");
    const { status, body } = await prefer({ only: ["deepinfra"] });
    expect([status, body.error.code]).toEqual([403, "no_eligible_endpoint"]);
    expect(body.error.message).toContain("provider_blocked");
    expect(scene.at("deepinfra").requests.length).toBe(before);
  });

  test("PARAM-05 PARAM-06 forwards none of the gateway's own fields", async () => {
    const hints = {
      provider: { order: ["deepinfra"], sort: null },
      session_id: "a conversation",
      cost_tier: "low",
      remaining_turns: 2,
    };
    for (const stream of [false, true]) {
      expect((await ask({ ...hints, stream })).status).toBe(200);
      const { json } = scene.at("deepinfra").requests.at(-1) ?? {};
      expect(Object.keys(isJsonObject(json) ? json : {}).toSorted()).toEqual(
        ["messages", "model", "stream", ...(stream ? ["stream_options"] : [])].toSorted(),
      );
    }
  });

  test.each([
    [{ provider: { quantizations: ["fp8"] } }, "unsupported_parameter", "provider.quantizations"],
    [{ provider: { max_price: { audio: 1 } } }, "unsupported_parameter", "provider.max_price.audio"],
    [{ provider: { only: "deepinfra" } }, "invalid_value", "provider.only"],
    [{ provider: { sort: "quality" } }, "invalid_value", "provider.sort"],
    [{ provider: { max_price: { prompt: -1 } } }, "invalid_value", "provider.max_price.prompt"],
    [{ provider: { data_collection: "maybe" } }, "invalid_value", "provider.data_collection"],
    [{ provider: [] }, "invalid_value", "provider"],
    [{ session_id: "" }, "invalid_value", "session_id"],
    [{ session_id: "x".repeat(257) }, "invalid_value", "session_id"],
    [{ cost_tier: "free" }, "invalid_value", "cost_tier"],
    [{ remaining_turns: -1 }, "invalid_value", "remaining_turns"],
    [{ remaining_turns: 1.5 }, "invalid_value", "remaining_turns"],
  ])("PARAM-05 PARAM-06 refuses %j by name", async (body, code, param) => {
    const { status, body: answer } = await ask(body);
    expect([status, answer.error.code, answer.error.param]).toEqual([400, code, param]);
  });

  test("PARAM-04 PARAM-06 null equals absent, and the longest session id is accepted", async () => {
    const nulls = { provider: null, session_id: null, cost_tier: null, remaining_turns: null, data_classes: null };
    expect((await ask(nulls)).status).toBe(200);
    const inside = { only: null, ignore: null, order: null, allow_fallbacks: null, max_price: { prompt: null } };
    expect(await orderOf(await prefer(inside))).toHaveLength(ALL.length);
    expect((await ask({ session_id: "x".repeat(256) })).status).toBe(200);
  });
});

describe("session_id", () => {
  test("ROUTE-06 a session stays on its endpoint, streamed or not, and other sessions do not", async () => {
    for (const stream of [false, true]) {
      const session_id = `talk ${stream}`;
      scene.at("deepinfra").next(BUSY);
      expect(servedBy(await ask({ session_id, stream }))).toBe("ovhcloud");
      // The first choice works again; the session stays where its prompt is cached.
      const second = await ask({ session_id, stream });
      expect(servedBy(second)).toBe("ovhcloud");
      expect(second.headers.get("x-svc-route-reason")).toContain("served this session before");
      const { decision } = await scene.row(String(second.headers.get("x-svc-request-id")));
      expect(decision.session).toEqual({ endpoint: `ovhcloud:gra:${MODEL}`, tokens: 18, use: "first" });
      expect(servedBy(await ask({ session_id: "another", stream }))).toBe("deepinfra");
      const other = await scene.gateway.tenant();
      expect(servedBy(await scene.chat(other.key, { session_id, stream }))).toBe("deepinfra");
    }
  });

  test("ROUTE-06 POL-02 not when policy has excluded the endpoint since; it then stays on the new one", async () => {
    await prefer({ only: ["ovhcloud"] }, { session_id: "s" });
    expect(servedBy(await ask({ session_id: "s" }))).toBe("ovhcloud");
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["ovhcloud"] });
    expect(servedBy(await ask({ session_id: "s" }))).toBe("deepinfra");
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: [] });
    expect(servedBy(await ask({ session_id: "s" }))).toBe("deepinfra");
  });

  test("ROUTE-06 a router keeps a session on its model", async () => {
    const spec = { models: [MODEL, "zhipuai/glm-5.2"], weights: { cost: 1 } };
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/r`, spec);
    await ask({ model: "zhipuai/glm-5.2", session_id: "s" });
    const model = `@${tenant.slug}/r`;
    expect((await ask({ model, session_id: "s" })).headers.get("x-svc-model")).toBe("zhipuai/glm-5.2");
    expect((await ask({ model, session_id: "t" })).headers.get("x-svc-model")).toBe(MODEL);
  });
});

describe("remaining_turns and cost_tier", () => {
  /** About 4,000 tokens; nebius reads them from its cache for a tenth, ovhcloud has the lower base price. */
  const LONG = { messages: [{ role: "user", content: "word ".repeat(3200) }], max_tokens: 16 };
  const two = { provider: { only: ["ovhcloud", "nebius"] } };

  test("ROUTE-06 many remaining turns make a cheap cache outweigh a low price", async () => {
    expect(servedBy(await ask({ ...LONG, ...two }))).toBe("ovhcloud");
    expect(servedBy(await ask({ ...LONG, ...two, remaining_turns: 0 }))).toBe("ovhcloud");
    expect(servedBy(await ask({ ...LONG, ...two, remaining_turns: 30 }))).toBe("nebius");
  });

  test("ROUTE-06 with no turn left a session is worth only what its cached input saves", async () => {
    const usage = { ...UPSTREAM_USAGE, prompt_tokens: 4000, total_tokens: 4007 };
    scene.at("nebius").next({ json: chatJson({ usage }) });
    await ask({ ...LONG, provider: { only: ["nebius"] }, session_id: "long" });
    await ask({ ...LONG, provider: { only: ["nebius"] }, session_id: "short" });
    expect(servedBy(await ask({ ...LONG, ...two, session_id: "long", remaining_turns: 0 }))).toBe("nebius");
    // Only 18 cached tokens: they do not offset the price.
    expect(servedBy(await ask({ ...LONG, ...two, session_id: "short", remaining_turns: 0 }))).toBe("ovhcloud");
    await ask({ ...LONG, provider: { only: ["nebius"] }, session_id: "short" });
    expect(servedBy(await ask({ ...LONG, ...two, session_id: "short", remaining_turns: 1 }))).toBe("nebius");
  });

  test("ROUTE-06 cost_tier shifts a router between cost and quality", async () => {
    const spec = { models: [MODEL, "zhipuai/glm-5.2"], weights: { quality: 1, cost: 1 } };
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/r`, spec);
    const chosen = async (cost_tier: string) => {
      const called = await ask({ model: `@${tenant.slug}/r`, cost_tier });
      const { decision } = await scene.row(called.body.id);
      return [called.headers.get("x-svc-model"), decision.weights];
    };
    expect(await chosen("low")).toEqual([MODEL, { quality: 0.5, cost: 3, latency: 0 }]);
    expect(await chosen("high")).toEqual(["zhipuai/glm-5.2", { quality: 3, cost: 0.5, latency: 0 }]);
  });
});

test("ROUTE-02 the log shows every endpoint's expected cost in the wallet's currency", async () => {
  const { body } = await ask({ max_tokens: 100 });
  const { decision } = await scene.row(body.id);
  const costs = decision.candidates.map(({ scores }: Json) => scores.expected_cost_nanos);
  expect(costs).toHaveLength(ALL.length);
  expect(costs).toEqual(costs.toSorted((a: number, b: number) => a - b));
});
