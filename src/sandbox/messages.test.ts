import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../tests/support/gateway.ts";
import { systemClock } from "../kit/clock.ts";
import { createIdGenerator } from "../kit/id-generator.ts";
import { SseReader } from "../kit/sse.ts";
import { type Sandbox, startSandbox } from "./server.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ clock: systemClock, ids: createIdGenerator(systemClock.nowMs) });
});
afterAll(() => sandbox.close());

const HEADERS = { "x-api-key": "any", "anthropic-version": "2023-06-01" };

async function post(body: object, headers: Record<string, string> = HEADERS) {
  const answer = await fetch(`${sandbox.origins["sandbox-us"]}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "sandbox/claude", max_tokens: 4000, messages: [HELLO], ...body }),
  });
  const text = await answer.text();
  return { status: answer.status, text, type: answer.headers.get("content-type") };
}

async function ask(body: object): Promise<Json> {
  const { status, text } = await post(body);
  expect(status, text).toBe(200);
  return JSON.parse(text);
}

async function complaint(body: object, headers: Record<string, string> = HEADERS): Promise<string> {
  const { status, text } = await post(body, headers);
  expect(status).toBe(400);
  const { type, error } = JSON.parse(text);
  expect([type, error.type]).toEqual(["error", "invalid_request_error"]);
  return error.message;
}

const HELLO = { role: "user", content: "Grüße" };
const WEATHER = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const TIME = { name: "get_time", input_schema: { type: "object" } };
const CALLING = { tools: [WEATHER, TIME], messages: [{ role: "user", content: "get_weather and get_time" }] };

test("documents are accepted as by the real API, also in tool results", async () => {
  const about = { title: "T", context: "c", citations: { enabled: true } };
  const source = { type: "text", media_type: "text/plain", data: "words" };
  const pieces = { type: "content", content: [{ type: "text", text: "words" }] };
  const documents = [source, pieces].map((one) => ({ type: "document", source: one, ...about }));
  await ask({ messages: [{ role: "user", content: [...documents, { type: "text", text: "Read." }] }] });
  const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: documents };
  const turns = [
    { role: "assistant", content: [call] },
    { role: "user", content: [result] },
  ];
  await ask({ messages: [HELLO, ...turns], tools: [{ name: "f", input_schema: { type: "object" } }] });
});

describe("replies in the messages format", () => {
  test("text, with usage that excludes the cache", async () => {
    const reply = await ask({});
    expect(reply).toMatchObject({
      type: "message",
      role: "assistant",
      model: "sandbox/claude",
      stop_reason: "end_turn",
    });
    expect(reply.id).toMatch(/^msg_sim/);
    expect(reply.content).toEqual([{ type: "text", text: "[simulated by sandbox-us] You said: Grüße" }]);
    expect(reply.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 0, output_tokens: 11 });
  });

  test("parallel tool calls, and a reply that quotes their results", async () => {
    const { content, stop_reason } = await ask(CALLING);
    expect(stop_reason).toBe("tool_use");
    expect(content).toMatchObject([
      { type: "tool_use", name: "get_weather", input: { city: expect.any(String) } },
      { type: "tool_use", name: "get_time", input: {} },
    ]);
    const results = content.map(({ id }: Json) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` }));
    const messages = [...CALLING.messages, { role: "assistant", content }, { role: "user", content: results }];
    const after = await ask({ tools: CALLING.tools, messages });
    expect(after.content[0].text).toContain("The tool get_weather answered: of toolu_sim");
  });

  test("a schema is satisfied, and a prompt that requires JSON is obeyed", async () => {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const strict = await ask({ output_config: { format: { type: "json_schema", schema } } });
    expect(JSON.parse(strict.content[0].text)).toEqual({ n: expect.any(Number) });
    const told = await ask({ system: [{ type: "text", text: "Answer with one valid JSON object." }] });
    expect(JSON.parse(told.content[0].text)).toMatchObject({ simulated_by: "sandbox-us" });
  });

  test("thinking is signed, and rejected if it comes back changed", async () => {
    const { content, usage } = await ask({ thinking: { type: "adaptive" }, output_config: { effort: "low" } });
    const [thought] = content;
    expect(thought).toMatchObject({ type: "thinking", signature: expect.stringMatching(/^sim\./) });
    expect(usage.output_tokens_details.thinking_tokens).toBeGreaterThan(0);
    const again = (block: object) => ({ messages: [HELLO, { role: "assistant", content: [block] }, HELLO] });
    expect((await post(again(thought))).status).toBe(200);
    expect(await complaint(again({ ...thought, thinking: `${thought.thinking} ` }))).toContain("signature");
  });

  test("a stream matches the JSON response", async () => {
    const { text, type } = await post({ ...CALLING, stream: true, thinking: { type: "enabled", budget_tokens: 1024 } });
    expect(type).toContain("text/event-stream");
    const frames = new SseReader(1 << 20).push(Buffer.from(text)).map(({ event, data }) => {
      const body: Json = JSON.parse(data);
      expect(body.type).toBe(event);
      return body;
    });
    expect(frames[0].type).toBe("message_start");
    expect(frames.at(-1)).toEqual({ type: "message_stop" });
    const joined = (index: number, field: string) =>
      frames
        .filter((frame) => frame.type === "content_block_delta" && frame.index === index)
        .map((frame) => frame.delta[field] ?? "")
        .join("");
    const { content, usage } = await ask({ ...CALLING, thinking: { type: "enabled", budget_tokens: 1024 } });
    expect(joined(0, "thinking")).toBe(content[0].thinking);
    expect(joined(0, "signature")).toBe(content[0].signature);
    expect(JSON.parse(joined(1, "partial_json"))).toEqual(content[1].input);
    expect(frames.at(-2)).toMatchObject({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage });
  });
});

describe("invalid requests are rejected in the provider's own format", () => {
  const use = (id: string) => ({ type: "tool_use", id, name: "get_time", input: {} });
  const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" });
  const turn = (role: string, ...content: object[]) => ({ role, content });
  const text = { type: "text", text: "x" };
  const marked = { ...text, cache_control: { type: "ephemeral" } };
  const WRONG: Readonly<Record<string, object>> = {
    "max_tokens:": { max_tokens: undefined },
    "seed: Extra inputs": { seed: 1 },
    "messages: first message": { messages: [turn("assistant", text), HELLO] },
    "non-whitespace": { messages: [turn("user", { type: "text", text: " " })] },
    "without `tool_result` right after": { tools: [TIME], messages: [HELLO, turn("assistant", use("a")), HELLO] },
    "unexpected `tool_use_id`": { tools: [TIME], messages: [turn("user", result("a"))] },
    "must come first": {
      tools: [TIME],
      messages: [HELLO, turn("assistant", use("a")), turn("user", text, result("a"))],
    },
    "must define tools": { messages: [HELLO, turn("assistant", use("a")), turn("user", result("a"))] },
    "tool_choice: may only": { tool_choice: { type: "auto" } },
    "not found in provided tools": { tools: [TIME], tool_choice: { type: "tool", name: "other" } },
    "forces tool use": { tools: [TIME], tool_choice: { type: "any" }, thinking: { type: "adaptive" } },
    "may only be set to 1": { temperature: 0.5, thinking: { type: "adaptive" } },
    "temperature:": { temperature: 1.5 },
    "cannot both be specified": { temperature: 0.5, top_p: 0.9 },
    "greater than `thinking.budget_tokens`": { max_tokens: 1024, thinking: { type: "enabled", budget_tokens: 1024 } },
    "maximum of 4 blocks": { messages: [turn("user", marked, marked, marked, marked, marked)] },
    "tools.0.input_schema": { tools: [{ name: "f", input_schema: {} }] },
    "messages.1.content.0.id": { messages: [HELLO, turn("assistant", use("a.b"))] },
  };

  test.each(Object.entries(WRONG))("%s", async (words, body) => {
    expect(await complaint(body)).toContain(words);
  });

  test("a missing version, a missing key, an unknown model", async () => {
    expect(await complaint({}, { "x-api-key": "any" })).toContain("anthropic-version");
    const { status, text } = await post({}, { "anthropic-version": "2023-06-01" });
    expect(status).toBe(401);
    expect(JSON.parse(text).error.type).toBe("authentication_error");
    expect(JSON.parse((await post({ model: "other" })).text).error.type).toBe("not_found_error");
  });
});

test("MSG-01 the stop sequence is named, streamed or not, and absent if the limit ended the reply", async () => {
  const asked = { messages: [{ role: "user", content: "one two three" }], stop_sequences: ["four", "three", "two"] };
  const ended = { stop_reason: "stop_sequence", stop_sequence: "two" };
  expect(await ask(asked)).toMatchObject(ended);
  expect((await post({ ...asked, stream: true })).text).toContain(`"delta":${JSON.stringify(ended)}`);
  expect(await ask({ ...asked, max_tokens: 2 })).toMatchObject({ stop_reason: "max_tokens", stop_sequence: null });
  expect(await ask({ ...asked, stop_sequences: ["four"] })).toMatchObject({
    stop_reason: "end_turn",
    stop_sequence: null,
  });
});
