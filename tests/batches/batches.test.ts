import { afterAll, beforeAll, expect, test } from "vitest";
import { type BatchCaller, batchCaller, chatLine, jsonLines } from "../support/batches.ts";
import { openBooks } from "../support/books.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let caller: BatchCaller;
beforeAll(async () => {
  gateway = await startGateway({
    env: { GATEWAY_BATCH_PAUSE_MS: "100", GATEWAY_RPM_LIVE: "100000", GATEWAY_RPM_IP: "0" },
  });
  tenant = await gateway.tenant();
  caller = of(tenant);
});
afterAll(() => gateway.close());

const of = ({ key }: Tenant) => batchCaller((path, init) => gateway.call(key, path, init));
const wallet = (slug: string) => gateway.manage("GET", `/workspaces/${slug}/wallet`);

test("BATCH-01 a file is stored as it was sent, listed, read back and deleted, wherever its purpose is", async () => {
  const text = jsonLines([chatLine("a", "Grüße"), chatLine("b")]);
  for (const purposeLast of [false, true]) {
    const created = await caller.upload(text, { purposeLast });
    expect([created.status, created.body.purpose, created.body.bytes]).toEqual([200, "batch", Buffer.byteLength(text)]);
    expect(created.body.filename).toBe("requests.jsonl");
    const content = await caller.call(`/v1/files/${created.body.id}/content`);
    expect([content.text, content.headers.get("content-type")]).toEqual([text, "application/octet-stream"]);
    const listed = await caller.call("/v1/files?purpose=batch&limit=1");
    expect(listed.body.data).toEqual([created.body]);
    const removed = await caller.call(`/v1/files/${created.body.id}`, { method: "DELETE" });
    expect(removed.body).toEqual({ id: created.body.id, object: "file", deleted: true });
    expect((await caller.call(`/v1/files/${created.body.id}`)).status).toBe(404);
  }
});

test("BATCH-01 every line is a request with its own record and charge, and results keep the order of the input", async () => {
  const lines = Array.from({ length: 40 }, (_, at) => chatLine(`line-${at}`));
  lines[7] = chatLine("line-7", "hello", "no/such-model");
  lines[20] = chatLine("line-20", "hello", "sandbox/chat", { max_tokens: -1 });
  const before = Number((await wallet(tenant.slug)).balance);
  const batch = await caller.submit(lines, { metadata: { run: "one" } });
  expect([batch.object, batch.status, batch.metadata]).toEqual(["batch", "validating", { run: "one" }]);
  const done = await caller.until(batch.id);
  expect([done.status, done.errors]).toEqual(["completed", null]);
  expect(done.request_counts).toEqual({ total: 40, completed: 38, failed: 2 });
  const good = await caller.results(done.output_file_id);
  expect(good.map(({ custom_id }) => custom_id)).toEqual(
    lines.map(({ custom_id }) => custom_id).filter((id) => id !== "line-7" && id !== "line-20"),
  );
  expect(good[0]).toMatchObject({
    id: expect.stringMatching(/^batch_req_/),
    response: { status_code: 200, body: { object: "chat.completion", model: "sandbox/chat" } },
    error: null,
  });
  const bad = await caller.results(done.error_file_id);
  expect(bad.map(({ custom_id, response, error }) => [custom_id, response.status_code, error])).toEqual([
    ["line-7", 404, null],
    ["line-20", 400, null],
  ]);
  expect(bad[0].response.body.error.code).toBe("model_not_found");
  const cost = good.reduce((sum, { response }) => sum + response.body.usage.cost, 0);
  expect(done.svc).toMatchObject({ currency: "EUR", eta_seconds: null, paused: null });
  expect(done.svc.cost).toBeCloseTo(cost, 9);
  expect(before - Number((await wallet(tenant.slug)).balance)).toBeCloseTo(cost, 9);
  expect(done.usage.output_tokens).toBe(
    good.reduce((sum, { response }) => sum + response.body.usage.completion_tokens, 0),
  );
  const { data } = await gateway.manage("GET", `/workspaces/${tenant.slug}/requests?limit=100`);
  const ids = new Set([...good, ...bad].map(({ response }) => response.request_id));
  expect(new Set((data as Json[]).map(({ id }) => id))).toEqual(ids);
  const row = await gateway.manage("GET", `/requests/${good[0].response.request_id}`);
  expect(row).toMatchObject({ client_request_id: "line-0", detail: { batch: batch.id, line: 1 } });
});

test("BATCH-01 CACHE-01 a line that the response cache serves has its result like any other, and costs nothing", async () => {
  const own = of(await gateway.tenant());
  const lines = ["first", "second"].map((id) => chatLine(id, "the same", "sandbox/chat", { cache: { ttl: 600 } }));
  const [first] = lines;
  const before = await own.until((await own.submit([first])).id);
  const batch = await own.until((await own.submit(lines)).id);
  expect([before.svc.cost > 0, batch.svc.cost, batch.request_counts.completed]).toEqual([true, 0, 2]);
  const results = await own.results(batch.output_file_id);
  expect(results.map(({ custom_id, response }) => [custom_id, response.body.object])).toEqual([
    ["first", "chat.completion"],
    ["second", "chat.completion"],
  ]);
});

test("BATCH-01 every endpoint: responses, messages, embeddings, rankings and moderations", async () => {
  const messages = [{ role: "user", content: "hello" }];
  for (const [url, body] of [
    ["/v1/responses", { model: "sandbox/chat", input: "hello" }],
    ["/v1/messages", { model: "sandbox/chat", messages, max_tokens: 16 }],
    ["/v1/embeddings", { model: "sandbox/embed", input: ["one", "two"] }],
    ["/v1/rerank", { model: "sandbox/rerank", query: "a", documents: ["a", "b"] }],
    ["/v1/moderations", { model: "sandbox/moderate", input: "hello" }],
  ] as const) {
    const batch = await caller.submit([{ custom_id: "one", method: "POST", url, body }], { endpoint: url });
    const done = await caller.until(batch.id);
    expect(await caller.results(done.error_file_id), url).toEqual([]);
    const [result] = await caller.results(done.output_file_id);
    expect([result.response.status_code, result.response.body.model]).toEqual([200, body.model]);
  }
});

test("BATCH-01 input that cannot run: the batch fails before any request, with the line and what is wrong", async () => {
  const lines = [
    chatLine("a"),
    "{nonsense",
    chatLine("a"),
    { ...chatLine("b"), url: "/v1/embeddings" },
    { ...chatLine("c"), custom_id: undefined },
    chatLine("d", "hello", "sandbox/chat", { stream: true }),
    { custom_id: "e", method: "POST", url: "/v1/chat/completions" },
  ];
  const file = await caller.upload(
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
  );
  const { body } = await caller.call("/v1/batches", {
    body: { input_file_id: file.body.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
  });
  const failed = await caller.until(body.id);
  expect([failed.status, failed.request_counts.total, failed.output_file_id]).toEqual(["failed", 0, null]);
  expect(failed.errors.data.map(({ code, line, param }: Json) => [code, line, param])).toEqual([
    ["invalid_json_line", 2, null],
    ["duplicate_custom_id", 3, "custom_id"],
    ["mismatched_endpoint", 4, "url"],
    ["missing_required_parameter", 5, "custom_id"],
    ["invalid_value", 6, "body.stream"],
    ["missing_required_parameter", 7, "body"],
  ]);
  const blank = await caller.upload("\n\n");
  const empty = await caller.call("/v1/batches", {
    body: { input_file_id: blank.body.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
  });
  expect((await caller.until(empty.body.id)).errors.data[0].code).toBe("empty_file");
});

test("BATCH-01 BILL-03 without funds the batch waits, and continues by itself after a top-up", async () => {
  const poor = await gateway.tenant({ credit: "0" });
  const own = of(poor);
  const batch = await own.submit([chatLine("a"), chatLine("b")]);
  await expect
    .poll(async () => (await own.call(`/v1/batches/${batch.id}`)).body.svc.paused?.reason)
    .toBe("insufficient_credits");
  expect(await own.until(batch.id, ["in_progress"])).toMatchObject({ request_counts: { completed: 0, failed: 0 } });
  expect((await gateway.manage("GET", `/workspaces/${poor.slug}/requests`)).data).toEqual([]);
  await gateway.manage("POST", `/workspaces/${poor.slug}/wallet/credits`, { amount: "1" });
  const done = await own.until(batch.id);
  expect([done.status, done.request_counts.completed, done.svc.paused]).toEqual(["completed", 2, null]);
  expect((await wallet(poor.slug)).held).toBe("0.00");
});

test("BATCH-01 a cancelled batch has the results so far, and says which requests never ran", async () => {
  const poor = await gateway.tenant({ credit: "0" });
  const own = of(poor);
  const batch = await own.submit([chatLine("a"), chatLine("b")]);
  const file = await own.call(`/v1/files/${batch.input_file_id}`, { method: "DELETE" });
  expect([file.status, file.body.error.code]).toEqual([409, "conflict"]);
  const cancelled = await own.call(`/v1/batches/${batch.id}/cancel`, { method: "POST" });
  expect(["cancelling", "cancelled"]).toContain(cancelled.body.status);
  const over = await own.until(batch.id);
  expect([over.status, over.output_file_id]).toEqual(["cancelled", null]);
  expect(
    (await own.results(over.error_file_id)).map(({ custom_id, response, error }) => [custom_id, response, error.code]),
  ).toEqual([
    ["a", null, "batch_cancelled"],
    ["b", null, "batch_cancelled"],
  ]);
  const again = await own.call(`/v1/batches/${batch.id}/cancel`, { method: "POST" });
  expect([again.status, again.body.error.code]).toEqual([409, "conflict"]);
});

test("BATCH-01 at its expiry, or once its key is revoked, a batch ends with a reason for each request", async () => {
  for (const [how, status, code] of [
    ["expired", "expired", "batch_expired"],
    ["revoked", "cancelled", "invalid_api_key"],
  ] as const) {
    const poor = await gateway.tenant({ credit: "0" });
    const other = await gateway.manage("POST", `/workspaces/${poor.slug}/keys`, { name: "other", environment: "live" });
    const batch = await of(poor).submit([chatLine("a")]);
    if (how === "revoked") await gateway.manage("POST", `/keys/${poor.keyId}/revoke`);
    else {
      const books = openBooks(gateway.dataDir);
      books.prepare("update batches set expires_at_ms = 1 where id = ?").run(batch.id);
      books.close();
    }
    const own = of({ ...poor, key: other.key });
    const over = await own.until(batch.id);
    expect(over.status).toBe(status);
    expect((await own.results(over.error_file_id)).map(({ error }) => error.code)).toEqual([code]);
  }
});

test("BATCH-01 RATE-01 lines do not count in the rate limit of the key", async () => {
  const slow = await gateway.tenant({ key: { rpm: 20 } });
  const own = of(slow);
  const batch = await own.submit(Array.from({ length: 30 }, (_, at) => chatLine(`${at}`)));
  await expect
    .poll(async () => (await gateway.manage("GET", `/workspaces/${slow.slug}/requests?limit=100`)).data.length)
    .toBe(30);
  const done = await own.call(`/v1/batches/${batch.id}`);
  expect([done.status, done.headers.get("x-ratelimit-remaining")]).toEqual([200, "17"]);
});

test("BATCH-01 files and batches of another workspace are like unknown ones", async () => {
  const batch = await caller.submit([chatLine("a")]);
  const other = of(await gateway.tenant());
  for (const path of [
    `/v1/files/${batch.input_file_id}`,
    `/v1/files/${batch.input_file_id}/content`,
    `/v1/batches/${batch.id}`,
  ])
    expect((await other.call(path)).status).toBe(404);
  expect((await other.call(`/v1/batches/${batch.id}/cancel`, { method: "POST" })).status).toBe(404);
  const used = await other.call("/v1/batches", {
    body: { input_file_id: batch.input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" },
  });
  expect([used.status, used.body.error.param]).toEqual([404, "input_file_id"]);
  expect((await other.call("/v1/files")).body.data).toEqual([]);
  expect((await other.call("/v1/batches")).body.data).toEqual([]);
  await caller.until(batch.id);
});

test("BATCH-01 the lists are paged, and pages have what was created, newest first", async () => {
  const own = of(await gateway.tenant());
  const made: string[] = [];
  for (const id of ["a", "b", "c"]) made.unshift((await own.submit([chatLine(id)])).id);
  const first = (await own.call("/v1/batches?limit=2")).body;
  expect([first.data.map(({ id }: Json) => id), first.has_more]).toEqual([made.slice(0, 2), true]);
  const rest = (await own.call(`/v1/batches?limit=2&after=${first.last_id}`)).body;
  expect([rest.data.map(({ id }: Json) => id), rest.has_more]).toEqual([made.slice(2), false]);
  for (const id of made) await own.until(id);
  const results = (await own.call("/v1/files?purpose=batch_output&order=asc&limit=2")).body;
  expect([results.data.length, results.has_more]).toEqual([2, true]);
  const last = (await own.call(`/v1/files?purpose=batch_output&order=asc&after=${results.last_id}`)).body;
  expect([last.data.length, last.has_more]).toEqual([1, false]);
});

test("BATCH-01 SCOPE-03 a key needs the scope of batches and that of what the lines call", async () => {
  const team = await gateway.tenant();
  for (const [scopes, status] of [
    [["inference:chat"], 403],
    [["inference:batches"], 403],
    [["inference:batches", "inference:chat"], 200],
  ] as const) {
    const { key } = await gateway.manage("POST", `/workspaces/${team.slug}/keys`, {
      name: "k",
      environment: "live",
      scopes,
    });
    const own = of({ ...team, key });
    const uploaded = await own.upload([chatLine("a")]);
    if (uploaded.status !== 200) {
      expect([uploaded.status, uploaded.body.error.code]).toEqual([status, "insufficient_scope"]);
      continue;
    }
    const created = await own.call("/v1/batches", {
      body: { input_file_id: uploaded.body.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
    });
    expect(created.status).toBe(status);
  }
});

test("BATCH-01 POL-02 with zero data retention nothing is stored", async () => {
  const team = await gateway.tenant();
  const file = await of(team).upload([chatLine("a")]);
  await gateway.manage("PATCH", `/workspaces/${team.slug}/policy`, { zero_data_retention: true });
  const refused = await of(team).upload([chatLine("a")]);
  expect([refused.status, refused.body.error.code]).toEqual([403, "zero_data_retention_required"]);
  const batch = await of(team).call("/v1/batches", {
    body: { input_file_id: file.body.id, endpoint: "/v1/chat/completions", completion_window: "24h" },
  });
  expect([batch.status, batch.body.error.code]).toEqual([403, "zero_data_retention_required"]);
});

test("BATCH-01 content is encrypted in the store: neither requests nor results are in its file", async () => {
  const batch = await caller.submit([chatLine("a", "the secret of the pyramids")]);
  await caller.until(batch.id);
  const books = openBooks(gateway.dataDir);
  const chunks = books.prepare("select content from file_chunks union all select content from batch_outcomes").all();
  books.close();
  expect(chunks.length).toBeGreaterThan(1);
  for (const { content } of chunks)
    expect(Buffer.from(content as Uint8Array).toString("latin1")).not.toMatch(/pyramids|choices/);
});
