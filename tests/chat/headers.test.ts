import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const BOTH = [
  ["whole", false],
  ["streamed", true],
] as const;

describe.each(BOTH)("headers of a response that is %s", (_, stream) => {
  test("HDR-01 the request id is in the header, its two aliases and the body, and is unique", async () => {
    const seen = new Set<string>();
    for (let call = 0; call < 20; call += 1) {
      const { headers, text, body } = await scene.chat(tenant.key, { stream });
      const id = String(headers.get("x-svc-request-id"));
      expect(id).toMatch(/^chatcmpl-[0-9a-f]{12}7[0-9a-f]{19}$/);
      expect(headers.get("x-request-id")).toBe(id);
      expect(headers.get("request-id")).toBe(id);
      if (stream) {
        const ids = [...text.matchAll(/"id":"([^"]+)"/g)].map((match) => match[1]);
        expect(new Set(ids)).toEqual(new Set([id]));
      } else expect(body.id).toBe(id);
      seen.add(id);
    }
    expect(seen.size).toBe(20);
  });

  test("HDR-01 a client cannot choose the request id", async () => {
    const { headers } = await scene.chat(
      tenant.key,
      { stream },
      { "x-svc-request-id": "mine", "x-request-id": "mine", "request-id": "mine" },
    );
    expect(headers.get("x-svc-request-id")).not.toBe("mine");
    expect(headers.get("x-request-id")).not.toBe("mine");
  });

  test("HDR-02 HDR-03 HDR-04 model, provider, level, surface, countries and route reason are reported", async () => {
    const { headers } = await scene.chat(tenant.key, { stream });
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-svc-model": "openai/gpt-oss-120b",
      "x-svc-provider": "deepinfra",
      "x-svc-sovereignty-level": "L0",
      "x-svc-compute-countries": "US",
      "x-svc-upstream-surface": "chat",
      "x-svc-route-reason": expect.stringMatching(/^deepinfra us \(L0\): lowest expected cost \(2 eligible\)$/),
    });
    expect(headers.get("x-svc-router")).toBe(null);
  });

  test("HDR-02 HDR-03 HDR-04 after a failover they describe the serving endpoint, with the countries of all that had the input", async () => {
    scene.at("deepinfra").next({ status: 503, json: { error: { message: "busy" } } });
    const { headers, status } = await scene.chat(tenant.key, { stream });
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-svc-provider": "ovhcloud",
      "x-svc-sovereignty-level": "L3",
      "x-svc-compute-countries": "FR,US",
      "x-svc-route-reason": expect.stringMatching(/^ovhcloud.*after 1 failed attempt$/),
    });
  });

  test("HDR-04 a model chosen by the router is reported, with its name", async () => {
    const { headers, status } = await scene.chat(tenant.key, { stream, model: "auto" });
    expect(status).toBe(200);
    expect(headers.get("x-svc-router")).toBe("auto");
    expect(headers.get("x-svc-model")).toMatch(/^[a-z0-9-]+\/[\w.-]+$/);
    expect(headers.get("x-svc-route-reason")).toMatch(/best score/);
  });

  test.each([
    [{ reasoning_effort: "high" }, "high"],
    [{ reasoning: { effort: "low" } }, "low"],
    [{ thinking: { type: "enabled", budget_tokens: 100_000 } }, "high"],
    [{ thinking: { type: "disabled" } }, "none"],
  ])("HDR-06 a reasoning setting is reported with its source: %j", async (control, effort) => {
    const { headers, status } = await scene.chat(tenant.key, { stream, ...control });
    expect(status).toBe(200);
    expect(headers.get("x-svc-reasoning-effort")).toBe(effort);
    expect(headers.get("x-svc-reasoning-chosen-by")).toBe("caller");
    expect(scene.at("deepinfra").requests.at(-1)?.json).toMatchObject({ reasoning_effort: effort });
  });

  test("OPS-03 the response reports the gateway's own time, without that of providers", async () => {
    const busy = { status: 503, json: { error: { message: "busy" } }, beforeHeadersMs: 150 };
    scene.at("deepinfra").next(busy);
    scene
      .at("ovhcloud")
      .next({ ...(stream ? { frames: chatFrames(["late"]) } : { json: chatJson() }), beforeHeadersMs: 150 });
    const startMs = performance.now();
    const { headers, status } = await scene.chat(tenant.key, { stream });
    const tookMs = performance.now() - startMs;
    expect(status).toBe(200);
    expect(headers.get("x-svc-provider")).toBe("ovhcloud");
    expect(headers.get("x-svc-overhead-ms")).toMatch(/^\d+(?:\.\d)?$/);
    expect(Number(headers.get("x-svc-overhead-ms"))).toBeLessThanOrEqual(tookMs - 290);
  });

  test("HDR-06 without a reasoning setting there are no such headers", async () => {
    const { headers } = await scene.chat(tenant.key, { stream });
    expect(headers.get("x-svc-reasoning-effort")).toBe(null);
    expect(headers.get("x-svc-reasoning-chosen-by")).toBe(null);
  });
});

describe("headers and body", () => {
  test("HDR-08 on a stream they are sent before its first byte, while the provider has sent a single token", async () => {
    const [role = "", first = ""] = chatFrames(["first"]);
    scene.at("deepinfra").next({ frames: [role, first], end: { is: "stall", after: Buffer.byteLength(role + first) } });
    const open = await scene.open(tenant.key, { stream: true, reasoning_effort: "low" });
    expect(open.status).toBe(200);
    for (const name of [
      "x-svc-request-id",
      "x-request-id",
      "request-id",
      "x-svc-model",
      "x-svc-provider",
      "x-svc-sovereignty-level",
      "x-svc-upstream-surface",
      "x-svc-compute-countries",
      "x-svc-route-reason",
      "x-svc-reasoning-effort",
      "x-svc-reasoning-chosen-by",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
    ])
      expect(open.headers[name], name).toMatch(/./);
    await open.until(String(open.headers["x-svc-request-id"]));
    open.hangUp();
  });

  test("HDR-01 ERR-01 an error has the id in the header, its two aliases and the envelope", async () => {
    scene.at("deepinfra").next({ status: 400, json: { error: { message: "no" } } });
    for (const { headers, body, status } of [
      await scene.chat(tenant.key, {}),
      await scene.chat(tenant.key, { temperature: 9 }),
      await scene.chat(tenant.key, "{"),
      await scene.chat("sk_svc_live_nobody", {}),
    ]) {
      expect(status).toBeGreaterThanOrEqual(400);
      const id = headers.get("x-svc-request-id");
      expect(id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
      expect([headers.get("x-request-id"), headers.get("request-id"), body.error.request_id]).toEqual([id, id, id]);
    }
  });

  test("HDR-03 LOG-01 no countries are named if a provider that had the input may compute anywhere", async () => {
    const own = await openScene(["nebius", "ovhcloud"]);
    try {
      const { key } = await own.gateway.tenant();
      for (const [fails, serves] of [
        ["nebius", "ovhcloud"],
        ["ovhcloud", "nebius"],
      ] as const) {
        own.at(fails).next({ status: 503, json: { error: { message: "busy" } } });
        const { headers, body } = await own.chat(key, { provider: { order: [fails, serves] } });
        expect(headers.get("x-svc-provider")).toBe(serves);
        expect(headers.has("x-svc-compute-countries")).toBe(false);
        expect((await own.row(body.id)).countries).toEqual([]);
      }
    } finally {
      await own.close();
    }
  });

  test("HDR-02 headers of the provider itself do not reach the client", async () => {
    scene.at("deepinfra").next({
      json: chatJson(),
      headers: {
        "set-cookie": "a=b",
        "x-ratelimit-remaining-tokens": "7",
        "openai-organization": "operator-org",
        server: "upstream-server",
        "x-request-id": "upstream-request",
      },
    });
    const { headers, status } = await scene.chat(tenant.key, {});
    expect(status).toBe(200);
    expect(JSON.stringify([...headers])).not.toMatch(
      /operator-org|upstream-server|upstream-request|a=b|remaining-tokens/,
    );
  });
});
