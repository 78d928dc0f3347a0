import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { type Caller, callerWith, framesOf, gate, replyingWith } from "../support/response-callers.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

const MAX_BYTES = 200_000;
/** An input of a given size. */
const input = (bytes: number) => randomBytes(bytes / 2).toString("hex");

let tenant: Tenant;
let caller: Caller;

async function sceneWith(env: Record<string, string>): Promise<Scene> {
  const scene = await openScene(["ionos"], env);
  scene.at("ionos").always(replyingWith("translated", ["Hello"]));
  return scene;
}

async function newTenant(scene: Scene): Promise<void> {
  tenant = await scene.gateway.tenant({ credit: "10" });
  caller = callerWith(scene.gateway, tenant.key);
}

describe("the storage quota of a workspace", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await sceneWith({ GATEWAY_RESPONSES_MAX_BYTES: String(MAX_BYTES) });
  });
  afterAll(() => scene.close());
  beforeEach(() => newTenant(scene));
  const requestCount = () => scene.at("ionos").requests.length;

  test("RESP-05 a full one: requests to store are refused by name before any call, others are served unstored", async () => {
    const first = await caller.post({ input: input(150_000) });
    expect([first.status, first.body.store]).toEqual([200, true]);
    const before = requestCount();
    for (const [param, body] of [
      ["store", { store: true }],
      ["background", { background: true }],
      ["background", { background: true, stream: true, store: true }],
    ] as const) {
      const { status, body: answer } = await caller.post({ input: input(60_000), ...body });
      expect([status, answer.error.code, answer.error.param]).toEqual([400, "invalid_value", param]);
      expect(answer.error.message).toMatch(/use 15\d{4} bytes.* 200000 \(GATEWAY_RESPONSES_MAX_BYTES\)/);
      expect(answer.error.message).toContain("store: false");
    }
    expect(requestCount()).toBe(before);
    const served = await caller.post({ input: input(60_000) });
    expect([served.status, served.body.store]).toEqual([200, false]);
    expect((await caller.get(served.body.id)).status).toBe(404);
    expect((await caller.post({ input: input(60_000), store: false })).status).toBe(200);
    // A small response still fits, and another workspace has its own quota.
    expect((await caller.post({ store: true })).status).toBe(200);
    const other = callerWith(scene.gateway, (await scene.gateway.tenant()).key);
    expect((await other.post({ input: input(60_000), store: true })).status).toBe(200);
    // Deleting frees storage.
    await caller.remove(first.body.id);
    expect((await caller.post({ input: input(60_000), store: true })).status).toBe(200);
  });

  test("RESP-05 concurrent responses do not exceed the quota", async () => {
    const open = gate();
    const before = requestCount();
    scene.at("ionos").always({ json: chatJson({ content: "Hello" }), gate: open.closed });
    const running = Array.from({ length: 6 }, () => caller.post({ input: input(60_000) }));
    await scene.at("ionos").arrived(before + 6);
    open.open();
    const answers = await Promise.all(running);
    scene.at("ionos").always(replyingWith("translated", ["Hello"]));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const { data, used_bytes } = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/responses`);
    expect(data.length).toBeGreaterThan(0);
    expect(used_bytes).toBeLessThanOrEqual(MAX_BYTES);
  });

  test("RESP-05 an accepted background run is stored to its end, even if the quota is full by then", async () => {
    const open = gate();
    scene.at("ionos").next({ frames: framesOf("translated", ["Hello"]), gate: open.closed });
    const before = requestCount();
    const made = await caller.post({ background: true });
    await scene.at("ionos").arrived(before + 1);
    expect((await caller.post({ input: input(190_000) })).body.store).toBe(true);
    expect((await caller.post({ background: true, input: input(10_000) })).body.error.param).toBe("background");
    open.open();
    expect((await caller.once(made.body.id, "completed", "failed")).status).toBe("completed");
  });

  test("RESP-05 the operator sees the used storage, and a purge frees all of it", async () => {
    await caller.post({ input: input(50_000) });
    const listed = await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/responses`);
    expect(listed).toMatchObject({ next: null, max_bytes: MAX_BYTES });
    expect(listed.used_bytes).toBeGreaterThan(50_000);
    expect(listed.used_bytes).toBeLessThan(53_000);
    expect((await scene.gateway.cli("responses", "list", tenant.slug)).stdout).toContain(
      `used_bytes  ${listed.used_bytes}`,
    );
    await scene.gateway.manage("DELETE", `/workspaces/${tenant.slug}/responses`);
    expect(await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/responses`)).toMatchObject({ used_bytes: 0 });
  });
});

test("RESP-05 below the minimum free disk space nothing is stored and everything else is served", async () => {
  const scene = await sceneWith({ GATEWAY_DISK_FREE_MIN_BYTES: "1000000000000000" });
  try {
    await newTenant(scene);
    for (const [param, body] of [
      ["store", { store: true }],
      ["background", { background: true }],
    ] as const) {
      const { status, body: answer } = await caller.post(body);
      expect([status, answer.error.code, answer.error.param]).toEqual([503, "service_unavailable", param]);
      expect(answer.error.message).toContain("GATEWAY_DISK_FREE_MIN_BYTES");
    }
    expect(scene.at("ionos").requests).toHaveLength(0);
    const { status, body } = await caller.post();
    expect([status, body.store]).toEqual([200, false]);
    expect((await caller.get(body.id)).status).toBe(404);
    const { ok, checks } = await scene.gateway.manage("GET", "/doctor");
    expect(ok).toBe(true);
    expect(checks.find(({ name }: { name: string }) => name === "disk").detail).toContain("no response is stored");
  } finally {
    await scene.close();
  }
});
