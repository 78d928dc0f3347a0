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

function chatModel(way: (typeof WAYS)[number], model: string) {
  if (way === "@langchain/anthropic")
    return new ChatAnthropic({ model, apiKey: gateway.key, anthropicApiUrl: gateway.url, maxRetries: 0 });
  return new ChatOpenAI({
    model,
    apiKey: gateway.key,
    configuration: { baseURL: `${gateway.url}/v1` },
    useResponsesApi: way === "@langchain/openai responses",
    maxRetries: 0,
  });
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
