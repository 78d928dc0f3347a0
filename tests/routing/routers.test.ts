import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
const ALL: readonly Provider[] = ["deepinfra", "ovhcloud", "ionos"];

beforeAll(async () => {
  scene = await openScene(ALL);
  for (const provider of ALL) scene.at(provider).always({ json: chatJson() });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const router = (slug: string) => `/workspaces/${tenant.slug}/routers/${slug}`;
const put = (slug: string, spec: object) => scene.gateway.manage("PUT", router(slug), spec);
const through = (slug: string): Promise<Called> => scene.chat(tenant.key, { model: `@${tenant.slug}/${slug}` });

describe("a router's life cycle", () => {
  test("ROUTE-01 ROUTE-03 HDR-04 a saved router decides the next request, and the response names it", async () => {
    await put("r", { models: [MODEL], weights: { cost: 1 } });
    const first = await through("r");
    expect([first.status, first.headers.get("x-svc-provider")]).toEqual([200, "deepinfra"]);
    expect(first.headers.get("x-svc-router")).toBe(`@${tenant.slug}/r`);
    await put("r", { models: [MODEL], weights: { cost: 1 }, floor: "L3" });
    const second = await through("r");
    expect(second.headers.get("x-svc-provider")).toBe("ovhcloud");
    const row = await scene.row(second.body.id);
    expect([row.router, row.decision.router]).toEqual([`@${tenant.slug}/r`, { slug: "r", version: 2 }]);
    await scene.gateway.manage("POST", `${router("r")}/restore`, { version: 1 });
    const third = await through("r");
    expect(third.headers.get("x-svc-provider")).toBe("deepinfra");
    expect((await scene.row(third.body.id)).decision.router.version).toBe(3);
  });

  test("ROUTE-01 a removed router's name is unknown on the next request", async () => {
    await put("gone", { models: [MODEL] });
    expect((await through("gone")).status).toBe(200);
    await scene.gateway.manage("DELETE", router("gone"));
    const refused = await through("gone");
    expect([refused.status, refused.body.error.code]).toEqual([404, "router_not_found"]);
  });

  test("ROUTE-01 ERR-11 another workspace's router looks like one that does not exist, also with an equal slug", async () => {
    await put("mine", { models: [MODEL] });
    const other = await scene.gateway.tenant();
    // A router of the same name is their own and does not count.
    await scene.gateway.manage("PUT", `/workspaces/${other.slug}/routers/mine`, { models: [MODEL] });
    const refusals = [];
    for (const model of [`@${tenant.slug}/mine`, `@${tenant.slug}/none`]) {
      const { status, body } = await scene.chat(other.key, { model });
      refusals.push([status, body.error.code, body.error.message.replace(model, "it")]);
    }
    expect(refusals[0]).toEqual(refusals[1]);
    expect(refusals[0]?.slice(0, 2)).toEqual([404, "router_not_found"]);
  });

  test("ROUTE-01 ROUTE-02 ROUTE-03 the router `auto` decides requests for auto", async () => {
    await put("auto", { models: [MODEL], floor: "L3", weights: { cost: 1 } });
    const answer = await scene.chat(tenant.key, { model: "auto" });
    expect(answer.headers.get("x-svc-provider")).toBe("ovhcloud");
    expect(answer.headers.get("x-svc-router")).toBe("auto");
    const { decision } = await scene.row(answer.body.id);
    expect(decision).toMatchObject({
      router: { slug: "auto", version: 1 },
      weights: { quality: 0, cost: 1, latency: 0 },
    });
    expect(new Set(decision.candidates.map(({ model }: Json) => model))).toEqual(new Set([MODEL]));
    await scene.gateway.manage("DELETE", router("auto"));
    expect((await scene.chat(tenant.key, { model: "auto" })).headers.get("x-svc-router")).toBe("auto");
  });

  test("POL-01 a key's policy holds from the next request, also after rotation", async () => {
    const { id, key } = await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, {
      policy: { blocked_providers: ["deepinfra"] },
    });
    const providerOf = async (secret: string) => (await scene.chat(secret)).headers.get("x-svc-provider");
    expect(await providerOf(key)).toBe("ovhcloud");
    expect(await providerOf(tenant.key)).toBe("deepinfra");
    await scene.gateway.manage("PATCH", `/keys/${id}`, { policy: { countries: ["DE"] } });
    expect(await providerOf(key)).toBe("ionos");
    const rotated = await scene.gateway.manage("POST", `/keys/${id}/rotate`, { grace: "1h" });
    expect(await providerOf(rotated.key)).toBe("ionos");
    await scene.gateway.manage("PATCH", `/keys/${rotated.id}`, { policy: null });
    expect(await providerOf(rotated.key)).toBe("deepinfra");
  });
});

test("routers, their versions and key policies survive a restart", async () => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-routers-"));
  try {
    const before = await startGateway({ dataDir });
    const spec = { models: ["sandbox/chat"], weights: { quality: 2, cost: 1, latency: 0 }, reasoning_effort: "high" };
    await before.manage("PUT", "/workspaces/demo/routers/kept", {});
    const put = await before.manage("PUT", "/workspaces/demo/routers/kept", spec);
    await before.manage("PUT", "/workspaces/demo/routers/gone", spec);
    await before.manage("DELETE", "/workspaces/demo/routers/gone");
    const { id } = await before.manage("POST", "/workspaces/demo/keys", { policy: { floor: "L2" } });
    await before.close();
    const after = await startGateway({ dataDir });
    try {
      const { data } = await after.manage("GET", "/workspaces/demo/routers");
      expect(data).toEqual([put]);
      const versions = await after.manage("GET", "/workspaces/demo/routers/gone/versions");
      expect(versions.data.map(({ version }: Json) => version)).toEqual([2, 1]);
      expect((await after.manage("GET", `/keys/${id}`)).policy.floor).toBe("L2");
      expect(await after.manage("PUT", "/workspaces/demo/routers/kept", {})).toMatchObject({ version: 3 });
    } finally {
      await after.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
