import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatLine, jsonLines } from "../support/batches.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let client: Anthropic;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_LIVE: "100000", GATEWAY_RPM_IP: "0" } });
  tenant = await gateway.tenant();
  client = new Anthropic({ baseURL: gateway.url, apiKey: tenant.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const BATCHES = "/v1/messages/batches";
const params = { model: "sandbox/chat", max_tokens: 16, messages: [{ role: "user" as const, content: "Hello!\n" }] };
const request = (custom_id: string, more: object = {}) => ({ custom_id, params: { ...params, ...more } });
const ended = async (id: string) => {
  await expect.poll(async () => (await client.messages.batches.retrieve(id)).processing_status).toBe("ended");
  return client.messages.batches.retrieve(id);
};

test("BATCH-01 Anthropic's client creates a batch, follows it, reads its results in order and deletes it", async () => {
  const created = await client.messages.batches.create({
    requests: [request("a"), request("b", { model: "no/such-model" }), request("c")],
  });
  expect(created).toMatchObject({ type: "message_batch", processing_status: "in_progress", results_url: null });
  const done = await ended(created.id);
  expect(done.request_counts).toEqual({ processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 0 });
  expect(done.results_url).toBe(`${gateway.url}${BATCHES}/${created.id}/results`);
  const results = [];
  for await (const result of await client.messages.batches.results(created.id)) results.push(result);
  expect(results.map(({ custom_id, result }) => [custom_id, result.type])).toEqual([
    ["a", "succeeded"],
    ["b", "errored"],
    ["c", "succeeded"],
  ]);
  expect(results[0]?.result).toMatchObject({ message: { type: "message", role: "assistant" } });
  expect(results[1]?.result).toMatchObject({ error: { type: "error", error: { type: "not_found_error" } } });
  const listed = await client.messages.batches.list({ limit: 1 });
  expect(listed.data.map(({ id }) => id)).toEqual([created.id]);
  expect(await client.messages.batches.delete(created.id)).toEqual({ id: created.id, type: "message_batch_deleted" });
  await expect(client.messages.batches.retrieve(created.id)).rejects.toThrow("404");
});

test("BATCH-01 a message batch without funds is cancelled, and every request says so", async () => {
  const poor = await gateway.tenant({ credit: "0" });
  const own = new Anthropic({ baseURL: gateway.url, apiKey: poor.key, maxRetries: 0 });
  const { id } = await own.messages.batches.create({ requests: [request("a"), request("b")] });
  await expect(own.messages.batches.delete(id)).rejects.toThrow("has not ended");
  await own.messages.batches.cancel(id);
  await expect.poll(async () => (await own.messages.batches.retrieve(id)).processing_status).toBe("ended");
  const over = await own.messages.batches.retrieve(id);
  expect(over.request_counts).toEqual({ processing: 0, succeeded: 0, errored: 0, canceled: 2, expired: 0 });
  for await (const { result } of await own.messages.batches.results(id)) expect(result).toEqual({ type: "canceled" });
});

test("BATCH-01 a message batch that cannot run is refused at once, by the field, and nothing of it stays", async () => {
  for (const [body, param] of [
    ['{"requests":[]}', "requests"],
    ["{}", "requests"],
    [{ requests: [request("a"), request("a")] }, "requests.1.custom_id"],
    [{ requests: [request("not valid!")] }, "requests.0.custom_id"],
    [{ requests: [request("a", { stream: true })] }, "requests.0.params.stream"],
    [{ requests: [{ custom_id: "a" }] }, "requests.0.params"],
    [{ requests: [1] }, "requests.0"],
    [{ requests: "x" }, "requests"],
    [{ requests: [request("a")], more: 1 }, "more"],
  ] as const) {
    const refused = await gateway.call(tenant.key, BATCHES, { method: "POST", body });
    expect([refused.status, refused.body.error.param], JSON.stringify(body)).toEqual([400, param]);
  }
  for (const body of ['{"requests":[{"custom_id":"a"', '{"requests":[{}]} x', "[]", '{"requests":[{} {}]}'])
    expect((await gateway.call(tenant.key, BATCHES, { method: "POST", body })).status).toBe(400);
  const pretty = JSON.stringify({ requests: [request("a"), request("b")] }, null, 2);
  const created = await gateway.call(tenant.key, BATCHES, { method: "POST", body: pretty });
  expect(created.status).toBe(200);
  expect((await ended(created.body.id)).request_counts.succeeded).toBe(2);
});

test("BATCH-01 OpenAI's client uploads a file, runs it as a batch and downloads the results", async () => {
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
  const file = await openai.files.create({
    file: await toFile(Buffer.from(jsonLines([chatLine("a"), chatLine("b")])), "requests.jsonl"),
    purpose: "batch",
  });
  const batch = await openai.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
  });
  await expect.poll(async () => (await openai.batches.retrieve(batch.id)).status).toBe("completed");
  const done = await openai.batches.retrieve(batch.id);
  const content = await openai.files.content(done.output_file_id ?? "");
  const lines: Json[] = (await content.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ custom_id }) => custom_id)).toEqual(["a", "b"]);
  expect((await openai.batches.list()).data.map(({ id }) => id)).toContain(batch.id);
  expect((await openai.files.delete(file.id)).deleted).toBe(true);
});

test("BATCH-01 disabled, files and batches respond with batches_not_enabled", async () => {
  const off = await startGateway({ env: { GATEWAY_BATCHES: "off" } });
  try {
    for (const path of ["/v1/files", "/v1/batches", BATCHES]) {
      const refused = await off.call(off.key, path);
      expect([refused.status, refused.body.error.code]).toEqual([404, "batches_not_enabled"]);
    }
  } finally {
    await off.close();
  }
});
