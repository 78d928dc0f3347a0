import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PolicyPreview, PolicyVersionView } from "../../src/contract/schemas/manage-policy.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** L0 in the US; L3 in FR, FR and DE. */
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "scaleway", "ionos"];

beforeAll(async () => {
  scene = await openScene(ALL);
  for (const provider of ALL) scene.at(provider).always({ json: chatJson() });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const at = (where: string) => `/workspaces/${tenant.slug}${where}`;

async function preview(patch: object, scope = "callable"): Promise<Json> {
  const answer = await scene.gateway.manage("POST", at(`/policy/preview?scope=${scope}`), patch);
  expect(PolicyPreview.safeParse(answer).error).toBeUndefined();
  return answer;
}

describe("a policy preview", () => {
  test("PORTAL-06 shows the models a key sees after saving, and changes nothing", async () => {
    const result = await preview({ floor: "L2" });
    expect(await scene.gateway.manage("GET", at("/policy"))).toMatchObject({ floor: null });
    const left = result.models.filter(({ fate }: Json) => fate === "stays").map(({ id }: Json) => id);
    expect(result.after.models).toBe(left.length);
    expect(left.length).toBeLessThan(result.before.models);
    await scene.gateway.manage("PATCH", at("/policy"), { floor: "L2" });
    const { body } = await scene.gateway.call(tenant.key, "/v1/models");
    expect(left.toSorted()).toEqual(body.data.map(({ id }: Json) => id).toSorted());
    const again = await preview({});
    expect([again.before, again.after]).toEqual([result.after, result.after]);
    expect((await preview({ floor: "none" })).gained).toEqual(result.lost);
  });

  test("PORTAL-06 every excluded endpoint names its rule and reason, and every rule its effect", async () => {
    const result = await preview({ countries: ["FR"], blocked_providers: ["ovhcloud"] });
    const one = result.models.find(({ id }: Json) => id === MODEL);
    const endpoints = one.endpoints.map(({ provider, after, rule }: Json) => [provider, after, rule]).toSorted();
    expect(endpoints).toEqual([
      ["deepinfra", false, "countries"],
      ["ionos", false, "countries"],
      ["ovhcloud", false, "blocked_providers"],
      ["scaleway", true, null],
    ]);
    expect(one.endpoints.find(({ provider }: Json) => provider === "ionos").reason).toContain("DE");
    const rules = new Map<string, Json>(result.rules.map((rule: Json) => [rule.rule, rule]));
    expect(rules.get("countries").code).toBe("compute_country_not_allowed");
    expect(rules.get("blocked_providers").back.endpoints).toBeGreaterThan(0);
    const excludedCount = result.rules.reduce((sum: number, { out }: Json) => sum + out.endpoints, 0);
    expect(excludedCount).toBe(result.all.endpoints - result.after.endpoints);
  });

  test("PORTAL-06 an endpoint excluded for unknown countries names none", async () => {
    const { models } = await preview({ countries: ["US"] }, "catalogue");
    const guessed = models
      .flatMap(({ endpoints }: Json) => endpoints)
      .filter(({ reason }: Json) => reason === "its compute countries are unknown");
    expect(guessed.length).toBeGreaterThan(5);
    for (const { countries } of guessed) expect(countries).toEqual([]);
  });

  test("PORTAL-06 lost models with recent use are named with their request counts", async () => {
    for (let times = 0; times < 2; times += 1)
      expect((await scene.chat(tenant.key, { provider: { only: ["deepinfra"] } })).status).toBe(200);
    expect((await preview({ floor: "L4" })).lost_in_use).toEqual([{ model: MODEL, requests: 2 }]);
    // Other providers serve it, but none of them is connected here.
    const blocked = await preview({ blocked_providers: ALL }, "catalogue");
    expect(blocked.models.find(({ id }: Json) => id === MODEL).fate).toBe("stays");
    expect(blocked).toMatchObject({
      callable: { models: 0, endpoints: 0 },
      lost_in_use: [{ model: MODEL, requests: 2 }],
    });
    // Another endpoint still serves it.
    expect((await preview({ floor: "L2" })).lost_in_use).toEqual([]);
  });

  test("PORTAL-06 the whole catalogue counts models without a connected provider", async () => {
    const [callable, catalogue] = [await preview({}), await preview({}, "catalogue")];
    expect(catalogue.all.endpoints).toBeGreaterThan(callable.all.endpoints);
    expect(callable.models.every(({ endpoints }: Json) => endpoints.length > 0)).toBe(true);
    const providers = new Set(
      callable.models.flatMap(({ endpoints }: Json) => endpoints.map(({ provider }: Json) => provider)),
    );
    expect([...providers].toSorted()).toEqual([...ALL].toSorted());
  });

  test("PORTAL-06 refuses to preview what cannot be saved", async () => {
    for (const patch of [{ countries: ["UK"] }, { allowed_models: ["acme/none"] }, { blocked_providers: ["unknown"] }])
      await expect(scene.gateway.manage("POST", at("/policy/preview"), patch)).rejects.toThrow(
        `"param":"${Object.keys(patch)[0]}"`,
      );
  });
});

describe("policy history", () => {
  test("PORTAL-06 has every version with author and time; a change without effect makes none", async () => {
    await scene.gateway.manage("PATCH", at("/policy"), { floor: "L2" });
    await scene.gateway.manage("PATCH", at("/policy"), { floor: "L2" });
    await scene.gateway.manage("PATCH", at("/policy"), { no_training: true });
    const { data } = await scene.gateway.manage("GET", at("/policy/versions"));
    for (const version of data) expect(PolicyVersionView.safeParse(version).error).toBeUndefined();
    expect(data.map(({ version, by, policy }: Json) => [version, by, policy.floor, policy.no_training])).toEqual([
      [3, "operator", "L2", true],
      [2, "operator", "L2", false],
      [1, "operator", null, false],
    ]);
    const page = await scene.gateway.manage("GET", at("/policy/versions?limit=2"));
    const rest = await scene.gateway.manage("GET", at(`/policy/versions?limit=2&cursor=${page.next}`));
    expect(rest.data.map(({ version }: Json) => version)).toEqual([1]);
  });
});

describe("a router preview", () => {
  const request = { messages: [{ role: "user", content: "Hello!" }] };
  const explain = (more: object) => scene.gateway.manage("POST", at("/routing/explain"), { request, ...more });

  test("PORTAL-06 plans a draft like the saved router, and does not keep it", async () => {
    const spec = { models: [MODEL], floor: "L2", weights: { cost: 1 }, reasoning_effort: "low" };
    const { router, ...draft } = await explain({ model: "eu", spec });
    expect(router).toEqual({ slug: "eu", version: null });
    expect(draft.order.length).toBe(3);
    expect((await scene.gateway.manage("GET", at("/routers"))).data).toEqual([]);
    await scene.gateway.manage("PUT", at("/routers/eu"), spec);
    const { router: saved, ...after } = await explain({ model: "eu" });
    expect(saved).toEqual({ slug: "eu", version: 1 });
    expect(after).toEqual(draft);
    // Instead of the saved one, and by its full name.
    const other = await explain({ model: `@${tenant.slug}/eu`, spec: { models: [MODEL], floor: "L4" } });
    expect(other.refusal.code).toBe("sovereignty_floor_not_met");
    expect((await explain({ spec })).model).toBe(`@${tenant.slug}/draft`);
    expect(await explain({ model: "auto", spec })).toMatchObject({ model: "auto", router: { slug: "auto" } });
  });

  test("PORTAL-06 an invalid draft is refused with the field's path", async () => {
    await expect(explain({ spec: { models: ["acme/none"] } })).rejects.toThrow('"param":"spec.models"');
    await expect(explain({ model: "No Slug", spec: {} })).rejects.toThrow('"param":"router"');
  });
});
