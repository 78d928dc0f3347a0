import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { frame } from "../support/gemini.ts";
import { type Interaction, loadExchange, scriptOf } from "../support/replay.ts";
import { credentialOf, openScene, type Scene } from "../support/scene.ts";

/** Recorded traffic of Google's API through the gateway, and recorded streams of other dialects in Google's format. */
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["google-ai-studio", "deepinfra", "aws-bedrock", "anthropic"]);
  tenant = await scene.gateway.tenant({ credit: "100000" });
});
afterAll(() => scene?.close());

const { model: MODEL } = DIALECT_SCRIPTS.D3;
const EMBEDDING_MODEL = "google/gemini-embedding-001";
const google = () => scene.at("google-ai-studio");
const last = () => google().requests.at(-1);
const lastBody = (): Json => last()?.json;

/** Sends what was recorded to the same operation of a model of ours. */
function replayed(
  { url, request }: Interaction,
  model: string,
  body: unknown = request.body.toString(),
): Promise<Called> {
  const operation = /:(\w+)(\?.*)?$/.exec(url);
  return scene.gateway.call("", `/v1beta/models/${model}:${operation?.[1]}${operation?.[2] ?? ""}`, {
    body,
    headers: { "x-goog-api-key": tenant.key },
  });
}

const eventsIn = (text: string): Json[] =>
  text.split(/\r?\n\r?\n/).flatMap((event) => (event.trim() === "" ? [] : [JSON.parse(event.replace(/^data: /, ""))]));
const withoutId = ({ responseId: _, ...rest }: Json) => rest;

describe("Gemini models", () => {
  test.each([
    "d3-gemini/json-schema",
    "d3-gemini/parallel-tools",
    "d3-gemini/thought-signatures",
    "d3-gemini/tool-choice-any",
    "d3-gemini/max-tokens-empty",
    "d3-gemini/safety-block",
    "d3-gemini/stream-text",
    "d3-gemini/stream-thinking",
    "surfaces/gemini/stream-tool-signature",
  ])("GEM-01 %s: the provider gets the caller's bytes, the caller the provider's answer", async (name) => {
    for (const recorded of loadExchange(name).interactions) {
      google().next(scriptOf(recorded));
      const called = await replayed(recorded, MODEL);
      expect([called.status, called.text]).toEqual([200, called.text]);
      expect(last()?.raw.toString()).toBe(recorded.request.body.toString());
      expect(last()?.headers["x-goog-api-key"]).toBe(credentialOf("google-ai-studio"));
      expect(last()?.path).toBe(
        new URL(recorded.url).pathname
          .replace(/^\/v1(alpha|beta)/, "/v1")
          .replace(/models\/[^:]+/, "models/gemini-2.5-flash") + new URL(recorded.url).search,
      );
      const isStream = recorded.url.includes("alt=sse");
      const answers = isStream ? eventsIn(called.text) : [called.body];
      const text = recorded.response.body.toString();
      const expected = isStream ? eventsIn(text) : [JSON.parse(text)];
      expect(answers.map(withoutId)).toEqual(expected.map(withoutId));
      const id = called.headers.get("x-svc-request-id");
      expect(answers.every(({ responseId }) => responseId === id)).toBe(true);
      expect((await scene.row(id ?? "")).usage.input_tokens).toBe(expected.at(-1).usageMetadata?.promptTokenCount ?? 0);
    }
  });

  test("GEM-01 a stream is requested as events and returned as the recorded array", async () => {
    const [recorded] = loadExchange("surfaces/gemini/stream-json-array").interactions;
    if (recorded === undefined) throw new Error("nothing recorded");
    const expected: Json[] = JSON.parse(recorded.response.body.toString());
    google().next({ frames: expected.map(frame) });
    const called = await replayed(recorded, MODEL);
    expect(called.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(called.body.map(withoutId)).toEqual(expected.map(withoutId));
    expect(last()?.path).toContain(":streamGenerateContent?alt=sse");
  });

  test.each(["surfaces/gemini/err-400-api-key-invalid", "d3-gemini/err-429-retryinfo"])(
    "GEM-01 ERR-05 %s: a provider's refusal has Google's shape and no secret",
    async (name) => {
      const [recorded] = loadExchange(name).interactions;
      if (recorded === undefined) throw new Error("nothing recorded");
      google().always(scriptOf(recorded));
      const called = await replayed(recorded, MODEL);
      google().always({ json: {} });
      expect(called.status).toBeGreaterThanOrEqual(400);
      expect(called.body.error).toMatchObject({ code: called.status, status: expect.any(String) });
      expect(called.text).not.toContain(credentialOf("google-ai-studio"));
    },
  );

  test("GEM-01 fields for the gateway and reasoning of other providers never reach Google", async () => {
    google().next({ json: { candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }] } });
    const sealed = Buffer.from('svc:1:{"details":[]}').toString("base64");
    const contents = [
      { role: "user", parts: [{ text: "Hi" }] },
      {
        role: "model",
        parts: [
          { text: "So.", thought: true, thoughtSignature: sealed },
          { text: "Yes", thoughtSignature: sealed },
        ],
      },
      { role: "user", parts: [{ text: "And?" }] },
    ];
    const body = `{"contents":${JSON.stringify(contents)},"novel":{"big":12345678901234567890},"session_id":"s1"}`;
    const called = await scene.gateway.call(tenant.key, `/v1beta/models/${MODEL}:generateContent`, { body });
    expect(called.status).toBe(200);
    const kept = [contents[0], { role: "model", parts: [{ text: "Yes" }] }, contents[2]];
    expect(last()?.raw.toString()).toBe(`{"contents":${JSON.stringify(kept)},"novel":{"big":12345678901234567890}}`);
    expect(called.headers.get("x-svc-omitted")).toBe("contents[].parts[].thoughtSignature");
  });

  test("GEM-01 a malformed call is no answer: the request fails over or is refused", async () => {
    google().always({
      json: { candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL" }], usageMetadata: {} },
    });
    const called = await scene.gateway.call(tenant.key, `/v1beta/models/${MODEL}:generateContent`, {
      body: { contents: [{ parts: [{ text: "Hi" }] }] },
    });
    google().always({ json: {} });
    expect([called.status, called.body.error.status]).toEqual([502, "UNAVAILABLE"]);
  });
});

describe("counting and embedding", () => {
  test("GEM-01 MSG-03 the provider counts: contents alone, or a whole request with its model", async () => {
    const [recorded] = loadExchange("surfaces/gemini/count-tokens-python-sdk").interactions;
    if (recorded === undefined) throw new Error("nothing recorded");
    google().next(scriptOf(recorded));
    const called = await replayed(recorded, MODEL);
    expect([called.status, called.body]).toEqual([200, JSON.parse(recorded.response.body.toString())]);
    expect(last()?.path).toBe("/v1/models/gemini-2.5-flash:countTokens");
    expect(last()?.raw.toString()).toBe(recorded.request.body.toString());
    google().next(scriptOf(recorded));
    const whole = { contents: [{ parts: [{ text: "Hi" }] }], systemInstruction: { parts: [{ text: "Be brief." }] } };
    expect((await replayed(recorded, MODEL, { generateContentRequest: whole })).status).toBe(200);
    expect(last()?.json).toEqual({ generateContentRequest: { ...whole, model: "models/gemini-2.5-flash" } });
    const both = await replayed(recorded, MODEL, { generateContentRequest: whole, contents: whole.contents });
    expect([both.status, both.body.error.details[0].metadata.param]).toEqual([400, "contents"]);
    const estimated = await replayed(recorded, DIALECT_SCRIPTS.D1.model, whole);
    expect([estimated.status, estimated.body.totalTokens]).toEqual([200, expect.any(Number)]);
  });

  test("GEM-01 EMB-01 the recorded batch gives its vectors, and one text the first of them", async () => {
    const [recorded] = loadExchange("surfaces/gemini/batch-embed").interactions;
    if (recorded === undefined) throw new Error("nothing recorded");
    const expected: Json = JSON.parse(recorded.response.body.toString());
    const requests: Json[] = (recorded.request.json as Json).requests;
    const own = requests.map(({ content }) => ({ content, model: `models/${EMBEDDING_MODEL}` }));
    google().next(scriptOf(recorded));
    const called = await replayed(recorded, EMBEDDING_MODEL, { requests: own });
    expect([called.status, called.body.embeddings]).toEqual([200, expected.embeddings]);
    expect(lastBody().requests).toEqual(
      requests.map(({ content: { parts } }) => ({ model: "models/gemini-embedding-001", content: { parts } })),
    );
    google().next({ json: { embeddings: expected.embeddings.slice(0, 1) } });
    const one = await scene.gateway.call(tenant.key, `/v1beta/models/${EMBEDDING_MODEL}:embedContent`, {
      body: { content: requests[0].content, task_type: "RETRIEVAL_DOCUMENT", title: "A" },
    });
    expect([one.status, one.body.embedding]).toEqual([200, expected.embeddings[0]]);
    expect(lastBody().requests[0]).toMatchObject({ taskType: "RETRIEVAL_DOCUMENT", title: "A" });
  });

  test.each([
    [{ requests: [{ model: "models/other", content: { parts: [{ text: "a" }] } }] }, "requests.0.model"],
    [{ requests: [{ content: { parts: [{ text: "" }] } }] }, "requests.0.content.parts"],
    [
      {
        requests: [
          { content: { parts: [{ text: "a" }] } },
          { content: { parts: [{ text: "a" }] }, taskType: "CLUSTERING" },
        ],
      },
      "requests.1.taskType",
    ],
    [{ requests: [{ content: { parts: [{ inlineData: {} }] } }] }, "requests.0.content.parts.0.inlineData"],
    [{ requests: [] }, "requests"],
  ])("GEM-01 ERR-10 %j is refused by name", async (body, param) => {
    const { status, body: answer } = await scene.gateway.call(
      tenant.key,
      `/v1beta/models/${EMBEDDING_MODEL}:batchEmbedContents`,
      { body },
    );
    expect([status, answer.error.details[0].metadata.param]).toEqual([400, param]);
  });
});

describe("recorded streams of other dialects", () => {
  test.each([
    ["D1", "d1-openai-chat/deepseek-stream-reasoning"],
    ["D1", "d1-openai-chat/mistral-stream-thinking"],
    ["D1", "d1-openai-chat/openai-stream-tool-then-text"],
    ["D2", "d2-anthropic-messages/stream-thinking"],
    ["D2", "d2-anthropic-messages/stream-tools"],
    ["D4", "d4-bedrock-converse/stream-claude-thinking"],
    ["D4", "d4-bedrock-converse/stream-nova-tools-multiturn"],
  ] as const)("GEM-01 %s %s ends with one reason, usage and content", async (dialect, name) => {
    const { provider, model } = DIALECT_SCRIPTS[dialect];
    const [recorded] = loadExchange(name).interactions.filter(({ response }) =>
      /event-?stream/.test(response.headers["content-type"] ?? ""),
    );
    if (recorded === undefined) throw new Error("nothing recorded");
    scene.at(provider).next(scriptOf(recorded));
    const { status, text } = await scene.gateway.call(
      tenant.key,
      `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
      { body: { contents: [{ parts: [{ text: "Say it." }] }], generationConfig: { maxOutputTokens: 4000 } } },
    );
    expect([status, text]).toEqual([200, text]);
    const answers = eventsIn(text);
    const parts = answers.flatMap(({ candidates }) => candidates[0].content.parts);
    expect(answers.filter(({ candidates }) => candidates[0].finishReason !== undefined)).toHaveLength(1);
    expect(answers.at(-1).usageMetadata.totalTokenCount).toBeGreaterThan(0);
    expect(parts.some((part) => part.functionCall !== undefined || (part.text ?? "") !== "")).toBe(true);
    expect(parts.some(({ thought }) => thought === true)).toBe(false);
  });
});
