import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../tests/support/gateway.ts";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { SseReader } from "../kit/sse.ts";
import type { SandboxSlug } from "./provider-profiles.ts";
import { type Sandbox, startSandbox } from "./server.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
});
afterAll(() => sandbox.close());

async function post(body: object, slug: SandboxSlug = "sandbox-us") {
  const answer = await fetch(`${sandbox.origins[slug]}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer any" },
    body: JSON.stringify({ model: "sandbox/chat", store: false, input: "hello", ...body }),
  });
  return { status: answer.status, text: await answer.text() };
}

async function ask(body: object): Promise<Json> {
  const { status, text } = await post(body);
  expect(status, text).toBe(200);
  return JSON.parse(text);
}

async function complaint(body: object, slug?: SandboxSlug): Promise<[number, string | null, string | null]> {
  const { status, text } = await post(body, slug);
  const { error } = JSON.parse(text);
  return [status, error.param, error.code];
}

async function streamed(body: object): Promise<Json[]> {
  const { text } = await post({ ...body, stream: true });
  const reader = new SseReader(1 << 20);
  return [...reader.push(Buffer.from(text)), ...reader.end()].map(({ event, data }) => {
    const value = JSON.parse(data);
    expect(value.type).toBe(event);
    return value;
  });
}

const WEATHER = {
  type: "function",
  name: "get_weather",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const CALLING = { tools: [WEATHER], input: "get_weather please" };
const THINKING = { reasoning: { effort: "low", summary: "auto" }, include: ["reasoning.encrypted_content"] };

describe("replies in the responses format", () => {
  test("text, with usage and echoed request fields", async () => {
    const reply = await ask({ instructions: "Be brief.", metadata: { a: "b" } });
    expect(reply).toMatchObject({ object: "response", status: "completed", store: false, metadata: { a: "b" } });
    expect(reply.id).toMatch(/^resp_sim/);
    expect(reply.output).toMatchObject([
      { type: "message", role: "assistant", content: [{ text: "[simulated by sandbox-us] You said: hello" }] },
    ]);
    const { input_tokens, output_tokens, total_tokens } = reply.usage;
    expect([input_tokens, output_tokens, total_tokens]).toEqual([11, 11, 22]);
  });

  test("a call, and the reply to its result", async () => {
    const [call] = (await ask(CALLING)).output;
    expect(call).toMatchObject({ type: "function_call", name: "get_weather", status: "completed" });
    expect(JSON.parse(call.arguments)).toHaveProperty("city");
    const { id: _, status: __, ...item } = call;
    const result = { type: "function_call_output", call_id: call.call_id, output: "sunny" };
    const reply = await ask({ tools: [WEATHER], input: [{ role: "user", content: "get_weather" }, item, result] });
    expect(reply.output[0].content[0].text).toContain("The tool get_weather answered: sunny");
  });

  test("a valid value for the schema, and a truncated reply at the limit", async () => {
    const format = { type: "json_schema", name: "n", schema: { type: "object", properties: {} }, strict: true };
    expect(JSON.parse((await ask({ text: { format } })).output[0].content[0].text)).toEqual({});
    const cut = await ask({ input: "words ".repeat(50), max_output_tokens: 16 });
    expect([cut.status, cut.incomplete_details.reason]).toEqual(["incomplete", "max_output_tokens"]);
    expect(cut.usage.output_tokens).toBe(16);
  });

  test("a stream emits every event, and its final one matches the JSON response", async () => {
    for (const body of [CALLING, { ...THINKING }, { input: "words ".repeat(50), max_output_tokens: 16 }]) {
      const events = await streamed(body);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
      const last = events.at(-1);
      const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
      expect(last.response.output).toEqual(done);
      const texts = events.filter(({ type }) => type === "response.output_text.delta").map(({ delta }) => delta);
      const text = done.flatMap(({ content = [] }) => content.map((part: Json) => part.text)).join("");
      expect(texts.join("")).toBe(text);
      const whole = await ask(body);
      const bare = (items: Json[]) => items.map(({ id: _, call_id: __, ...item }) => item);
      expect(bare(last.response.output)).toEqual(bare(whole.output));
      expect(last.response.usage).toEqual(whole.usage);
    }
  });

  test("encrypted reasoning is accepted only by its provider and unchanged", async () => {
    const [thought, message] = (await ask(THINKING)).output;
    expect(thought.summary[0].text).toContain("Simulated reasoning, effort low");
    const { id: _, ...sealed } = thought;
    const { id: __, ...said } = message;
    const more = { role: "user", content: "go on" };
    expect((await post({ input: [sealed, said, more] })).status).toBe(200);
    const refused = [400, "input[0].encrypted_content", "invalid_encrypted_content"];
    expect(await complaint({ input: [sealed, said, more] }, "sandbox-de")).toEqual(refused);
    const changed = { ...sealed, encrypted_content: sealed.encrypted_content.replace("sim.", "sim.x") };
    expect(await complaint({ input: [changed, said, more] })).toEqual(refused);
    expect((await ask({ reasoning: { effort: "low" } })).output[0]).not.toHaveProperty("encrypted_content");
  });
});

describe("errors in the responses format", () => {
  const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
  test.each<[string, object, [number, string | null, string | null]]>([
    ["a memory", { store: true }, [400, "store", "unsupported_value"]],
    ["a memory by default", { store: null }, [400, "store", "unsupported_value"]],
    [
      "an earlier answer",
      { previous_response_id: "resp_1" },
      [400, "previous_response_id", "previous_response_not_found"],
    ],
    ["background work", { background: true }, [400, "background", "invalid_value"]],
    ["a reference", { input: [{ type: "item_reference", id: "msg_1" }] }, [404, "input", null]],
    ["an id of an item", { input: [{ role: "user", content: "x", id: "msg_1" }] }, [404, "input", null]],
    ["an unknown field", { session_id: "s" }, [400, "session_id", "unknown_parameter"]],
    ["a call without a result", { input: [call] }, [400, "input", null]],
    [
      "a result without a call",
      { input: [{ type: "function_call_output", call_id: "c", output: "" }] },
      [400, "input", null],
    ],
    ["a thought that leads nowhere", { input: [{ type: "reasoning", summary: [] }] }, [400, "input", null]],
    ["a tool that is not there", { tool_choice: { type: "function", name: "f" } }, [400, "tool_choice", null]],
    [
      "an unknown field of an item",
      { input: [{ role: "user", content: [{ type: "input_text", text: "x", y: 1 }] }] },
      [400, "input[0].content[0].y", "unknown_parameter"],
    ],
    ["no input", { input: undefined }, [400, "input", "missing_required_parameter"]],
    ["an unknown model", { model: "nobody/nothing" }, [404, null, "model_not_found"]],
  ])("%s", async (_, body, expected) => {
    expect(await complaint(body)).toEqual(expected);
  });

  test("images, by models without vision", async () => {
    const input = [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA==" }] }];
    expect((await ask({ input })).output[0].content[0].text).toContain("with 1 image");
    expect(await complaint({ model: "sandbox/chat-mini", input })).toEqual([400, "input[0].content", null]);
    const unheard = { model: "sandbox/chat-mini", reasoning: { effort: "xhigh" } };
    expect(await complaint(unheard)).toEqual([400, "reasoning.effort", "unsupported_value"]);
  });
});
