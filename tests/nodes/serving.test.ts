import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { setLimits } from "../support/limits.ts";
import { agentForTest, chatAnswer, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { chunksOf, contentOf, eventsOf, MODEL, openScene, type Scene } from "../support/scene.ts";
import { transcribe } from "../support/transcriptions.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"]);
});
afterAll(() => scene.close());

const OWN = "node/rack/tiny";
const hello = [{ role: "user", content: "Say hello." }];

type Local = Parameters<typeof localForTest>[0];

/** A workspace with a node `rack` connected to a local server. */
async function withNode(options: { local?: Local; credit?: string; node?: Json; capacity?: number } = {}) {
  const tenant = await scene.gateway.tenant({ credit: options.credit ?? "0" });
  const local = await localForTest(options.local);
  const node = await createNode(scene.gateway, tenant.slug, "rack", options.node);
  agentForTest(scene.gateway.url, node.token, local.url, { capacity: options.capacity ?? 8 });
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
  return { tenant, local, node };
}

/** A chat stream as local servers write it. */
function streamed(model: string, words: readonly string[], more: Json = {}): string {
  const head = { id: "chatcmpl-local-2", object: "chat.completion.chunk", created: 1, model };
  const chunks = [
    ...words.map((content) => ({ ...head, choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { ...head, choices: [], usage: { prompt_tokens: 9, completion_tokens: words.length, total_tokens: 12, ...more } },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

const listed = async (tenant: Tenant): Promise<Json[]> =>
  (await scene.gateway.call(tenant.key, "/v1/models")).body.data;

describe("serving", () => {
  test("NODE-01 HDR-05 HDR-08 a node's models are listed for its workspace and served with an empty wallet, free", async () => {
    const { tenant, local, node } = await withNode({ local: { models: ["tiny", "org/other:7b"] } });
    const models = await listed(tenant);
    const own = models.filter(({ id }) => id.startsWith("node/"));
    expect(own.map(({ id }) => id)).toEqual(["node/rack/org/other:7b", OWN]);
    expect(own[1]).toMatchObject({ svc_providers: ["node-rack"], svc_countries: ["DE"], svc_levels: ["L1"] });
    const one = await scene.gateway.call(tenant.key, "/v1/models/node/rack/org/other:7b");
    expect([one.status, one.body.id]).toEqual([200, "node/rack/org/other:7b"]);
    const { status, body, headers } = await scene.chat(tenant.key, { model: OWN, max_completion_tokens: 50 });
    expect([status, body.choices[0].message.content]).toEqual([200, "Hello from the rack."]);
    expect(body.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 5, cost: 0, currency: "EUR" });
    expect(Object.fromEntries([...headers].filter(([name]) => name.startsWith("x-svc-")))).toMatchObject({
      "x-svc-served-by": "own-resource",
      "x-svc-node-id": node.id,
      "x-svc-model": OWN,
      "x-svc-provider": "node-rack",
      "x-svc-compute-countries": "DE",
      "x-svc-sovereignty-level": "L1",
      "x-svc-request-id": body.id,
      "x-svc-upstream-surface": "chat",
    });
    expect(local.received).toEqual([{ model: "tiny", messages: hello, max_tokens: 50 }]);
    const row = await scene.row(body.id);
    expect(row).toMatchObject({ node_id: node.id, provider: "node-rack", model: OWN, cost: "0.00", own_key: false });
    expect(row).toMatchObject({ level: "L1", countries: ["DE"], attempts: [{ outcome: "served" }] });
    expect(await scene.wallet(tenant)).toMatchObject({ balance: "0.00", held: "0.00" });
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("NODE-01 CHAT-05 signatures and cache markers of its own server are sent back unchanged", async () => {
    const { tenant, local } = await withNode();
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    const messages = [
      { role: "user", content: [{ type: "text", text: "Look.", cache_control: { type: "ephemeral" } }] },
      { role: "assistant", tool_calls: [{ ...call, extra_content: { google: { thought_signature: "SIGNED" } } }] },
      { role: "tool", tool_call_id: "call_1", content: "Done." },
    ];
    expect((await scene.chat(tenant.key, { model: OWN, messages })).status).toBe(200);
    expect(local.received).toMatchObject([{ messages }]);
  });

  test("NODE-01 HDR-08 relays a node's stream without the headers of complete responses", async () => {
    const { tenant } = await withNode({
      local: { answer: (body, response) => streamTo(response, streamed(body.model, ["Hel", "lo."])) },
    });
    const { headers, text } = await scene.chat(tenant.key, {
      model: OWN,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(contentOf(text)).toBe("Hello.");
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
    expect(chunksOf(text).at(-1)?.usage).toMatchObject({ completion_tokens: 2, cost: 0 });
    expect(headers.get("x-svc-provider")).toBe("node-rack");
    expect([headers.get("x-svc-served-by"), headers.get("x-svc-node-id")]).toEqual([null, null]);
    expect(await scene.row(String(headers.get("x-svc-request-id")))).toMatchObject({ cost: "0.00", streaming: true });
  });

  test("NODE-01 messages and responses reach a node translated, and embeddings unchanged", async () => {
    const vectors = {
      object: "list",
      model: "nomic-embed",
      data: [{ object: "embedding", index: 0, embedding: [0.5, 1] }],
    };
    const { tenant, local } = await withNode({
      local: {
        models: ["tiny", "nomic-embed"],
        embeds: ["nomic-embed"],
        answer(body, response) {
          response.setHeader("content-type", "application/json");
          const tokens = body.input === "a lie" ? 40_000 : 3;
          const usage = { prompt_tokens: tokens, total_tokens: tokens };
          response.end(JSON.stringify(body.input === undefined ? chatAnswer(body.model) : { ...vectors, usage }));
        },
      },
    });
    const call = (where: string, body: Json) => scene.gateway.call(tenant.key, where, { body });
    const message = await call("/v1/messages", { model: OWN, max_tokens: 20, messages: hello });
    expect([message.status, message.body.content]).toEqual([200, [{ type: "text", text: "Hello from the rack." }]]);
    const response = await call("/v1/responses", { model: OWN, input: "Say hello.", store: false });
    expect([response.status, response.body.output.at(-1).content[0].text]).toEqual([200, "Hello from the rack."]);
    const vector = await call("/v1/embeddings", { model: "node/rack/nomic-embed", input: "hello" });
    expect([vector.status, vector.body.data[0].embedding]).toEqual([200, [0.5, 1]]);
    expect(vector.body.usage).toMatchObject({ prompt_tokens: 3, cost: 0 });
    for (const { headers } of [message, response, vector]) expect(headers.get("x-svc-served-by")).toBe("own-resource");
    expect(local.received.map(({ model }) => model)).toEqual(["tiny", "tiny", "nomic-embed"]);
    // An embedding model is no chat model.
    expect((await call("/v1/chat/completions", { model: "node/rack/nomic-embed", messages: hello })).status).toBe(404);
    expect((await call("/v1/embeddings", { model: "node/rack/nomic-embed", input: "a lie" })).status).toBe(502);
  });
});

describe("billing", () => {
  test("NODE-01 ERR-11 an unsupported surface gets the error of any model, online or offline", async () => {
    const { tenant } = await withNode();
    await createNode(scene.gateway, tenant.slug, "shelf");
    const errorOf = async (where: string, body: Json) => {
      const { status, body: reply } = await scene.gateway.call(tenant.key, where, { body });
      return [status, reply.error.code, reply.error.message];
    };
    const lacks = (surface: string, node = "rack") =>
      expect.stringContaining(`node-${node}:own:node/${node}/tiny does not serve ${surface}`);
    const vectors = await errorOf("/v1/embeddings", { model: OWN, input: "x" });
    expect(vectors).toEqual([404, "model_not_found", lacks("embeddings")]);
    for (const node of ["rack", "shelf"]) {
      const model = `node/${node}/tiny`;
      const { body } = await transcribe(scene.gateway, tenant.key, [["model", model]]);
      expect([body.error.code, body.error.message]).toEqual(["model_not_found", lacks("transcriptions", node)]);
      const spoken = await errorOf("/v1/audio/speech", { model, input: "x", voice: "ada" });
      const noSpeech = `No provider of ${model} has a speech interface.`;
      expect(spoken).toEqual([501, "speech_not_supported", expect.stringContaining(noSpeech)]);
      const questions = { q: { type: "noul", instructions: "Is it so?" } };
      const decided = await errorOf("/v1/decisions", { model, state: "x", questions });
      const noDecisions = `No provider of ${model} has a decisions interface.`;
      expect(decided).toEqual([501, "decisions_not_supported", expect.stringContaining(noDecisions)]);
    }
  });

  test("NODE-01 a reached spend limit does not block the workspace's own node", async () => {
    const { tenant } = await withNode({ credit: "5", node: { mapping: { tiny: MODEL } } });
    await setLimits(scene, tenant.slug, { day: "0" });
    expect((await scene.chat(tenant.key, { model: OWN })).status).toBe(200);
    // Also behind a catalogue model: nothing can be held for the others, so only the node serves.
    const { status, headers, body } = await scene.chat(tenant.key);
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "node-rack"]);
    expect(await scene.row(body.id)).toMatchObject({ model: MODEL, cost: "0.00" });
  });

  test("NODE-01 paid endpoints behind a node are held for, and charged when they serve", async () => {
    const { tenant, local } = await withNode({
      credit: "5",
      node: { mapping: { tiny: MODEL } },
      local: { held: true, answer: (_body, response) => response.writeHead(503).end("{}") },
    });
    scene.at("deepinfra").next({ json: chatJson({ content: "paid" }) });
    const response = scene.chat(tenant.key);
    await until(() => local.received.length === 1);
    expect((await scene.wallet(tenant)).held).not.toBe("0.00");
    local.release();
    const { body, headers } = await response;
    expect([body.choices[0].message.content, headers.get("x-svc-served-by")]).toEqual(["paid", null]);
    expect(body.usage.cost).toBeGreaterThan(0);
    expect(await scene.charges(tenant)).toHaveLength(1);
    const row = await scene.row(body.id);
    expect(row.node_id).toBeNull();
    expect(row.attempts.map(({ provider, outcome }: Json) => [provider, outcome])).toEqual([
      ["node-rack", "next"],
      ["deepinfra", "served"],
    ]);
  });

  test("NODE-01 without credit a failing node returns its own error, and no paid endpoint is called", async () => {
    const { tenant } = await withNode({
      node: { mapping: { tiny: MODEL } },
      local: { answer: (_body, response) => response.writeHead(500).end("{}") },
    });
    const before = scene.at("deepinfra").requests.length;
    const { status, body } = await scene.chat(tenant.key);
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(body.error.message).toContain("The node rack returned no usable response");
    expect(scene.at("deepinfra").requests.length).toBe(before);
  });
});

describe("routers", () => {
  const put = (tenant: Tenant, spec: Json, name = "r") =>
    scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/${name}`, spec);
  const explain = (tenant: Tenant) =>
    scene.gateway.manage("POST", `/workspaces/${tenant.slug}/routing/explain`, {
      model: "r",
      request: { messages: hello },
    });

  test("NODE-01 a router puts nodes first, only or last, and the decision states it", async () => {
    const { tenant } = await withNode({ credit: "5", node: { mapping: { tiny: MODEL } } });
    const name = `@${tenant.slug}/r`;
    const first = await put(tenant, { models: [MODEL], nodes: "first", weights: { quality: 1 } });
    expect(first.nodes).toBe("first");
    expect(await explain(tenant)).toMatchObject({ nodes: "first", order: [`node-rack:own:${MODEL}`, {}, {}].map(any) });
    const served = await scene.chat(tenant.key, { model: name });
    expect(served.headers.get("x-svc-provider")).toBe("node-rack");
    expect(served.headers.get("x-svc-route-reason")).toContain("own node, preferred by the router");
    expect((await scene.row(served.body.id)).decision).toMatchObject({ nodes: "first" });

    await put(tenant, { models: [MODEL], nodes: "fallback" });
    const last = await explain(tenant);
    expect(last.order.at(-1)).toBe(`node-rack:own:${MODEL}`);
    expect(last.order).toHaveLength(3);
    for (const provider of ["deepinfra", "ovhcloud"] as const) scene.at(provider).next({ status: 500, json: {} });
    const failedOver = await scene.chat(tenant.key, { model: name });
    expect([failedOver.status, failedOver.headers.get("x-svc-served-by")]).toEqual([200, "own-resource"]);

    await put(tenant, { models: [MODEL], nodes: "only" });
    const only = await explain(tenant);
    expect(only.order).toEqual([`node-rack:own:${MODEL}`]);
    expect(only.candidates.filter(({ outcome }: Json) => outcome === "excluded")).toHaveLength(2);
  });

  test("NODE-01 a router with nodes only refuses where none serves the request", async () => {
    const tenant = await scene.gateway.tenant();
    for (const [name, model] of [
      ["r", `@${tenant.slug}/r`],
      ["auto", "auto"],
    ]) {
      await put(tenant, { nodes: "only" }, name);
      const { status, body } = await scene.chat(tenant.key, { model });
      expect([status, body.error.code]).toEqual([403, "no_eligible_endpoint"]);
      expect(body.error.message).toContain(`The router ${model} uses the workspace's own nodes only`);
    }
  });

  test("NODE-01 a router may name a node's model before it connects, but none of another workspace", async () => {
    const tenant = await scene.gateway.tenant();
    await createNode(scene.gateway, tenant.slug, "later");
    expect(await put(tenant, { models: ["node/later/any:7b"] })).toMatchObject({ models: ["node/later/any:7b"] });
    const other = await scene.gateway.tenant();
    await expect(put(other, { models: ["node/later/any:7b"] })).rejects.toThrow("there is no model");
    await expect(put(tenant, { models: ["node/later/"] })).rejects.toThrow("there is no model");
  });
});

const any = (value: unknown) => (typeof value === "string" ? value : expect.any(String));

function streamTo(response: Parameters<NonNullable<NonNullable<Local>["answer"]>>[1], text: string): void {
  response.setHeader("content-type", "text/event-stream");
  response.end(text);
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries += 1) {
    if (tries > 400) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
