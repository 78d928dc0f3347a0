import { afterEach, expect, test } from "vitest";
import { type EmbeddingScene, openaiList, openEmbeddings, vectorOf } from "../support/embeddings.ts";

let scene: EmbeddingScene;
afterEach(() => scene.close());

const row = (embedding: unknown) => ({ object: "embedding", index: 0, embedding });

// The catalogue has no context length for the model here, so only the text bounds its usage.
test.each([0, -2, 2.5, 900_000_000, "many", null])(
  "EMB-01 %s tokens are not billed: an estimate is, marked as estimated",
  async (prompt_tokens) => {
    scene = await openEmbeddings({ host: { facts: { interface: "openai" }, price: 0.1 } });
    scene.at("host").next({ json: { object: "list", data: [row(vectorOf("abcd"))], usage: { prompt_tokens } } });
    const answer = await scene.embed({ input: "abcd" });
    expect(answer.status).toBe(200);
    expect(answer.body.usage.prompt_tokens).toBe(1);
    expect((await scene.rowOf(answer)).usage).toMatchObject({ input_tokens: 1, estimated: true });
    const why = typeof prompt_tokens === "number" && prompt_tokens !== 0 ? "impossible" : "none";
    const { text } = await scene.gateway.call("", "/metrics");
    expect(text).toContain(`gateway_figures_replaced_total{provider="host",why="${why}"} 1`);
  },
);

test("EMB-01 more numbers than one reply can hold: the next endpoint is called, and only it is paid", async () => {
  scene = await openEmbeddings({
    first: { facts: { interface: "openai", batch_max: 1 }, price: 0.1 },
    second: { facts: { interface: "openai" }, price: 0.2 },
  });
  const zeros = Buffer.alloc(4 * 4 * 1024 * 1024).toString("base64");
  scene.at("first").always({ json: { object: "list", data: [row(zeros)], usage: { prompt_tokens: 1 } } });
  scene.at("second").always(openaiList());
  const answer = await scene.embed({ input: ["a", "b", "c", "d", "e"] });
  expect(answer.headers.get("x-svc-provider")).toBe("second");
  expect(answer.body.data).toHaveLength(5);
});

test("EMB-01 POL-01 a policy tightened between batches ends the request before the next batch is sent", async () => {
  scene = await openEmbeddings({ host: { facts: { interface: "openai", batch_max: 1 }, price: 0.1 } });
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { gateway, tenant } = scene;
  const host = scene.at("host");
  for (let part = 0; part < 8; part += 1) host.next({ json: { data: [row([1, 2])] }, gate });
  host.always(openaiList());
  const call = scene.embed({ input: Array.from({ length: 12 }, (_, index) => `text ${index}`) });
  await host.arrived(8);
  await gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { blocked_providers: ["host"] });
  open();
  const answer = await call;
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(host.requests).toHaveLength(8);
  const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/wallet/entries`);
  expect(data.filter(({ kind }: { kind: string }) => kind === "charge")).toEqual([]);
  const next = await scene.embed({ input: "text" });
  expect([next.status, next.body.error.code]).toEqual([403, "provider_blocked"]);
  const { attempts } = await gateway.manage("GET", `/requests/${next.body.error.request_id}`);
  expect([attempts, host.requests.length]).toEqual([[], 8]);
});

test("ERR-05 a wallet that does not cover the vectors: the refusal names the remedy", async () => {
  scene = await openEmbeddings({ host: { facts: { interface: "openai" }, price: 0.1 } });
  const poor = await scene.gateway.tenant({ credit: "0" });
  const { status, body } = await scene.gateway.call(poor.key, "/v1/embeddings", {
    body: { model: "lab/vectors", input: "a" },
  });
  expect(status).toBe(402);
  expect(body.error.message).toContain("send fewer or shorter inputs");
});
