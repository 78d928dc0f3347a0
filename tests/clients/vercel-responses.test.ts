import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The provider's default for a model id is `/responses`. */
let gateway: TestGateway;
let model: (id: string) => LanguageModel;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key });
});
afterAll(() => gateway.close());

const prompt = "hello";
const Report = z.object({ city: z.string(), degrees: z.number() });

function weather(cities: string[]) {
  return tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      cities.push(city);
      return { sky: "clear" };
    },
  });
}

describe.each(["sandbox/chat", "sandbox/claude", "sandbox/gemini", "sandbox/nova"])("@ai-sdk/openai with %s", (id) => {
  test("RESP-02 generateText: text, finish reason, usage and the request id", async () => {
    const { text, finishReason, usage, response } = await generateText({ model: model(id), prompt });
    expect(text).toMatch(/You said: hello$/);
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.totalTokens).toBe((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
    expect(response.id).toMatch(/^resp_/);
    expect(response.headers?.["x-svc-request-id"]).toBe(response.id);
    expect(response.modelId).toBe(id);
  });

  test("RESP-02 streamText: the same text in chunks, and the same usage", async () => {
    const whole = await generateText({ model: model(id), prompt });
    const { textStream, usage, finishReason } = streamText({ model: model(id), prompt });
    const pieces: string[] = [];
    for await (const piece of textStream) pieces.push(piece);
    expect(pieces.join("")).toBe(whole.text);
    expect(pieces.length).toBeGreaterThan(1);
    expect(await finishReason).toBe("stop");
    expect((await usage).totalTokens).toBe(whole.usage.totalTokens);
  });

  test("RESP-02 the tool loop, whole and streamed, with and without stored responses", async () => {
    for (const store of [true, false])
      for (const how of [generateText, streamText]) {
        const cities: string[] = [];
        const done = await how({
          model: model(id),
          prompt: "get_weather please",
          tools: { get_weather: weather(cities) },
          stopWhen: isStepCount(4),
          providerOptions: { openai: { store } },
        });
        expect(await done.text).toContain("The tool get_weather answered:");
        expect(cities).toHaveLength(1);
        expect((await done.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
      }
  });

  test("RESP-02 structured output, whole and streamed", async () => {
    const ask = { model: model(id), prompt, output: Output.object({ schema: Report }) };
    const { output } = await generateText(ask);
    expect(Report.parse(output)).toEqual(output);
    const streamed = streamText(ask);
    let last: unknown;
    for await (const partial of streamed.partialOutputStream) last = partial;
    expect(last).toEqual(output);
  });
});

test("RESP-02 ERR-01 a refusal is an APICallError with status and code, and is not retried", async () => {
  const problem: unknown = await generateText({ model: model("sandbox/missing"), prompt }).catch((error) => error);
  if (!APICallError.isInstance(problem)) throw new Error(`no APICallError but ${String(problem)}`);
  expect([problem.statusCode, problem.isRetryable]).toEqual([404, false]);
  expect(JSON.parse(problem.responseBody ?? "")).toMatchObject({ error: { code: "model_not_found", param: "model" } });
});

test("RESP-02 ERR-02 a broken stream gives its text, then an error", async () => {
  const problems: unknown[] = [];
  const { textStream } = streamText({
    model: model("sandbox/cut"),
    prompt: "word ".repeat(200),
    onError: ({ error }) => void problems.push(error),
  });
  let text = "";
  for await (const piece of textStream) text += piece;
  expect(text).not.toBe("");
  expect(problems).toHaveLength(1);
  expect(JSON.stringify(problems[0])).toContain("upstream_error");
});
