import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { filesWith } from "../edge/child.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { callerWith, gate } from "../support/response-callers.ts";
import { chatBody, costNanos, MODEL, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
/** The number of upstream requests before the test. */
let before: number;
beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
  before = upstream().requests.length;
});

const upstream = () => scene.at("deepinfra");
const upstreamCalls = () => upstream().requests.length - before;
const KEY = { "idempotency-key": "order 66 / 8e03978e-40d5-43e8-bc93-6894a57f9324" };

/** A request per surface, and its error format. */
const SURFACES = {
  chat: { path: "/v1/chat/completions", body: chatBody(), tag: "object" },
  messages: {
    path: "/v1/messages",
    body: { model: MODEL, max_tokens: 100, messages: [{ role: "user", content: "Say hello." }] },
    tag: "type",
  },
  responses: { path: "/v1/responses", body: { model: MODEL, input: "Say hello.", store: false }, tag: "object" },
} as const;
type Name = keyof typeof SURFACES;

const post = (name: Name, more: object = {}, headers: Record<string, string> = KEY, key = tenant.key) =>
  scene.gateway.call(key, SURFACES[name].path, { body: { ...SURFACES[name].body, ...more }, headers });

const charges = async () => (await scene.charges(tenant)).map(({ id }) => id);
/** Response headers about who served it. */
const servedIn = ({ headers }: Called) =>
  ["model", "provider", "sovereignty-level", "compute-countries"].map((name) => headers.get(`x-svc-${name}`));
const idOf = ({ headers }: Called) => headers.get("x-svc-request-id") ?? "";

function expectError(name: Name, answer: Called, status: number, code: string): void {
  expect([answer.status, answer.body.error.code], answer.text).toEqual([status, code]);
  expect(answer.body.type).toBe(name === "messages" ? "error" : undefined);
  expect(answer.body.error.request_id).toBe(idOf(answer));
}

/** The frames of a stream with parsed data. */
const framesIn = (text: string): Json[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));

/** Reads a stream up to this text, then disconnects. */
async function leaveAfter(word: string): Promise<void> {
  const left = new AbortController();
  const { body } = await fetch(`${scene.gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json", ...KEY },
    body: JSON.stringify(chatBody({ stream: true })),
    signal: left.signal,
  });
  let text = "";
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(word)) break;
  }
  left.abort();
}

describe.each(["chat", "messages", "responses"] as const)("%s", (name) => {
  test("BILL-09 of concurrent duplicates one is served and charged, the others get 409 with Retry-After", async () => {
    const held = gate();
    upstream().next({ gate: held.closed, json: chatJson() });
    const first = post(name);
    await upstream().arrived(before + 1);
    for (const twin of await Promise.all(Array.from({ length: 8 }, () => post(name)))) {
      expectError(name, twin, 409, "idempotency_key_in_use");
      expect(twin.headers.get("retry-after")).toBe("1");
    }
    expectError(name, await post(name, { temperature: 0.5 }), 422, "idempotency_key_reused");
    held.open();
    const served = await first;
    expect(served.status, served.text).toBe(200);
    expect([upstreamCalls(), await charges()]).toEqual([1, [`charge:${served.body.id}`]]);
  });

  test("BILL-09 many simultaneous duplicates: one upstream call, one charge", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => post(name)));
    const served = answers.filter(({ status, headers }) => status === 200 && !headers.has("idempotent-replayed"));
    expect([served.length, upstreamCalls(), (await charges()).length]).toEqual([1, 1, 1]);
    for (const { status, body } of answers)
      expect(status === 200 ? body.id : body.error.code).toBe(
        status === 200 ? served[0]?.body.id : "idempotency_key_in_use",
      );
  });

  test("BILL-09 HDR-02 a replay has provider, status, id, cost and link; no second call, no second charge", async () => {
    const first = await post(name);
    expect(first.status, first.text).toBe(200);
    const again = await post(name);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect([idOf(again), again.headers.get("x-request-id")]).toEqual([first.body.id, first.body.id]);
    expect(again.headers.get("x-ratelimit-remaining")).not.toBeNull();
    expect(servedIn(first)).not.toContain(null);
    expect(servedIn(again)).toEqual(servedIn(first));
    const { message, cost, ...rest } = again.body;
    expect(rest).toEqual({
      id: first.body.id,
      [SURFACES[name].tag]: "idempotent_replay",
      status: 200,
      currency: "EUR",
      request_url: `/v1/requests/${first.body.id}`,
    });
    expect(nanosOf(cost)).toBe(costNanos("deepinfra", { input: 11, output: 7 }));
    expect(message).toContain(`GET /v1/requests/${first.body.id}`);
    expect(message.includes("/v1/responses/")).toBe(name === "responses");
    const read = await scene.gateway.call(tenant.key, again.body.request_url);
    expect(read.body).toMatchObject({ id: first.body.id, status: 200, cost, currency: "EUR" });
    expect([upstreamCalls(), await charges()]).toEqual([1, [`charge:${first.body.id}`]]);
    const rows = await scene.rows(tenant);
    expect(rows.map((row) => [row.status, row.error_code, row.cost === "0.00"])).toEqual([
      [200, "idempotent_replay", true],
      [200, null, false],
    ]);
    const wallet = await scene.wallet(tenant);
    expect([wallet.held, nanosOf(wallet.balance)]).toEqual(["0.00", nanosOf("10") - nanosOf(cost)]);
  });

  test("BILL-09 HDR-08 a replayed stream ends with an error frame at once, not as an empty reply", async () => {
    const first = await post(name, { stream: true });
    expect(first.status, first.text).toBe(200);
    const again = await post(name, { stream: true });
    expect(servedIn(again)).toEqual(servedIn(first));
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(again.headers.get("content-type")).toContain("text/event-stream");
    expect(idOf(again)).toBe(idOf(first));
    const [frame, ...more] = framesIn(again.text);
    expect(more).toEqual([]);
    expect(frame.error).toMatchObject({ code: "idempotent_replay", request_id: idOf(first) });
    expect(again.text.startsWith("event: error\n")).toBe(name !== "chat");
    if (name === "responses")
      expect(frame).toMatchObject({ type: "error", sequence_number: 0, code: frame.error.code });
    expect([upstreamCalls(), await charges()]).toEqual([1, [`charge:${idOf(first)}`]]);
    // The same request without a stream is another body.
    expectError(name, await post(name), 422, "idempotency_key_reused");
  });

  test("BILL-09 another body gets 422 and costs nothing", async () => {
    const first = await post(name);
    const other = await post(name, { temperature: 0.5 });
    expectError(name, other, 422, "idempotency_key_reused");
    expect(other.body.error).toMatchObject({ param: "Idempotency-Key" });
    expect(other.body.error.message).toContain(first.body.id);
    expect([upstreamCalls(), (await charges()).length]).toEqual([1, 1]);
  });

  test("BILL-09 refuses an empty, too long or unprintable key and names the header", async () => {
    for (const bad of ["", "x".repeat(256), "caf\u00e9", "a\tb"]) {
      const answer = await post(name, {}, { "idempotency-key": bad });
      expectError(name, answer, 400, "invalid_value");
      expect(answer.body.error).toMatchObject({ param: "Idempotency-Key" });
    }
    expect(upstreamCalls()).toBe(0);
    const longest = await post(name, {}, { "idempotency-key": "~".repeat(255) });
    expect(longest.status).toBe(200);
  });
});

describe("the key is free again", () => {
  test("BILL-09 after a provider failure: the next call is made and counts", async () => {
    upstream().next({ status: 500, json: { error: { message: "no" } } });
    const failed = await post("chat");
    expect(failed.status).toBe(502);
    const second = await post("chat");
    expect([second.status, second.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect((await post("chat")).body.id).toBe(second.body.id);
    expect(await charges()).toEqual([`charge:${second.body.id}`]);
  });

  test("BILL-09 after a refusal of the body, the model or for missing funds", async () => {
    expect((await post("chat", { temperature: "hot" })).status).toBe(400);
    expect((await post("chat", { model: "no/such" })).status).toBe(404);
    expect((await post("chat")).status).toBe(200);
    const poor = await scene.gateway.tenant({ credit: "0" });
    expect((await post("chat", {}, KEY, poor.key)).status).toBe(402);
    await scene.gateway.manage("POST", `/workspaces/${poor.slug}/wallet/credits`, { amount: "1" });
    expect((await post("chat", {}, KEY, poor.key)).headers.get("idempotent-replayed")).toBeNull();
  });

  test("BILL-09 after a stream that broke off, which is not charged", async () => {
    const frames = chatFrames(["Hello"]).slice(0, 2);
    upstream().next({ frames, end: { is: "cut", after: Buffer.byteLength(frames.join("")) } });
    const broken = await post("chat", { stream: true });
    expect(broken.text).toContain("upstream_error");
    expect((await post("chat", { stream: true })).text).toContain("[DONE]");
    expect(await charges()).toHaveLength(1);
  });

  test("BILL-09 after a disconnect before any output, but not after one in the middle that was charged", async () => {
    const held = gate();
    upstream().next({ gate: held.closed });
    const left = new AbortController();
    const gone = scene.gateway.call(tenant.key, "/v1/chat/completions", {
      body: chatBody(),
      headers: KEY,
      signal: left.signal,
    });
    await upstream().arrived(before + 1);
    left.abort();
    await expect(gone).rejects.toThrow();
    held.open();
    await scene.rowsOnce(tenant, 1);
    const [word = "", ...rest] = chatFrames(["Hello", " there"]);
    upstream().next({ frames: [word, rest[0] ?? ""], end: { is: "stall", after: Buffer.byteLength(word + rest[0]) } });
    await leaveAfter("Hello");
    const rows = await scene.rowsOnce(tenant, 2);
    expect(rows[0]).toMatchObject({ status: 499, error_code: "client_disconnected" });
    expect(nanosOf(rows[0].cost)).toBeGreaterThan(0n);
    const again = await post("chat", { stream: true });
    expectError("chat", again, 409, "idempotent_replay");
    expect(again.headers.get("x-should-retry")).toBe("false");
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body.error.message).toContain(`${rows[0].id}, status 499, ${rows[0].cost} EUR`);
    expect([upstreamCalls(), (await charges()).length]).toEqual([2, 1]);
  });

  test("BILL-09 after a call without a charge", async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    for (const _ of [1, 2]) upstream().next({ json: chatJson({ usage }) });
    const [one, two] = [await post("chat"), await post("chat")];
    expect([one.body.usage.cost, two.body.usage.cost, await charges()]).toEqual([0, 0, []]);
    expect([one.body.id === two.body.id, upstreamCalls()]).toEqual([false, 2]);
  });

  test("BILL-09 after a call with the workspace's own provider key, which costs nothing here", async () => {
    const { slug } = tenant;
    await scene.gateway.manage("PUT", `/workspaces/${slug}/providers/deepinfra`, {
      key: "own-key-0123456789",
      use: "only",
    });
    before = upstream().requests.length;
    const [one, two] = [await post("chat"), await post("chat")];
    expect([one.status, two.status, one.body.id === two.body.id, upstreamCalls()]).toEqual([200, 200, false, 2]);
    expect(await charges()).toEqual([]);
  });
});

describe("in metrics", () => {
  const usage = async (): Promise<Json> =>
    (await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/usage?group=status`)).data;
  const totals = async (): Promise<Json> =>
    (await scene.gateway.manage("GET", `/workspaces/${tenant.slug}/evidence`)).totals;

  test("BILL-09 PORTAL-04 LOG-05 a replay counts as a request, not as an error, and has no latency", async () => {
    await post("chat");
    await post("chat");
    await post("chat", { stream: true }, { "idempotency-key": "streamed" });
    await post("chat", { stream: true }, { "idempotency-key": "streamed" });
    expect(await usage()).toMatchObject([{ name: "200", requests: 4, errors: 0, timed_requests: 2 }]);
    expect(await totals()).toMatchObject({ requests: 4, served: 2, failed: 0, failed_in_part: 0, repeated: 2 });
  });

  test("BILL-09 LOG-05 an interrupted call is a partial failure, and its 409 replay is none", async () => {
    const [word = "", ...rest] = chatFrames(["Hello", " there"]);
    upstream().next({ frames: [word, rest[0] ?? ""], end: { is: "stall", after: Buffer.byteLength(word + rest[0]) } });
    await leaveAfter("Hello");
    await scene.rowsOnce(tenant, 1);
    expect((await post("chat", { stream: true })).status).toBe(409);
    // Counted here: no provider served it, and it hides no failure.
    const counted = await scene.gateway.call(tenant.key, "/v1/messages/count_tokens", {
      body: { model: MODEL, messages: [{ role: "user", content: "Say hello." }] },
    });
    expect(counted.status, counted.text).toBe(200);
    expect(await usage()).toMatchObject([
      { name: "200", requests: 1, errors: 0 },
      { name: "409", requests: 1, errors: 0 },
      { name: "499", requests: 1, errors: 1 },
    ]);
    expect(await totals()).toMatchObject({ requests: 3, served: 1, failed: 1, failed_in_part: 1, repeated: 1 });
  });
});

describe("scope of a key", () => {
  test("BILL-09 is the workspace and environment: other keys of the workspace share it", async () => {
    const first = await post("chat");
    const other = await scene.gateway.tenant({ credit: "10" });
    expect((await post("chat", {}, KEY, other.key)).headers.get("idempotent-replayed")).toBeNull();
    const keys = `/workspaces/${tenant.slug}/keys`;
    const trial = await scene.gateway.manage("POST", keys, { name: "trial", environment: "test" });
    expect((await post("chat", {}, KEY, trial.key)).headers.get("idempotent-replayed")).toBeNull();
    const second = await scene.gateway.manage("POST", keys, { name: "second", environment: "live" });
    expect((await post("chat", {}, KEY, second.key)).body.id).toBe(first.body.id);
    expect(upstreamCalls()).toBe(3);
  });

  test("BILL-09 a member's reply and its id are not shown to another member", async () => {
    const personalKey = async (email: string) => {
      await scene.gateway.manage("POST", `/workspaces/${tenant.slug}/members`, { email });
      return scene.gateway.manage("POST", `/workspaces/${tenant.slug}/keys`, { name: "own", member: email });
    };
    await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/key-policy`, { personal_keys: true });
    const [ada, bob] = [await personalKey("ada@example.eu"), await personalKey("bob@example.eu")];
    const first = await post("responses", { store: true }, KEY, ada.key);
    const other = await post("responses", { store: true }, KEY, bob.key);
    expect([other.status, other.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(other.body.id).not.toBe(first.body.id);
    const again = await post("responses", { store: true }, KEY, ada.key);
    expect([again.headers.get("idempotent-replayed"), again.body.id]).toEqual(["true", first.body.id]);
    const changed = await post("responses", { input: "Say goodbye." }, KEY, bob.key);
    expect([changed.status, changed.text.includes(first.body.id)]).toEqual([422, false]);
    expect([upstreamCalls(), (await charges()).length]).toEqual([2, 2]);
  });

  test("BILL-09 another surface or anthropic header makes another request", async () => {
    await post("messages");
    expect((await post("chat")).status).toBe(422);
    for (const name of ["anthropic-beta", "anthropic-version"])
      expect((await post("messages", {}, { ...KEY, [name]: "2026-01-01" })).status).toBe(422);
    expect((await post("messages", {}, { ...KEY, "x-title": "another label" })).status).toBe(200);
    expect(upstreamCalls()).toBe(1);
  });

  test("BILL-09 without the header every call is made", async () => {
    const [one, two] = [await post("chat", {}, {}), await post("chat", {}, {})];
    expect(one.body.id).not.toBe(two.body.id);
    expect([upstreamCalls(), (await charges()).length]).toEqual([2, 2]);
  });

  test("BILL-09 neither key nor body is stored", async () => {
    const secret = "only-the-caller-knows-4711";
    const answer = await post(
      "chat",
      { messages: [{ role: "user", content: "a very private word" }] },
      {
        "idempotency-key": secret,
      },
    );
    expect(answer.status).toBe(200);
    await scene.rows(tenant);
    expect(filesWith(scene.gateway.dataDir, [secret])).toEqual([]);
    expect(filesWith(scene.gateway.dataDir, ["a very private word"])).toEqual([]);
  });
});

describe("stored responses", () => {
  const stored = (more: object = {}) =>
    scene.gateway.call(tenant.key, "/v1/responses", {
      body: { model: MODEL, input: "Say hello.", ...more },
      headers: KEY,
    });

  test("BILL-09 HDR-02 a stored response is returned again with who served it; once deleted, only its metadata", async () => {
    const first = await stored();
    const again = await stored();
    expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([200, "true", first.body]);
    const servers = ["model", "provider", "sovereignty-level", "compute-countries", "upstream-surface"];
    for (const name of servers.map((what) => `x-svc-${what}`)) {
      expect(first.headers.get(name), name).not.toBeNull();
      expect(again.headers.get(name), name).toBe(first.headers.get(name));
    }
    await callerWith(scene.gateway, tenant.key).remove(first.body.id);
    expect((await stored()).body).toMatchObject({ id: first.body.id, object: "idempotent_replay" });
    expect([upstreamCalls(), (await charges()).length]).toEqual([1, 1]);
  });

  test("BILL-09 in the background: 409 while it runs, then the response", async () => {
    const held = gate();
    upstream().next({ gate: held.closed, frames: chatFrames(["Hello"], { usage: "asked" }) });
    const made = await stored({ background: true });
    expect([made.status, made.body.status]).toEqual([200, "queued"]);
    await upstream().arrived(before + 1);
    const twin = await stored({ background: true });
    expectError("responses", twin, 409, "idempotency_key_in_use");
    expect(twin.body.error.message).toContain(made.body.id);
    held.open();
    const done = await callerWith(scene.gateway, tenant.key).once(made.body.id, "completed");
    expect((await stored({ background: true })).body).toEqual(done);
    expect([upstreamCalls(), await charges()]).toEqual([1, [`charge:${made.body.id}`]]);
  });
});

describe("official clients", () => {
  /** The client has the option but no header for it. */
  class Keyed extends OpenAI {
    protected override idempotencyHeader = "Idempotency-Key";
  }

  test("BILL-09 the OpenAI client with `idempotencyKey`: one call, and a replayed stream throws", async () => {
    const client = new Keyed({ apiKey: tenant.key, baseURL: `${scene.gateway.url}/v1` });
    const body = { model: MODEL, messages: [{ role: "user" as const, content: "Hi" }] };
    const first = await client.chat.completions.create(body, { idempotencyKey: "a" });
    const { data, response, request_id } = await client.chat.completions
      .create(body, { idempotencyKey: "a" })
      .withResponse();
    expect([data.id, request_id]).toEqual([first.id, first.id]);
    expect([data.choices, response.headers.get("idempotent-replayed")]).toEqual([undefined, "true"]);
    const stream = { ...body, stream: true as const };
    for await (const _ of await client.chat.completions.create(stream, { idempotencyKey: "b" }));
    const again = await client.chat.completions.create(stream, { idempotencyKey: "b" });
    await expect(Array.fromAsync(again)).rejects.toThrow("was served and charged before");
    expect([upstreamCalls(), (await charges()).length]).toEqual([2, 2]);
  });

  test("BILL-09 a client that retries while the first call runs waits and gets its reply", async () => {
    const client = new Keyed({ apiKey: tenant.key, baseURL: `${scene.gateway.url}/v1`, maxRetries: 3 });
    const held = gate();
    upstream().next({ gate: held.closed, json: chatJson() });
    const body = { model: MODEL, input: "Hi" };
    const first = client.responses.create(body, { idempotencyKey: "c" });
    await upstream().arrived(before + 1);
    const twin = client.responses.create(body, { idempotencyKey: "c" });
    // It got 409 once the log has the line.
    await scene.rowsOnce(tenant, 1);
    held.open();
    expect((await twin).id).toBe((await first).id);
    expect([upstreamCalls(), (await charges()).length]).toEqual([1, 1]);
  });

  test("BILL-09 the Anthropic client: its own error types, and a replayed stream throws", async () => {
    const client = new Anthropic({ apiKey: tenant.key, baseURL: scene.gateway.url, maxRetries: 0 });
    const body = { model: MODEL, max_tokens: 50, messages: [{ role: "user" as const, content: "Hi" }] };
    const headers = { "Idempotency-Key": "d" };
    await client.messages.stream(body, { headers }).finalMessage();
    const again = client.messages.stream(body, { headers });
    await expect(again.finalMessage()).rejects.toThrow("was served and charged before");
    const other = client.messages.create({ ...body, max_tokens: 51 }, { headers });
    await expect(other).rejects.toMatchObject({ status: 422, error: { error: { code: "idempotency_key_reused" } } });
    expect(upstreamCalls()).toBe(1);
  });
});
