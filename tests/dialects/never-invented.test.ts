import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Json } from "../support/gateway.ts";
import { USAGE as GEMINI_USAGE, whole as geminiWhole } from "../support/gemini.ts";
import { chunksOf, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson, type Script, sse } from "../support/upstream.ts";

const COMPATIBLE = "alibaba/qwen3.5-397b-a17b";
const GEMINI = "google/gemini-2.5-flash";

let scene: Scene;
let key: string;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "google-ai-studio"]);
  ({ key } = await scene.gateway.tenant({ credit: "1000" }));
});
afterAll(() => scene.close());

const TURN = [{ role: "user", content: "Hello" }];
const SURFACES = {
  chat: ["/v1/chat/completions", { messages: TURN }],
  messages: ["/v1/messages", { messages: TURN, max_tokens: 50 }],
  responses: ["/v1/responses", { input: TURN }],
} as const;
type Surface = keyof typeof SURFACES;
const EVERY: readonly Surface[] = ["chat", "messages", "responses"];

function ask(surface: Surface, script: Script, model = COMPATIBLE, more: Json = {}): Promise<Called> {
  scene.at(model === GEMINI ? "google-ai-studio" : "deepinfra").next(script);
  const [url, body] = SURFACES[surface];
  return scene.gateway.call(key, url, { body: { ...body, model, ...more } });
}

test("PARAM-07 CHAT-07 reasoning tokens that a provider does not count are left out, not zero", async () => {
  const usage = { prompt_tokens: 8, completion_tokens: 7, total_tokens: 15 };
  const script = { json: chatJson({ usage }) };
  expect((await ask("chat", script)).body.usage).not.toHaveProperty("completion_tokens_details");
  expect((await ask("responses", script)).body.usage).not.toHaveProperty("output_tokens_details");
});

test("PARAM-07 CHAT-03 malformed tool arguments stay the text that they are", async () => {
  const broken = '{"city":"Ber';
  const calls = [{ id: "call_1", type: "function", function: { name: "weather", arguments: broken } }];
  const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
  const message = { role: "assistant", content: null, tool_calls: calls };
  const script = { json: { ...chatJson(), choices: [{ index: 0, message, finish_reason: "tool_calls" }] } };
  const chat = await ask("chat", script, COMPATIBLE, { tools });
  expect(chat.body.choices[0].message.tool_calls[0].function.arguments).toBe(broken);
  const responses = await ask("responses", script, COMPATIBLE, {
    tools: [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }],
  });
  expect(responses.body.output.find(({ type }: Json) => type === "function_call").arguments).toBe(broken);
  const messages = await ask("messages", script, COMPATIBLE, {
    tools: [{ name: "weather", input_schema: { type: "object", properties: {} } }],
  });
  expect(JSON.stringify(messages.body.content)).toContain(JSON.stringify(broken).slice(1, -1));
});

test.each(["messages", "responses"] as const)(
  "PARAM-07 HDR-20 on %s an unrequested second choice is named, not merged",
  async (surface) => {
    const choice = (index: number, content: string) => ({
      index,
      message: { role: "assistant", content },
      finish_reason: "stop",
    });
    const { headers, text } = await ask(surface, {
      json: { ...chatJson(), choices: [choice(0, "first words"), choice(1, "second words")] },
    });
    expect(text).toContain("first words");
    expect(text).not.toContain("second words");
    expect(headers.get("x-svc-omitted")).toContain("choices");
  },
);

test("PARAM-07 CHAT-06 a usage chunk of the gateway's own has the stream's id, time and model", async () => {
  const frames = chatFrames(["Hello"], { usage: "not_asked" });
  const { text } = await ask("chat", { frames }, COMPATIBLE, { stream: true, stream_options: { include_usage: true } });
  const chunks = chunksOf(text);
  const [first] = chunks;
  expect(chunks.at(-1)).toMatchObject({ id: first.id, created: first.created, model: first.model, choices: [] });
  expect(chunks.at(-1).usage.total_tokens).toBeGreaterThan(0);
  expect(first.created).toBeGreaterThan(0);
});

describe("a stream that ends with [DONE] and no finish reason", () => {
  const frames = () => {
    const base = { id: "up-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "up" };
    return [
      sse({ ...base, choices: [{ index: 0, delta: { role: "assistant", content: "Hello" }, finish_reason: null }] }),
      "data: [DONE]\n\n",
    ];
  };

  test("PARAM-07 CHAT-08 gets one on chat", async () => {
    const { text } = await ask("chat", { frames: frames() }, COMPATIBLE, { stream: true });
    const reasons = chunksOf(text).flatMap(({ choices }) => choices?.[0]?.finish_reason ?? []);
    expect(reasons).toEqual(["stop"]);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("PARAM-07 MSG-02 gets one on messages", async () => {
    const { text } = await ask("messages", { frames: frames() }, COMPATIBLE, { stream: true });
    expect(
      chunksOf(text.replaceAll(/^event: .*\n/gm, "")).find(({ type }) => type === "message_delta").delta,
    ).toMatchObject({
      stop_reason: "end_turn",
    });
  });

  test("PARAM-07 RESP-02 is completed on responses", async () => {
    const { text } = await ask("responses", { frames: frames() }, COMPATIBLE, { stream: true });
    expect(chunksOf(text.replaceAll(/^event: .*\n/gm, "")).at(-1)).toMatchObject({
      type: "response.completed",
      response: { status: "completed" },
    });
  });
});

test("PARAM-07 CHAT-08 Gemini's block message is the refusal on every surface", async () => {
  const json = {
    promptFeedback: { blockReason: "PROHIBITED_CONTENT", blockReasonMessage: "Not about this." },
    usageMetadata: GEMINI_USAGE,
  };
  for (const surface of EVERY) {
    const { status, text } = await ask(surface, { json }, GEMINI);
    expect([surface, status]).toEqual([surface, 200]);
    expect(text).toContain("Not about this.");
  }
});

test.each(EVERY)(
  "PARAM-07 ERR-07 on %s a reply of content without a place is an error, not an empty success",
  async (surface) => {
    const parts = [
      { executableCode: { language: "PYTHON", code: "1+1" } },
      { codeExecutionResult: { outcome: "OK", output: "2" } },
    ];
    const { status, body } = await ask(surface, { json: geminiWhole(parts) }, GEMINI);
    expect([status, body.error?.code]).toEqual([502, "upstream_error"]);
  },
);
