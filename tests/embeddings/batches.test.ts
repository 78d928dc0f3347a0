import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { type EmbeddingScene, openaiList, openEmbeddings } from "../support/embeddings.ts";
import type { Called, Json } from "../support/gateway.ts";
import { garbageCollector } from "../support/heap.ts";
import { until } from "../support/peers.ts";

let scene: EmbeddingScene;
afterEach(() => scene.close());

/** Twelve batches at an endpoint of one text per request: eight are in flight, four wait. */
const input = Array.from({ length: 12 }, (_, index) => `text ${index}`);
const CONCURRENCY = 8;
const facts = { interface: "openai", batch_max: 1 } as const;
const FRENCH = { facts, price: 0.1, country: "FR" };
const GERMAN = { facts, price: 0.2, country: "DE" };

/** Sends all inputs, and runs `meanwhile` when the first endpoint has eight batches and has answered none. */
async function embedded(meanwhile: () => Promise<unknown>): Promise<Called> {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const list = openaiList();
  scene.at("first").always((received) => ({ ...(typeof list === "function" ? list(received) : list), gate }));
  const call = scene.embed({ input });
  await scene.at("first").arrived(CONCURRENCY);
  await meanwhile();
  open();
  return call;
}

const block = (...providers: string[]) =>
  scene.gateway.manage("PATCH", `/workspaces/${scene.tenant.slug}/policy`, { blocked_providers: providers });

const ownKey = (method: "PUT" | "DELETE", body?: object) =>
  scene.gateway.manage(method, `/workspaces/${scene.tenant.slug}/providers/first`, body);

async function charges(): Promise<Json[]> {
  const { data } = await scene.gateway.manage("GET", `/workspaces/${scene.tenant.slug}/wallet/entries`);
  return data.filter(({ kind }: Json) => kind === "charge");
}

/** The port of a server that answers so many requests and then refuses connections. */
async function closeAfter(count: number): Promise<number> {
  const closed = Promise.withResolvers<void>();
  let received = 0;
  const server = createServer(async (request, response) => {
    await once(request.resume(), "end");
    received += 1;
    if (received === count) server.close(() => undefined);
    if (received === count) closed.resolve();
    await closed.promise;
    const data = [{ object: "embedding", index: 0, embedding: [1, 2] }];
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ object: "list", data, usage: { prompt_tokens: 1 } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("an endpoint that received batches and did not serve the request", () => {
  test("HDR-03 LOG-01 LOG-05 is reported with its country in reply, log and evidence, although the failed batch was never sent", async () => {
    scene = await openEmbeddings({ first: FRENCH, second: GERMAN });
    scene.at("second").always(openaiList());
    const answer = await embedded(() => block("first"));
    expect([answer.status, answer.body.data.length]).toEqual([200, 12]);
    expect(scene.at("first").requests).toHaveLength(CONCURRENCY);
    expect(answer.headers.get("x-svc-provider")).toBe("second");
    expect(answer.headers.get("x-svc-compute-countries")).toBe("DE,FR");
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ provider: "second", countries: ["DE", "FR"] });
    expect(row.attempts).toMatchObject([
      { provider: "first", outcome: "next", reason: "policy: provider first is blocked", maybe_accepted: true },
      { provider: "second", outcome: "served", maybe_accepted: false },
    ]);
    const report = await scene.gateway.manage("GET", `/workspaces/${scene.tenant.slug}/evidence`);
    expect(report.by_country.map(({ name }: Json) => name)).toEqual(["DE, FR"]);
    // Its replies are not billed: the request is billed once, by the serving endpoint.
    expect(await charges()).toHaveLength(1);
  });

  test("LOG-01 BILL-02 is in the row with its country if no endpoint is left, and nothing is charged", async () => {
    scene = await openEmbeddings({ first: FRENCH, second: GERMAN });
    const answer = await embedded(() => block("first", "second"));
    expect([answer.status, answer.body.error.code]).toEqual([403, "provider_blocked"]);
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ provider: null, countries: ["FR"] });
    expect(row.attempts).toMatchObject([
      { provider: "first", maybe_accepted: true },
      { provider: "second", maybe_accepted: false },
    ]);
    expect([await charges(), scene.at("second").requests]).toEqual([[], []]);
  });

  test("LOG-01 KEY-04 is in the row of a request whose key was revoked between batches", async () => {
    scene = await openEmbeddings({ first: FRENCH, second: GERMAN });
    const answer = await embedded(() => scene.gateway.manage("POST", `/keys/${scene.tenant.keyId}/revoke`));
    expect([answer.status, answer.body.error.code]).toEqual([401, "invalid_api_key"]);
    expect(scene.at("first").requests).toHaveLength(CONCURRENCY);
    const row = await scene.rowOf(answer);
    expect(row).toMatchObject({ provider: null, countries: ["FR"] });
    expect(row.attempts).toMatchObject([
      { provider: "first", outcome: "stop", reason: "no longer admitted: invalid_api_key", maybe_accepted: true },
    ]);
    expect([await charges(), scene.at("second").requests]).toEqual([[], []]);
  });

  test("BILL-08 LOG-01 gets no more batches with the platform's key once only the workspace's own may be used there", async () => {
    scene = await openEmbeddings({ first: FRENCH, second: GERMAN });
    scene.at("second").always(openaiList());
    const answer = await embedded(() => ownKey("PUT", { key: "own-canary-parts", use: "only", skip_test: true }));
    expect([answer.status, answer.headers.get("x-svc-provider")]).toEqual([200, "second"]);
    expect(scene.at("first").requests).toHaveLength(CONCURRENCY);
    const reason = "only your own key for first may be used now";
    expect((await scene.rowOf(answer)).attempts).toMatchObject([
      { provider: "first", outcome: "next", reason, maybe_accepted: true },
      { provider: "second", outcome: "served" },
    ]);
    expect(await charges()).toHaveLength(1);
  });

  test("BILL-08 ERR-01 had batches with an own key that was removed meanwhile: that is the reported reason", async () => {
    scene = await openEmbeddings({ first: FRENCH });
    await ownKey("PUT", { key: "own-canary-parts", use: "only", skip_test: true });
    const answer = await embedded(() => ownKey("DELETE"));
    expect([answer.status, answer.body.error.message]).toEqual([
      502,
      "The workspace's own key for first was removed after part of the request was sent, and no other endpoint is available. Retry: the request then uses the current keys.",
    ]);
    expect(scene.at("first").requests).toHaveLength(CONCURRENCY);
    const reason = "your key for first was removed since the plan was made";
    expect((await scene.rowOf(answer)).attempts).toMatchObject([{ own_key: true, reason, maybe_accepted: true }]);
    expect(await charges()).toEqual([]);
  });

  test("LOG-01 ROUTE-04 is not called again for all inputs if it is unreachable for the rest", async () => {
    const port = await closeAfter(CONCURRENCY);
    scene = await openEmbeddings(
      { first: FRENCH },
      { env: { PROVIDER_FIRST_BASE_URL: `http://127.0.0.1:${port}/v1` } },
    );
    const answer = await scene.embed({ input });
    expect([answer.status, answer.body.error.code]).toEqual([502, "upstream_error"]);
    const row = await scene.rowOf(answer);
    expect(row.countries).toEqual(["FR"]);
    expect(row.attempts).toMatchObject([{ outcome: "next", maybe_accepted: true }]);
    expect(row.attempts[0].reason).toContain("connect: ");
  });
});

test("LOG-01 ROUTE-04 an endpoint that refused all connections received no input, and is called once more", async () => {
  scene = await openEmbeddings({ first: FRENCH }, { env: { PROVIDER_FIRST_BASE_URL: "http://127.0.0.1:1/v1" } });
  const answer = await scene.embed({ input });
  expect(answer.status).toBe(502);
  const row = await scene.rowOf(answer);
  expect(row.countries).toBeNull();
  expect(row.attempts).toMatchObject([
    { outcome: "retry", maybe_accepted: false },
    { outcome: "next", maybe_accepted: false },
  ]);
});

test("EMB-01 the bytes of a reply are freed with its batch, not with the last one", async () => {
  scene = await openEmbeddings({ first: FRENCH });
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const answerBytes = 4 * 1024 * 1024;
  const list = openaiList();
  scene.at("first").always((received) => {
    const { json } = typeof list === "function" ? list(received) : list;
    if (input.includes(String(Object(received.json).input))) return { body: JSON.stringify(json).padEnd(answerBytes) };
    return { json, gate };
  });
  // As many wait as run at once: when these have arrived, all earlier ones are complete.
  const waiting = Array.from({ length: CONCURRENCY }, (_, index) => `waiting ${index}`);
  const collectGarbage = garbageCollector();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const call = scene.embed({ input: [...input, ...waiting] });
  await scene.at("first").arrived(input.length + CONCURRENCY);
  await until(() => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers - before < 2 * answerBytes;
  });
  open();
  const { status, body } = await call;
  expect([status, body.data.length]).toEqual([200, input.length + CONCURRENCY]);
});

test("RATE-06 batches of one request take half of an endpoint's slots, and others get the rest", async () => {
  scene = await openEmbeddings({ first: FRENCH }, { env: { GATEWAY_ENDPOINT_CONCURRENCY: "4" } });
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const list = openaiList();
  const host = scene.at("first");
  host.always((received) => ({ ...(typeof list === "function" ? list(received) : list), gate }));
  const parts = Array.from({ length: CONCURRENCY }, (_, index) => `part ${index}`);
  const inParts = scene.embed({ input: parts });
  await host.arrived(2);
  const others = [scene.embed({ input: "one" }), scene.embed({ input: "two" })];
  await host.arrived(4);
  // All four slots are taken by these: it cannot have received anything else.
  const refused = await scene.embed({ input: "no slot" });
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
  const inputs = host.requests.map(({ json }) => String(Object(json).input));
  expect(inputs.toSorted()).toEqual(["one", "part 0", "part 1", "two"]);
  open();
  const [whole, ...rest] = await Promise.all([inParts, ...others]);
  expect([whole.status, whole.body.data.length]).toEqual([200, CONCURRENCY]);
  expect(rest.map(({ status }) => status)).toEqual([200, 200]);
  // No connection was kept.
  const after = await Promise.all(Array.from({ length: 4 }, () => scene.embed({ input: "after" })));
  expect(after.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});
