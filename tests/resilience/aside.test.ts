import { afterEach, describe, expect, test, vi } from "vitest";
import { figure } from "../support/figures.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { chatBody, openScene, type Provider, type Scene, startChat } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
afterEach(() => scene.close());

async function open(env: Record<string, string> = {}): Promise<void> {
  scene = await openScene(["deepinfra", "ovhcloud"], {
    GATEWAY_ASIDE_FAILURES: "3",
    GATEWAY_ASIDE_MS: "600000",
    ...env,
  });
  tenant = await scene.gateway.tenant();
}

const FAILING: Script = { status: 500, json: { error: { message: "broken" } } };

/** Asks so often, with the next answers of the cheapest provider scripted; answers who served. */
async function ask(times: number, script?: Script): Promise<(string | null)[]> {
  const served: (string | null)[] = [];
  for (let at = 0; at < times; at += 1) {
    if (script !== undefined) scene.at("deepinfra").next(script);
    served.push((await scene.chat(tenant.key)).headers.get("x-svc-provider"));
  }
  return served;
}

const calls = (provider: Provider) => scene.at(provider).requests.length;
const asideCount = () => figure(scene, "gateway_endpoints_aside");

describe("an endpoint that keeps failing", () => {
  test("ROUTE-05 is tried last after so many failures in a row: others are asked at once, and the log, the metrics and the doctor say so", async () => {
    await open();
    expect(await ask(3, FAILING)).toEqual(["ovhcloud", "ovhcloud", "ovhcloud"]);
    expect(await ask(2)).toEqual(["ovhcloud", "ovhcloud"]);
    expect(calls("deepinfra")).toBe(3);
    const [row] = await scene.rows(tenant);
    const { decision } = await scene.row(row.id);
    expect(decision.order.map((id: string) => id.split(":")[0])).toEqual(["ovhcloud", "deepinfra"]);
    expect(decision.candidates).toContainEqual(
      expect.objectContaining({ provider: "deepinfra", outcome: "planned", reason: expect.stringMatching(/aside/) }),
    );
    expect(await asideCount()).toBe(1);
    const { checks, ok } = await scene.gateway.manage("GET", "/doctor");
    expect(ok).toBe(true);
    expect(checks.find(({ name }: Json) => name === "endpoints").detail).toMatch(/1 set aside.*deepinfra:/);
  });

  test("ROUTE-05 is still tried when the others fail, and is back when it serves", async () => {
    await open();
    await ask(3, FAILING);
    scene.at("ovhcloud").next(FAILING);
    expect(await ask(2)).toEqual(["deepinfra", "deepinfra"]);
    expect(await asideCount()).toBe(0);
  });

  test("ROUTE-05 a pool in which everyone is aside still serves", async () => {
    await open();
    for (let at = 0; at < 3; at += 1) {
      scene.at("ovhcloud").next(FAILING);
      expect(await ask(1, FAILING)).toEqual([null]);
    }
    expect(await asideCount()).toBe(2);
    expect(await ask(1)).toEqual(["deepinfra"]);
    expect(await asideCount()).toBe(1);
  });

  test.each<readonly [string, Script]>([
    ["429 without Retry-After", { status: 429, json: {} }],
    ["a connection that is reset", { end: { is: "cut", after: "before_headers", how: "rst" } }],
    ["an answer that is none", { body: "<html>" }],
    ["a refused credential", { status: 401, json: { error: { message: "who?" } } }],
  ])("ROUTE-05 %s counts", async (_, script) => {
    await open();
    await ask(3, script);
    expect(await asideCount()).toBe(1);
  });

  test("ROUTE-05 streams that break after their first word count, although nothing else is tried", async () => {
    await open();
    const frames = ['data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'];
    for (let at = 0; at < 3; at += 1) {
      scene.at("deepinfra").next({ frames, end: { is: "cut", after: Buffer.byteLength(frames.join("")), how: "rst" } });
      expect((await scene.chat(tenant.key, { stream: true })).text).toContain('"error"');
    }
    expect([calls("ovhcloud"), await asideCount()]).toEqual([0, 1]);
  });

  test("ROUTE-05 refusals of the caller's own request and callers that leave set nobody aside", async () => {
    await open();
    expect(await ask(5, { status: 400, json: { error: { message: "your fault" } } })).toHaveLength(5);
    for (let at = 0; at < 4; at += 1) {
      scene.at("deepinfra").next({ end: { is: "stall", after: "before_headers" } });
      const before = calls("deepinfra");
      const request = startChat(scene.gateway.url, tenant.key, chatBody());
      const received = await scene.at("deepinfra").arrived(before + 1);
      request.destroy();
      await received.over;
    }
    await scene.rowsOnce(tenant, 9);
    expect(await asideCount()).toBe(0);
    expect(await ask(1)).toEqual(["deepinfra"]);
  });

  test("ROUTE-05 RATE-07 a provider that says when to come back is left alone until then, at its first word", async () => {
    await open();
    expect(await ask(1, { status: 429, json: {}, headers: { "retry-after": "60" } })).toEqual(["ovhcloud"]);
    expect(await ask(2)).toEqual(["ovhcloud", "ovhcloud"]);
    expect(calls("deepinfra")).toBe(1);
  });

  test("ROUTE-05 switched off: it is asked first every time", async () => {
    await open({ GATEWAY_ASIDE_FAILURES: "0" });
    await ask(6, { status: 503, json: {}, headers: { "retry-after": "60" } });
    expect([calls("deepinfra"), await asideCount()]).toEqual([6, 0]);
  });
});

test("ROUTE-05 when its time is over one request probes it while the others stay away, and it is back when that serves", async () => {
  await open({ GATEWAY_ASIDE_MS: "150" });
  await ask(3, FAILING);
  await vi.waitFor(async () => expect(await asideCount()).toBe(0), { timeout: 5000, interval: 10 });
  const gate = Promise.withResolvers<void>();
  scene.at("deepinfra").next({ gate: gate.promise, json: { choices: [{ message: { content: "back" } }] } });
  const probe = scene.chat(tenant.key);
  await scene.at("deepinfra").arrived(4);
  expect(await Promise.all([ask(1), ask(1), ask(1)])).toEqual([["ovhcloud"], ["ovhcloud"], ["ovhcloud"]]);
  expect(calls("deepinfra")).toBe(4);
  gate.resolve();
  expect((await probe).headers.get("x-svc-provider")).toBe("deepinfra");
  expect(await ask(1)).toEqual(["deepinfra"]);
});

test("ROUTE-05 requests that were planned before somebody else began to probe let the others go first", async () => {
  await open({ GATEWAY_ASIDE_MS: "150", GATEWAY_QUEUE_CONCURRENCY: "1" });
  await ask(3, FAILING);
  await vi.waitFor(async () => expect(await asideCount()).toBe(0), { timeout: 5000, interval: 10 });
  // Two requests wait in the queue, both planned with the probe first; it fails for the one that goes first.
  scene.at("deepinfra").next(FAILING);
  const gate = Promise.withResolvers<void>();
  const blocked = scene.chat(tenant.key, { provider: { only: ["ovhcloud"] } });
  scene.at("ovhcloud").next({ gate: gate.promise, status: 400, json: {} });
  await vi.waitFor(async () => expect(await figure(scene, "gateway_queue_taken")).toBe(1));
  const both = Promise.all([ask(1), ask(1)]);
  await vi.waitFor(async () => expect(await figure(scene, "gateway_queue_waiting")).toBe(2));
  gate.resolve();
  await blocked;
  expect(await both).toEqual([["ovhcloud"], ["ovhcloud"]]);
  expect(calls("deepinfra")).toBe(4);
  const [last] = await scene.rows(tenant);
  expect(last.attempts).toMatchObject([
    { provider: "deepinfra", outcome: "next", reason: expect.stringContaining("set aside since") },
    { provider: "ovhcloud", outcome: "served" },
  ]);
});

test("ERR-06 refusals of the operator's credential move on, are counted for the operator, and say nothing to the caller", async () => {
  await open({ GATEWAY_ASIDE_FAILURES: "0" });
  for (const status of [401, 402, 403, 404]) {
    expect(await ask(1, { status, json: { error: { message: "the operator's affair" } } })).toEqual(["ovhcloud"]);
    expect(await figure(scene, "gateway_credential_refusals_total", 'provider="deepinfra"', `status="${status}"`)).toBe(
      1,
    );
  }
  scene.at("ovhcloud").next({ status: 401, json: { error: { message: "the operator's affair" } } });
  scene.at("deepinfra").next({ status: 404, json: { error: { message: "the operator's affair" } } });
  const { status, body } = await scene.chat(tenant.key);
  expect([status, body.error.code]).toEqual([502, "upstream_error"]);
  expect(body.error.message).not.toContain("affair");
});
