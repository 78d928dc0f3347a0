import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGateway, type TestGateway } from "./gateway.ts";

export const messages = [{ role: "user" as const, content: "hello" }];
export const weather = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: { type: "object" as const, properties: { city: { type: "string" as const } }, required: ["city"] },
  },
};
export const time = {
  type: "function" as const,
  function: { name: "get_time", parameters: { type: "object" as const, properties: {} } },
};

type SdkFixture = { gateway(): TestGateway; client(): OpenAI };

/** A gateway for the tests of one file, and the official SDK that calls it. */
export function sdkForFile(): SdkFixture {
  let gateway: TestGateway | undefined;
  beforeAll(async () => {
    gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000" } });
  });
  afterAll(() => gateway?.close());
  const running = () => {
    if (gateway === undefined) throw new Error("there is no gateway outside of the tests");
    return gateway;
  };
  return {
    gateway: running,
    client: () => new OpenAI({ baseURL: `${running().url}/v1`, apiKey: running().key, maxRetries: 0 }),
  };
}

/** What the SDK gets from every simulated provider, whatever its dialect. */
export function sdkTests(
  { client }: SdkFixture,
  { model, provider, surface }: { readonly model: string; readonly provider: string; readonly surface: string },
): void {
  test("CHAT-01 CHAT-07 complete and streamed replies have the same text, usage and cost", async () => {
    const { completions } = client().chat;
    const { data: reply, response } = await completions.create({ model, messages }).withResponse();
    expect(response.headers.get("x-svc-upstream-surface")).toBe(surface);
    expect(reply.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { role: "assistant", content: `[simulated by ${provider}] You said: hello`, refusal: null },
    });
    const stream = completions.stream({ model, messages, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(reply.choices[0]?.message.content);
    expect(final.usage).toEqual(reply.usage);
    expect(final.usage).toMatchObject({ currency: "EUR", cost: expect.any(Number) });
  });

  test("CHAT-03 CHAT-05 the tools runner: parallel calls, one without arguments, their results, the reply", async () => {
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
    const { completions } = client().chat;
    const runners = [
      () => completions.runTools(ask).finalContent(),
      () => completions.runTools({ ...ask, stream: true }).finalContent(),
    ];
    for (const run of runners) {
      called.length = 0;
      expect(await run()).toContain("The tool get_time answered: get_time says ok");
      expect(called).toEqual([expect.stringMatching(/^get_weather \{"city":/), "get_time {}"]);
    }
  });

  test("CHAT-03 tool_choice in all its forms", async () => {
    const ask = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) => {
      const tools = [time, weather];
      const reply = await client().chat.completions.create({ model, messages, tools, tool_choice });
      return reply.choices[0]?.message.tool_calls?.map((call) => ("function" in call ? call.function.name : "")) ?? [];
    };
    expect(await ask("auto")).toEqual([]);
    expect(await ask("none")).toEqual([]);
    expect(await ask("required")).toEqual(["get_time"]);
    expect(await ask({ type: "function", function: { name: "get_weather" } })).toEqual(["get_weather"]);
  });
}
