import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { messageJson } from "../support/messages.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatFrames, chatJson } from "../support/upstream.ts";

const { D1, D2 } = DIALECT_SCRIPTS;
const HELLO = { contents: [{ role: "user", parts: [{ text: "Hello, how are you today?" }] }] };
const FUNCTION = {
  name: "weather",
  description: "The weather in a city",
  parameters: {
    type: "OBJECT",
    properties: { city: { type: "STRING", nullable: true }, days: { type: "INTEGER" } },
    required: ["city"],
    propertyOrdering: ["days", "city"],
  },
};

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "anthropic"]);
  tenant = await scene.gateway.tenant({ credit: "1000" });
});
afterAll(() => scene?.close());

const at = (model: string, operation = "generateContent") => `/v1beta/models/${model}:${operation}`;
const generate = (body: unknown, headers: Record<string, string> = {}, model = D1.model): Promise<Called> =>
  scene.gateway.call(tenant.key, at(model), { body, headers });
const sentTo = (provider: "deepinfra" | "anthropic") => scene.at(provider).requests.at(-1)?.json as Json;
const partsOf = ({ body }: Called): Json[] => body.candidates[0].content.parts;
/** The answers of a stream of events. */
const answersIn = (text: string): Json[] =>
  text.split("\r\n\r\n").flatMap((event) => (event.trim() === "" ? [] : [JSON.parse(event.replace(/^data: /, ""))]));

describe("requests", () => {
  test("GEM-01 instructions, turns, sampling and limits reach a chat model in its own words", async () => {
    scene.at("deepinfra").next({ json: chatJson() });
    const { status, body, headers } = await generate({
      system_instruction: { parts: { text: "Be brief." } },
      contents: [
        { parts: [{ text: "Hello" }] },
        { role: "model", parts: [{ text: "Hi." }] },
        { role: "user", parts: [{ text: "And " }, { text: "now?" }] },
      ],
      generation_config: {
        temperature: 0.4,
        topP: 0.9,
        topK: 40,
        max_output_tokens: 64,
        stopSequences: ["END"],
        seed: 7,
      },
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
    });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(sentTo("deepinfra")).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi." },
        { role: "user" },
      ],
      temperature: 0.4,
      top_p: 0.9,
      stop: ["END"],
      seed: 7,
    });
    expect(headers.get("x-svc-omitted")).toBe("safetySettings,generationConfig.topK");
    expect(headers.get("x-svc-model")).toBe(D1.model);
  });

  test("GEM-01 functions, calls and results are matched by id, or by name and order", async () => {
    scene.at("deepinfra").next({ json: chatJson() });
    const call = (name: string, args: object, id?: string) => ({ functionCall: { name, args, ...(id && { id }) } });
    const result = (name: string, response: object, id?: string) => ({
      functionResponse: { name, response, ...(id && { id }) },
    });
    const { status } = await generate({
      contents: [
        ...HELLO.contents,
        {
          role: "model",
          parts: [call("weather", { city: "Pau" }), call("weather", { city: "Dax" }), call("other", {}, "own")],
        },
        {
          role: "user",
          parts: [
            result("other", { error: "down" }, "own"),
            result("weather", { output: "sun" }),
            result("weather", { c: 1.0 }),
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            FUNCTION,
            { name: "other", parameters_json_schema: { type: "object", properties: { a_b: {} } } },
          ],
        },
      ],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["weather"] } },
    });
    expect(status).toBe(200);
    const sent = sentTo("deepinfra");
    const [first, second, own] = sent.messages[1].tool_calls.map(({ id }: Json) => id);
    expect(new Set([first, second, own]).size).toBe(3);
    expect(own).toBe("own");
    expect(sent.messages.slice(2).map(({ tool_call_id }: Json) => tool_call_id)).toEqual(["own", first, second]);
    expect(sent.messages[3].content).toBe("sun");
    expect(sent.tools[0].function.parameters).toEqual({
      type: "object",
      properties: { days: { type: "integer" }, city: { type: ["string", "null"] } },
      required: ["city"],
    });
    expect(Object.keys(sent.tools[0].function.parameters.properties)).toEqual(["days", "city"]);
    expect(sent.tools[1].function.parameters).toEqual({ type: "object", properties: { a_b: {} } });
    expect(sent.tool_choice).toEqual({ type: "function", function: { name: "weather" } });
  });

  test("GEM-01 PARAM-07 media, schemas and the thinking budget are translated for Claude", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "{}" }]) });
    const { status } = await generate(
      {
        contents: [
          {
            role: "user",
            parts: [
              { inline_data: { mime_type: "image/png", data: "iVBORw0KGgo_" } },
              { inlineData: { mimeType: "application/pdf", data: "JVBERi0xLjQK", displayName: "a.pdf" } },
              { text: "Read them." },
            ],
          },
        ],
        generationConfig: {
          responseMimeType: "application/json",
          responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } } },
          thinkingConfig: { thinkingBudget: 2048, includeThoughts: true },
          maxOutputTokens: 9000,
        },
      },
      {},
      D2.model,
    );
    expect(status).toBe(200);
    const { messages, output_config: config } = sentTo("anthropic");
    expect(messages[0].content.map(({ type }: Json) => type)).toEqual(["image", "document", "text"]);
    expect(messages[0].content[0].source.data).toBe("iVBORw0KGgo/");
    expect(config.format.schema).toMatchObject({ type: "object", properties: { a: { type: "string" } } });
  });

  test.each([
    [{ ...HELLO, cachedContent: "cachedContents/a" }, "cachedContent", "one Google account"],
    [{ ...HELLO, tools: [{ googleSearch: {} }] }, "tools.0.googleSearch", "googleSearch"],
    [{ ...HELLO, generationConfig: { candidateCount: 2 } }, "generationConfig.candidateCount", "at most 1"],
    [
      { ...HELLO, generationConfig: { responseModalities: ["IMAGE"] } },
      "generationConfig.responseModalities.0",
      "text",
    ],
    [{ ...HELLO, generationConfig: { topP: 1, top_p: 1 } }, "generationConfig.topP", "two spellings"],
    [{ ...HELLO, novel: 1 }, "novel", "novel"],
    [
      { ...HELLO, safetySettings: [{ category: "A", threshold: "BLOCK_LOW_AND_ABOVE" }] },
      "safetySettings.0.threshold",
      "",
    ],
    [{ contents: [] }, "contents", "at least one item"],
    [{ contents: [{ role: "system", parts: [] }] }, "contents.0.role", "user"],
    [{ contents: [{ parts: [{ executableCode: { code: "1" } }] }] }, "contents.0.parts.0.executableCode", ""],
  ])("GEM-01 ERR-10 %j is refused by name, in Google's shape", async (body, param, words) => {
    const refused = await generate(body);
    const { error } = refused.body;
    expect([refused.status, error.code, error.status]).toEqual([400, 400, "INVALID_ARGUMENT"]);
    expect(error.message).toContain(words);
    expect(error.details[0]).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      metadata: { param, request_id: refused.headers.get("x-svc-request-id") },
    });
    expect(error.details[1].fieldViolations[0].field).toBe(param);
  });
});

describe("replies", () => {
  test("GEM-01 a whole reply has parts, reason, and usage with thoughts counted apart", async () => {
    scene.at("deepinfra").next({
      json: chatJson({
        message: {
          role: "assistant",
          content: "On it.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Pau","n":1.0}' } },
          ],
        },
        finish_reason: "tool_calls",
        usage: {
          prompt_tokens: 20,
          completion_tokens: 9,
          total_tokens: 29,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      }),
    });
    const reply = await generate({ ...HELLO, tools: [{ functionDeclarations: [FUNCTION] }] });
    expect(reply.status).toBe(200);
    expect(partsOf(reply)).toEqual([
      { text: "On it." },
      { functionCall: { id: "call_1", name: "weather", args: { city: "Pau", n: 1 } } },
    ]);
    expect(reply.text).toContain('"n":1.0');
    expect(reply.body.candidates[0]).toMatchObject({ finishReason: "STOP", index: 0, content: { role: "model" } });
    expect(reply.body.usageMetadata).toMatchObject({
      promptTokenCount: 20,
      cachedContentTokenCount: 4,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 5,
      totalTokenCount: 29,
      currency: "EUR",
    });
    expect(reply.body.modelVersion).toBe(D1.model);
    expect(reply.body.responseId).toBe(reply.headers.get("x-svc-request-id"));
  });

  test.each([
    ["length", "MAX_TOKENS"],
    ["content_filter", "SAFETY"],
    ["stop", "STOP"],
  ])("GEM-01 finish reason %s becomes %s", async (finish_reason, finishReason) => {
    scene.at("deepinfra").next({ json: chatJson({ finish_reason }) });
    expect((await generate(HELLO)).body.candidates[0].finishReason).toBe(finishReason);
  });

  test("GEM-01 Claude's reasoning is hidden by default, and returns to Claude with a function call", async () => {
    const thinking = { type: "thinking", thinking: "Pau it is.", signature: "c2lnbmVk" };
    const use = { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Pau" } };
    const reply = messageJson([thinking, use], { stop_reason: "tool_use" });
    const request = {
      ...HELLO,
      tools: [{ functionDeclarations: [FUNCTION] }],
      generationConfig: { maxOutputTokens: 9000, thinkingConfig: { thinkingBudget: 2048 } },
    };
    scene.at("anthropic").next({ json: reply });
    const called = await generate(request, {}, D2.model);
    expect(called.status).toBe(200);
    const [part] = partsOf(called);
    expect(partsOf(called)).toHaveLength(1);
    expect(part.functionCall).toEqual({ id: "toolu_1", name: "weather", args: { city: "Pau" } });
    const answer = { functionResponse: { name: "weather", id: "toolu_1", response: { output: "sun" } } };
    const contents = [
      ...HELLO.contents,
      // Some clients write the bytes in the other alphabet.
      {
        role: "model",
        parts: [{ ...part, thoughtSignature: part.thoughtSignature.replaceAll("+", "-").replaceAll("/", "_") }],
      },
      { role: "user", parts: [answer] },
    ];
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Sun." }]) });
    expect((await generate({ ...request, contents }, {}, D2.model)).status).toBe(200);
    expect(sentTo("anthropic").messages[1].content).toEqual([thinking, use]);
    // Another provider gets no foreign reasoning.
    scene.at("deepinfra").next({ json: chatJson() });
    const other = await generate({ ...request, contents });
    expect([other.status, JSON.stringify(sentTo("deepinfra"))]).toEqual([200, expect.not.stringContaining("c2lnbmVk")]);
    expect(other.headers.get("x-svc-omitted")).toContain("contents[].parts[].thoughtSignature");
  });

  test("GEM-01 with includeThoughts the reply has thought parts", async () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" };
    scene.at("anthropic").next({ json: messageJson([thinking, { type: "text", text: "Hi." }]) });
    const generationConfig = { maxOutputTokens: 9000, thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } };
    const parts = partsOf(await generate({ ...HELLO, generationConfig }, {}, D2.model));
    expect(parts).toEqual([
      { text: "Hm.", thought: true },
      { text: "Hi.", thoughtSignature: expect.any(String) },
    ]);
  });
});

describe("streams", () => {
  const stream = (body: unknown, query: string, model = D1.model) =>
    scene.gateway.call(tenant.key, `${at(model, "streamGenerateContent")}${query}`, { body });
  const CALLS = { text: "On it.", calls: [{ id: "call_1", name: "weather", input: { city: "Pau" } }] };

  test("GEM-01 with alt=sse each event is a whole answer, without comments, names or an end marker", async () => {
    scene.at("deepinfra").next(D1.streamed(CALLS));
    const { status, headers, text } = await stream(
      { ...HELLO, tools: [{ functionDeclarations: [FUNCTION] }] },
      "?alt=sse",
    );
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(
      text
        .split("\r\n\r\n")
        .slice(0, -1)
        .every((event) => event.startsWith("data: {")),
    ).toBe(true);
    expect(text.endsWith("\r\n\r\n")).toBe(true);
    const answers = answersIn(text);
    const parts = answers.flatMap(({ candidates }) => candidates[0].content.parts);
    expect(parts.map(({ text: words }) => words ?? "").join("")).toBe("On it.");
    expect(parts.filter(({ functionCall }) => functionCall !== undefined)).toEqual([
      { functionCall: { id: "call_1", name: "weather", args: { city: "Pau" } } },
    ]);
    expect(answers.at(-1).candidates[0].finishReason).toBe("STOP");
    expect(answers.at(-1).usageMetadata).toMatchObject({ currency: "EUR", totalTokenCount: expect.any(Number) });
    expect(answers.slice(0, -1).every(({ candidates }) => candidates[0].finishReason === undefined)).toBe(true);
  });

  test("GEM-01 without alt=sse the stream is one JSON array", async () => {
    scene.at("deepinfra").next(D1.streamed({ text: "Hello." }));
    const { status, headers, body } = await stream(HELLO, "");
    expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect(body.length).toBeGreaterThan(1);
    expect(body.at(-1).candidates[0].finishReason).toBe("STOP");
  });

  test("GEM-01 a stream folds to the whole reply", async () => {
    for (const [provider, script] of [
      ["deepinfra", D1],
      ["anthropic", D2],
    ] as const) {
      const request = {
        ...HELLO,
        generationConfig: { maxOutputTokens: 9000, thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
      };
      scene.at(provider).next(script.whole({ thoughts: "Hm.", ...CALLS }));
      const whole = await generate(request, {}, script.model);
      scene.at(provider).next(script.streamed({ thoughts: "Hm.", ...CALLS }));
      const streamed = answersIn((await stream(request, "?alt=sse", script.model)).text);
      const shape = (parts: Json[]) => ({
        thoughts: parts.map(({ thought, text }) => (thought ? text : "")).join(""),
        text: parts.map(({ thought, text }) => (thought ? "" : (text ?? ""))).join(""),
        calls: parts.flatMap(({ functionCall }) => functionCall ?? []),
        signatures: parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []),
      });
      expect(shape(streamed.flatMap(({ candidates }) => candidates[0].content.parts))).toEqual(shape(partsOf(whole)));
    }
  });

  test("GEM-01 a provider that breaks off leaves a bare error and a cut connection", async () => {
    scene.at("deepinfra").next({ frames: chatFrames(["Hel", "lo"]).slice(0, 3) });
    const { text, end } = await readToEnd(`${at(D1.model, "streamGenerateContent")}?alt=sse`);
    expect(end).toBe("cut");
    expect(JSON.parse(text.split("\r\n\r\n").at(-1) ?? "").error).toMatchObject({ code: 502, status: "UNAVAILABLE" });
  });

  test("GEM-01 in an array the error is the last element", async () => {
    scene.at("deepinfra").next({ frames: chatFrames(["Hel", "lo"]).slice(0, 3) });
    const { body } = await stream(HELLO, "");
    expect(body[0].candidates[0].content.parts).toEqual([{ text: "Hel" }]);
    expect(body.at(-1).error.details[0].metadata.code).toBe("upstream_error");
  });

  test("GEM-01 an error before the first byte has Google's shape, in an array for an array", async () => {
    const { status, body } = await stream({}, "?alt=sse");
    expect([status, body.error.status]).toEqual([400, "INVALID_ARGUMENT"]);
    expect((await stream({}, "")).body[0].error.status).toBe("INVALID_ARGUMENT");
  });

  async function readToEnd(path: string): Promise<{ text: string; end: "whole" | "cut" }> {
    const headers = { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" };
    const response = await fetch(`${scene.gateway.url}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(HELLO),
    });
    let text = "";
    try {
      for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
      return { text, end: "whole" };
    } catch {
      return { text, end: "cut" };
    }
  }
});
