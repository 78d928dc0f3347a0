import { afterAll, beforeAll, expect, test } from "vitest";
import { openScene, type Scene } from "../support/scene.ts";
import { chatJson, sse } from "../support/upstream.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());

test("LOG-01 BILL-02 a very long id of a provider does not prevent billing", async () => {
  const tenant = await scene.gateway.tenant();
  const id = "i".repeat(17 * 1024 * 1024);
  scene.at("deepinfra").next({ json: { ...chatJson(), id } });
  const whole = await scene.chat(tenant.key);
  expect(whole.status).toBe(200);
  expect(whole.body.id).toBe(whole.headers.get("x-svc-request-id"));
  const long = "i".repeat(1024 * 1024);
  const choices = [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }];
  const frames = [sse({ id: long, object: "chat.completion.chunk", created: 1, model: "m", choices }), sse("[DONE]")];
  scene.at("deepinfra").next({ frames });
  expect((await scene.chat(tenant.key, { stream: true })).text).toContain("[DONE]");
  expect(await scene.charges(tenant)).toHaveLength(2);
});
