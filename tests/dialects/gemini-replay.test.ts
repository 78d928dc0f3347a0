import OpenAI from "openai";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { type Interaction, loadExchange, scriptOf } from "../support/replay.ts";
import { chunksOf, contentOf, costNanos, openScene, type Scene } from "../support/scene.ts";

/** Recorded traffic of real servers, replayed through a running gateway to the official SDK. */
const PROVIDER = "google-ai-studio";
const FLASH = "google/gemini-2.5-flash";

let scene: Scene;
let tenant: Tenant;
let client: OpenAI;

beforeAll(async () => {
  scene = await openScene([PROVIDER]);
  tenant = await scene.gateway.tenant({ credit: "1000" });
  client = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
});
afterAll(() => scene.close());

const received = (): Json => scene.at(PROVIDER).requests.at(-1)?.json;

function recorded(name: string, at = 0): Interaction & { readonly requestBody: Json; readonly responseBody: Json } {
  const interaction = loadExchange(`d3-gemini/${name}`).interactions[at];
  if (interaction === undefined) throw new Error(`${name} has no interaction ${at}`);
  const text = interaction.response.body.toString();
  return {
    ...interaction,
    requestBody: interaction.request.json,
    responseBody: text.startsWith("data:") ? undefined : JSON.parse(text),
  };
}

const weather = (properties: object): ChatCompletionTool => ({
  type: "function",
  function: {
    name: "weather",
    description: "Gets current weather for a location",
    parameters: { type: "object", properties, required: ["latitude", "longitude"] },
  },
});
const LATITUDE = { type: "string", description: "Latitude (e.g., 52.5200)" };
const LONGITUDE = { type: "string", description: "Longitude (e.g., 13.4050)" };
const RESULT = "Current weather at 52.5200, 13.4050: 15°C, Wind: 10 km/h";

function cost(model: string, input: number, output: number): number {
  return Number(costNanos(PROVIDER, { input, output }, "EUR", model)) / 1e9;
}

describe("recorded traffic", () => {
  test("CHAT-01 CHAT-07 stream-text: a stream of one chunk", async () => {
    const fixture = recorded("stream-text");
    scene.at(PROVIDER).next(scriptOf(fixture));
    const stream = await client.chat.completions.create({
      model: FLASH,
      messages: [{ role: "user", content: "Count from 1 to 3" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    expect(received()).toEqual({ contents: fixture.requestBody.contents });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("1, 2, 3");
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("stop");
    expect(chunks.at(-1)?.usage).toEqual({
      prompt_tokens: 8,
      completion_tokens: 27,
      total_tokens: 35,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 20 },
      cost: cost(FLASH, 8, 27),
      currency: "EUR",
    });
  });

  test("CHAT-05 stream-thinking: reasoning, text and the signature that is sent back with the text", async () => {
    const fixture = recorded("stream-thinking");
    const model = "google/gemini-3-flash-preview";
    const frames = fixture.response.body
      .toString()
      .split("\r\n\r\n")
      .filter((text) => text !== "")
      .map((text): Json => JSON.parse(text.slice("data: ".length)));
    const parts: Json[] = frames.flatMap((frame) => frame.candidates[0].content?.parts ?? []);
    const [seal] = parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
    const textOf = (kind: "thought" | "answer") =>
      parts
        .filter(({ thought }) => (thought === true) === (kind === "thought"))
        .map(({ text }) => text)
        .join("");
    const question = fixture.requestBody.contents[0].parts[0].text;

    scene.at(PROVIDER).next(scriptOf(fixture));
    const { text } = await scene.chat(tenant.key, {
      model,
      messages: [{ role: "user", content: question }],
      reasoning_effort: "low",
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(received()).toEqual({
      contents: fixture.requestBody.contents,
      generationConfig: { thinkingConfig: { thinkingLevel: "low", includeThoughts: true } },
    });
    const chunks = chunksOf(text);
    const reasoning = chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join("");
    const details = chunks.flatMap((chunk) => chunk.choices[0]?.delta.reasoning_details ?? []);
    expect(reasoning).toBe(textOf("thought"));
    expect(contentOf(text)).toBe(textOf("answer"));
    expect(details).toEqual([{ type: "reasoning.encrypted", data: seal, format: "google-gemini-v1", index: 0 }]);
    const usage = frames.at(-1).usageMetadata;
    const output = usage.candidatesTokenCount + usage.thoughtsTokenCount;
    expect(chunks.at(-1).usage).toMatchObject({
      prompt_tokens: usage.promptTokenCount,
      completion_tokens: output,
      total_tokens: usage.totalTokenCount,
      completion_tokens_details: { reasoning_tokens: usage.thoughtsTokenCount },
      cost: cost(model, usage.promptTokenCount, output),
    });

    scene.at(PROVIDER).next(scriptOf(recorded("thought-signatures", 1)));
    await scene.chat(tenant.key, {
      model,
      messages: [
        { role: "user", content: question },
        { role: "assistant", content: contentOf(text), reasoning_content: reasoning, reasoning_details: details },
        { role: "user", content: "Thanks" },
      ],
    });
    expect(received().contents[1]).toEqual({
      role: "model",
      parts: [{ text: textOf("answer"), thoughtSignature: seal }],
    });
  });

  test("CHAT-03 CHAT-05 thought-signatures: a tool loop of the SDK returns id and signature unchanged", async () => {
    const [first, second] = [recorded("thought-signatures", 0), recorded("thought-signatures", 1)];
    const model = "google/gemini-3.1-pro-preview";
    const question = "What's the weather in Berlin? (52.5200, 13.4050)";
    const messages: ChatCompletionMessageParam[] = [{ role: "user", content: question }];
    const tools = [weather({ latitude: LATITUDE, longitude: LONGITUDE })];
    const [thought, called] = first.responseBody.candidates[0].content.parts;

    scene.at(PROVIDER).next(scriptOf(first));
    const one = await client.chat.completions.create({ model, messages, tools, reasoning_effort: "low" });
    const declaration = first.requestBody.tools[0].functionDeclarations[0];
    expect(received()).toMatchObject({
      contents: first.requestBody.contents,
      generationConfig: first.requestBody.generationConfig,
      tools: [{ functionDeclarations: [{ name: declaration.name, description: declaration.description }] }],
    });
    const message: Json = one.choices[0]?.message;
    expect(one.choices[0]?.finish_reason).toBe("tool_calls");
    expect(message.reasoning_content).toBe(thought.text);
    expect(message.tool_calls).toEqual([
      {
        id: "call_883098",
        type: "function",
        function: { name: "weather", arguments: JSON.stringify(called.functionCall.args) },
        extra_content: { google: { thought_signature: called.thoughtSignature } },
      },
    ]);

    scene.at(PROVIDER).next(scriptOf(second));
    messages.push(message, { role: "tool", tool_call_id: "call_883098", content: RESULT });
    const two = await client.chat.completions.create({ model, messages, tools, reasoning_effort: "low" });
    expect(received().contents).toEqual([
      first.requestBody.contents[0],
      {
        role: "model",
        parts: [
          {
            functionCall: { id: "call_883098", name: "weather", args: called.functionCall.args },
            thoughtSignature: called.thoughtSignature,
          },
        ],
      },
      {
        role: "user",
        parts: [{ functionResponse: { id: "call_883098", name: "weather", response: { result: RESULT } } }],
      },
    ]);
    expect(two.choices[0]).toMatchObject({
      message: { content: "The current weather in Berlin is 15°C with a wind speed of 10 km/h." },
      finish_reason: "stop",
    });
  });

  test("CHAT-03 parallel-tools: calls without ids get generated ones, and their results are sent back by name", async () => {
    const [first, second] = [recorded("parallel-tools", 0), recorded("parallel-tools", 1)];
    const tools: ChatCompletionTool[] = [
      weather({ latitude: LATITUDE, longitude: LONGITUDE }),
      {
        type: "function",
        function: {
          name: "best_language_to_learn",
          description: "Gets the best language to learn",
          parameters: { type: "object", properties: {}, required: [] },
        },
      },
    ];
    const messages: ChatCompletionMessageParam[] = [
      { role: "user", content: first.requestBody.contents[0].parts[0].text },
    ];
    scene.at(PROVIDER).next(scriptOf(first));
    const one = await client.chat.completions.create({ model: FLASH, messages, tools });
    expect(received().tools[0].functionDeclarations[1]).toEqual({
      name: "best_language_to_learn",
      description: "Gets the best language to learn",
    });
    const message = one.choices[0]?.message;
    const calls = message?.tool_calls ?? [];
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(one.usage).toMatchObject({
      prompt_tokens: 143,
      completion_tokens: 153,
      total_tokens: 296,
      completion_tokens_details: { reasoning_tokens: 109 },
      cost: cost(FLASH, 143, 153),
    });

    scene.at(PROVIDER).next(scriptOf(second));
    if (message === undefined) throw new Error("no message");
    messages.push(message);
    for (const { id } of calls.toReversed())
      messages.push({ role: "tool", tool_call_id: id, content: id === calls[0]?.id ? RESULT : "Ruby" });
    const two = await client.chat.completions.create({ model: FLASH, messages, tools });
    const parts = first.responseBody.candidates[0].content.parts;
    expect(received().contents.slice(1)).toEqual([
      { role: "model", parts },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "weather", response: { result: RESULT } } },
          { functionResponse: { name: "best_language_to_learn", response: { result: "Ruby" } } },
        ],
      },
    ]);
    expect(two.choices[0]?.message.content).toContain("The best language to learn is Ruby.");
  });

  test("CHAT-03 CHAT-08 tool-choice-any: a forced call, which ends with tool_calls", async () => {
    const fixture = recorded("tool-choice-any");
    const [declaration] = fixture.requestBody.tools[0].functionDeclarations;
    scene.at(PROVIDER).next(scriptOf(fixture));
    const { choices, usage } = await client.chat.completions.create({
      model: FLASH,
      messages: [{ role: "user", content: "What's the weather in Paris?" }],
      tool_choice: "required",
      tools: [
        {
          type: "function",
          function: {
            name: declaration.name,
            description: declaration.description,
            parameters: declaration.parameters_json_schema,
          },
        },
      ],
    });
    expect(received()).toEqual({
      contents: fixture.requestBody.contents,
      toolConfig: fixture.requestBody.toolConfig,
      tools: [
        {
          functionDeclarations: [
            {
              name: declaration.name,
              description: declaration.description,
              parametersJsonSchema: declaration.parameters_json_schema,
            },
          ],
        },
      ],
    });
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { content: null, tool_calls: [{ function: { name: "get_weather", arguments: '{"city":"Paris"}' } }] },
    });
    expect(usage).toMatchObject({ prompt_tokens: 46, completion_tokens: 63, total_tokens: 109 });
  });

  test("CHAT-04 json-schema: a schema with references, answered in JSON", async () => {
    const fixture = recorded("json-schema");
    const { responseJsonSchema: schema } = fixture.requestBody.generationConfig;
    scene.at(PROVIDER).next(scriptOf(fixture));
    const { choices, usage } = await client.chat.completions.create({
      model: FLASH,
      messages: [{ role: "user", content: "Tell me about a cat with a meow volume of 5" }],
      response_format: { type: "json_schema", json_schema: { name: "pet", strict: true, schema } },
    });
    expect(received()).toEqual({
      contents: fixture.requestBody.contents,
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema },
    });
    expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ pet: { pet_type: "cat", meow_volume: 5 } });
    expect(usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 197, cost: cost(FLASH, 14, 197) });
  });

  test("CHAT-08 max-tokens-empty: the token limit is reached before any content", async () => {
    const fixture = recorded("max-tokens-empty");
    scene.at(PROVIDER).next(scriptOf(fixture));
    const { choices, usage } = await client.chat.completions.create({
      model: "google/gemini-2.5-pro",
      messages: [
        { role: "system", content: "You are a helpful chatbot." },
        { role: "user", content: "What is the capital of France?" },
      ],
      max_completion_tokens: 5,
    });
    expect(received()).toEqual({
      systemInstruction: { parts: fixture.requestBody.systemInstruction.parts },
      contents: fixture.requestBody.contents,
      generationConfig: { maxOutputTokens: 5 },
    });
    expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: "" } });
    expect(usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 2, total_tokens: 17 });
  });

  test("CHAT-08 safety-block: a filtered reply", async () => {
    scene.at(PROVIDER).next(scriptOf(recorded("safety-block")));
    const { choices, usage } = await client.chat.completions.create({
      model: FLASH,
      messages: [{ role: "user", content: "Tell me a joke." }],
    });
    expect(choices[0]).toMatchObject({ finish_reason: "content_filter", message: { content: "" } });
    expect(usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 0, cost: cost(FLASH, 14, 0) });
  });

  test("RATE-07 err-429-retryinfo: the SDK gets a rate limit and a retry delay", async () => {
    scene.at(PROVIDER).next(scriptOf(recorded("err-429-retryinfo")));
    const call = client.chat.completions.create({ model: FLASH, messages: [{ role: "user", content: "Hi" }] });
    const error = await call.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    if (!(error instanceof OpenAI.RateLimitError)) return;
    expect(error.code).toBe("rate_limit_exceeded");
    expect(error.headers.get("retry-after")).toBe("48");
    expect(error.message).not.toContain("generativelanguage");
  });
});
