import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR, FR and DE; unclassified, with data retention that is opt-out. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos", "nebius"];

beforeAll(async () => {
  scene = await openScene(ALL);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (path: string) => `/workspaces/${tenant.slug}${path}`;
const setPolicy = (policy: object) => scene.gateway.manage("PATCH", at("/policy"), policy);
const setKey = (policy: object | null) => scene.gateway.manage("PATCH", `/keys/${tenant.keyId}`, { policy });
const putRouter = (slug: string, spec: object) => scene.gateway.manage("PUT", at(`/routers/${slug}`), spec);
const viaRouter = () => ({ model: `@${tenant.slug}/r` });
const BUSY: Script = { status: 503, json: { error: { message: "busy" } } };

/** Which providers received a byte while something ran. */
async function reached(run: () => Promise<unknown>): Promise<string[]> {
  const before = ALL.map((provider) => scene.at(provider).requests.length);
  await run();
  return ALL.filter((provider, index) => scene.at(provider).requests.length > (before[index] ?? 0));
}

/** The planned providers, from the log. */
async function orderOf({ body }: Called): Promise<string[]> {
  const { decision } = await scene.row(body.id ?? body.error.request_id);
  return decision.order.map((endpoint: string) => endpoint.split(":")[0]);
}

describe("the effective policy combines workspace, key, router and request", () => {
  test("POL-01 floors of workspace, key and router combine to the strictest, in any arrangement", async () => {
    await putRouter("r", { models: [MODEL] });
    const levels = async (call: Called) => {
      expect(call.status).toBe(200);
      const { decision } = await scene.row(call.body.id);
      return decision.candidates
        .filter(({ outcome }: Json) => outcome === "planned")
        .map(({ level }: Json) => level)
        .toSorted();
    };
    const open = ["L0", "L3", "L3", "L3", "UNCLASSIFIED"];
    const european = ["L3", "L3", "L3"];
    expect(await levels(await scene.chat(tenant.key))).toEqual(open);
    // UNCLASSIFIED satisfies no floor, not even the lowest.
    await setKey({ floor: "L0" });
    expect(await levels(await scene.chat(tenant.key))).toEqual(["L0", ...european]);
    await setPolicy({ floor: "L2" });
    expect(await levels(await scene.chat(tenant.key))).toEqual(european);
    await setPolicy({ floor: "none" });
    await setKey(null);
    await putRouter("r", { models: [MODEL], floor: "L1" });
    expect(await levels(await scene.chat(tenant.key))).toEqual(open);
    expect(await levels(await scene.chat(tenant.key, viaRouter()))).toEqual(european);
    await putRouter("r", { models: [MODEL], floor: "L0" });
    await setKey({ floor: "L3" });
    expect(await levels(await scene.chat(tenant.key, viaRouter()))).toEqual(european);
    await setPolicy({ floor: "L4" });
    expect((await scene.chat(tenant.key, viaRouter())).body.error.code).toBe("sovereignty_floor_not_met");
  });

  test("POL-02 allow-lists intersect: what only one of them allows is not called", async () => {
    await setPolicy({ countries: ["DE", "FR"] });
    await setKey({ countries: ["DE", "US"] });
    expect(await reached(() => scene.chat(tenant.key))).toEqual(["ionos"]);
    await putRouter("r", { models: [MODEL], countries: ["FR"] });
    const nothing = await scene.chat(tenant.key, viaRouter());
    expect([nothing.status, nothing.body.error.code]).toEqual([403, "compute_country_not_allowed"]);
  });

  test("POL-02 blocked providers of workspace and key add up, and so do demands of policy and request", async () => {
    await setPolicy({ blocked_providers: ["deepinfra"] });
    await setKey({ blocked_providers: ["ovhcloud", "scaleway"] });
    const all = await scene.chat(tenant.key);
    expect(await orderOf(all)).toEqual(["nebius", "ionos"]);
    await setKey(null);
    await setKey({ zero_data_retention: true });
    expect((await orderOf(await scene.chat(tenant.key))).toSorted()).toEqual(["ionos", "ovhcloud", "scaleway"]);
    await setKey(null);
    const zdr = await scene.chat(tenant.key, { provider: { zdr: true } });
    expect((await orderOf(zdr)).toSorted()).toEqual(["ionos", "ovhcloud", "scaleway"]);
    // A request can add a demand and never remove one.
    await setPolicy({ zero_data_retention: true });
    const off = await scene.chat(tenant.key, { provider: { zdr: false } });
    expect(await orderOf(off)).not.toContain("nebius");
  });

  test("AUTH-09 models are those that workspace and key both allow", async () => {
    await setPolicy({ allowed_models: [MODEL, "meta/llama-3.3-70b-instruct"] });
    await setKey({ allowed_models: ["meta/llama-3.3-70b-instruct", "openai/gpt-oss-20b"] });
    const refused = await scene.chat(tenant.key);
    expect([refused.status, refused.body.error.code]).toEqual([403, "model_not_permitted"]);
    expect(refused.body.error.message).toContain("Allowed for this request: meta/llama-3.3-70b-instruct.");
    expect((await scene.chat(tenant.key, { model: "meta/llama-3.3-70b-instruct" })).status).toBe(200);
    const { body, headers } = await scene.chat(tenant.key, { model: "auto" });
    expect([body.error, headers.get("x-svc-model")]).toEqual([undefined, "meta/llama-3.3-70b-instruct"]);
  });

  test("KEY-05 a rotated key keeps the policy of the one it replaces", async () => {
    await setKey({ floor: "L3" });
    const { key } = await scene.gateway.manage("POST", `/keys/${tenant.keyId}/rotate`, {});
    expect(await reached(() => scene.chat(key))).toEqual(["ovhcloud"]);
  });

  test("MOD-01 GET /models lists what the key's own policy leaves", async () => {
    const ids = async () => {
      const { body } = await scene.gateway.call(tenant.key, "/v1/models");
      return body.data.map(({ id }: Json) => id);
    };
    const open = await ids();
    expect(open).toContain("deepseek/deepseek-v3.2");
    await setKey({ floor: "L3", allowed_models: [MODEL, "deepseek/deepseek-v3.2"] });
    expect(await ids()).toEqual([MODEL]);
    const { body } = await scene.gateway.call(tenant.key, `/v1/models/${MODEL}`);
    expect(body.svc_levels).toEqual(["L3"]);
    const gone = await scene.gateway.call(tenant.key, "/v1/models/deepseek/deepseek-v3.2");
    expect(gone.status).toBe(404);
    const denied = await scene.gateway.call(tenant.key, "/v1/models/openai/gpt-oss-20b");
    expect([denied.status, denied.body.error.code]).toEqual([403, "model_not_permitted"]);
  });
});

describe("policy that changes during a request", () => {
  /** The first endpoint is called, then something changes, then it fails. */
  async function changedBetween(body: object, change: () => Promise<unknown>): Promise<Called> {
    const before = scene.at("deepinfra").requests.length;
    const gate = Promise.withResolvers<void>();
    scene.at("deepinfra").next({ ...BUSY, gate: gate.promise });
    const answer = scene.chat(tenant.key, { ...body });
    await scene.at("deepinfra").arrived(before + 1);
    await change();
    gate.resolve();
    return await answer;
  }

  test("POL-02 a key's policy tightened between two attempts holds for the second", async () => {
    const hit = await reached(async () => {
      const { status, headers } = await changedBetween({}, () => setKey({ countries: ["DE"] }));
      expect([status, headers.get("x-svc-provider")]).toEqual([200, "ionos"]);
    });
    expect(hit).toEqual(["deepinfra", "ionos"]);
  });

  test("POL-02 a router tightened between two attempts holds for the second, and the error names it", async () => {
    for (const [code, word, floor] of [
      ["sovereignty_floor_not_met", "L4", "L4"],
      ["model_not_permitted", MODEL, null],
    ]) {
      await putRouter("r", { models: [MODEL], weights: { cost: 1 } });
      const hit = await reached(async () => {
        const { status, body } = await changedBetween(viaRouter(), () =>
          putRouter("r", { models: ["openai/gpt-oss-20b"], floor }),
        );
        expect([status, body.error.code]).toEqual([403, code]);
        expect(body.error.message).toContain(word);
      });
      expect(hit).toEqual(["deepinfra"]);
    }
  });

  test.each([
    [{ nodes: "only" }, "the router uses the workspace's own nodes only"],
    [{ quality_floor: 1 }, "the floor is 1"],
  ])("POL-02 ROUTE-02 a router's other new demands hold for the second attempt: %j", async (more, why) => {
    await putRouter("r", { models: [MODEL], weights: { cost: 1 } });
    const hit = await reached(async () => {
      const { status, body } = await changedBetween(viaRouter(), () => putRouter("r", { models: [MODEL], ...more }));
      expect([status, body.error.code]).toEqual([403, "no_eligible_endpoint"]);
      const { attempts } = await scene.row(body.error.request_id);
      expect(attempts).toHaveLength(ALL.length);
      for (const { reason } of attempts.slice(1)) expect(reason).toContain(why);
    });
    expect(hit).toEqual(["deepinfra"]);
  });

  test("POL-02 a router loosened or removed between two attempts admits nothing it excluded", async () => {
    const spec = { models: [MODEL], countries: ["US", "DE"], weights: { cost: 1 } };
    for (const change of [
      () => putRouter("r", { models: [MODEL] }),
      () => scene.gateway.manage("DELETE", at("/routers/r")),
    ]) {
      await putRouter("r", spec);
      const hit = await reached(async () => {
        const { headers } = await changedBetween(viaRouter(), change);
        expect(headers.get("x-svc-provider")).toBe("ionos");
      });
      expect(hit).toEqual(["deepinfra", "ionos"]);
    }
  });

  test("POL-02 the request's own demand holds on every attempt", async () => {
    for (const provider of ["ovhcloud", "scaleway", "ionos"] as const) scene.at(provider).next(BUSY);
    const hit = await reached(async () => {
      const { status } = await scene.chat(tenant.key, { provider: { zdr: true, ignore: ["deepinfra"] } });
      expect(status).toBe(502);
    });
    expect(hit).toEqual(["ovhcloud", "scaleway", "ionos"]);
  });
});

describe("refusals", () => {
  test("ERR-08 names the rule, every excluded endpoint and the alternatives, and calls no provider", async () => {
    await setPolicy({ floor: "L3", blocked_providers: ["ovhcloud", "scaleway"] });
    const model = "deepseek/deepseek-v3.2";
    let refused: Called | undefined;
    const hit = await reached(async () => {
      refused = await scene.chat(tenant.key, { model });
    });
    expect(hit).toEqual([]);
    const { status, body } = refused ?? {};
    expect([status, body.error.type, body.error.code]).toEqual([403, "permission_error", "sovereignty_floor_not_met"]);
    expect(body.error.message).toContain(`deepinfra:us:${model} (level L0 is below the floor L3)`);
    const [, named = ""] =
      /Allowed for this request: (.*?)( and possibly more)?\. An admin/.exec(body.error.message) ?? [];
    const models = named.split(", ");
    expect(models.length).toBeGreaterThan(1);
    for (const id of models) {
      const { headers, status: served } = await scene.chat(tenant.key, { model: id });
      expect([served, headers.get("x-svc-provider")]).toEqual([200, "ionos"]);
    }
    const { decision, error_code } = await scene.row(body.error.request_id);
    expect(error_code).toBe("sovereignty_floor_not_met");
    expect(decision).toMatchObject({
      order: [],
      candidates: [{ provider: "deepinfra", outcome: "excluded", reason: expect.stringContaining("L3") }],
    });
  });

  test("ERR-08 several rules together: no_eligible_endpoint, each endpoint with its rule", async () => {
    await setPolicy({ floor: "L3", blocked_providers: ["ovhcloud", "scaleway"] });
    await setKey({ countries: ["FR"] });
    const { status, body } = await scene.chat(tenant.key);
    expect([status, body.error.code]).toEqual([403, "no_eligible_endpoint"]);
    for (const rule of ["sovereignty_floor_not_met", "provider_blocked", "compute_country_not_allowed"])
      expect(body.error.message).toContain(rule);
    expect(body.error.message).toContain("No connected endpoint is allowed");
  });
});
