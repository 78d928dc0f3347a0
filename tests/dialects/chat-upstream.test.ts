import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

/** Callers of messages and responses, served by an endpoint of chat completions. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  const chatAlone = (facts: Json) => {
    facts.responses_api = false;
  };
  scene = await openScene(["deepinfra", "mistral", "openai"], {
    GATEWAY_CATALOGUE_DIR: changedCatalogue({ openai: chatAlone }),
  });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const upstream = () => scene.at("deepinfra");
const received = (): Json => upstream().requests.at(-1)?.json;
const messages = (body: object) =>
  scene.gateway.call(tenant.key, "/v1/messages", { body: { model: MODEL, max_tokens: 50, ...body } });
const responses = (body: object) =>
  scene.gateway.call(tenant.key, "/v1/responses", { body: { model: MODEL, ...body } });

const CALLS = {
  role: "assistant",
  content: null,
  reasoning_content: "hm",
  tool_calls: [
    { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
    { id: "call_b", type: "function", function: { name: "now", arguments: "" } },
  ],
};
/** The same output in chunks, with a finish reason that does not mention the calls. */
const piece = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });
const MIXED = chatFrames(
  [
    { reasoning: "hm" },
    piece(0, { id: "call_a", type: "function", function: { name: "weather", arguments: "" } }),
    piece(1, { id: "call_b", type: "function", function: { name: "now", arguments: "" } }),
    piece(0, { id: "", function: { name: null, arguments: '{"city":' } }),
    piece(0, { function: { arguments: '"Paris"}' } }),
  ],
  { finish: "stop" },
);

/** The data of every event of a stream. */
function dataIn(text: string): Json[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
}

describe("POST /messages", () => {
  const tools = [
    { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
    { name: "now", input_schema: { type: "object" } },
  ];

  test("MSG-02 the provider receives a chat completion", async () => {
    const answer = await messages({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "let me see", signature: "" },
            { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", is_error: true, content: "no such city" },
            { type: "text", text: "Try again." },
          ],
        },
      ],
      tools,
      tool_choice: { type: "any", disable_parallel_tool_use: true },
      stop_sequences: ["END"],
      temperature: 0.5,
    });
    expect(answer.status).toBe(200);
    expect(upstream().requests.at(-1)?.path).toBe("/v1/chat/completions");
    expect(received()).toMatchObject({
      max_tokens: 50,
      temperature: 0.5,
      stop: ["END"],
      tool_choice: "required",
      parallel_tool_calls: false,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Weather?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
          ],
        },
        { role: "tool", tool_call_id: "toolu_1", content: "The tool failed: no such city" },
        { role: "user", content: "Try again." },
      ],
    });
    expect(JSON.stringify(received())).not.toMatch(/let me see|cache_control|stream/);
  });

  test("MSG-02 reasoning and tool calls become blocks, whole and streamed", async () => {
    const request = { messages: [{ role: "user", content: "Weather?" }], tools };
    upstream().next({ json: chatJson({ message: CALLS, finish_reason: "stop" }) });
    const { body } = await messages(request);
    const blocks = [
      { type: "thinking", thinking: "hm" },
      { type: "tool_use", id: "call_a", name: "weather", input: { city: "Paris" } },
      { type: "tool_use", id: "call_b", name: "now", input: {} },
    ];
    expect(body).toMatchObject({ type: "message", stop_reason: "tool_use", content: blocks });
    expect(body.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    upstream().next({ frames: MIXED });
    const events = dataIn((await messages({ ...request, stream: true })).text);
    expect(received()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    const opened = events.filter(({ type }) => type === "content_block_start").map((event) => event.content_block.type);
    expect(opened).toEqual(["thinking", "tool_use", "tool_use"]);
    const argued = (index: number) =>
      events.flatMap((event) => (event.index === index && event.delta?.partial_json ? [event.delta.partial_json] : []));
    expect(argued(1).join("")).toBe('{"city":"Paris"}');
    expect(JSON.parse(argued(2).join("") || "{}")).toEqual({});
    expect(events.find(({ type }) => type === "message_delta").delta.stop_reason).toBe("tool_use");
    expect(events.at(-1).type).toBe("message_stop");
  });

  test("MSG-02 the stop sequence is returned if the server reports it", async () => {
    const choice = {
      index: 0,
      message: { role: "assistant", content: "x" },
      finish_reason: "stop",
      stop_reason: "END",
    };
    upstream().next({ json: chatJson({ choices: [choice] }) });
    const { body } = await messages({ messages: [{ role: "user", content: "x" }], stop_sequences: ["END"] });
    expect(body).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "END" });
  });
});

describe("POST /responses", () => {
  const tools = [
    { type: "function", name: "weather", parameters: { type: "object" }, strict: false },
    { type: "function", name: "now", parameters: null },
  ];

  test("RESP-02 the provider receives a chat completion", async () => {
    const answer = await responses({
      instructions: "Be brief.",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Weather?" }] },
        { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Paris"}' },
        { type: "function_call_output", call_id: "call_1", output: "sunny" },
      ],
      tools,
      parallel_tool_calls: false,
      max_output_tokens: 60,
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true }, verbosity: "low" },
    });
    expect(answer.status).toBe(200);
    expect(received()).toMatchObject({
      max_tokens: 60,
      verbosity: "low",
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "n", strict: true } },
    });
    expect(received().messages.map(({ role }: Json) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(received().messages[3]).toEqual({ role: "tool", tool_call_id: "call_1", content: "sunny" });
  });

  test("RESP-02 tool calls become separate items, whole and streamed", async () => {
    const request = { input: "Weather?", tools };
    const called = [
      { type: "function_call", call_id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", call_id: "call_b", name: "now", arguments: "{}" },
    ];
    upstream().next({ json: chatJson({ message: CALLS, finish_reason: "stop" }) });
    const { body } = await responses(request);
    expect(body.status).toBe("completed");
    expect(body.output.filter(({ type }: Json) => type === "function_call")).toMatchObject(called);
    upstream().next({ frames: MIXED });
    const events = dataIn((await responses({ ...request, stream: true })).text);
    const last = events.at(-1);
    expect(last.type).toBe("response.completed");
    expect(last.response.output.filter(({ type }: Json) => type === "function_call")).toMatchObject(called);
  });
});

test("CHAT-01 chat callers still use passthrough: their bytes and the provider's bytes are forwarded", async () => {
  const body = `{ "model" : "${MODEL}" , "messages":[ {"role":"user","content":"h\\u00efé", "own": 1e3} ] }`;
  const answer = await scene.chat(tenant.key, body);
  expect(upstream().requests.at(-1)?.raw.toString()).toBe(body.replace(MODEL, received().model));
  expect(answer.body).toMatchObject({ system_fingerprint: "fp_upstream" });
});

describe("a model that only knows reasoning on or off", () => {
  const model = "mistral/mistral-medium-2604";
  const lastRequest = (): Json => scene.at("mistral").requests.at(-1)?.json;
  const user = [{ role: "user", content: "Hello" }];

  test.each([
    ["none", "none"],
    ["minimal", "none"],
    ["low", "high"],
    ["medium", "high"],
    ["high", "high"],
    ["max", "high"],
  ])(
    "HDR-06 RESP-02 PARAM-01 reasoning_effort %s is sent as %s, and the header reports it",
    async (effort, expected) => {
      for (const answer of [
        await responses({ model, input: "Hello", reasoning: { effort } }),
        await scene.chat(tenant.key, { model, reasoning_effort: effort }),
        await scene.chat(tenant.key, { model, reasoning: { effort } }),
      ]) {
        expect([answer.status, answer.headers.get("x-svc-reasoning-effort")]).toEqual([200, expected]);
        expect(lastRequest()).toMatchObject({ reasoning_effort: expected });
        expect(lastRequest()).not.toHaveProperty("reasoning");
      }
    },
  );

  test("MSG-02 a thinking budget is sent as high", async () => {
    await messages({ model, max_tokens: 4000, messages: user, thinking: { type: "enabled", budget_tokens: 1024 } });
    expect(lastRequest()).toMatchObject({ reasoning_effort: "high" });
  });
});

describe("a model that cannot reason with tools, at an endpoint of chat completions only", () => {
  const model = "openai/gpt-5.6-terra";
  const user = [{ role: "user", content: "Hello" }];
  const requests = () => scene.at("openai").requests;
  const lastRequest = (): Json => requests().at(-1)?.json;
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
  const own = [{ name: "f", input_schema: { type: "object", properties: {} } }];

  test("CHAT-03 with tools, reasoning is turned off so that the model accepts them", async () => {
    expect((await scene.chat(tenant.key, { model, tools })).status).toBe(200);
    expect(lastRequest()).toMatchObject({ reasoning_effort: "none", tools });
    expect((await scene.chat(tenant.key, { model })).status).toBe(200);
    expect(lastRequest()).not.toHaveProperty("reasoning_effort");
    expect((await scene.chat(tenant.key, { model, reasoning_effort: "high" })).status).toBe(200);
    expect(lastRequest()).toMatchObject({ reasoning_effort: "high" });
  });

  test("MSG-02 the default thinking field of a coding client is dropped, and the log records it", async () => {
    const thinking = { type: "adaptive" };
    const { status, headers } = await messages({
      model,
      messages: user,
      tools: own,
      thinking,
      output_config: { effort: "high" },
    });
    expect(status).toBe(200);
    expect(lastRequest()).toMatchObject({ reasoning_effort: "none" });
    expect((await scene.row(headers.get("x-svc-request-id") ?? "")).omitted).toContain("thinking");
  });

  test("PARAM-03 a request for reasoning and tools is refused by name before any provider is called", async () => {
    const before = requests().length;
    const chat = await scene.chat(tenant.key, { model, tools, reasoning_effort: "low" });
    expect([chat.status, chat.body.error.code, chat.body.error.param]).toEqual([
      400,
      "unsupported_parameter",
      "reasoning_effort",
    ]);
    expect(chat.body.error.message).toContain("supports reasoning or tools, not both");
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const message = await messages({ model, max_tokens: 4000, messages: user, tools: own, thinking });
    expect([message.status, message.body.error.param]).toEqual([400, "thinking"]);
    expect(requests()).toHaveLength(before);
  });

  test("HDR-06 a router's effort is not reported as chosen if tools prevent reasoning", async () => {
    const models = ["openai/gpt-6-sol"];
    const router = `/workspaces/${tenant.slug}/routers/thinks`;
    const chosen = async (more: object) => {
      const { status, headers } = await scene.chat(tenant.key, { model: `@${tenant.slug}/thinks`, ...more });
      const reasoningHeaders = ["effort", "chosen-by"].map((name) => headers.get(`x-svc-reasoning-${name}`));
      return [status, lastRequest().reasoning_effort, ...reasoningHeaders];
    };
    await scene.gateway.manage("PUT", router, { models, reasoning_effort: "high" });
    expect(await chosen({ tools })).toEqual([200, "none", null, "provider_default"]);
    expect(await chosen({})).toEqual([200, "high", "high", "router"]);
    await scene.gateway.manage("PUT", router, { models, reasoning_effort: "none" });
    expect(await chosen({ tools })).toEqual([200, "none", "none", "router"]);
  });

  test("PARAM-03 a model that takes no tools on this endpoint is not called with tools", async () => {
    const astra = "openai/gpt-6-astra";
    const { status, body } = await scene.chat(tenant.key, { model: astra, tools });
    expect([status, body.error.param]).toEqual([400, "tools"]);
  });
});

test("MSG-02 sampling is dropped for a model that takes only the default, and forwarded in its own dialect", async () => {
  const model = "openai/gpt-5";
  const lastRequest = (): Json => scene.at("openai").requests.at(-1)?.json;
  const user = [{ role: "user", content: "Hello" }];
  const { status, headers } = await messages({ model, messages: user, temperature: 0.2, top_p: 0.9 });
  expect(status).toBe(200);
  expect(lastRequest()).not.toHaveProperty("temperature");
  expect(lastRequest()).not.toHaveProperty("top_p");
  expect((await scene.row(headers.get("x-svc-request-id") ?? "")).omitted).toEqual(["temperature", "top_p"]);
  await scene.chat(tenant.key, { model, temperature: 1 });
  expect(lastRequest()).toMatchObject({ temperature: 1 });
});

test("PARAM-03 unsupported sampling is refused by name or routed to a model that takes it; the default is forwarded", async () => {
  const model = "openai/gpt-5";
  const requests = () => scene.at("openai").requests;
  const before = requests().length;
  for (const [param, value] of Object.entries({ temperature: 0.2, top_p: 0.9 })) {
    const { status, body } = await scene.chat(tenant.key, { model, temperature: 1, [param]: value });
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", param]);
    expect(body.error.message).toContain(model);
  }
  const spec = { models: [model, MODEL], weights: { quality: 1 } };
  await scene.gateway.manage("PUT", `/workspaces/${tenant.slug}/routers/best`, spec);
  const best = `@${tenant.slug}/best`;
  const served = async (more: object) => {
    const { status, headers } = await scene.chat(tenant.key, { model: best, ...more });
    return [status, headers.get("x-svc-model")];
  };
  expect(await served({ temperature: 0.2 })).toEqual([200, MODEL]);
  expect(requests()).toHaveLength(before);
  expect(await served({ temperature: 1, top_p: 1 })).toEqual([200, model]);
  expect(requests().at(-1)?.json).toMatchObject({ temperature: 1, top_p: 1 });
});

test("CHAT-06 CHAT-11 a server that refuses two fields of the dialect does not get them, and its usage is metered", async () => {
  const model = "mistral/mistral-large-2512";
  const usage = { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 };
  const frames = chatFrames(["Hello"], { usage });
  const lastRequest = (): Json => scene.at("mistral").requests.at(-1)?.json;
  const more = { stream: true, stream_options: { include_usage: true }, max_completion_tokens: 9 };
  scene.at("mistral").next({ frames });
  const chat = await scene.chat(tenant.key, { model, ...more });
  expect([chat.status, chat.text]).toEqual([200, expect.stringContaining('"prompt_tokens":40')]);
  expect(lastRequest()).toMatchObject({ stream: true, max_tokens: 9 });
  for (const field of ["stream_options", "max_completion_tokens"]) expect(lastRequest()).not.toHaveProperty(field);
  scene.at("mistral").next({ frames });
  const message = await messages({ model, stream: true, messages: [{ role: "user", content: "Hello" }] });
  expect(message.status).toBe(200);
  expect(lastRequest()).toMatchObject({ stream: true, max_tokens: 50 });
  expect(lastRequest()).not.toHaveProperty("stream_options");
  expect((await scene.row(message.headers.get("x-svc-request-id") ?? "")).usage).toMatchObject({ input_tokens: 40 });
});

test("CHAT-05 an assistant message sent back unchanged loses its reasoning for a server that refuses it", async () => {
  const model = "mistral/mistral-medium-2604";
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
  const content = [thought, { type: "text", text: "Hello." }];
  scene.at("mistral").next({ json: chatJson({ message: { role: "assistant", content, refusal: null } }) });
  const first = await scene.chat(tenant.key, { model });
  const { message } = first.body.choices[0];
  expect(message).toMatchObject({ content: "Hello.", reasoning_content: "Hm.", refusal: null });
  const question = { role: "user", content: "And?" };
  await scene.chat(tenant.key, { model, messages: [question, message, question] });
  const lastRequest: Json = scene.at("mistral").requests.at(-1)?.json;
  expect(lastRequest.messages).toEqual([question, { role: "assistant", content: "Hello." }, question]);
});

test("CHAT-05 PARAM-04 only assistant messages lose history fields, the log names them, and numbers keep their digits", async () => {
  const model = "mistral/mistral-medium-2604";
  const question = '{"role":"user","content":"Hi","annotations":[1],"size":1.0}';
  const kept = '"role":"assistant","content":"Hello.","seed":12345678901234567890';
  const body = (answer: string) => `{"model":"${model}","messages":[${question},${answer},${question}]}`;
  const more = '"reasoning_content":"Hm.","annotations":[],"audio":{"id":"a"},"refusal":null';
  const lastRequest = () => scene.at("mistral").requests.at(-1)?.raw.toString();
  const reasonOf = async ({ status, headers }: { status: number; headers: Headers }) => {
    expect(status).toBe(200);
    return (await scene.row(headers.get("x-svc-request-id") ?? "")).omitted;
  };
  const reason = await reasonOf(await scene.chat(tenant.key, body(`{${kept},${more}}`)));
  expect(lastRequest()).toContain(`"messages":[${question},{${kept}},${question}]`);
  expect(reason).toEqual(["messages[].reasoning_content", "messages[].audio"]);
  for (const words of [kept, `${kept},"refusal":"No."`]) {
    expect(await reasonOf(await scene.chat(tenant.key, body(`{ ${words} }`)))).toEqual([]);
    expect(lastRequest()).toContain(`"messages":[${question},{ ${words} },${question}]`);
  }
});
