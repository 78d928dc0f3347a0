import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";

const call = (more: JsonObject = {}) => ({ type: "function_call", call_id: "c", name: "f", arguments: "{}", ...more });
const output = (more: JsonObject = {}) => ({ type: "function_call_output", call_id: "c", output: "x", ...more });
const user = (content: unknown = "Go.") => ({ role: "user", content });
const address = { type: "input_image", image_url: "https://a.example/x.png" };
const NAMESPACE = { type: "namespace", name: "n", description: "d", tools: [{ type: "function", name: "a.b" }] };

type Case = readonly [what: string, more: JsonObject, param: string, dialects: readonly string[]];

/** Input that the endpoint's dialect cannot express is refused while encoding, by its name in this dialect. */
const CASES: readonly Case[] = [
  ["an output without its call", { input: [user(), output()] }, "input.1.call_id", ["D2", "D3", "D4"]],
  ["an output before its call", { input: [user(), output(), call()] }, "input.1.call_id", ["D2", "D3", "D4"]],
  ["a call without its output", { input: [user(), call(), user()] }, "input.1", ["D2", "D4"]],
  [
    "the second of two calls, broken",
    {
      instructions: "Be short.",
      input: [
        user(),
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        call({ call_id: "b" }),
        call({ arguments: "{" }),
        output({ call_id: "b" }),
        output(),
      ],
    },
    "input.3.arguments",
    ["D2", "D3", "D4"],
  ],
  ["nothing to say", { input: [user("")] }, "input", ["D1", "D2", "D3", "D4"]],
  ["thoughts alone", { input: [{ type: "reasoning", summary: [] }] }, "input", ["D1", "D2", "D3", "D4"]],
  ["too long an answer", { max_output_tokens: 9_999_999 }, "max_output_tokens", ["D1", "D2", "D3", "D4"]],
  ["a name in a group", { tools: [{ type: "function", name: "g" }, NAMESPACE] }, "tools.1.tools.0.name", ["D2"]],
  ["an address of a picture", { input: [user([address])] }, "input.0.content.0", ["D3", "D4"]],
  [
    "a picture in an output",
    { input: [user(), call(), output({ output: [{ type: "input_text", text: "t" }, address] })] },
    "input.2.output.1",
    ["D3", "D4"],
  ],
  [
    "a picture that the model is said to have made",
    { input: [user(), { role: "assistant", content: [{ type: "output_text", text: "t" }, address] }, user()] },
    "input.1.content.1",
    ["D1", "D2", "D3", "D4"],
  ],
];

describe.each(Object.entries(DIALECT_SCRIPTS))("%s", (dialect, { provider, model, whole }) => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene([provider]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());
  const ask = (more: JsonObject): Promise<Called> =>
    scene.gateway.call(tenant.key, "/v1/responses", { body: { model, input: "Hello", store: false, ...more } });

  test.each(CASES.filter(([, , , dialects]) => dialects.includes(dialect)))(
    "PARAM-04 %s is refused by its path",
    async (_what, more, param) => {
      const before = scene.at(provider).requests.length;
      const { status, body } = await ask(more);
      expect([status, body.error?.param], JSON.stringify(body)).toEqual([400, param]);
      expect(body.error.message).not.toMatch(/messages\.|tool_calls|"tool"|function\./);
      expect(scene.at(provider).requests.length).toBe(before);
    },
  );

  if (dialect === "D2")
    test("PARAM-04 an inexpressible part of a stored conversation is named as a whole", async () => {
      scene.at(provider).next(whole({ calls: [{ id: "c", name: "f", input: {} }] }));
      const first = await ask({ store: true });
      const { status, body } = await ask({ previous_response_id: first.body.id });
      expect([status, body.error?.param], JSON.stringify(body)).toEqual([400, "previous_response_id"]);
    });
});
