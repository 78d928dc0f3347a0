import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, isStepCount, type LanguageModel, Output, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { type Json, startGateway, type TestGateway } from "../support/gateway.ts";

/** The simulated models of the four dialects. */
const MODELS = ["sandbox/chat", "sandbox/claude", "sandbox/gemini", "sandbox/nova"] as const;

let gateway: TestGateway;
let model: (client: Client, id: string) => LanguageModel;

const CLIENTS = ["@ai-sdk/openai-compatible", "@ai-sdk/openai .chat()"] as const;
type Client = (typeof CLIENTS)[number];

beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  const connection = { baseURL: `${gateway.url}/v1`, apiKey: gateway.key };
  const compatible = createOpenAICompatible({
    name: "gateway",
    ...connection,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  const openai = createOpenAI(connection);
  model = (client, id) => (client === "@ai-sdk/openai-compatible" ? compatible(id) : openai.chat(id));
});
afterAll(() => gateway.close());

const cases = CLIENTS.flatMap((client) => MODELS.map((id) => ({ client, id })));
const prompt = "hello";

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

describe.each(cases)("$client with $id", ({ client, id }) => {
  test("CHAT-01 CHAT-07 generateText: text, finish reason, usage and the request id", async () => {
    const { text, finishReason, usage, response } = await generateText({ model: model(client, id), prompt });
    expect(text).toMatch(/You said: hello$/);
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    expect(usage.outputTokens).toBeGreaterThan(0);
    expect(usage.totalTokens).toBe((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
    expect(response.headers?.["x-svc-request-id"]).toBe(response.id);
    expect(response.modelId).toBe(id);
  });

  test("CHAT-01 CHAT-06 streamText: the same text in chunks, and the same usage", async () => {
    const whole = await generateText({ model: model(client, id), prompt });
    const { textStream, usage, finishReason } = streamText({ model: model(client, id), prompt });
    const pieces: string[] = [];
    for await (const piece of textStream) pieces.push(piece);
    expect(pieces.join("")).toBe(whole.text);
    expect(pieces.length).toBeGreaterThan(1);
    expect(await finishReason).toBe("stop");
    const { inputTokens, outputTokens, totalTokens } = await usage;
    expect({ inputTokens, outputTokens, totalTokens }).toEqual({
      inputTokens: whole.usage.inputTokens,
      outputTokens: whole.usage.outputTokens,
      totalTokens: whole.usage.totalTokens,
    });
  });

  test("CHAT-03 the tool loop, whole and streamed", async () => {
    for (const how of [generateText, streamText]) {
      const cities: string[] = [];
      const result = how({
        model: model(client, id),
        prompt: "get_weather please",
        tools: { get_weather: weather(cities) },
        stopWhen: isStepCount(4),
      });
      const done = await result;
      expect(await done.text).toContain("The tool get_weather answered:");
      expect(await done.text).toContain("clear");
      expect(cities).toHaveLength(1);
      expect((await done.steps).map((step) => step.finishReason)).toEqual(["tool-calls", "stop"]);
    }
  });

  test("CHAT-04 structured output, whole and streamed", async () => {
    const schema = z.object({ city: z.string(), degrees: z.number() });
    const ask = { model: model(client, id), prompt, output: Output.object({ schema }) };
    const { output } = await generateText(ask);
    expect(schema.parse(output)).toEqual(output);
    const streamed = streamText(ask);
    let last: unknown;
    for await (const partial of streamed.partialOutputStream) last = partial;
    expect(last).toEqual(output);
    expect(await streamed.output).toEqual(output);
  });

  test("CHAT-09 an aborted stream is logged as disconnected", async () => {
    const app = `abort ${client} ${id}`;
    const controller = new AbortController();
    const long = "word ".repeat(1500);
    const { textStream } = streamText({
      model: model(client, id),
      prompt: long,
      headers: { "x-title": app },
      abortSignal: controller.signal,
    });
    let text = "";
    for await (const piece of textStream) {
      text += piece;
      controller.abort();
    }
    expect(text.length).toBeLessThan(long.length);
    await eventually(async () => {
      const { data } = await gateway.manage("GET", "/workspaces/demo/requests?limit=1000");
      const own: Json[] = data.filter((row: Json) => row.app === app);
      expect(own.map((row) => [row.model, row.error_code])).toEqual([[id, "client_disconnected"]]);
    }, WAIT);
  });
});

describe.each(CLIENTS)("errors in %s", (client) => {
  test("CHAT-01 ERR-01 a refusal is an APICallError with status, code and param, and is not retried", async () => {
    const audio = { type: "file" as const, mediaType: "audio/wav", data: WAV };
    const cases: readonly (readonly [string, number, string, string])[] = [
      ["sandbox/missing", 404, "model_not_found", "model"],
      ["sandbox/chat", 400, "unsupported_parameter", "messages.0.content.0"],
      ["sandbox/claude", 400, "unsupported_parameter", "messages.0.content.0"],
      ["sandbox/nova", 400, "unsupported_parameter", "messages.0.content.0"],
    ];
    for (const [id, status, code, param] of cases) {
      const problem = await thrownBy(
        generateText({ model: model(client, id), messages: [{ role: "user", content: [audio] }] }),
      );
      expect([problem.statusCode, problem.isRetryable]).toEqual([status, false]);
      expect(JSON.parse(problem.responseBody ?? "")).toMatchObject({ error: { code, param } });
    }
  });

  test("CHAT-01 ERR-07 a failing provider is a retryable APICallError", async () => {
    const problem = await thrownBy(generateText({ model: model(client, "sandbox/fail-500"), prompt, maxRetries: 0 }));
    expect([problem.statusCode, problem.isRetryable]).toEqual([502, true]);
  });

  test("CHAT-01 ERR-02 a broken stream gives its text, then an error", async () => {
    const problems: unknown[] = [];
    const { textStream } = streamText({
      model: model(client, "sandbox/cut"),
      prompt: "word ".repeat(200),
      onError: ({ error }) => void problems.push(error),
    });
    let text = "";
    for await (const piece of textStream) text += piece;
    expect(text).not.toBe("");
    expect(problems).toHaveLength(1);
    expect(JSON.stringify(problems[0])).toContain("upstream_error");
  });
});

async function thrownBy(running: PromiseLike<unknown>): Promise<APICallError> {
  const problem: unknown = await Promise.resolve(running).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (APICallError.isInstance(problem)) return problem;
  throw new Error(`no APICallError but ${String(problem)}`);
}

const WAIT = { interval: 25 };
const WAV = new Uint8Array(Buffer.from("UklGRiQAAABXQVZF", "base64"));
