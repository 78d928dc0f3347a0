import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from "@google/genai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.ts";

/** The official client against simulated providers, configured only with the gateway's URL and a key. */
const MODELS = ["sandbox/chat", "sandbox/gemini", "sandbox/nova", "sandbox/claude"] as const;

let gateway: TestGateway;
let client: GoogleGenAI;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "100000", GATEWAY_RPM_IP: "0" } });
  client = clientOf(gateway.key);
});
afterAll(() => gateway?.close());

const clientOf = (apiKey: string) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.url } });

const WEATHER = {
  name: "get_weather",
  description: "The weather of a city.",
  parameters: {
    type: Type.OBJECT,
    properties: { city: { type: Type.STRING, enum: ["Paris"] } },
    required: ["city"],
  },
};

const errorOf = async (call: Promise<unknown>): Promise<ApiError> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error(`no ApiError: ${String(error)}`);
  return error;
};

describe.each(MODELS)("%s", (model) => {
  test("GEM-01 generateContent: text, reason, usage and id", async () => {
    const reply = await client.models.generateContent({ model, contents: "Hello!" });
    expect(reply.text).toContain("You said: Hello!");
    expect(reply.candidates?.[0]?.finishReason).toBe("STOP");
    expect(reply.responseId).toMatch(/^req_/);
    expect(reply.usageMetadata?.promptTokenCount).toBeGreaterThan(0);
    expect(reply.usageMetadata?.candidatesTokenCount).toBeGreaterThan(0);
  });

  test("GEM-01 generateContentStream: pieces that add up, and a last one with reason and usage", async () => {
    let text = "";
    let last: { finishReason?: string | undefined; total?: number | undefined } = {};
    for await (const piece of await client.models.generateContentStream({ model, contents: "Hello!" })) {
      text += piece.text ?? "";
      last = { finishReason: piece.candidates?.[0]?.finishReason, total: piece.usageMetadata?.totalTokenCount };
    }
    expect(text).toContain("You said: Hello!");
    expect(last).toEqual({ finishReason: "STOP", total: expect.any(Number) });
  });

  test("GEM-01 a chat calls a function, gets its result and goes on", async () => {
    const chat = client.chats.create({
      model,
      config: {
        tools: [{ functionDeclarations: [WEATHER] }],
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["get_weather"] },
        },
      },
    });
    const first = await chat.sendMessage({ message: "The weather in Paris?" });
    const [call] = first.functionCalls ?? [];
    expect(call).toMatchObject({ name: "get_weather", args: { city: "Paris" } });
    const functionResponse = { ...(call?.id && { id: call.id }), name: "get_weather", response: { output: "sunny" } };
    const second = await chat.sendMessage({
      message: [{ functionResponse }],
      config: { tools: [{ functionDeclarations: [WEATHER] }] },
    });
    expect(second.candidates?.[0]?.content?.parts?.length).toBeGreaterThan(0);
  });

  test("GEM-01 a schema gives JSON that has its form", async () => {
    const reply = await client.models.generateContent({
      model,
      contents: "A city",
      config: {
        responseMimeType: "application/json",
        responseSchema: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
      },
    });
    expect(JSON.parse(reply.text ?? "")).toEqual({ city: expect.any(String) });
  });

  test("GEM-01 countTokens counts", async () => {
    expect((await client.models.countTokens({ model, contents: "Hello!" })).totalTokens).toBeGreaterThan(0);
  });
});

test("GEM-01 what an agent always sends works with a model of another kind", async () => {
  const reply = await client.models.generateContent({
    model: "sandbox/nova",
    contents: [{ role: "user", parts: [{ text: "Hello!" }] }],
    config: {
      temperature: 1,
      topP: 0.95,
      topK: 64,
      thinkingConfig: { includeThoughts: true, thinkingBudget: -1 },
      systemInstruction: "Be brief.",
    },
  });
  expect(reply.text).toContain("You said: Hello!");
});

test("GEM-01 embedContent: one vector per text", async () => {
  const { embeddings } = await client.models.embedContent({ model: "sandbox/embed", contents: ["One", "Two"] });
  expect(embeddings?.map(({ values }) => (values?.length ?? 0) > 0)).toEqual([true, true]);
});

test("GEM-01 MOD-01 the list has every usable model, in pages, and one can be shown", async () => {
  const names: string[] = [];
  for await (const model of await client.models.list({ config: { pageSize: 2 } })) names.push(model.name ?? "");
  expect(names).toEqual(expect.arrayContaining(["models/sandbox/chat", "models/sandbox/embed"]));
  expect(new Set(names).size).toBe(names.length);
  const chat = await client.models.get({ model: "sandbox/chat" });
  expect(chat).toMatchObject({ name: "models/sandbox/chat", displayName: expect.any(String) });
  expect(chat.supportedActions).toContain("generateContent");
  expect(chat.inputTokenLimit).toBeGreaterThan(0);
});

describe("errors", () => {
  test.each([
    ["an invalid key", "sk_svc_test_wrong", "sandbox/chat", 401, "API_KEY_INVALID"],
    ["an unknown model", undefined, "no-such-model", 404, "MODEL_NOT_FOUND"],
  ] as const)("GEM-01 %s is an ApiError with its status and reason", async (_, key, model, status, reason) => {
    const error = await errorOf(clientOf(key ?? gateway.key).models.generateContent({ model, contents: "Hi" }));
    expect(error.status).toBe(status);
    expect(error.message).toContain(reason);
  });

  test("GEM-01 a stream that breaks off raises, before and after its first piece", async () => {
    const before = await errorOf(client.models.generateContentStream({ model: "sandbox/fail-500", contents: "Hi" }));
    expect(before.status).toBe(502);
    const stream = await client.models.generateContentStream({ model: "sandbox/cut", contents: "Hi" });
    let text = "";
    const read = async () => {
      for await (const piece of stream) text += piece.text ?? "";
    };
    await expect(read()).rejects.toThrow();
    expect(text).not.toBe("");
  });
});
