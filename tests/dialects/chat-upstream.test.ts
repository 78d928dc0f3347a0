import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changedCatalogue } from "../support/changed-catalogue.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { MODEL, openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

/** Callers of the other two dialects, served by an endpoint of chat completions. */
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
/** The same in pieces, mixed, with a reason that forgets the calls. */
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

  test("MSG-02 thoughts and calls are blocks, whole and streamed alike", async () => {
    const asked = { messages: [{ role: "user", content: "Weather?" }], tools };
    upstream().next({ json: chatJson({ message: CALLS, finish_reason: "stop" }) });
    const { body } = await messages(asked);
    const blocks = [
      { type: "thinking", thinking: "hm" },
      { type: "tool_use", id: "call_a", name: "weather", input: { city: "Paris" } },
      { type: "tool_use", id: "call_b", name: "now", input: {} },
    ];
    expect(body).toMatchObject({ type: "message", stop_reason: "tool_use", content: blocks });
    expect(body.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
    upstream().next({ frames: MIXED });
    const events = dataIn((await messages({ ...asked, stream: true })).text);
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

  test("MSG-02 the stop sequence comes back where the server tells it", async () => {
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

  test("RESP-02 calls are items of their own, whole and streamed alike", async () => {
    const asked = { input: "Weather?", tools };
    const called = [
      { type: "function_call", call_id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", call_id: "call_b", name: "now", arguments: "{}" },
    ];
    upstream().next({ json: chatJson({ message: CALLS, finish_reason: "stop" }) });
    const { body } = await responses(asked);
    expect(body.status).toBe("completed");
    expect(body.output.filter(({ type }: Json) => type === "function_call")).toMatchObject(called);
    upstream().next({ frames: MIXED });
    const events = dataIn((await responses({ ...asked, stream: true })).text);
    const last = events.at(-1);
    expect(last.type).toBe("response.completed");
    expect(last.response.output.filter(({ type }: Json) => type === "function_call")).toMatchObject(called);
  });
});

test("CHAT-01 callers of its own dialect still have the direct lane: their bytes, the provider's bytes", async () => {
  const body = `{ "model" : "${MODEL}" , "messages":[ {"role":"user","content":"h\\u00efé", "own": 1e3} ] }`;
  const answer = await scene.chat(tenant.key, body);
  expect(upstream().requests.at(-1)?.raw.toString()).toBe(body.replace(MODEL, received().model));
  expect(answer.body).toMatchObject({ system_fingerprint: "fp_upstream" });
});

describe("a model that thinks or does not, with nothing in between", () => {
  const model = "mistral/mistral-medium-2604";
  const told = (): Json => scene.at("mistral").requests.at(-1)?.json;
  const user = [{ role: "user", content: "Hello" }];

  test.each([
    ["none", "none"],
    ["minimal", "none"],
    ["low", "high"],
    ["medium", "high"],
    ["high", "high"],
    ["max", "high"],
  ])("HDR-06 RESP-02 PARAM-01 reasoning_effort %s is told as %s, and the header says so", async (effort, said) => {
    for (const answer of [
      await responses({ model, input: "Hello", reasoning: { effort } }),
      await scene.chat(tenant.key, { model, reasoning_effort: effort }),
      await scene.chat(tenant.key, { model, reasoning: { effort } }),
    ]) {
      expect([answer.status, answer.headers.get("x-svc-reasoning-effort")]).toEqual([200, said]);
      expect(told()).toMatchObject({ reasoning_effort: said });
      expect(told()).not.toHaveProperty("reasoning");
    }
  });

  test("MSG-02 a budget to think with is told as high", async () => {
    await messages({ model, max_tokens: 4000, messages: user, thinking: { type: "enabled", budget_tokens: 1024 } });
    expect(told()).toMatchObject({ reasoning_effort: "high" });
  });
});

describe("a model that cannot think while it is offered tools, at an endpoint of chat completions alone", () => {
  const model = "openai/gpt-5.6-terra";
  const user = [{ role: "user", content: "Hello" }];
  const asked = () => scene.at("openai").requests;
  const told = (): Json => asked().at(-1)?.json;
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }];
  const own = [{ name: "f", input_schema: { type: "object", properties: {} } }];

  test("CHAT-03 with tools it is told not to think, so that it takes them", async () => {
    expect((await scene.chat(tenant.key, { model, tools })).status).toBe(200);
    expect(told()).toMatchObject({ reasoning_effort: "none", tools });
    expect((await scene.chat(tenant.key, { model })).status).toBe(200);
    expect(told()).not.toHaveProperty("reasoning_effort");
    expect((await scene.chat(tenant.key, { model, reasoning_effort: "high" })).status).toBe(200);
    expect(told()).toMatchObject({ reasoning_effort: "high" });
  });

  test("MSG-02 what a coding client says of thinking with every request is left out, and the log says so", async () => {
    const thinking = { type: "adaptive" };
    const { status, headers } = await messages({
      model,
      messages: user,
      tools: own,
      thinking,
      output_config: { effort: "high" },
    });
    expect(status).toBe(200);
    expect(told()).toMatchObject({ reasoning_effort: "none" });
    const { attempts } = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(attempts[0].reason).toContain("left out: thinking");
  });

  test("PARAM-03 a demand for both is refused by name, before anyone is asked", async () => {
    const before = asked().length;
    const chat = await scene.chat(tenant.key, { model, tools, reasoning_effort: "low" });
    expect([chat.status, chat.body.error.code, chat.body.error.param]).toEqual([
      400,
      "unsupported_parameter",
      "reasoning_effort",
    ]);
    expect(chat.body.error.message).toContain("thinks or calls tools, not both");
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const message = await messages({ model, max_tokens: 4000, messages: user, tools: own, thinking });
    expect([message.status, message.body.error.param]).toEqual([400, "thinking"]);
    expect(asked()).toHaveLength(before);
  });

  test("HDR-06 an effort that a router wants is not said to be chosen where tools keep the model from thinking", async () => {
    const models = ["openai/gpt-6-sol"];
    const router = `/workspaces/${tenant.slug}/routers/thinks`;
    const chosen = async (more: object) => {
      const { status, headers } = await scene.chat(tenant.key, { model: `@${tenant.slug}/thinks`, ...more });
      const said = ["effort", "chosen-by"].map((name) => headers.get(`x-svc-reasoning-${name}`));
      return [status, told().reasoning_effort, ...said];
    };
    await scene.gateway.manage("PUT", router, { models, reasoning_effort: "high" });
    expect(await chosen({ tools })).toEqual([200, "none", null, "provider_default"]);
    expect(await chosen({})).toEqual([200, "high", "high", "router"]);
    await scene.gateway.manage("PUT", router, { models, reasoning_effort: "none" });
    expect(await chosen({ tools })).toEqual([200, "none", "none", "router"]);
  });

  test("PARAM-03 one that takes no tools there at all is asked for none", async () => {
    const astra = "openai/gpt-6-astra";
    const { status, body } = await scene.chat(tenant.key, { model: astra, tools });
    expect([status, body.error.param]).toEqual([400, "tools"]);
  });
});

test("MSG-02 sampling is left out for a model that takes the default alone, and passed on to it in its own dialect", async () => {
  const model = "openai/gpt-5";
  const told = (): Json => scene.at("openai").requests.at(-1)?.json;
  const user = [{ role: "user", content: "Hello" }];
  const { status, headers } = await messages({ model, messages: user, temperature: 0.2, top_p: 0.9 });
  expect(status).toBe(200);
  expect(told()).not.toHaveProperty("temperature");
  expect(told()).not.toHaveProperty("top_p");
  const { attempts } = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect(attempts[0].reason).toContain("left out: temperature, top_p");
  await scene.chat(tenant.key, { model, temperature: 1 });
  expect(told()).toMatchObject({ temperature: 1 });
});

test("PARAM-03 sampling that a model does not take is refused by name, or goes to one that does; the default is passed on", async () => {
  const model = "openai/gpt-5";
  const asked = () => scene.at("openai").requests;
  const before = asked().length;
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
  expect(asked()).toHaveLength(before);
  expect(await served({ temperature: 1, top_p: 1 })).toEqual([200, model]);
  expect(asked().at(-1)?.json).toMatchObject({ temperature: 1, top_p: 1 });
});

test("CHAT-06 CHAT-11 a server that refuses two fields of the dialect is not sent them, and what it tells is metered", async () => {
  const model = "mistral/mistral-large-2512";
  const usage = { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 };
  const frames = chatFrames(["Hello"], { usage });
  const told = (): Json => scene.at("mistral").requests.at(-1)?.json;
  const more = { stream: true, stream_options: { include_usage: true }, max_completion_tokens: 9 };
  scene.at("mistral").next({ frames });
  const chat = await scene.chat(tenant.key, { model, ...more });
  expect([chat.status, chat.text]).toEqual([200, expect.stringContaining('"prompt_tokens":40')]);
  expect(told()).toMatchObject({ stream: true, max_tokens: 9 });
  for (const field of ["stream_options", "max_completion_tokens"]) expect(told()).not.toHaveProperty(field);
  scene.at("mistral").next({ frames });
  const message = await messages({ model, stream: true, messages: [{ role: "user", content: "Hello" }] });
  expect(message.status).toBe(200);
  expect(told()).toMatchObject({ stream: true, max_tokens: 50 });
  expect(told()).not.toHaveProperty("stream_options");
  expect((await scene.row(message.headers.get("x-svc-request-id") ?? "")).usage).toMatchObject({ input_tokens: 40 });
});

test("CHAT-05 an answer that is sent back as it was given reaches a server that refuses thoughts without them", async () => {
  const model = "mistral/mistral-medium-2604";
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
  const content = [thought, { type: "text", text: "Hello." }];
  scene.at("mistral").next({ json: chatJson({ message: { role: "assistant", content, refusal: null } }) });
  const first = await scene.chat(tenant.key, { model });
  const { message } = first.body.choices[0];
  expect(message).toMatchObject({ content: "Hello.", reasoning_content: "Hm.", refusal: null });
  const asked = { role: "user", content: "And?" };
  await scene.chat(tenant.key, { model, messages: [asked, message, asked] });
  const told: Json = scene.at("mistral").requests.at(-1)?.json;
  expect(told.messages).toEqual([asked, { role: "assistant", content: "Hello." }, asked]);
});

test("CHAT-05 PARAM-04 what is taken out of a history is the assistant's alone, is named in the log, and numbers keep their digits", async () => {
  const model = "mistral/mistral-medium-2604";
  const asked = '{"role":"user","content":"Hi","annotations":[1],"size":1.0}';
  const kept = '"role":"assistant","content":"Hello.","seed":12345678901234567890';
  const body = (answer: string) => `{"model":"${model}","messages":[${asked},${answer},${asked}]}`;
  const more = '"reasoning_content":"Hm.","annotations":[],"audio":{"id":"a"},"refusal":null';
  const told = () => scene.at("mistral").requests.at(-1)?.raw.toString();
  const reasonOf = async ({ status, headers }: { status: number; headers: Headers }) => {
    expect(status).toBe(200);
    return (await scene.row(headers.get("x-svc-request-id") ?? "")).attempts[0].reason;
  };
  const reason = await reasonOf(await scene.chat(tenant.key, body(`{${kept},${more}}`)));
  expect(told()).toContain(`"messages":[${asked},{${kept}},${asked}]`);
  expect(reason).toBe("answered whole; left out: messages: reasoning_content, messages: audio");
  for (const words of [kept, `${kept},"refusal":"No."`]) {
    expect(await reasonOf(await scene.chat(tenant.key, body(`{ ${words} }`)))).toBe("answered whole");
    expect(told()).toContain(`"messages":[${asked},{ ${words} },${asked}]`);
  }
});
