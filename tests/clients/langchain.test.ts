import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
});
afterAll(() => gateway.close());

const WAYS = ["@langchain/openai chat", "@langchain/openai responses", "@langchain/anthropic"] as const;

function openAiModel(model: string, apiKey = gateway.key, useResponsesApi = false) {
  return new ChatOpenAI({
    model,
    apiKey,
    configuration: { baseURL: `${gateway.url}/v1` },
    useResponsesApi,
    maxRetries: 0,
  });
}

function chatModel(way: (typeof WAYS)[number], model: string) {
  if (way === "@langchain/anthropic")
    return new ChatAnthropic({ model, apiKey: gateway.key, anthropicApiUrl: gateway.url, maxRetries: 0 });
  return openAiModel(model, gateway.key, way === "@langchain/openai responses");
}

const weather = tool(async ({ city }) => `sunny in ${city}`, {
  name: "get_weather",
  description: "The weather of a city.",
  schema: z.object({ city: z.string() }),
});

const Usage = z.object({ input_tokens: z.number(), output_tokens: z.number() });

const cases = WAYS.flatMap((way) => ["sandbox/chat", "sandbox/claude", "sandbox/nova"].map((id) => ({ way, id })));

describe.each(cases)("$way with $id", ({ way, id }) => {
  test("CHAT-01 MSG-04 RESP-02 invoke: text and usage", async () => {
    const reply = await chatModel(way, id).invoke("hello");
    expect(reply.text).toMatch(/You said: hello$/);
    const { input_tokens, output_tokens } = Usage.parse(reply.usage_metadata);
    expect(input_tokens).toBeGreaterThan(0);
    expect(output_tokens).toBeGreaterThan(0);
  });

  test("CHAT-01 MSG-04 RESP-02 stream: the same text in chunks", async () => {
    const pieces: string[] = [];
    for await (const chunk of await chatModel(way, id).stream("hello")) pieces.push(chunk.text);
    expect(pieces.filter((piece) => piece !== "").length).toBeGreaterThan(1);
    expect(pieces.join("")).toMatch(/You said: hello$/);
  });

  test("CHAT-01 MSG-04 RESP-02 a tool is called, and its result is in the reply", async () => {
    const question = new HumanMessage("get_weather please");
    const model = chatModel(way, id).bindTools([weather]);
    const first = await model.invoke([question]);
    expect(first.tool_calls?.map(({ name }) => name)).toEqual(["get_weather"]);
    const results: ToolMessage[] = await Promise.all(
      (first.tool_calls ?? []).map(({ name, args, id: callId, type }) =>
        weather.invoke({ name, args, id: callId ?? "", type: type ?? "tool_call" }),
      ),
    );
    const last = await model.invoke([question, first, ...results]);
    expect(last.text).toContain("The tool get_weather answered: sunny");
  });

  test("CHAT-01 MSG-04 RESP-02 structured output", async () => {
    const Report = z.object({ city: z.string(), degrees: z.number() });
    const report = await chatModel(way, id).withStructuredOutput(Report, { name: "report" }).invoke("report");
    expect(Report.parse(report)).toEqual(report);
  });
});

describe("with lenient parameters", () => {
  let key: string;
  beforeAll(async () => {
    ({ key } = await gateway.tenant({ key: { environment: "test", policy: { parameters: "lenient" } } }));
  });

  test.each(["sandbox/claude", "sandbox/gemini", "sandbox/nova"])(
    "PARAM-08 function calling with parallel_tool_calls: false works on %s",
    async (id) => {
      const model = openAiModel(id, key);
      const called = await model.bindTools([weather], { parallel_tool_calls: false }).invoke("get_weather please");
      expect(called.tool_calls?.map(({ name }) => name)).toEqual(["get_weather"]);
      const Report = z.object({ city: z.string(), degrees: z.number() });
      const structured = model.withStructuredOutput(Report, { name: "report", method: "functionCalling" });
      expect(Report.safeParse(await structured.invoke("report")).success).toBe(true);
      const refused = openAiModel(id).bindTools([weather], { parallel_tool_calls: false });
      await expect(refused.invoke("get_weather please")).rejects.toThrow("parallel_tool_calls");
    },
  );
});
