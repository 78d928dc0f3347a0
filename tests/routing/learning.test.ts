import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { chatBody, openChat, openScene, type Scene } from "../support/scene.ts";
import { chatFrames } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const explain = (request: object, more: object = {}): Promise<Json> =>
  scene.gateway.manage("POST", `/workspaces/${tenant.slug}/routing/explain`, { request, ...more });

test("ROUTE-02 a client that reads slowly does not raise the endpoint's measured latency", async () => {
  // Many times what socket buffers take.
  const words = Array.from({ length: 400 }, () => "word".repeat(10_000));
  let taken = 0;
  function* counted() {
    for (const frame of chatFrames(words, { usage: "asked" })) {
      taken += 1;
      yield frame;
    }
  }
  scene.at("deepinfra").next({ frames: counted() });
  const slow = await openChat(scene.gateway.url, tenant.key, chatBody({ stream: true }), "unread");
  // Until the provider can send no more.
  for (let before = -1; before !== taken; ) {
    before = taken;
    await sleep(300);
  }
  expect(taken).toBeLessThan(words.length);
  slow.response.resume();
  await once(slow.response, "end");
  await scene.rowsOnce(tenant, 1);
  expect((await explain(chatBody())).expected.latency_ms).toBeNull();
  await scene.chat(tenant.key, { stream: true });
  await eventually(async () => expect((await explain(chatBody())).expected.latency_ms).toBeGreaterThan(0));
});

test("ROUTE-02 max_tokens bounds the expected output on every surface and is not required beyond that", async () => {
  const messages = [{ role: "user", content: "Say hello." }];
  for (const [surface, limit] of [
    ["chat", { max_tokens: 10 }],
    ["messages", { max_tokens: 10 }],
    ["responses", { max_output_tokens: 10, input: "Say hello.", messages: undefined }],
  ] as const) {
    const { refusal, expected } = await explain({ ...chatBody({ messages }), ...limit }, { surface });
    expect([surface, refusal, expected?.output_tokens]).toEqual([surface, null, 10]);
  }
  const beyond = { ...chatBody({ messages }), max_tokens: 5_000_000 };
  expect((await explain(beyond, { surface: "messages" })).refusal).toBeNull();
  expect((await explain(beyond, { surface: "chat" })).refusal).toMatchObject({ param: "max_tokens" });
});
