import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  gateway = await startGateway();
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const model = "sandbox/nova";
const messages = [{ role: "user" as const, content: "hello" }];
const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    parameters: {
      type: "object" as const,
      properties: { city: { type: "string" as const } },
      required: ["city"],
    },
  },
};
const time = {
  type: "function" as const,
  function: { name: "get_time", parameters: { type: "object" as const, properties: {} } },
};

describe("the official SDK and a simulated provider that speaks Converse", () => {
  test("CHAT-01 CHAT-07 an answer, whole and as a stream, with the same words, figures and cost", async () => {
    const reply = await client.chat.completions.create({ model, messages });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { role: "assistant", content: "[simulated by sandbox-de] You said: hello", refusal: null },
    });
    const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(reply.choices[0]?.message.content);
    expect(final.usage).toEqual(reply.usage);
    expect(final.usage).toMatchObject({ currency: "EUR", cost: expect.any(Number) });
  });

  test("CHAT-03 the tools runner: parallel calls, one without arguments, their results, the answer", async () => {
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
    const tools = [runnable(weather), runnable(time)];
    const ask = { model, messages: [{ role: "user" as const, content: "get_weather and get_time please" }], tools };
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

  test("CHAT-04 response_format: a schema is held to although the provider only knows tools", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const response_format = { type: "json_schema" as const, json_schema: { name: "n", schema } };
    const reply = await client.chat.completions.create({ model, messages, response_format });
    const [choice] = reply.choices;
    expect(JSON.parse(choice?.message.content ?? "")).toEqual({ n: expect.any(Number) });
    expect(choice?.finish_reason).toBe("stop");
    expect(choice?.message.tool_calls).toBeUndefined();
    const final = await client.chat.completions.stream({ model, messages, response_format }).finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(choice?.message.content);
    const object = await client.chat.completions.create({ model, messages, response_format: { type: "json_object" } });
    expect(object.choices[0]?.finish_reason).toBe("stop");
  });

  test("CHAT-05 reasoning comes back beside the answer, and what the provider was told is in a header", async () => {
    const { data, response } = await client.chat.completions
      .create({ model, messages, reasoning_effort: "xhigh" })
      .withResponse();
    expect(data.choices[0]?.message).toMatchObject({ reasoning_content: expect.stringContaining("effort high") });
    expect(response.headers.get("x-svc-reasoning-effort")).toBe("high");
    expect(response.headers.get("x-svc-upstream-surface")).toBe("chat");
  });

  test("CHAT-08 a limit ends it with length, a stop sequence with stop", async () => {
    const short = await client.chat.completions.create({ model, messages, max_tokens: 3 });
    expect(short.choices[0]?.finish_reason).toBe("length");
    const stopped = await client.chat.completions.create({ model, messages, stop: ["You"] });
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { content: "[simulated by sandbox-de] " },
    });
  });

  test("CHAT-02 a picture as a data URL is seen; as a remote address it is refused before anyone is called", async () => {
    const ask = (url: string) =>
      client.chat.completions.create({
        model,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "look" },
              { type: "image_url", image_url: { url } },
            ],
          },
        ],
      });
    const seen = await ask("data:image/png;base64,iVBORw0KGgo=");
    expect(seen.choices[0]?.message.content).toContain("(with 1 image)");
    await expect(ask("https://example.com/a.png")).rejects.toMatchObject({
      status: 400,
      code: "unsupported_parameter",
      param: "messages.0.content.1",
    });
  });
});
