import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { inferences, keyOf, OWN, type OwnKeyScene, openOwnKeyScene } from "../support/own-keys.ts";
import { gate } from "../support/response-callers.ts";
import { credentialOf } from "../support/scene.ts";
import type { Script, Upstream } from "../support/upstream.ts";

let scene: OwnKeyScene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openOwnKeyScene({ GATEWAY_QUEUE_CONCURRENCY: "1" });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.tenant();
});

const PLATFORM = credentialOf("nebius");
const BROKEN: Script = { status: 500, json: { error: { message: "broken" } } };

const use = (provider: string, how: string) =>
  scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/providers/${provider}`, { use: how });

/** The keys a provider received while something ran. */
async function keysDuring(upstream: Upstream, run: () => Promise<unknown>): Promise<string[]> {
  const before = inferences(upstream).length;
  await run();
  return inferences(upstream).slice(before).map(keyOf);
}

/** Sends a request and changes something while the provider has it and has not replied. */
async function changedAt(upstream: Upstream, script: Script, change: () => Promise<unknown>): Promise<Called> {
  const held = gate();
  const before = inferences(upstream).length;
  upstream.next({ ...script, gate: held.closed });
  const response = scene.chat(tenant);
  await eventually(() => expect(inferences(upstream)).toHaveLength(before + 1));
  await change();
  held.open();
  return response;
}

/** Sends a request and changes something while it is queued. */
async function changedInQueue(change: () => Promise<unknown>): Promise<Called> {
  const other = await scene.tenant();
  const held = gate();
  const before = inferences(scene.nebius).length;
  scene.nebius.next({ status: 400, json: { error: { message: "no" } }, gate: held.closed });
  const first = scene.chat(other);
  await eventually(() => expect(inferences(scene.nebius)).toHaveLength(before + 1));
  const second = scene.chat(tenant);
  await eventually(async () => {
    const metrics = await scene.gateway.call(scene.gateway.adminToken, "/metrics");
    expect(metrics.text).toMatch(/queue_waiting\S* 1\b/);
  });
  await change();
  held.open();
  await first;
  return second;
}

async function expectFree(): Promise<Json> {
  const row = await scene.last(tenant);
  // A request on an own key has no cost at all.
  expect(["0.00", null]).toContain(row.cost);
  return row;
}

describe("an own key that becomes exclusive during a request", () => {
  test("BILL-08 after its own failure the platform's key for the same provider is not used any more", async () => {
    scene.letIn.add(OWN("first"));
    await scene.put(tenant, "nebius", { key: OWN("first"), use: "first" });
    const keys = await keysDuring(scene.nebius, async () => {
      const { status, body } = await changedAt(scene.nebius, BROKEN, () => use("nebius", "only"));
      expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    });
    expect(keys).toEqual([OWN("first")]);
    const { attempts } = await expectFree();
    expect(attempts).toMatchObject([
      { provider: "nebius", own_key: true, upstream_status: 500 },
      { provider: "nebius", upstream_status: null, reason: "only your own key for nebius may be used now" },
    ]);
  });

  test("BILL-08 while queued: the last-resort key serves, and the platform's is not used before it", async () => {
    scene.letIn.add(OWN("last"));
    await scene.put(tenant, "nebius", { key: OWN("last"), use: "fallback" });
    const keys = await keysDuring(scene.nebius, async () => {
      expect((await changedInQueue(() => use("nebius", "only"))).status).toBe(200);
    });
    expect(keys).toEqual([PLATFORM, OWN("last")]);
    await expectFree();
  });

  test("BILL-08 ERR-01 while queued: a newly added key is reported, and the request is not charged", async () => {
    scene.letIn.add(OWN("new"));
    const keys = await keysDuring(scene.nebius, async () => {
      const { status, body } = await changedInQueue(() =>
        scene.put(tenant, "nebius", { key: OWN("new"), use: "only", skip_test: true }),
      );
      expect(status).toBe(502);
      expect(body.error).toMatchObject({
        code: "upstream_error",
        message:
          "Since the request was planned, only the workspace's own key for nebius may be used, and no other endpoint is available. Retry: the request then uses the current keys.",
      });
    });
    expect(keys).toEqual([PLATFORM]);
    await expectFree();
  });

  test("BILL-08 a rejection of the key afterwards ends the request, as if it was exclusive from the start", async () => {
    await scene.put(tenant, "deepinfra", { key: OWN("refused"), use: "first", skip_test: true });
    const keys = await keysDuring(scene.nebius, async () => {
      const { status, body } = await changedAt(scene.deepinfra, { status: 401, json: {} }, () =>
        use("deepinfra", "only"),
      );
      expect([status, body.error.message]).toEqual([502, expect.stringContaining("rejected")]);
    });
    expect(keys).toEqual([]);
    await expectFree();
  });

  test("BILL-08 after an earlier rejection of the key the platform is not called again", async () => {
    await scene.put(tenant, "deepinfra", { key: OWN("before"), use: "first", skip_test: true });
    const busy: Script = { status: 503, headers: { "retry-after": "0" }, json: {} };
    const keys = await keysDuring(scene.nebius, async () => {
      const { status } = await changedAt(scene.nebius, busy, () => use("deepinfra", "only"));
      expect(status).toBe(502);
    });
    expect(keys).toEqual([PLATFORM]);
    const { attempts } = await expectFree();
    expect(attempts.at(-1)).toMatchObject({ reason: "only your own key for deepinfra may be used now" });
  });

  test("BILL-08 a key that is no longer exclusive lets the platform serve when it is rejected", async () => {
    await scene.put(tenant, "deepinfra", { key: OWN("loose"), use: "only", skip_test: true });
    const keys = await keysDuring(scene.nebius, async () => {
      const { status } = await changedAt(scene.deepinfra, { status: 401, json: {} }, () => use("deepinfra", "first"));
      expect(status).toBe(200);
    });
    expect(keys).toEqual([PLATFORM]);
  });
});
