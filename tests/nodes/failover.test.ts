import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { agentForTest, chatAnswer, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { contentOf, eventsOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"]);
});
afterAll(() => scene.close());

const OWN = "node/rack/tiny";
const MAPPED = { mapping: { tiny: MODEL } };

type Local = Parameters<typeof localForTest>[0];
/** Disconnects immediately, whatever is running. */
const ABRUPT = { finishMs: 1 };

async function withNode(tenant: Tenant, options: { local?: Local; node?: Json; capacity?: number } = {}) {
  const local = await localForTest(options.local);
  const node = await createNode(scene.gateway, tenant.slug, "rack", options.node);
  const agent = agentForTest(scene.gateway.url, node.token, local.url, { ...ABRUPT, capacity: options.capacity ?? 8 });
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
  return { local, node, agent };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries > 400) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const reasons = (row: Json) => row.attempts.map(({ provider, outcome }: Json) => [provider, outcome]);

test("NODE-02 ERR-02 the gateway's own request timeout is no failure of the node", async () => {
  const brief = await openScene([], { GATEWAY_REQUEST_TIMEOUT_MS: "3000" });
  try {
    const [role = "", first = ""] = chatFrames(["Hello"], { model: "tiny" });
    const local = await localForTest({
      answer(_body, response) {
        response.setHeader("content-type", "text/event-stream");
        response.write(role + first);
      },
    });
    const { key, slug } = await brief.gateway.tenant();
    const { token } = await createNode(brief.gateway, slug, "rack");
    agentForTest(brief.gateway.url, token, local.url, ABRUPT);
    await waitForNodeState(brief.gateway, slug, "rack", "connected");
    const { text } = await brief.chat(key, { model: OWN, stream: true });
    expect(contentOf(text)).toBe("Hello");
    expect(JSON.parse(eventsOf(text).at(-1) ?? "")).toMatchObject({ error: { code: "upstream_timeout" } });
    expect(await waitForNodeState(brief.gateway, slug, "rack", "connected")).toMatchObject({
      last_error: null,
      set_aside: null,
    });
  } finally {
    await brief.close();
  }
});

describe("a lost connection", () => {
  test("NODE-02 before a response the request fails over to a catalogue endpoint, and the log has the reason", async () => {
    const tenant = await scene.gateway.tenant();
    const { local, agent } = await withNode(tenant, { node: MAPPED, local: { held: true } });
    scene.at("deepinfra").next({ json: chatJson({ content: "from elsewhere" }) });
    const response = scene.chat(tenant.key);
    await until(() => local.received.length === 1);
    await agent.stop();
    const { status, body, headers } = await response;
    expect([status, body.choices[0].message.content]).toEqual([200, "from elsewhere"]);
    expect(headers.get("x-svc-served-by")).toBeNull();
    const row = await scene.row(body.id);
    expect(reasons(row)).toEqual([
      ["node-rack", "next"],
      ["deepinfra", "served"],
    ]);
    expect(row.attempts[0]).toMatchObject({
      reason: "broken: the connection to the node was lost",
      maybe_accepted: true,
    });
    // Its circuit stays closed: it is offline and may come back.
    expect(await waitForNodeState(scene.gateway, tenant.slug, "rack", "offline")).toMatchObject({ set_aside: null });
  });

  test("NODE-02 a model only the node has gets 502, is unlisted while it is offline, and serves again later", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const { local, agent, node } = await withNode(tenant, { local: { held: true } });
    const response = scene.chat(tenant.key, { model: OWN });
    await until(() => local.received.length === 1);
    await agent.stop();
    const broken = await response;
    expect([broken.status, broken.body.error.code]).toEqual([502, "upstream_error"]);
    const away = await scene.chat(tenant.key, { model: OWN });
    expect([away.status, away.body.error.code]).toEqual([502, "upstream_error"]);
    expect(away.body.error.message).toContain("The node rack is not connected");
    const { data } = (await scene.gateway.call(tenant.key, "/v1/models")).body;
    expect(data.some(({ id }: Json) => id === OWN)).toBe(false);
    expect((await scene.gateway.call(tenant.key, `/v1/models/${OWN}`)).status).toBe(404);
    const again = await localForTest();
    agentForTest(scene.gateway.url, node.token, again.url);
    await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(200);
  });

  test("NODE-02 in the middle of a stream ends with an error frame, without a retry", async () => {
    const tenant = await scene.gateway.tenant();
    const { agent } = await withNode(tenant, {
      node: MAPPED,
      local: {
        answer(body, response) {
          response.setHeader("content-type", "text/event-stream");
          const delta = { index: 0, delta: { content: "Half a " }, finish_reason: null };
          const chunk = { id: "c-1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [delta] };
          response.write(`data: ${JSON.stringify(chunk)}\n\n`);
        },
      },
    });
    const before = scene.at("deepinfra").requests.length;
    const opened = await scene.open(tenant.key, { stream: true });
    await opened.until("Half a ");
    await agent.stop();
    await opened.over;
    expect(contentOf(opened.text)).toBe("Half a ");
    const last = eventsOf(opened.text).at(-1) ?? "";
    expect(JSON.parse(last).error.code).toBe("upstream_error");
    expect(scene.at("deepinfra").requests.length).toBe(before);
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 200, error_code: "upstream_error", cost: "0.00" });
  });
});

describe("own provider keys beside nodes", () => {
  test("NODE-02 both precede the platform, and neither needs the wallet", async () => {
    const tenant = await scene.gateway.tenant({ credit: "0" });
    const { local } = await withNode(tenant, {
      node: MAPPED,
      local: { answer: (_body, response) => response.writeHead(503).end("{}") },
    });
    scene.at("deepinfra").next({ json: { object: "list", data: [] } });
    const key = "own-canary-beside-a-node-81f3b0c2d4e5";
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/providers/deepinfra`, { key, use: "first" });
    scene.at("deepinfra").next({ json: chatJson({ content: "with my key" }) });
    const { body } = await scene.chat(tenant.key);
    expect(body.choices[0].message.content).toBe("with my key");
    expect(scene.at("deepinfra").requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    const row = await scene.row(body.id);
    expect(row).toMatchObject({ own_key: true, node_id: null });
    expect(row.attempts.map(({ provider, own_key }: Json) => [provider, own_key])).toEqual([
      ["node-rack", false],
      ["deepinfra", true],
    ]);
    expect(local.received).toHaveLength(1);
  });
});

describe("capacity", () => {
  test("NODE-02 a node at its capacity is skipped, and requested by name it is busy", async () => {
    const tenant = await scene.gateway.tenant();
    const { local } = await withNode(tenant, { node: MAPPED, capacity: 1, local: { held: true } });
    const first = scene.chat(tenant.key, { model: OWN });
    await until(() => local.received.length === 1);
    expect(await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/nodes/rack`)).toMatchObject({ running: 1 });
    const busy = await scene.chat(tenant.key, { model: OWN });
    expect([busy.status, busy.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    scene.at("deepinfra").next({ json: chatJson({ content: "from elsewhere" }) });
    const mapped = await scene.chat(tenant.key);
    expect(mapped.body.choices[0].message.content).toBe("from elsewhere");
    const [passed] = (await scene.row(mapped.body.id)).attempts;
    expect(passed).toMatchObject({ provider: "node-rack", reason: expect.stringContaining("concurrency limit") });
    local.release();
    expect((await first).status).toBe(200);
  });
});

describe("tenancy", () => {
  test("NODE-02 another workspace's node does not exist, even under the same name", async () => {
    const [mine, theirs] = [await scene.gateway.tenant(), await scene.gateway.tenant()];
    const replying = (text: string): Local => ({
      answer(body, response) {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(chatAnswer(body.model, text)));
      },
    });
    await withNode(mine, { node: MAPPED, local: replying("mine") });
    const outside = await scene.chat(theirs.key, { model: OWN });
    expect([outside.status, outside.body.error.code]).toEqual([404, "model_not_found"]);
    expect(outside.body.error.message).toContain(`There is no model "${OWN}"`);
    expect((await scene.gateway.call(theirs.key, `/v1/models/${OWN}`)).status).toBe(404);
    const { data } = (await scene.gateway.call(theirs.key, "/v1/models")).body;
    expect(data.filter(({ svc_providers }: Json) => svc_providers.includes("node-rack"))).toEqual([]);
    scene.at("deepinfra").next({ json: chatJson({ content: "paid" }) });
    expect((await scene.chat(theirs.key)).body.choices[0].message.content).toBe("paid");
    const explained = await scene.gateway.manage("POST", `/workspaces/${theirs.slug}/routing/explain`, {
      model: "auto",
      request: { messages: [{ role: "user", content: "hi" }] },
    });
    expect(JSON.stringify(explained)).not.toContain("node-rack");
    await withNode(theirs, { local: replying("theirs") });
    const answers = await Promise.all([mine, theirs].map(({ key }) => scene.chat(key, { model: OWN })));
    expect(answers.map(({ body }) => body.choices[0].message.content)).toEqual(["mine", "theirs"]);
    const ids = answers.map(({ headers }) => headers.get("x-svc-node-id"));
    expect(new Set(ids).size).toBe(2);
  });
});
