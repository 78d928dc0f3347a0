import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";
import { chunksOf, saidIn } from "../support/scene.ts";

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const model = "sandbox/gemini";
const messages = [{ role: "user" as const, content: "hello" }];
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const time = {
  type: "function" as const,
  function: { name: "get_time", parameters: { type: "object", properties: {} } },
};

async function chat(body: object) {
  return gateway.call(gateway.key, "/v1/chat/completions", { body: { model, messages, ...body } });
}

describe("the official SDK and a simulated provider that speaks Gemini", () => {
  test("CHAT-01 CHAT-07 an answer, whole and as a stream, with the same words, figures and cost", async () => {
    const reply = await client.chat.completions.create({ model, messages });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { role: "assistant", content: "[simulated by sandbox-us] You said: hello", refusal: null },
    });
    const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(reply.choices[0]?.message.content);
    expect(final.usage).toEqual(reply.usage);
    expect(final.usage).toMatchObject({ currency: "EUR", cost: expect.any(Number) });
  });

  test("CHAT-03 CHAT-05 the tools runner: parallel calls and their results, signed as the provider demands", async () => {
    const called: string[] = [];
    const runnable = ({ function: { name, parameters } }: typeof weather | typeof time) => ({
      type: "function" as const,
      function: {
        name,
        description: `Tells the ${name.slice(4)}`,
        parameters,
        parse: (text: string): object => JSON.parse(text),
        function: (args: object) => {
          called.push(`${name} ${JSON.stringify(args)}`);
          return `${name} says ok`;
        },
      },
    });
    const ask = {
      model,
      messages: [{ role: "user" as const, content: "get_weather and get_time please" }],
      tools: [runnable(weather), runnable(time)],
    };
    const runners = [
      () => client.chat.completions.runTools(ask).finalContent(),
      () => client.chat.completions.runTools({ ...ask, stream: true }).finalContent(),
    ];
    for (const run of runners) {
      called.length = 0;
      expect(await run()).toContain("The tool get_time answered: get_time says ok");
      expect(called).toEqual([expect.stringMatching(/^get_weather \{"city":/), "get_time {}"]);
    }
  });

  test("CHAT-03 a client that loses the signature is helped, one that changes it is refused", async () => {
    const asked = { role: "user", content: "get_time please" };
    const { body } = await chat({ messages: [asked], tools: [time] });
    const { message } = body.choices[0];
    const [call] = message.tool_calls;
    const again = (tool_call: object) =>
      chat({
        messages: [
          asked,
          { ...message, tool_calls: [tool_call] },
          { role: "tool", tool_call_id: call.id, content: "noon" },
        ],
        tools: [time],
      });
    expect((await again(call)).body.choices[0].message.content).toContain("answered: noon");
    const { extra_content: _lost, ...unsigned } = call;
    expect((await again(unsigned)).status).toBe(200);
    const changed = await again({ ...call, extra_content: { google: { thought_signature: "AAAA" } } });
    expect([changed.status, changed.body.error.code]).toEqual([400, "provider_error"]);
  });

  test("CHAT-03 tool_choice in all its forms", async () => {
    const ask = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
      const reply = await client.chat.completions.create({ model, messages, tools: [time, weather], tool_choice });
      return reply.choices[0]?.message.tool_calls?.map((call) => ("function" in call ? call.function.name : "")) ?? [];
    };
    expect(await ask("auto")).toEqual([]);
    expect(await ask("none")).toEqual([]);
    expect(await ask("required")).toEqual(["get_time"]);
    expect(await ask({ type: "function", function: { name: "get_weather" } })).toEqual(["get_weather"]);
  });

  test("CHAT-04 response_format: an object, a schema, and a schema beside tools", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", schema } };
    for (const more of [{}, { tools: [time] }]) {
      const reply = await client.chat.completions.create({ model, messages, response_format, ...more });
      expect(JSON.parse(reply.choices[0]?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    }
    const plain = await client.chat.completions.create({ model, messages, response_format: { type: "json_object" } });
    expect(JSON.parse(plain.choices[0]?.message.content ?? "")).toMatchObject({ text: "You said: hello" });
  });

  test("CHAT-05 reasoning comes back, and sealed words can be sent back unchanged, from a reply as from a stream", async () => {
    const whole = (await chat({ reasoning_effort: "low" })).body.choices[0].message;
    expect(whole.reasoning_content).toContain("effort low");
    const { text } = await chat({ reasoning_effort: "low", stream: true });
    const deltas = chunksOf(text).map((chunk) => chunk.choices[0].delta);
    const streamed = {
      role: "assistant",
      content: saidIn(text),
      reasoning_content: deltas.map((delta: Json) => delta.reasoning_content ?? "").join(""),
      reasoning_details: deltas.flatMap((delta: Json) => delta.reasoning_details ?? []),
    };
    expect(whole).toMatchObject(streamed);
    for (const turn of [whole, streamed]) {
      const next = await chat({ messages: [...messages, turn, { role: "user", content: "and now?" }] });
      expect(next.body.choices[0].message.content).toContain("You said: and now?");
    }
    const forged = { ...streamed, content: "something else" };
    const refused = await chat({ messages: [...messages, forged, ...messages] });
    expect([refused.status, refused.body.error.message]).toEqual([400, "Corrupted thought signature."]);
  });

  test("CHAT-02 all roles, images, audio and files", async () => {
    const reply = await chat({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "hello" },
        { role: "assistant", content: "Hi." },
        { role: "developer", content: "Now briefly." },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
            { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" } },
          ],
        },
      ],
    });
    expect(reply.body.choices[0].message.content).toContain("You said: Now briefly.\nlook (with 1 image)");
  });

  test("CHAT-08 the limit of tokens, before and after the first word", async () => {
    const cut = await chat({ max_tokens: 3 });
    expect(cut.body.choices[0].finish_reason).toBe("length");
    const thinking = await chat({ max_tokens: 1, reasoning_effort: "high", stream: true });
    expect(chunksOf(thinking.text).at(-1).choices[0].finish_reason).toBe("length");
  });
});
