import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";

/** Some providers take four stop sequences. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["openai", "deepinfra"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const five = ["a", "b", "c", "d", "e"];
const messages = (model: string, stop_sequences: readonly string[]) =>
  scene.gateway.call(tenant.key, "/v1/messages", {
    body: { model, max_tokens: 50, messages: [{ role: "user", content: "Hello" }], stop_sequences },
  });

test("PARAM-01 PARAM-03 more are refused by name before any provider is called, or routed to a provider that takes them", async () => {
  const model = "openai/gpt-4.1";
  const message = await messages(model, five);
  const { code, param } = message.body.error;
  expect([message.status, code, param]).toEqual([400, "invalid_value", "stop_sequences"]);
  const chat = await scene.chat(tenant.key, { model, stop: five });
  expect([chat.status, chat.body.error.code, chat.body.error.param]).toEqual([400, "invalid_value", "stop"]);
  expect(chat.body.error.message).toContain(
    "stop exceeds the limit: each endpoint supports at most four stop sequences",
  );
  expect(scene.at("openai").requests).toHaveLength(0);
  expect((await scene.chat(tenant.key, { model, stop: five.slice(1) })).status).toBe(200);
  expect((await messages(MODEL, five)).status).toBe(200);
  expect(scene.at("deepinfra").requests.at(-1)?.json).toMatchObject({ stop: five });
});
