import { afterAll, beforeAll, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { openChat, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
let questions = 0;
beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
  tenant = await scene.gateway.tenant();
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { cache: { ttl: 600, coalesce: true } });
});
afterAll(() => scene.close());

const upstream = () => scene.at("deepinfra");
const statusOf = ({ headers }: Called) => headers.get("x-svc-cache")?.split(";")[0] ?? null;

function question(): Json {
  questions += 1;
  return { messages: [{ role: "user", content: `Question ${questions}` }] };
}

/** Identical requests, of which the first one waits at the provider for `open`. */
async function concurrently(body: Json, count: number, first: Json) {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const before = upstream().requests.length;
  upstream().next({ ...first, gate });
  const leader = scene.chat(tenant.key, body);
  await upstream().arrived(before + 1);
  const followers = Array.from({ length: count }, () => scene.chat(tenant.key, body));
  // A whole request later the followers wait.
  await scene.chat(tenant.key, { ...question(), cache: { ttl: 0 } });
  return { leader, followers, open, calls: () => callsOf(body) };
}

const callsOf = ({ messages }: Json) =>
  upstream().requests.filter(({ json }) => (json as Json).messages[0].content === messages[0].content).length;

test("CACHE-01 identical concurrent requests cost one: the others wait and get its reply", async () => {
  const { calls, leader, followers, open } = await concurrently(question(), 4, { json: chatJson({}) });
  open();
  const replies = await Promise.all([leader, ...followers]);
  expect(calls()).toBe(1);
  expect(replies.map(statusOf)).toEqual(["miss", "hit", "hit", "hit", "hit"]);
  expect(replies.filter(({ body }) => body.usage.cost > 0)).toHaveLength(1);
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(5);
});

test("CACHE-01 an error of the first is its own: the next one runs, and the rest wait for that", async () => {
  const refused = { status: 400, json: { error: { message: "no", type: "invalid_request_error" } } };
  const { calls, leader, followers, open } = await concurrently(question(), 3, refused);
  open();
  expect((await leader).status).toBe(400);
  const replies = await Promise.all(followers);
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(replies.map(statusOf).sort()).toEqual(["hit", "hit", "miss"]);
  expect(calls()).toBe(2);
});

test("CACHE-01 a leader that disconnects leaves the request to the next one, and a waiting one may leave", async () => {
  const body = { model: "openai/gpt-oss-120b", ...question(), stream: true };
  upstream().next({ frames: chatFrames(["Hel", "lo"]), end: { is: "stall", after: 600 } });
  const leader = await openChat(scene.gateway.url, tenant.key, body);
  await leader.until("Hel");
  const abort = new AbortController();
  const leaving = scene.gateway.call(tenant.key, "/v1/chat/completions", { body, signal: abort.signal });
  const follower = scene.chat(tenant.key, body);
  abort.abort();
  await expect(leaving).rejects.toThrow();
  leader.hangUp();
  const reply = await follower;
  expect([reply.status, statusOf(reply)]).toEqual([200, "miss"]);
  expect(callsOf(body)).toBe(2);
});

test("CACHE-01 when the reply of the first is not kept, the others run at once instead of one by one", async () => {
  const cut = { index: 0, message: { role: "assistant", content: "Hel" }, finish_reason: "length" };
  const { calls, leader, followers, open } = await concurrently(question(), 3, { json: chatJson({ choices: [cut] }) });
  open();
  const replies = await Promise.all([leader, ...followers]);
  expect(replies.map(statusOf)).toEqual(["miss", "miss", "miss", "miss"]);
  expect(calls()).toBe(4);
});

test("CACHE-01 without coalescing identical concurrent requests all run", async () => {
  const body = { ...question(), cache: { coalesce: false, ttl: 600 } };
  const { calls, leader, followers, open } = await concurrently(body, 2, { json: chatJson({}) });
  await Promise.all(followers);
  open();
  await leader;
  expect(calls()).toBe(3);
});
