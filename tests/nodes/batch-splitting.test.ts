import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type EmbeddingScene, openaiList, openEmbeddings } from "../support/embeddings.ts";
import type { Json } from "../support/gateway.ts";
import { agentForTest, chatAnswer, createNode, localForTest, waitForNodeState } from "../support/nodes.ts";
import { until } from "../support/peers.ts";
import { rogueNode } from "../support/rogue-node.ts";

const MODEL = "lab/vectors";
let scene: EmbeddingScene;
beforeAll(async () => {
  scene = await openEmbeddings({ host: { facts: { interface: "openai" }, price: 0.1 } });
  scene.at("host").always(openaiList());
});
afterAll(() => scene.close());

/** Far more than one call to a node takes. */
const input = Array.from({ length: 2048 }, (_, index) => `text ${index}`);

function vectors({ model, input: texts }: Json): Json {
  const data = texts.map((_text: string, index: number) => ({ object: "embedding", index, embedding: [0.5, 1] }));
  return { object: "list", model, data, usage: { prompt_tokens: texts.length, total_tokens: texts.length } };
}

/** A workspace with a node `rack` and a local server whose replies wait for `open`. */
async function withNode(capacity: number, node: Json = {}) {
  const tenant = await scene.gateway.tenant();
  const gate = Promise.withResolvers<void>();
  const load = { now: 0, most: 0 };
  const local = await localForTest({
    models: ["tiny", "embed"],
    embeds: ["embed"],
    async answer(body: Json, response: ServerResponse) {
      load.now += 1;
      load.most = Math.max(load.most, load.now);
      await gate.promise;
      load.now -= 1;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(body.input === undefined ? chatAnswer(body.model) : vectors(body)));
    },
  });
  const { token } = await createNode(scene.gateway, tenant.slug, "rack", node);
  agentForTest(scene.gateway.url, token, local.url, { capacity });
  await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
  const embed = (model = "node/rack/embed") =>
    scene.gateway.call(tenant.key, "/v1/embeddings", { body: { model, input } });
  const messages = [{ role: "user", content: "Say hello." }];
  const chat = () =>
    scene.gateway.call(tenant.key, "/v1/chat/completions", { body: { model: "node/rack/tiny", messages } });
  return { tenant, local, load, open: gate.resolve, embed, chat };
}

describe("a request with more texts than one node call takes", () => {
  test.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [7, 3],
  ])("NODE-01 EMB-01 a node of capacity %i serves it in parts, at a concurrency of %i", async (capacity, atOnce) => {
    const { tenant, local, load, open, embed } = await withNode(capacity);
    const call = embed();
    await until(() => local.received.length >= atOnce);
    open();
    const { status, body, headers } = await call;
    expect([status, body.data?.length, headers.get("x-svc-served-by")]).toEqual([200, 2048, "own-resource"]);
    expect(local.received.length).toBeGreaterThan(8);
    expect(load.most).toBe(atOnce);
    expect(await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected")).toMatchObject({
      running: 0,
      last_error: null,
    });
  });

  test("NODE-01 BILL-02 a node with one slot serves it behind a catalogue model, and no paid endpoint is called", async () => {
    const { local, open, embed } = await withNode(1, { mapping: { embed: MODEL } });
    open();
    const { status, body, headers } = await embed(MODEL);
    expect([status, headers.get("x-svc-provider"), body.usage.cost]).toEqual([200, "node-rack", 0]);
    expect(local.received.length).toBeGreaterThan(8);
    expect(scene.at("host").requests).toEqual([]);
  });

  test("NODE-01 leaves half of a node's slots to others, however many such requests there are", async () => {
    const { local, open, embed, chat } = await withNode(4);
    const first = embed();
    await until(() => local.received.length === 2);
    // The second one gets a single slot.
    const second = embed();
    await until(() => local.received.length === 3);
    const beside = chat();
    await until(() => local.received.length === 4);
    const full = await chat();
    expect([full.status, full.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(local.received.slice(0, 4).map(({ model }) => model)).toEqual(["embed", "embed", "embed", "tiny"]);
    open();
    expect((await Promise.all([first, second, beside])).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe("a node that takes fewer requests than it announced", () => {
  async function withRogue(reply: (body: Json) => Json | undefined) {
    const tenant = await scene.gateway.tenant();
    const { token } = await createNode(scene.gateway, tenant.slug, "rack");
    const rogue = await rogueNode(scene.gateway.url, token, reply);
    onTestFinished(() => rogue.close());
    await waitForNodeState(scene.gateway, tenant.slug, "rack", "connected");
    const body = { model: "node/rack/embed", input };
    const answer = await scene.gateway.call(tenant.key, "/v1/embeddings", { body });
    return { answer, row: await scene.rowOf(answer) };
  }

  test("NODE-01 EMB-01 gets the refused parts again after it has served others", async () => {
    let calls = 0;
    const { answer, row } = await withRogue((body) => {
      calls += 1;
      // Four parts come at once and there is one slot: another caller had taken the others.
      return calls > 1 && calls <= 4 ? undefined : vectors(body);
    });
    expect([answer.status, answer.body.data?.length]).toEqual([200, 2048]);
    expect(row.attempts).toMatchObject([{ outcome: "served", maybe_accepted: false }]);
  });

  test("HDR-03 LOG-01 is recorded as a processing location when it refuses the remaining parts", async () => {
    let calls = 0;
    const { answer, row } = await withRogue((body) => {
      calls += 1;
      return calls === 1 ? vectors(body) : undefined;
    });
    expect([answer.status, answer.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(row).toMatchObject({ provider: null, countries: ["DE"] });
    expect(row.attempts).toMatchObject([
      { provider: "node-rack", outcome: "next", reason: "the node accepts no more requests", maybe_accepted: true },
    ]);
  });

  test("LOG-01 is not recorded as a processing location when it refused every part", async () => {
    const { answer, row } = await withRogue(() => undefined);
    expect(answer.status).toBe(429);
    expect(row.countries).toBeNull();
    expect(row.attempts).toMatchObject([{ outcome: "next", maybe_accepted: false }]);
    expect(row.attempts[0].reason).toContain("skipped: ");
  });
});
