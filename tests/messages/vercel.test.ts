import { createAnthropic } from "@ai-sdk/anthropic";
import { APICallError, generateText, Output, stepCountIs, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The Vercel AI SDK with its provider of this dialect, whose base URL ends in /v1. */
const MODELS = ["sandbox/chat", "sandbox/gemini", "sandbox/nova", "sandbox/claude"] as const;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
});
afterAll(() => gateway.close());

const provider = (apiKey = gateway.key) => createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey });

const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});

describe.each(MODELS)("%s", (model) => {
  test("MSG-04 generateText: text and usage", async () => {
    const { text, usage, finishReason } = await generateText({
      model: provider()(model),
      prompt: "hello",
      maxOutputTokens: 500,
    });
    expect(text).toMatch(/You said: hello$/);
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  test("MSG-04 streamText: the same text in chunks", async () => {
    const { textStream, usage } = streamText({ model: provider()(model), prompt: "hello", maxOutputTokens: 500 });
    const pieces: string[] = [];
    for await (const piece of textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toMatch(/You said: hello$/);
    expect((await usage).outputTokens).toBeGreaterThan(1);
  });

  test("MSG-04 a tool is called and its result is in the reply, whole and streamed", async () => {
    const options = {
      model: provider()(model),
      prompt: "get_weather please",
      maxOutputTokens: 500,
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
    };
    const { text, steps } = await generateText(options);
    expect(steps).toHaveLength(2);
    expect(text).toContain("sunny in ");
    const streamed = streamText(options);
    expect(await streamed.text).toContain("sunny in ");
    expect(await streamed.steps).toHaveLength(2);
  });
});

test("MSG-04 a reply that follows a schema", async () => {
  const schema = z.object({ name: z.string(), age: z.number() });
  const { output } = await generateText({
    model: provider()("sandbox/chat"),
    prompt: "Make a person.",
    maxOutputTokens: 500,
    output: Output.object({ schema }),
  });
  expect(schema.safeParse(output).success).toBe(true);
});

test("MSG-04 ERR-03 an error keeps its status and message", async () => {
  const call = generateText({
    model: provider("sk_svc_live_bad")("sandbox/chat"),
    prompt: "hello",
    maxOutputTokens: 500,
    maxRetries: 0,
  });
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!APICallError.isInstance(error)) throw new Error(`no error of the client: ${error}`);
  expect(error.statusCode).toBe(401);
  expect(error.message).toMatch(/key/i);
});
