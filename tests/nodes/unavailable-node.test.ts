import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { agentForTest, chatAnswer, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { openScene, type Scene } from "../support/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra"], { GATEWAY_ASIDE_MS: "600000" });
});
afterAll(() => scene.close());

const OWN = "node/rack/tiny";

const offline = async (tenant: Tenant) => {
  await createNode(scene.gateway, tenant.slug, "rack");
};

/** A node that reported another model than requested. */
async function openCircuit(tenant: Tenant): Promise<void> {
  const { token } = await createNode(scene.gateway, tenant.slug, "rack");
  const local = await localForTest({
    answer(_body, response) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(chatAnswer("secret-model")));
    },
  });
  agentForTest(scene.gateway.url, token, local.url);
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
  expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(502);
}

/** Its agent is connected, but the local server is down or has no model loaded yet. */
async function withoutServer(tenant: Tenant): Promise<void> {
  const { token } = await createNode(scene.gateway, tenant.slug, "rack");
  const local = await localForTest({ models: [] });
  agentForTest(scene.gateway.url, token, local.url);
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
}

const STATES = [
  ["there without a server", withoutServer, "The node rack is connected, but its local server lists no models"],
  ["away", offline, "The node rack is not connected"],
  ["excluded by its circuit", openCircuit, "The circuit of node rack is open until"],
] as const;

describe.each(STATES)("a node that is %s", (_state, makeSo, why) => {
  test("ERR-10 NODE-02 policy and request errors precede its unavailability", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    await makeSo(tenant);
    const ask = async (more: Json = {}) => {
      const { status, body } = await scene.chat(tenant.key, { model: OWN, ...more });
      return { outcome: [status, body.error.code], message: body.error.message };
    };
    const under = async (policy: Json, more?: Json) => {
      const where = `/workspaces/${tenant.slug}/policy`;
      await scene.gateway.manage("PATCH", where, policy);
      const { outcome, message } = await ask(more);
      await scene.gateway.manage("PATCH", where, { allowed_models: null, blocked_providers: [], countries: null });
      for (const inside of ["not connected", "is connected,", "set aside", "secret-model"])
        expect(message).not.toContain(inside);
      return outcome;
    };
    expect(await under({ allowed_models: ["openai/gpt-oss-120b"] })).toEqual([403, "model_not_permitted"]);
    expect(await under({ blocked_providers: ["node-rack"] })).toEqual([403, "provider_blocked"]);
    expect(await under({ countries: ["FR"] })).toEqual([403, "compute_country_not_allowed"]);
    expect(await under({}, { provider: { only: ["deepinfra"] } })).toEqual([403, "no_eligible_endpoint"]);
    // Policy precedes what no node supports.
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const audio = { messages: [{ role: "user", content: [sound] }] };
    expect(await under({ countries: ["FR"] }, audio)).toEqual([403, "compute_country_not_allowed"]);
    expect(await under({}, audio)).toEqual([400, "unsupported_parameter"]);
    const allowed = await ask();
    expect([allowed.outcome, allowed.message]).toEqual([[502, "upstream_error"], expect.stringContaining(why)]);
  });

  test("NODE-02 unknown capabilities do not exclude it: images and tools get the same error as text", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    await offline(tenant);
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
    for (const more of [{ messages: [{ role: "user", content: [picture] }] }, { tools }]) {
      const { status, body } = await scene.chat(tenant.key, { model: OWN, ...more });
      expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    }
  });
});

test("NODE-02 with an open circuit only the node's known models are retryable", async () => {
  const tenant = await scene.gateway.tenant({ credit: "0" });
  await openCircuit(tenant);
  const { status, body } = await scene.chat(tenant.key, { model: "node/rack/other" });
  expect([status, body.error.code]).toEqual([404, "model_not_found"]);
});
