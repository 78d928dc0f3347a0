import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { responseFrames, responseJson } from "../support/responses-native.ts";
import { contentOf, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

/** Servers of chat completions that refuse fields which others take, and what they receive of real conversations. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene([
    "alibaba",
    "groq",
    "cerebras",
    "deepinfra",
    "openai",
    "mistral",
    "google-ai-studio",
    "deepseek",
  ]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const receivedBy = (provider: Provider): Json => scene.at(provider).requests.at(-1)?.json;

test.each(["groq", "cerebras"] as const)(
  "CHAT-01 CHAT-05 a reply of %s that is sent back unchanged loses the reasoning that the server refuses",
  async (only) => {
    const provider = { only: [only] };
    const question = { role: "user", content: "And?" };
    scene.at(only).next({ json: chatJson({ message: { role: "assistant", content: "Hello.", reasoning: "Hm." } }) });
    const { message } = (await scene.chat(tenant.key, { provider })).body.choices[0];
    expect(message).toMatchObject({ content: "Hello.", reasoning_content: "Hm." });
    const { status, headers } = await scene.chat(tenant.key, {
      model: MODEL,
      provider,
      messages: [question, message, question],
    });
    expect(status).toBe(200);
    expect(receivedBy(only).messages).toEqual([question, { role: "assistant", content: "Hello." }, question]);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.omitted).toEqual(["messages[].reasoning_content"]);
  },
);

describe("instructions in several positions", () => {
  const QWEN = "alibaba/qwen3.5-397b-a17b";
  const provider = { only: ["deepinfra"] };

  test("RESP-02 Codex's, the request's and the developer's instructions become one system message", async () => {
    const input = [
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Ask first." }] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Hello" }] },
    ];
    const body = { model: QWEN, provider, instructions: "Be brief.", input };
    expect((await scene.gateway.call(tenant.key, "/v1/responses", { body })).status).toBe(200);
    expect(receivedBy("deepinfra").messages).toEqual([
      { role: "system", content: "Be brief.\n\nAsk first." },
      { role: "user", content: "Hello" },
    ]);
  });

  const turns = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hi." },
    { role: "system", content: "Now in French." },
    { role: "user", content: "And?" },
  ];
  const ask = (model: string) => {
    const body = { model, max_tokens: 50, system: "Be brief.", messages: turns };
    return scene.gateway.call(tenant.key, "/v1/messages", { body });
  };

  test("MSG-02 one between two turns is prepended to the next user message", async () => {
    expect((await ask(QWEN)).status).toBe(200);
    expect(receivedBy("deepinfra").messages).toEqual([
      { role: "system", content: "Be brief." },
      turns[0],
      turns[1],
      { role: "user", content: "Now in French.\n\nAnd?" },
    ]);
  });

  test("MSG-02 one between two turns stays in position at OpenAI, which accepts it", async () => {
    expect((await ask("openai/gpt-5-mini")).status).toBe(200);
    expect(receivedBy("openai").messages).toEqual([{ role: "system", content: "Be brief." }, ...turns]);
  });
});

describe("order of roles", () => {
  const model = "mistral/mistral-large-2512";
  const ask = (messages: readonly object[], more: object = {}) =>
    scene.gateway.call(tenant.key, "/v1/messages", { body: { model, max_tokens: 50, messages, ...more } });

  test("MSG-02 an assistant message is inserted between tool results and the next user message", async () => {
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
    const turns = [
      { role: "user", content: "Go." },
      { role: "assistant", content: [{ type: "tool_use", id: "abcDEF123", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "abcDEF123", content: "done" }] },
    ];
    const rolesOf = () => receivedBy("mistral").messages.map(({ role }: Json) => role);
    expect((await ask(turns, { tools })).status).toBe(200);
    expect(rolesOf()).toEqual(["user", "assistant", "tool"]);
    expect((await ask([...turns, { role: "user", content: "Stop." }], { tools })).status).toBe(200);
    expect(rolesOf()).toEqual(["user", "assistant", "tool", "assistant", "user"]);
    expect(receivedBy("mistral").messages.slice(3)).toEqual([
      { role: "assistant", content: "Ok." },
      { role: "user", content: "Stop." },
    ]);
  });

  const prefilled = [
    { role: "user", content: "Say it in JSON." },
    { role: "assistant", content: '{"a":' },
  ];

  test.each([
    ["repeats it", '{"a":1}', "1}"],
    ["does not", "1}", "1}"],
    ["returns similar text", '{"b":1}', '{"b":1}'],
    ["returns only its beginning", '{"', '{"'],
  ])(
    "MSG-02 a prefilled reply is marked, and only the new text is returned: the server %s",
    async (_, output, shown) => {
      scene.at("mistral").next({ json: chatJson({ message: { role: "assistant", content: output } }) });
      const whole = await ask(prefilled);
      expect([whole.status, whole.body.content]).toEqual([200, [{ type: "text", text: shown }]]);
      expect(receivedBy("mistral").messages).toEqual([prefilled[0], { ...prefilled[1], prefix: true }]);
      for (const pieces of [[output], [...output]]) {
        scene.at("mistral").next({ frames: chatFrames(pieces) });
        const { text } = await ask(prefilled, { stream: true });
        const deltas = text
          .split("\n")
          .flatMap((line) => (line.includes('"text_delta"') ? [JSON.parse(line.slice(6))] : []));
        expect(deltas.map(({ delta }: Json) => delta.text).join("")).toBe(shown);
      }
    },
  );
});

describe("passthrough of the caller's bytes", () => {
  const sentBy = async (provider: Provider, body: string) => {
    const { status, text, headers } = await scene.chat(tenant.key, body);
    expect(status, text).toBe(200);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    return { raw: scene.at(provider).requests.at(-1)?.raw.toString() ?? "", omitted: row.omitted };
  };

  test("CHAT-02 role developer becomes system where it is unknown, and no other byte changes", async () => {
    const list = (one: string, two: string) =>
      `[ {"content" : "caf\\u00e9 1.0 \\"role\\":\\"developer\\"", "role":"${one}","n":1.0},\n {"role": "user", "content":[{"type":"text","text":"developer"}]} ,{"role" : "${two}","content":"b"}]`;
    const body = (model: string) => `{"messages" : ${list("developer", "developer")} , "model":"${model}"}`;
    const qwen = await sentBy("deepinfra", body("alibaba/qwen3.5-397b-a17b"));
    expect(qwen.raw).toContain(`{"messages" : ${list("system", "system")} , "model":`);
    expect(qwen.omitted).toEqual([]);
    const openai = await sentBy("openai", body("openai/gpt-5-mini"));
    expect(openai.raw).toContain(`{"messages" : ${list("developer", "developer")} , "model":`);
  });

  test("CHAT-02 CHAT-03 a conversation without conflicts is sent unchanged", async () => {
    const call = '{"id":"abcDEF123", "type":"function","function":{"name":"f","arguments":"{\\"n\\":1.0}"}}';
    const messages = `[ {"role":"system","content":"s"}, {"role":"user","content":"u"},{"role":"assistant","content":null,"tool_calls":[ ${call} ]},{"role":"tool","tool_call_id":"abcDEF123","content":"r"} ]`;
    const { raw } = await sentBy("mistral", `{"model":"mistral/mistral-large-2512","messages":${messages}}`);
    expect(raw).toContain(`"messages":${messages}`);
  });

  test("CHAT-03 PARAM-04 foreign calls get ids that a server of short ids accepts, and lose foreign signatures", async () => {
    const call = (id: string, more = "") =>
      `{"id":"${id}"${more},"type":"function","function":{"name":"f","arguments":"{\\"n\\":1.0}"}}`;
    const signed = ',"extra_content":{"google":{"thought_signature":"c2ln"}}';
    const answer = `{ "role":"assistant","content":null,"tool_calls":[${call("toolu_01ABC", signed)},${call("abcDEF123")}]}`;
    const result = (id: string) => `{ "role":"tool","tool_call_id":"${id}", "content":"${id} 1.0"}`;
    const question = '{ "role":"user","content":"Hi" }';
    const model = "mistral/mistral-large-2512";
    const body = `{"model":"${model}","messages":[${question},${answer}, ${result("toolu_01ABC")},${result("abcDEF123")}]}`;
    const { raw, omitted } = await sentBy("mistral", body);
    const { messages } = JSON.parse(raw);
    const [first, second] = messages[1].tool_calls.map(({ id }: Json) => id);
    expect([first, second]).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), "abcDEF123"]);
    expect(messages.slice(2).map(({ tool_call_id }: Json) => tool_call_id)).toEqual([first, second]);
    expect(raw).not.toContain("extra_content");
    expect(raw).toContain(`[${question},`);
    expect(raw).toContain(
      `{ "role":"tool","tool_call_id":"${first}", "content":"toolu_01ABC 1.0"},${result("abcDEF123")}]`,
    );
    expect(omitted).toEqual(["messages[].tool_calls[].extra_content"]);
  });

  test("CHAT-02 PARAM-04 a speaker's name is dropped where it is refused, a tool's name is not", async () => {
    const call = '{"id":"abcDEF123","type":"function","function":{"name":"f","arguments":"{}"}}';
    const list = (name: string, none: string) =>
      `[ {"role":"system"${name},"content":"s","n":1.0}, {"role":"user"${none},"content":"u"},{"role":"user","content":"v"${name}},` +
      `{"role":"assistant"${name},"content":null,"tool_calls":[${call}]}, {"role":"tool","name":"f","tool_call_id":"abcDEF123","content":"r"} ]`;
    const body = (model: string) => `{"model":"${model}","messages":${list(',"name":"ann"', ',"name":null')}}`;
    const { raw, omitted } = await sentBy("mistral", body("mistral/mistral-large-2512"));
    expect(raw).toContain(`"messages":${list("", "")}`);
    expect(omitted).toEqual(["messages[].name"]);
    const other = await sentBy("deepinfra", body("alibaba/qwen3.5-397b-a17b"));
    expect(other.raw).toContain(`"messages":${list(',"name":"ann"', ',"name":null')}`);
  });

  test("CHAT-03 the same calls are sent to other servers unchanged", async () => {
    const calls = '[{"id":"toolu_01ABC","type":"function","function":{"name":"f","arguments":"{}"},"x_own":{}}]';
    const result = '{"role":"tool","tool_call_id":"toolu_01ABC","content":"r"}';
    const messages = `[{"role":"user","content":"u"}, {"role":"assistant","content":null,"tool_calls":${calls}},${result}]`;
    const { raw } = await sentBy("deepinfra", `{"model":"alibaba/qwen3.5-397b-a17b","messages":${messages}}`);
    expect(raw).toContain(`"messages":${messages}`);
  });
});

test("CHAT-05 a Gemini signature is dropped when the conversation continues at a server of chat completions", async () => {
  const signed = {
    role: "model",
    parts: [{ functionCall: { id: "c1", name: "f", args: {} }, thoughtSignature: "c2ln" }],
  };
  scene.at("google-ai-studio").next({ json: { candidates: [{ content: signed, finishReason: "STOP" }] } });
  const question = { role: "user", content: "Go." };
  const tools = [{ type: "function", function: { name: "f" } }];
  const gemini = await scene.chat(tenant.key, { model: "google/gemini-3.5-flash", messages: [question], tools });
  const { message } = gemini.body.choices[0];
  expect(message.tool_calls[0].extra_content).toEqual({ google: { thought_signature: "c2ln" } });
  const { extra_content: _, ...plain } = message.tool_calls[0];
  const result = { role: "tool", tool_call_id: plain.id, content: "done" };
  for (const [provider, model] of [
    ["groq", MODEL],
    ["openai", "openai/gpt-5-mini"],
    ["deepinfra", "alibaba/qwen3.5-397b-a17b"],
  ] as const) {
    const { status, text, headers } = await scene.chat(tenant.key, {
      model,
      provider: { only: [provider] },
      messages: [question, message, result],
      tools,
    });
    expect(status, text).toBe(200);
    expect(receivedBy(provider).messages[1].tool_calls).toEqual([plain]);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.omitted).toContain("messages[].tool_calls[].extra_content");
  }
});

describe("cache marks", () => {
  const OMITTED_MARKS = ["messages[].content[].cache_control", "messages[].cache_control", "tools[].cache_control"];
  const MARK = ',"cache_control":{"type":"ephemeral"}';
  const conversation = (mark: string) =>
    `"messages" : [ {"role":"system","content":[{"type":"text","text":"cache_control"${mark}},{"type":"text","text":"1.0","n":1.0}]${mark}},` +
    `\n {"role":"user", "content":"plain"},{"role":"user","content":[{"type":"text","text":"u"${mark}}]},` +
    `{"role":"assistant","content":[{"type":"text","text":"a"${mark}}],"tool_calls":[{"id":"abcDEF123","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
    `{"role":"tool","tool_call_id":"abcDEF123","content":"r"${mark}} ],` +
    `"tools" : [ {"type":"function", "function":{"name":"f","parameters":{"type":"object","properties":{"cache_control":{"type":"string"}}}}${mark}},{"type":"function","function":{"name":"g"} } ]`;
  const send = async (provider: Provider, model: string, mark: string) => {
    const { status, text, headers } = await scene.chat(
      tenant.key,
      `{"model":"${model}","provider":{"only":["${provider}"]},${conversation(mark)}}`,
    );
    expect(status, text).toBe(200);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    const raw = scene.at(provider).requests.at(-1)?.raw.toString() ?? "";
    return { raw, json: JSON.parse(raw), omitted: row.omitted };
  };

  test.each([
    ["groq", "meta/llama-4-scout-17b-instruct"],
    ["openai", "openai/gpt-4.1-mini"],
    ["mistral", "mistral/mistral-large-2512"],
    ["deepinfra", "alibaba/qwen3.5-397b-a17b"],
  ] as const)("PARAM-04 are dropped for %s, and the log records it", async (provider, model) => {
    const { json, raw, omitted } = await send(provider, model, MARK);
    const plain = JSON.parse(`{${conversation("")}}`);
    expect([json.messages, json.tools]).toEqual([plain.messages, plain.tools]);
    expect(raw).toContain('"n":1.0');
    expect(raw).toContain('},{"type":"function","function":{"name":"g"} } ]');
    expect(omitted).toEqual(OMITTED_MARKS);
    expect((await send(provider, model, ',"cache_control":null')).json).toEqual(json);
  });

  test("PARAM-04 reach a server that supports them unchanged", async () => {
    const { raw, omitted } = await send("alibaba", "alibaba/qwen3.7-max", MARK);
    expect(raw).toContain(conversation(MARK));
    expect(omitted).toEqual([]);
  });
});

describe("schema output at DeepSeek, which refuses it over chat completions", () => {
  const model = "deepseek/deepseek-v4-pro";
  const provider = { only: ["deepseek"] };
  const schema = {
    type: "object",
    properties: { a: { type: "number" } },
    required: ["a"],
    additionalProperties: false,
  };
  const response_format = { type: "json_schema", json_schema: { name: "n", strict: true, schema } };
  const path = () => scene.at("deepseek").requests.at(-1)?.path;

  test("CHAT-04 uses its responses API, whole and in a stream; other requests are unchanged", async () => {
    scene.at("deepseek").next({ json: responseJson() });
    const whole = await scene.chat(tenant.key, { model, provider, response_format, max_completion_tokens: 50 });
    expect([whole.status, whole.body.object, path()]).toEqual([200, "chat.completion", "/v1/responses"]);
    expect(receivedBy("deepseek")).toMatchObject({
      text: { format: { type: "json_schema", name: "n", strict: true, schema } },
      max_output_tokens: 50,
    });
    scene.at("deepseek").next({ frames: responseFrames(["{", "}"]) });
    expect(contentOf((await scene.chat(tenant.key, { model, provider, response_format, stream: true })).text)).toBe(
      "{}",
    );
    for (const more of [{}, { response_format: { type: "json_object" } }]) {
      expect((await scene.chat(tenant.key, { model, provider, ...more })).status).toBe(200);
      expect(path()).toBe("/v1/chat/completions");
    }
  });

  test("LOG-04 reasoning of earlier turns, which that format cannot carry, is named in the log", async () => {
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, reasoning_content: "I look.", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "seen" },
    ];
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
    const request = { model, provider, messages, tools };
    expect((await scene.chat(tenant.key, request)).status).toBe(200);
    expect(receivedBy("deepseek").messages[1].reasoning_content).toBe("I look.");
    scene.at("deepseek").next({ json: responseJson() });
    const { status, headers } = await scene.chat(tenant.key, { ...request, response_format });
    expect([status, path()]).toEqual([200, "/v1/responses"]);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.omitted).toEqual(["messages[].reasoning_content"]);
  });

  test("PARAM-03 is routed elsewhere if the request has fields that the responses format cannot express", async () => {
    const { status, headers } = await scene.chat(tenant.key, { model, response_format, stop: ["x"] });
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "deepinfra"]);
    expect(receivedBy("deepinfra")).toMatchObject({ response_format, stop: ["x"] });
  });
});
