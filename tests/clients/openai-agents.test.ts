import { Agent, OpenAIChatCompletionsModel, OpenAIProvider, OpenAIResponsesModel, Runner, tool } from "@openai/agents";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

/** Traces would be sent to the SDK's vendor; the gateway has its own log. */
const runner = new Runner({ tracingDisabled: true });

function weather(cities: string[]) {
  return tool({
    name: "get_weather",
    description: "The weather of a city.",
    parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      cities.push(city);
      return "sunny";
    },
  });
}

const WAYS = ["responses", "chat completions"] as const;
const cases = WAYS.flatMap((way) => ["sandbox/chat", "sandbox/claude", "sandbox/gemini"].map((id) => ({ way, id })));

describe.each(cases)("@openai/agents over $way with $id", ({ way, id }) => {
  const model = () =>
    way === "responses" ? new OpenAIResponsesModel(client, id) : new OpenAIChatCompletionsModel(client, id);

  test("RESP-02 CHAT-01 an agent calls its tool and answers with the result", async () => {
    const cities: string[] = [];
    const agent = new Agent({ name: "Weather", instructions: "Be brief.", model: model(), tools: [weather(cities)] });
    const result = await runner.run(agent, "get_weather please");
    expect(result.finalOutput).toContain("The tool get_weather answered: sunny");
    expect(cities).toHaveLength(1);
  });

  test("RESP-02 CHAT-01 the same as a stream", async () => {
    const cities: string[] = [];
    const agent = new Agent({ name: "Weather", instructions: "Be brief.", model: model(), tools: [weather(cities)] });
    const result = await runner.run(agent, "get_weather please", { stream: true });
    let text = "";
    for await (const piece of result.toTextStream()) text += piece;
    await result.completed;
    expect(text).toContain("The tool get_weather answered: sunny");
    expect(result.finalOutput).toBe(text);
    expect(cities).toHaveLength(1);
  });

  test("RESP-02 CHAT-01 an agent hands over to another, which answers with structured output", async () => {
    const writer = new Agent({ name: "Writer", model: model(), outputType: z.object({ title: z.string() }) });
    const result = await runner.run(writer, "hello");
    expect(z.object({ title: z.string() }).parse(result.finalOutput)).toEqual(result.finalOutput);
    const front = Agent.create({ name: "Front", model: model(), handoffs: [writer] });
    const handed = await runner.run(front, "transfer_to_Writer");
    expect(handed.lastAgent?.name).toBe("Writer");
  });
});

test("RESP-02 an agent continues from the previous response", async () => {
  const agent = new Agent({ name: "Echo", model: new OpenAIResponsesModel(client, "sandbox/chat") });
  const first = await runner.run(agent, "one");
  expect(first.lastResponseId).toMatch(/^resp_/);
  const more = first.lastResponseId === undefined ? {} : { previousResponseId: first.lastResponseId };
  const second = await runner.run(agent, "two", more);
  expect(second.finalOutput).toMatch(/You said: two$/);
  const used = (result: typeof first) => result.state.usage.inputTokens;
  expect(used(second)).toBeGreaterThan(used(first));
});

test.each([true, false])(
  "RESP-02 CHAT-01 ids with a creator prefix are sent whole, responses %s",
  async (useResponses) => {
    const modelProvider = new OpenAIProvider({ openAIClient: client, useResponses });
    const own = new Runner({ modelProvider, tracingDisabled: true });
    const result = await own.run(new Agent({ name: "Echo", model: "sandbox/chat-mini" }), "hello");
    expect(result.finalOutput).toMatch(/You said: hello$/);
  },
);
