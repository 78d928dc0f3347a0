import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isJsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS, type ModelOutput } from "../support/dialect-scripts.ts";
import { type Json, startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";
import { messageJson, messageStream } from "../support/messages.ts";
import { OPENAI_DOCUMENT } from "../support/recordings.ts";
import { chunksOf, openScene, type Scene } from "../support/scene.ts";

const TOOLS = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const CALLS = [
  { id: "call_1", name: "weather", input: { city: "Paris" } },
  { id: "call_2", name: "weather", input: {} },
];
const OUTPUTS: Readonly<Record<string, ModelOutput>> = {
  "a text": { text: "Grüße, 世界" },
  "calls of tools": { text: "Let me see.", calls: CALLS },
  "calls without a word": { calls: CALLS },
  "thoughts before a text": { thoughts: "I should look.", text: "Hello." },
  "thoughts before calls": { thoughts: "I should look.", calls: CALLS },
};

/** The document still has OpenAPI 3.0's `nullable`, which JSON Schema does not know. */
function withoutNullable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullable);
  if (!isJsonObject(value)) return value;
  const { nullable, ...rest } = value;
  const plain = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, withoutNullable(inner)]));
  return nullable === true ? { anyOf: [plain, { type: "null" }] } : plain;
}

describe("replies are valid by OpenAI's own OpenAPI document", () => {
  let completion: ValidateFunction;
  let chunk: ValidateFunction;
  beforeAll(() => {
    const { components } = parse(readFileSync(OPENAI_DOCUMENT, "utf8"), { maxAliasCount: -1 });
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema({ $id: "openai", components: { schemas: withoutNullable(components.schemas) } });
    const compiled = (name: string) => ajv.compile({ $ref: `openai#/components/schemas/${name}` });
    completion = compiled("CreateChatCompletionResponse");
    chunk = compiled("CreateChatCompletionStreamResponse");
  }, 60_000);

  const expectValid = (validate: ValidateFunction, value: unknown) => {
    validate(value);
    const problems = (validate.errors ?? []).map(({ instancePath, message, params }) => [
      instancePath,
      message,
      params,
    ]);
    expect(problems, JSON.stringify(value)).toEqual([]);
  };
  const expectStream = (text: string) => {
    const chunks = chunksOf(text);
    expect(chunks.length).toBeGreaterThan(1);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    for (const one of chunks) expectValid(chunk, one);
  };

  test("the document rejects invalid replies", () => {
    const head = { id: "x", created: 1, model: "m" };
    const message = { role: "assistant", content: "x", refusal: null };
    const choice = { index: 0, message, logprobs: null, finish_reason: "stop" };
    const answer = { ...head, object: "chat.completion", choices: [choice] };
    expectValid(completion, answer);
    for (const broken of [
      { ...answer, object: "chat.completion.chunk" },
      { ...answer, choices: [{ ...choice, finish_reason: "end_turn" }] },
      { ...answer, choices: [{ ...choice, message: { role: "assistant", content: 7, refusal: null } }] },
    ])
      expect(completion(broken)).toBe(false);
    const piece = { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: null }] };
    expectValid(chunk, piece);
    expect(chunk({ ...piece, choices: [{ index: 0, delta: { tool_calls: [{}] }, finish_reason: null }] })).toBe(false);
  });

  describe.each(Object.entries(DIALECT_SCRIPTS))("%s", (_dialect, { provider, model, whole, streamed }) => {
    let scene: Scene;
    let tenant: Tenant;
    beforeAll(async () => {
      scene = await openScene([provider]);
      tenant = await scene.gateway.tenant();
    });
    afterAll(() => scene.close());
    const ask = (more: object) => scene.chat(tenant.key, { model, tools: TOOLS, ...more });

    test.each(Object.entries(OUTPUTS))(
      "CHAT-01 %s, whole and in a stream with and without usage",
      async (_what, output) => {
        scene.at(provider).next(whole(output));
        const { status, body } = await ask({});
        expect(status).toBe(200);
        expectValid(completion, body);
        for (const include_usage of [true, false]) {
          scene.at(provider).next(streamed(output));
          expectStream((await ask({ stream: true, stream_options: { include_usage } })).text);
        }
      },
    );
  });

  test("CHAT-08 a refusal and a citation, whole and in a stream", async () => {
    const scene = await openScene(["anthropic"]);
    const tenant = await scene.gateway.tenant();
    const { model } = DIALECT_SCRIPTS.D2;
    const location = { type: "web_search_result_location", url: "https://a.example/", title: "A", cited_text: "c" };
    const answers = [
      messageJson([], { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "Not that." } }),
      messageJson([{ type: "text", text: "cited", citations: [{ ...location, encrypted_index: "x" }] }]),
    ];
    for (const answer of answers) {
      scene.at("anthropic").next({ json: answer });
      const { body } = await scene.chat(tenant.key, { model });
      expectValid(completion, body);
      scene.at("anthropic").next({
        body: messageStream(answer, 4),
        headers: { "content-type": "text/event-stream" },
      });
      expectStream((await scene.chat(tenant.key, { model, stream: true })).text);
    }
    await scene.close();
  });

  describe("of simulated providers", () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ env: { GATEWAY_RPM_TEST: "1000" } });
    });
    afterAll(() => gateway.close());

    test.each(["sandbox/chat", "sandbox/claude", "sandbox/gemini", "sandbox/nova"])("CHAT-01 %s", async (model) => {
      const requests: Json[] = [
        { messages: [{ role: "user", content: "hello" }] },
        { messages: [{ role: "user", content: "weather" }], tools: TOOLS },
        { messages: [{ role: "user", content: "hello" }], reasoning_effort: "low" },
        { messages: [{ role: "user", content: "hello" }], max_tokens: 3 },
        { messages: [{ role: "user", content: "hello" }], response_format: { type: "json_object" } },
      ];
      for (const request of requests) {
        const call = (more: object) =>
          gateway.call(gateway.key, "/v1/chat/completions", { body: { model, ...request, ...more } });
        const { status, body } = await call({});
        expect(status, JSON.stringify(body)).toBe(200);
        expectValid(completion, body);
        expectStream((await call({ stream: true, stream_options: { include_usage: true } })).text);
      }
    });
  });
});
