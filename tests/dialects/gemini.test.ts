import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { chunk, frame, frames, RESPONSE_ID, USAGE, whole } from "../support/gemini.ts";
import { chunksOf, contentOf, costNanos, credentialOf, eventsOf, openScene, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

const OLD = "google/gemini-2.5-flash";
const NEW = "google/gemini-3-flash-preview";
const PROVIDER = "google-ai-studio";

let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene([PROVIDER]);
  tenant = await scene.gateway.tenant({ credit: "1000" });
});
afterAll(() => scene.close());

const upstream = () => scene.at(PROVIDER);
const received = (): Json => upstream().requests.at(-1);

/** One call, answered by the scripted upstream. */
async function ask(answer: Script, request: Record<string, unknown> = {}) {
  upstream().next(answer);
  return scene.chat(tenant.key, { model: OLD, ...request });
}

/** A call that must be refused before any provider is called. */
async function refused(request: Record<string, unknown>) {
  const before = upstream().requests.length;
  const answer = await scene.chat(tenant.key, { model: OLD, ...request });
  expect(upstream().requests).toHaveLength(before);
  return answer;
}

describe("a whole reply", () => {
  test("CHAT-01 HDR-02 the request is sent with the operator's key in the dialect, and the reply is a chat completion", async () => {
    const { status, body, headers } = await ask({ json: whole([{ text: "Grüße 🌍" }]) });
    expect(status).toBe(200);
    expect(received().path).toBe("/v1/models/gemini-2.5-flash:generateContent");
    expect(received().headers["x-goog-api-key"]).toBe(credentialOf(PROVIDER));
    expect(received().headers).not.toHaveProperty("authorization");
    expect(received().json).toEqual({ contents: [{ role: "user", parts: [{ text: "Say hello." }] }] });
    expect(body).toMatchObject({
      id: headers.get("x-svc-request-id"),
      object: "chat.completion",
      model: OLD,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Grüße 🌍", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
    });
    expect(headers.get("x-svc-upstream-surface")).toBe("chat");
    expect(headers.get("x-svc-provider")).toBe(PROVIDER);
  });

  test("CHAT-07 cached tokens and thoughts are in usage, and the cost is exact", async () => {
    const usageMetadata = {
      promptTokenCount: 1200,
      cachedContentTokenCount: 200,
      candidatesTokenCount: 300,
      thoughtsTokenCount: 45,
      totalTokenCount: 1545,
    };
    const payer = await scene.gateway.tenant();
    upstream().next({ json: { ...whole([{ text: "a" }]), usageMetadata } });
    const { body } = await scene.chat(payer.key, { model: OLD });
    const nanos = costNanos(PROVIDER, { input: 1200, cached: 200, output: 345 }, "EUR", OLD);
    expect(body.usage).toEqual({
      prompt_tokens: 1200,
      completion_tokens: 345,
      total_tokens: 1545,
      prompt_tokens_details: { cached_tokens: 200, cache_write_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 45 },
      cost: Number(nanos) / 1e9,
      currency: "EUR",
    });
    expect(await scene.charges(payer)).toEqual([{ id: `charge:${body.id}`, nanos }]);
    expect((await scene.row(body.id)).usage).toMatchObject({
      input_tokens: 1200,
      cached_tokens: 200,
      estimated: false,
    });
  });

  test("CHAT-07 audio tokens have their own price", async () => {
    const usageMetadata = {
      promptTokenCount: 100,
      candidatesTokenCount: 10,
      totalTokenCount: 110,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 20 },
        { modality: "AUDIO", tokenCount: 80 },
      ],
    };
    const input_audio = { data: "UklGRg==", format: "wav" };
    const { body } = await ask(
      { json: { ...whole([{ text: "a" }]), usageMetadata } },
      { messages: [{ role: "user", content: [{ type: "input_audio", input_audio }] }] },
    );
    expect(received().json.contents[0].parts).toEqual([{ inlineData: { mimeType: "audio/wav", data: "UklGRg==" } }]);
    // 20 text tokens at 0.3, 80 audio tokens at 1 and 10 output tokens at 2.5 US dollars per million.
    const text = costNanos(PROVIDER, { input: 20, output: 10 }, "EUR", OLD);
    expect(body.usage.cost * 1e9).toBeGreaterThan(Number(text));
    const dollars = (20 * 0.3 + 80 * 1 + 10 * 2.5) / (20 * 0.3 + 10 * 2.5);
    expect(body.usage.cost).toBeCloseTo((Number(text) / 1e9) * dollars, 7);
  });

  test("CHAT-05 thoughts become reasoning_content, and the signature of the text is a block", async () => {
    const { body, headers } = await ask(
      {
        json: whole([
          { text: "Hm.", thought: true },
          { text: "Hi", thoughtSignature: "seal==" },
        ]),
      },
      { model: NEW, reasoning_effort: "low" },
    );
    expect(received().json.generationConfig).toEqual({
      thinkingConfig: { thinkingLevel: "low", includeThoughts: true },
    });
    expect(body.choices[0].message).toMatchObject({
      content: "Hi",
      reasoning_content: "Hm.",
      reasoning_details: [{ type: "reasoning.encrypted", data: "seal==", format: "google-gemini-v1", index: 0 }],
    });
    expect(headers.get("x-svc-reasoning-effort")).toBe("low");
  });

  test("HDR-06 the effort in the header is the one that was sent to the provider", async () => {
    const { headers } = await ask({ json: whole([{ text: "a" }]) }, { model: NEW, reasoning_effort: "xhigh" });
    expect(received().json.generationConfig.thinkingConfig.thinkingLevel).toBe("high");
    expect(headers.get("x-svc-reasoning-effort")).toBe("high");
  });

  test("CHAT-05 the catalogue defines how a model's effort is set", async () => {
    await ask({ json: whole([{ text: "a" }]) }, { reasoning_effort: "none" });
    expect(received().json.generationConfig).toEqual({ thinkingConfig: { thinkingBudget: 0 } });
    const always = await refused({ model: "google/gemini-2.5-pro", reasoning_effort: "none" });
    expect([always.status, always.body.error.code]).toEqual([400, "unsupported_parameter"]);
    expect(always.body.error.param).toBe("reasoning_effort");
  });

  test("CHAT-04 a schema is sent unchanged", async () => {
    const schema = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    };
    const { body } = await ask(
      { json: whole([{ text: '{"a":1}' }]) },
      { response_format: { type: "json_schema", json_schema: { name: "r", strict: true, schema } } },
    );
    expect(received().json.generationConfig).toEqual({
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    });
    expect(body.choices[0].message.content).toBe('{"a":1}');
  });

  test("CHAT-04 PARAM-03 JSON with tools is refused if no endpoint supports both, before any provider is called", async () => {
    const both = {
      tools: [{ type: "function", function: { name: "a" } }],
      response_format: { type: "json_object" },
    };
    const { status, body } = await refused(both);
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "response_format"]);
    // A tool that may not be called does not conflict.
    for (const more of [{ model: NEW }, { tool_choice: "none" }])
      expect((await ask({ json: whole([{ text: "{}" }]) }, { ...both, ...more })).status).toBe(200);
  });

  test("PARAM-01 allowed_tools is refused by name as a tool choice too", async () => {
    const allowed_tools = { mode: "auto", tools: [{ type: "function", function: { name: "a" } }] };
    const { status, body } = await refused({
      tools: [{ type: "function", function: { name: "a" } }],
      tool_choice: { type: "allowed_tools", allowed_tools },
    });
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", "allowed_tools"]);
  });

  test("CHAT-02 an image by URL is refused by name, an inline image is not", async () => {
    const image = (url: string) => ({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "?" },
            { type: "image_url", image_url: { url } },
          ],
        },
      ],
    });
    const { status, body } = await refused(image("https://example.com/cat.png"));
    expect([status, body.error.param]).toEqual([400, "messages.0.content.1"]);
    expect((await ask({ json: whole([{ text: "a" }]) }, image("data:image/png;base64,iVBO"))).status).toBe(200);
  });

  test("CHAT-08 a blocked prompt gives an empty reply that reports it, and nothing is charged", async () => {
    const payer = await scene.gateway.tenant();
    upstream().next({
      json: { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, responseId: "r", usageMetadata: {} },
    });
    const { status, body } = await scene.chat(payer.key, { model: OLD });
    expect(status).toBe(200);
    expect(body.choices).toMatchObject([{ message: { content: "" }, finish_reason: "content_filter" }]);
    expect(body.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, cost: 0 });
  });

  test("CHAT-07 a reply without usage is estimated and marked as estimated in the log", async () => {
    const { body } = await ask({ json: chunk([{ text: "x".repeat(400) }], { finish: "STOP" }) });
    expect(body.usage.completion_tokens).toBe(100);
    expect((await scene.row(body.id)).usage.estimated).toBe(true);
  });

  test("the provider's own id is recorded and not shown", async () => {
    const answer = await ask({ json: whole([{ text: "a" }]) });
    expect(answer.text).not.toContain(RESPONSE_ID);
  });
});

describe("a stream", () => {
  const stream = { stream: true };

  test("CHAT-01 CHAT-06 role, text, one finish reason and the end marker; no usage unless requested", async () => {
    const { text, headers } = await ask(
      { frames: frames([{ text: "Hello" }, { text: " there" }, { text: "" }]) },
      stream,
    );
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(received().path).toBe("/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    const chunks = chunksOf(text);
    expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: "", refusal: null });
    expect(contentOf(text)).toBe("Hello there");
    expect(chunks.map((one) => one.choices[0].finish_reason)).toEqual([null, null, null, "stop"]);
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
    expect(text).not.toContain("usage");
    expect(new Set(chunks.map((one) => one.id))).toEqual(new Set([headers.get("x-svc-request-id")]));
  });

  const LAST = { ...USAGE, thoughtsTokenCount: 5, totalTokenCount: 23 };
  const words = [{ text: "a" }, { text: "b" }];
  test.each([
    ["with the last content", frames(words, { usage: LAST })],
    ["separately, after the end", [...frames(words), frame({ usageMetadata: LAST })]],
  ])("CHAT-06 CHAT-07 the last usage of the stream counts: %s", async (_where, streamFrames) => {
    const { text } = await ask({ frames: streamFrames }, { ...stream, stream_options: { include_usage: true } });
    const last = chunksOf(text).at(-1);
    const nanos = costNanos(PROVIDER, { input: 11, output: 12 }, "EUR", OLD);
    expect(last.choices).toEqual([]);
    expect(last.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 12, cost: Number(nanos) / 1e9 });
  });

  test("CHAT-08 a finish reason on every chunk reaches the client once, at the end", async () => {
    const { text } = await ask({ frames: [whole([{ text: "a" }]), whole([{ text: "b" }])].map(frame) }, stream);
    expect(chunksOf(text).map((one) => one.choices[0].finish_reason)).toEqual([null, null, null, "stop"]);
    expect(contentOf(text)).toBe("ab");
  });

  test("CHAT-08 a blocked prompt and an empty reply at the token limit are complete streams", async () => {
    const blocked = await ask({ frames: [frame({ promptFeedback: { blockReason: "SAFETY" } })] }, stream);
    expect(chunksOf(blocked.text).at(-1).choices[0].finish_reason).toBe("content_filter");
    const empty = await ask({ frames: [frame(chunk([], { finish: "MAX_TOKENS", usage: USAGE }))] }, stream);
    expect(chunksOf(empty.text).at(-1).choices[0].finish_reason).toBe("length");
    expect(eventsOf(empty.text).at(-1)).toBe("[DONE]");
  });

  test("CHAT-03 a call has its id, name and signature, then its arguments", async () => {
    const args = { city: "Paris", days: [1, { hour: null }], wet: true };
    const call = { functionCall: { id: "g1", name: "weather", args }, thoughtSignature: "sig" };
    const { text } = await ask(
      { frames: frames([call, { text: "" }]) },
      { ...stream, model: NEW, tools: [{ type: "function", function: { name: "weather" } }] },
    );
    const deltas = chunksOf(text).map((one) => one.choices[0].delta.tool_calls?.[0]);
    expect(deltas.slice(1, 3)).toEqual([
      {
        index: 0,
        id: "g1",
        type: "function",
        function: { name: "weather", arguments: "" },
        extra_content: { google: { thought_signature: "sig" } },
      },
      { index: 0, function: { arguments: JSON.stringify(args) } },
    ]);
    expect(chunksOf(text).at(-1).choices[0].finish_reason).toBe("tool_calls");
  });

  test.each(["whole", "streamed"])(
    "CHAT-03 calls of two turns get distinct ids although the provider sent none: %s",
    async (form) => {
      const { responseId: _, ...answer } = whole([{ functionCall: { name: "weather", args: {} } }]);
      const tools = [{ type: "function", function: { name: "weather" } }];
      const messages: Json[] = [{ role: "user", content: "Go." }];
      const ids: string[] = [];
      for (const _turn of [1, 2, 3]) {
        const { body, text } =
          form === "whole"
            ? await ask({ json: answer }, { tools, messages })
            : await ask({ frames: [frame(answer)] }, { ...stream, tools, messages });
        const id: string =
          form === "whole"
            ? body.choices[0].message.tool_calls[0].id
            : chunksOf(text).flatMap((one) => one.choices[0].delta.tool_calls ?? [])[0].id;
        const call = { id, type: "function", function: { name: "weather", arguments: "{}" } };
        messages.push({ role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: id, content: "Rain." });
        ids.push(id);
      }
      expect(new Set(ids).size, ids.join()).toBe(3);
      const kinds = received().json.contents.map(({ parts }: Json) => parts.flatMap(Object.keys));
      const round = [["functionCall"], ["functionResponse"]];
      expect(kinds).toEqual([["text"], ...round, ...round]);
    },
  );

  test("ERR-02 BILL-02 an error after content ends the stream with an error frame, no end marker and no charge", async () => {
    const error = { code: 503, message: "overloaded", status: "UNAVAILABLE" };
    for (const data of [{ error }, [{ error }], chunk([], { finish: "MALFORMED_FUNCTION_CALL", usage: USAGE })]) {
      const payer = await scene.gateway.tenant();
      upstream().next({ frames: [frame(chunk([{ text: "a" }])), frame(data)] });
      const { text } = await scene.chat(payer.key, { model: OLD, stream: true });
      expect(eventsOf(text)).not.toContain("[DONE]");
      expect(chunksOf(text).at(-1).error.code).toBe("upstream_error");
      expect(await scene.charges(payer)).toEqual([]);
    }
  });

  test("ERR-02 a stream without a finish reason is broken", async () => {
    const { text } = await ask({ frames: [frame(chunk([{ text: "a" }]))] }, stream);
    expect(eventsOf(text)).not.toContain("[DONE]");
  });
});

describe("errors", () => {
  const error = (code: number, status: string, more: object = {}) => ({
    status: code,
    json: { error: { code, message: `Google says ${status}.`, status, ...more } },
  });

  test("ERR-06 a request error is passed on with the provider's message", async () => {
    const { status, body } = await ask(error(400, "INVALID_ARGUMENT"));
    expect([status, body.error.code, body.error.message]).toEqual([
      400,
      "provider_error",
      "Google says INVALID_ARGUMENT.",
    ]);
  });

  test("ERR-06 an invalid key of the operator, reported as 400, is not the caller's fault", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
    for (const answer of [
      error(400, "INVALID_ARGUMENT", { details }),
      error(400, "FAILED_PRECONDITION"),
      error(403, "PERMISSION_DENIED"),
    ]) {
      const { status, text, body } = await ask(answer);
      expect([status, body.error.code]).toEqual([502, "upstream_error"]);
      expect(text).not.toContain("Google says");
    }
  });

  test("RATE-07 the delay in a 429's details becomes Retry-After", async () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "48s" }];
    const limited = error(429, "RESOURCE_EXHAUSTED", { details });
    for (const answer of [limited, { ...limited, json: [limited.json] }]) {
      const { status, headers, body } = await ask(answer);
      expect([status, body.error.code, headers.get("retry-after")]).toEqual([429, "rate_limit_exceeded", "48"]);
    }
  });

  test("ERR-07 a failed tool call is a provider failure and is not charged", async () => {
    const payer = await scene.gateway.tenant();
    upstream().next({ json: chunk([], { finish: "MALFORMED_FUNCTION_CALL", usage: USAGE }) });
    const { status, body } = await scene.chat(payer.key, { model: OLD });
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    expect(await scene.charges(payer)).toEqual([]);
  });
});
