import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";

let scene: Scene;
let tenant: Tenant;
const { model } = DIALECT_SCRIPTS.D2;
beforeAll(async () => {
  scene = await openScene(["anthropic"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());
const ask = (more: JsonObject): Promise<Called> =>
  scene.gateway.call(tenant.key, "/v1/responses", { body: { model, input: "Hello", store: false, ...more } });

test.each<[string, JsonObject, string]>([
  ["no model", { model: null }, "model"],
  ["a model that is not text", { model: 7 }, "model"],
  ["no input", { input: null }, "input"],
  ["an empty list", { input: [] }, "input"],
  ["a number", { input: 7 }, "input"],
  ["an item that is a text", { input: ["hello"] }, "input.0"],
  ["an item without role or type", { input: [{ content: "x" }] }, "input.0.role"],
  ["a role of another dialect", { input: [{ role: "tool", content: "x" }] }, "input.0.role"],
  ["a call without its id", { input: [{ type: "function_call", name: "f", arguments: "{}" }] }, "input.0.call_id"],
  [
    "arguments that are not text",
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
    "input.0.arguments",
  ],
  ["an output without content", { input: [{ type: "function_call_output", call_id: "c" }] }, "input.0.output"],
  [
    "an image in the chat format",
    { input: [{ role: "user", content: [{ type: "input_image", image_url: { url: "https://a.example/" } }] }] },
    "input.0.content.0.image_url",
  ],
  [
    "a text part without text",
    { input: [{ role: "user", content: [{ type: "input_text" }] }] },
    "input.0.content.0.text",
  ],
  ["a tool in the chat format", { tools: [{ type: "function", function: { name: "f" } }] }, "tools.0.name"],
  ["a tool's name with spaces", { tools: [{ type: "function", name: "a b" }] }, "tools.0.name"],
  ["a response_format as in chat", { text: { format: { type: "json_schema", json_schema: {} } } }, "text.format.name"],
  ["an unknown format", { text: { format: { type: "xml" } } }, "text.format.type"],
  ["too warm", { temperature: 3 }, "temperature"],
  ["no tokens", { max_output_tokens: 0 }, "max_output_tokens"],
  ["an unknown effort", { reasoning: { effort: "extreme" } }, "reasoning.effort"],
  ["an unknown choice", { tool_choice: "sometimes" }, "tool_choice"],
  ["metadata that is not text", { metadata: { a: 1 } }, "metadata.a"],
  ["a tier in upper case", { cost_tier: "LOW" }, "cost_tier"],
  ["a conversation", { conversation: { id: "conv_1" } }, "conversation"],
])("PARAM-04 %s is refused with its path", async (_what, more, param) => {
  const before = scene.at("anthropic").requests.length;
  const { status, body } = await ask(more);
  expect([status, body.error?.param], JSON.stringify(body)).toEqual([400, param]);
  expect(scene.at("anthropic").requests.length).toBe(before);
});
