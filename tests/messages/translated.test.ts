import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ModelOutput, DIALECT_SCRIPTS as OTHERS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { RESPONSES_COLUMN, responsesAlone } from "../support/responses-script.ts";
import { costNanos, openScene, type Scene } from "../support/scene.ts";

/** Models of other dialects: the same call on each of them. */
const DIALECTS = ["D1", "D3", "D4", "responses"] as const;
const COLUMNS = { ...OTHERS, responses: RESPONSES_COLUMN };
type Dialect = (typeof DIALECTS)[number];

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(
    DIALECTS.map((dialect) => COLUMNS[dialect].provider),
    responsesAlone(),
  );
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const requestFor = (dialect: Dialect, more: Record<string, unknown> = {}) => ({
  model: COLUMNS[dialect].model,
  max_tokens: 1000,
  messages: [{ role: "user", content: "Say hello." }],
  ...more,
});

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Called> =>
  scene.gateway.call(tenant.key, "/v1/messages", { body, headers });

/** The reply to a request, whole and assembled from its stream; both must be equal. */
async function bothWays(dialect: Dialect, output: ModelOutput, more: Record<string, unknown> = {}): Promise<Json> {
  const { provider, whole, streamed } = COLUMNS[dialect];
  scene.at(provider).next(whole(output));
  const answer = await post(requestFor(dialect, more));
  expect(answer.status, answer.text).toBe(200);
  scene.at(provider).next(streamed(output));
  const stream = await post(requestFor(dialect, { ...more, stream: true }));
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  const { id, ...folded } = foldMessage(stream.text);
  expect(id).toBe(stream.headers.get("x-svc-request-id"));
  expect(answer.body.id).toBe(answer.headers.get("x-svc-request-id"));
  expect({ ...folded, id: answer.body.id }).toEqual(answer.body);
  return answer.body;
}

/** The request that the provider received, as JSON. */
async function sent(
  dialect: Dialect,
  more: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Json> {
  const { provider, whole } = COLUMNS[dialect];
  scene.at(provider).next(whole({ text: "Hello" }));
  const answer = await post(requestFor(dialect, more), headers);
  expect(answer.status, answer.text).toBe(200);
  return scene.at(provider).requests.at(-1)?.json;
}

const WEATHER = {
  name: "weather",
  description: "The weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.each(DIALECTS)("%s", (dialect) => {
  test("MSG-02 HDR-01 text: the message, its id, usage and cost", async () => {
    const message = await bothWays(dialect, { text: "Hello there" });
    const { provider, model } = COLUMNS[dialect];
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model,
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 11,
        output_tokens: 7,
        cost: Number(costNanos(provider, { input: 11, output: 7 }, "EUR", model)) / 1e9,
        currency: "EUR",
      },
    });
    expect(message.id).toMatch(/^msg_/);
    expect(message.content[0]).toEqual({ type: "text", text: "Hello there" });
  });

  test("MSG-02 reasoning is a separate block before the text", async () => {
    const { content } = await bothWays(dialect, { thoughts: "Let me see.", text: "Hello" });
    expect(content.slice(0, 2)).toMatchObject([
      { type: "thinking", thinking: "Let me see." },
      { type: "text", text: "Hello" },
    ]);
  });

  test("MSG-02 parallel tool calls: one block each, with ids in the dialect's alphabet", async () => {
    const calls = [
      { id: "call_a", name: "weather", input: { city: "Paris" } },
      { id: "call_b", name: "weather", input: { city: "Rome" } },
    ];
    const message = await bothWays(dialect, { text: "I look.", calls }, { tools: [WEATHER] });
    const blocks = message.content.filter(({ type }: Json) => type === "tool_use");
    expect(blocks.map(({ name, input }: Json) => [name, input])).toEqual([
      ["weather", { city: "Paris" }],
      ["weather", { city: "Rome" }],
    ]);
    for (const { id } of blocks) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(message.stop_reason).toBe("tool_use");
  });

  test("MSG-02 HDR-02 the headers name the provider and its dialect", async () => {
    scene.at(COLUMNS[dialect].provider).next(COLUMNS[dialect].whole({ text: "Hello" }));
    const { headers } = await post(requestFor(dialect));
    expect(headers.get("x-svc-model")).toBe(COLUMNS[dialect].model);
    expect(headers.get("x-svc-provider")).toBe(COLUMNS[dialect].provider);
    expect(headers.get("x-svc-upstream-surface")).toBe(dialect === "responses" ? "responses" : "chat");
    expect(headers.get("request-id")).toBe(headers.get("x-svc-request-id"));
    expect(headers.get("x-ratelimit-remaining")).not.toBeNull();
  });

  test("MSG-02 PARAM-04 advisory fields and routing hints reach no provider, and the log names dropped fields", async () => {
    const { provider, whole } = COLUMNS[dialect];
    scene.at(provider).next(whole({ text: "Hello" }));
    const answer = await post(
      requestFor(dialect, {
        metadata: { user_id: "marked-user" },
        service_tier: "auto",
        context_management: { edits: [] },
        session_id: "marked-session",
        cost_tier: "low",
        remaining_turns: 2,
      }),
      { "anthropic-beta": "marked-beta", "anthropic-version": "2026-10-21" },
    );
    expect(answer.status, answer.text).toBe(200);
    const request = scene.at(provider).requests.at(-1);
    const everything = `${request?.raw}${JSON.stringify(request?.rawHeaders)}`;
    expect(everything).not.toMatch(/marked|service_tier|context_management|cost_tier|remaining_turns|anthropic/);
    const row = await scene.row(answer.body.id);
    expect(row).toMatchObject({ surface: "messages", status: 200, model: COLUMNS[dialect].model });
    expect(row.omitted).toEqual(["metadata", "service_tier", "context_management"]);
  });
});

describe("the provider's request", () => {
  const CONVERSATION = {
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      { role: "user", content: [{ type: "text", text: "Weather?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Both.", signature: "" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } },
          { type: "tool_use", id: "toolu_2", name: "weather", input: { city: "Rome" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "sunny" }] },
          { type: "tool_result", tool_use_id: "toolu_2", is_error: true, content: "no such city" },
          { type: "text", text: "Go on." },
        ],
      },
    ],
    tools: [WEATHER],
    tool_choice: { type: "any" },
    stop_sequences: ["END"],
    temperature: 0.5,
  };

  test.each<[Dialect, string]>([
    ["D1", '"content":"one\\n\\ntwo"'],
    ["D3", '"result":"one\\n\\ntwo"'],
    ["D4", '[{"text":"one"},{"text":"two"}]'],
    ["responses", '"output":"one\\n\\ntwo"'],
  ])("MSG-02 %s: the parts of a tool result stay separate", async (dialect, expected) => {
    // A tool of the Model Context Protocol returns a list of texts, and clients append reminders.
    const pieces = ["one", "", "two"].map((text) => ({ type: "text", text }));
    const messages = [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: pieces }] },
    ];
    expect(JSON.stringify(await sent(dialect, { messages, tools: [WEATHER] }))).toContain(expected);
  });

  test("MSG-02 chat completions: results right after their calls, then the user's text", async () => {
    const body = await sent("D1", CONVERSATION);
    expect(body.messages.map(({ role }: Json) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "user",
    ]);
    expect(body.messages[0].content).toBe("Be brief.");
    expect(body.messages[2].tool_calls.map(({ id, function: called }: Json) => [id, called])).toEqual([
      ["toolu_1", { name: "weather", arguments: '{"city":"Paris"}' }],
      ["toolu_2", { name: "weather", arguments: '{"city":"Rome"}' }],
    ]);
    expect(body.messages[3]).toMatchObject({ tool_call_id: "toolu_1", content: "sunny" });
    expect(body.messages[4].tool_call_id).toBe("toolu_2");
    expect(body.messages[4].content).toContain("no such city");
    expect(body).toMatchObject({ tool_choice: "required", stop: ["END"], temperature: 0.5 });
    expect(body.tools[0].function).toMatchObject({ name: "weather", parameters: WEATHER.input_schema });
    expect([body.max_tokens ?? body.max_completion_tokens, body.stop_sequences]).toEqual([1000, undefined]);
  });

  test("MSG-02 Gemini: the same conversation", async () => {
    const body = await sent("D3", CONVERSATION);
    expect(body.systemInstruction.parts).toEqual([{ text: "Be brief." }]);
    expect(body.contents.map(({ role }: Json) => role)).toEqual(["user", "model", "user"]);
    expect(JSON.stringify(body.contents[2])).toContain('"error":"no such city"');
    expect(body.contents[2].parts.at(-1)).toEqual({ text: "Go on." });
    expect(body.generationConfig).toMatchObject({ stopSequences: ["END"], maxOutputTokens: 1000, temperature: 0.5 });
    expect(body.toolConfig.functionCallingConfig.mode).toBe("ANY");
  });

  test("MSG-02 Converse: the same conversation", async () => {
    const body = await sent("D4", CONVERSATION);
    expect(body.system).toEqual([{ text: "Be brief." }]);
    expect(body.messages.map(({ role }: Json) => role)).toEqual(["user", "assistant", "user"]);
    const [first, second, last] = body.messages[2].content;
    expect(first.toolResult).toMatchObject({ toolUseId: "toolu_1", content: [{ text: "sunny" }] });
    expect(second.toolResult).toMatchObject({ toolUseId: "toolu_2", status: "error" });
    expect(last).toEqual({ text: "Go on." });
    expect(body.inferenceConfig).toMatchObject({ stopSequences: ["END"], maxTokens: 1000, temperature: 0.5 });
    expect(body.toolConfig.toolChoice).toEqual({ any: {} });
  });

  test.each(DIALECTS)("MSG-02 %s gets images, of the user and of a tool", async (dialect) => {
    const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
    const body = await sent(dialect, {
      tools: [WEATHER],
      messages: [
        { role: "user", content: [{ type: "text", text: "Look" }, picture] },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [picture] }] },
      ],
    });
    expect(JSON.stringify(body).split(PNG)).toHaveLength(3);
  });

  test("MSG-02 numbers in the arguments of earlier calls are forwarded unchanged", async () => {
    const input = '{"id":12345678901234567890,"x":1.0,"y":1e3,"z":2}';
    const messages = `[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"weather","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]`;
    scene.at("deepinfra").next(COLUMNS.D1.whole({ text: "Hello" }));
    const answer = await post(`{"model":"${COLUMNS.D1.model}","max_tokens":5,"messages":${messages}}`);
    expect(answer.status, answer.text).toBe(200);
    const body: Json = scene.at("deepinfra").requests.at(-1)?.json;
    expect(body.messages[1].tool_calls[0].function.arguments).toBe(input);
  });

  test.each(DIALECTS)("MSG-02 %s: every result follows its own call, over several rounds", async (dialect) => {
    const rounds = ["one", "two"].flatMap((of) => [
      { role: "assistant", content: [{ type: "tool_use", id: of, name: "weather", input: { city: `call-${of}` } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: of, content: `result-${of}` }] },
    ]);
    const messages = [{ role: "user", content: "Go." }, ...rounds];
    const text = JSON.stringify(await sent(dialect, { tools: [WEATHER], messages }));
    expect(text.match(/(call|result)-(one|two)/g)).toEqual(["call-one", "result-one", "call-two", "result-two"]);
  });

  test("MSG-02 disabled parallel calls are sent where supported, and enforced everywhere", async () => {
    const more = { tools: [WEATHER], tool_choice: { type: "auto", disable_parallel_tool_use: true } };
    expect(await sent("D1", more)).toMatchObject({ parallel_tool_calls: false, tool_choice: "auto" });
    const calls = ["Paris", "Rome"].map((city) => ({ id: `call_${city}`, name: "weather", input: { city } }));
    for (const dialect of DIALECTS) {
      const { content, stop_reason } = await bothWays(dialect, { text: "I look.", calls }, more);
      const inputs = content.flatMap(({ input }: Json) => input ?? []);
      expect([inputs, stop_reason]).toEqual([[{ city: "Paris" }], "tool_use"]);
    }
  });

  test("MSG-02 an output schema and an effort", async () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const more = {
      output_config: { effort: "high", format: { type: "json_schema", schema } },
      thinking: { type: "adaptive" },
    };
    const chat = await sent("D1", more);
    expect(chat.response_format).toMatchObject({ type: "json_schema", json_schema: { schema, strict: true } });
    const gemini = await sent("D3", more);
    expect(gemini.generationConfig.responseMimeType).toBe("application/json");
    expect(gemini.generationConfig.thinkingConfig.includeThoughts).toBe(true);
  });

  test("MSG-02 a model whose reasoning cannot be turned off is still called", async () => {
    const always = "google/gemini-2.5-pro";
    scene.at("google-ai-studio").next(COLUMNS.D3.whole({ text: "Hello" }));
    const answer = await post(requestFor("D3", { model: always, thinking: { type: "disabled" } }));
    expect(answer.status, answer.text).toBe(200);
    expect((await scene.row(answer.body.id)).omitted).toEqual(["thinking"]);
    const off = await sent("D3", { thinking: { type: "disabled" } });
    expect(off.generationConfig.thinkingConfig.thinkingBudget).toBe(0);
  });
});

describe("foreign signatures", () => {
  test("MSG-02 a tool call's signature is returned to its provider through a messages caller", async () => {
    const model = "google/gemini-3-flash-preview";
    const part = { functionCall: { id: "c1", name: "weather", args: { city: "Paris" } }, thoughtSignature: "c2VhbA==" };
    scene.at("google-ai-studio").next({
      json: {
        candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      },
    });
    const messages = [{ role: "user", content: "Weather?" }];
    const first = await post({ model, max_tokens: 100, tools: [WEATHER], messages });
    expect(first.status, first.text).toBe(200);
    const call = first.body.content.find(({ type }: Json) => type === "tool_use");
    scene.at("google-ai-studio").next(COLUMNS.D3.whole({ text: "Sunny" }));
    const second = await post({
      model,
      max_tokens: 100,
      tools: [WEATHER],
      messages: [
        ...messages,
        { role: "assistant", content: first.body.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "sunny" }] },
      ],
    });
    expect(second.status, second.text).toBe(200);
    const body: Json = scene.at("google-ai-studio").requests.at(-1)?.json;
    expect(body.contents[1].parts).toEqual([
      { functionCall: { id: "c1", name: "weather", args: { city: "Paris" } }, thoughtSignature: "c2VhbA==" },
    ]);
  });
});

describe("auto", () => {
  test("MSG-05 auto picks a model that can serve the request and names it", async () => {
    for (const dialect of DIALECTS)
      scene.at(COLUMNS[dialect].provider).always(COLUMNS[dialect].whole({ text: "Hello" }));
    const answer = await post({ model: "auto", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.headers.get("x-svc-router")).toBe("auto");
    expect(answer.body.model).toBe(answer.headers.get("x-svc-model"));
    expect((await scene.row(answer.body.id)).decision.candidates.length).toBeGreaterThan(1);
  });

  test.each(DIALECTS)("MSG-05 a workspace's router picks a model of %s, whole and in a stream", async (dialect) => {
    const { provider, model, whole, streamed } = COLUMNS[dialect];
    const name = `@${tenant.slug}/mine`;
    await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/mine`, { models: [model] });
    scene.at(provider).next(whole({ text: "Hello." }));
    const answer = await post(requestFor(dialect, { model: name }));
    scene.at(provider).next(streamed({ text: "Hello." }));
    const stream = await post(requestFor(dialect, { model: name, stream: true }));
    for (const { headers } of [answer, stream])
      expect([headers.get("x-svc-router"), headers.get("x-svc-model")]).toEqual([name, model]);
    for (const message of [answer.body, foldMessage(stream.text)])
      expect([message.model, message.content[0]]).toMatchObject([model, { type: "text", text: "Hello." }]);
  });

  test("MSG-05 a missing router is not found, in this dialect's envelope", async () => {
    const answer = await post({ model: "@team/none", max_tokens: 1, messages: [{ role: "user", content: "Hi" }] });
    expect([answer.status, answer.body.type, answer.body.error.code]).toEqual([404, "error", "router_not_found"]);
  });
});
