import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exceptionBytes, streamOf } from "../support/converse.ts";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { frame } from "../support/gemini.ts";
import { messageEvent } from "../support/messages.ts";
import { framesOf, wordsOf } from "../support/responses-script.ts";
import { chunksOf, credentialOf, MODEL, openScene, type Provider, type Scene } from "../support/scene.ts";
import { transcribe } from "../support/transcriptions.ts";
import { chatFrames, type Script, sse } from "../support/upstream.ts";

/** Callers receive the provider's own error where it concerns their request, on every surface. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["groq", "mistral", "openai", "anthropic", "google-ai-studio", "aws-bedrock"], {
    GATEWAY_DECISIONS: "on",
    GATEWAY_SPEECH: "on",
  });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const CLAUDE = DIALECT_SCRIPTS.D2.model;
/** Served by this provider alone. */
const CLAUDE_ALONE = "anthropic/claude-fable-5-1";
const NOVA = DIALECT_SCRIPTS.D4.model;
const MISTRAL = "mistral/mistral-small-2603";
const GPT = "openai/gpt-4o";
const user = [{ role: "user", content: "Hello" }];
const json = (model: string, more: object) => ({ body: { model, ...more } });

type Call = (model: string) => Promise<Called>;
const CHAT_SURFACES = {
  chat: (model) => scene.gateway.call(tenant.key, "/v1/chat/completions", json(model, { messages: user })),
  messages: (model) => scene.gateway.call(tenant.key, "/v1/messages", json(model, { messages: user, max_tokens: 9 })),
  responses: (model) => scene.gateway.call(tenant.key, "/v1/responses", json(model, { input: "Hello" })),
  chat_stream: (model) =>
    scene.gateway.call(tenant.key, "/v1/chat/completions", json(model, { messages: user, stream: true })),
  messages_stream: (model) =>
    scene.gateway.call(tenant.key, "/v1/messages", json(model, { messages: user, max_tokens: 9, stream: true })),
  responses_stream: (model) =>
    scene.gateway.call(tenant.key, "/v1/responses", json(model, { input: "Hello", stream: true })),
} as const satisfies Record<string, Call>;

type ErrorCase = readonly [name: string, provider: Provider, model: string, script: Script, upstream: object];

const groqFailure = {
  message: "Failed to call a function.",
  type: "invalid_request_error",
  code: "tool_use_failed",
  failed_generation: "<function=weather>{",
};
const tooLong = {
  message: "This model's maximum context length is 128000 tokens.",
  type: "invalid_request_error",
  param: "messages",
  code: "context_length_exceeded",
};
const google = {
  code: 400,
  message: "Bad field.",
  status: "INVALID_ARGUMENT",
  details: [{ fieldViolations: [{ field: "contents" }] }],
};

const CASES: readonly ErrorCase[] = [
  [
    "Groq's failed tool call",
    "groq",
    MODEL,
    { status: 400, json: { error: groqFailure } },
    { status: 400, param: null, ...groqFailure },
  ],
  [
    "Mistral's list of issues",
    "mistral",
    MISTRAL,
    { status: 422, json: { detail: [{ type: "missing", loc: ["body", "messages", 0], msg: "Field required" }] } },
    { status: 422, type: null, code: null, param: "messages.0", message: "messages.0: Field required" },
  ],
  ["OpenAI's context length", "openai", GPT, { status: 400, json: { error: tooLong } }, { status: 400, ...tooLong }],
  [
    "a content policy",
    "openai",
    GPT,
    { status: 403, json: { error: { message: "Blocked.", type: "content_filter", code: "content_policy_violation" } } },
    { status: 403, type: "content_filter", code: "content_policy_violation", param: null, message: "Blocked." },
  ],
  [
    "Anthropic's error",
    "anthropic",
    CLAUDE,
    {
      status: 400,
      json: { type: "error", error: { type: "invalid_request_error", message: "prompt is too long" }, request_id: "r" },
    },
    { status: 400, type: "invalid_request_error", code: null, param: null, message: "prompt is too long" },
  ],
  [
    "Google's details",
    "google-ai-studio",
    DIALECT_SCRIPTS.D3.model,
    { status: 400, json: { error: google } },
    { status: 400, type: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", param: "contents", message: "Bad field." },
  ],
  [
    "the exception of AWS",
    "aws-bedrock",
    NOVA,
    { status: 400, json: { __type: "com.amazon#ValidationException", message: "Input is too long." } },
    { status: 400, type: null, code: "ValidationException", param: null, message: "Input is too long." },
  ],
];

describe.each(Object.entries(CHAT_SURFACES))("on %s", (surface, call) => {
  test.each(CASES)("ERR-14 %s: the caller receives it beside the envelope", async (_, provider, model, script, own) => {
    scene.at(provider).next(script);
    const { status, body, headers } = await call(model);
    const { error } = body;
    expect(error.upstream).toEqual({ provider, ...own });
    expect([status, error.code, error.type]).toEqual([error.upstream.status, "provider_error", "upstream_error"]);
    expect([error.message, error.request_id]).toEqual([error.upstream.message, headers.get("x-svc-request-id")]);
    expect(body.type).toBe(surface.startsWith("messages") ? "error" : undefined);
  });
});

const OTHER_SURFACES: readonly (readonly [string, Provider, () => Promise<Called>])[] = [
  [
    "embeddings",
    "openai",
    () => scene.gateway.call(tenant.key, "/v1/embeddings", json("openai/text-embedding-3-small", { input: "Hi" })),
  ],
  [
    "speech",
    "openai",
    () => scene.gateway.call(tenant.key, "/v1/audio/speech", json("openai/tts-1", { input: "Hi", voice: "alloy" })),
  ],
  ["transcriptions", "openai", () => transcribe(scene.gateway, tenant.key, [["model", "openai/whisper-1"]])],
  [
    "count_tokens",
    "anthropic",
    () => scene.gateway.call(tenant.key, "/v1/messages/count_tokens", json(CLAUDE, { messages: user })),
  ],
  [
    "decisions",
    "openai",
    () =>
      scene.gateway.call(
        tenant.key,
        "/v1/decisions",
        json(GPT, { state: "The light is on.", questions: { lit: { type: "noul", instructions: "Is it on?" } } }),
      ),
  ],
];

test.each(OTHER_SURFACES)("ERR-14 %s: the caller receives the provider's error", async (_, provider, call) => {
  const sent = { message: "Too many words.", type: "invalid_request_error", code: "too_many_words", param: "input" };
  scene.at(provider).next({ status: 400, json: { error: sent } });
  const { status, body } = await call();
  const code = provider === "anthropic" ? null : "too_many_words";
  const param = provider === "anthropic" ? null : "input";
  expect([status, body.error.code]).toEqual([400, "provider_error"]);
  expect(body.error.upstream).toEqual({ provider, status: 400, ...sent, code, param });
});

test.each(["refusal", "content_policy_violation"])(
  "ERR-14 a decision that the provider declines with %s has its error",
  async (code) => {
    scene.at("openai").next({ status: 400, json: { error: { message: "Declined.", code } } });
    const { status, body } = await scene.gateway.call(
      tenant.key,
      "/v1/decisions",
      json(GPT, { state: "The light is on.", questions: { lit: { type: "noul", instructions: "Is it on?" } } }),
    );
    expect([status, body.error.code]).toEqual([422, "decision_refused"]);
    expect(body.error.upstream).toMatchObject({ provider: "openai", status: 400, code, message: "Declined." });
  },
);

const EVENT_STREAM = { "content-type": "text/event-stream" };
const CONVERSE_STREAM = { "content-type": "application/vnd.amazon.eventstream" };
const [role = "", word = ""] = chatFrames(["Hello"]);
const openedChat = (error: object): Script => ({ frames: [role, word, sse({ error })] });
const openedMessage = (error: object): Script => {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
  const usage = { input_tokens: 3, output_tokens: 1 };
  return {
    headers: EVENT_STREAM,
    body: [
      { type: "message_start", message: { ...message, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
      { type: "error", error },
    ]
      .map((event) => messageEvent(event))
      .join(""),
  };
};
const openedNova = (exception: string): Script => {
  const bytes = streamOf({ content: [{ text: "Hello" }], stopReason: "end_turn", usage: {} });
  return {
    headers: CONVERSE_STREAM,
    frames: [...bytes.slice(0, 2), exceptionBytes(exception, { message: "Input is too long." })],
  };
};

type StreamCase = readonly [name: string, provider: Provider, model: string, script: Script, upstream: object];

const STREAM_CASES: readonly StreamCase[] = [
  ["a failed tool call", "mistral", MISTRAL, openedChat(groqFailure), { status: 400, param: null, ...groqFailure }],
  [
    "an error of Claude",
    "anthropic",
    CLAUDE,
    openedMessage({ type: "invalid_request_error", message: "prompt is too long" }),
    { status: 400, type: "invalid_request_error", code: null, param: null, message: "prompt is too long" },
  ],
  [
    "an error of Gemini",
    "google-ai-studio",
    DIALECT_SCRIPTS.D3.model,
    { frames: [frame({ candidates: [{ content: { parts: [{ text: "Hello" }] } }] }), frame({ error: google })] },
    { status: 400, type: "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", param: "contents", message: "Bad field." },
  ],
  [
    "an exception of AWS",
    "aws-bedrock",
    NOVA,
    openedNova("validationException"),
    { status: 400, type: null, code: "validationException", param: null, message: "Input is too long." },
  ],
];

/** The error of a stream that broke after output, as the surface frames it. */
function errorIn(text: string): Json {
  return chunksOf(text.replaceAll(/^event: .*\n/gm, "")).find(({ error }) => error != null)?.error;
}

describe.each(["chat_stream", "messages_stream", "responses_stream"] as const)("after output on %s", (surface) => {
  test.each(STREAM_CASES)("ERR-14 ERR-02 %s is in the error frame", async (_, provider, model, script, own) => {
    scene.at(provider).next(script);
    const { status, text } = await CHAT_SURFACES[surface](model);
    expect(status).toBe(200);
    expect(text).toContain("Hello");
    const error = errorIn(text);
    expect([error.code, error.type]).toEqual(["provider_error", "upstream_error"]);
    expect(error.upstream).toEqual({ provider, ...own });
  });
});

const failedIn = (text: string): Json =>
  chunksOf(text.replaceAll(/^event: .*\n/gm, "")).find(({ type }) => type === "response.failed")?.response.error;
const openedResponse = (error: object): Script => ({
  headers: EVENT_STREAM,
  frames: [
    ...framesOf([wordsOf("Hello")]).slice(0, 5),
    sse({ type: "response.failed", response: { id: "resp_1", object: "response", status: "failed", error } }),
  ],
});

test.each([
  ["context_length_exceeded", "context_length_exceeded"],
  ["invalid_prompt", "invalid_prompt"],
  ["rate_limit_exceeded", "rate_limit_exceeded"],
  ["server_error", "server_error"],
  // The platform's account is not the caller's business.
  ["insufficient_quota", "server_error"],
  ["invalid_api_key", "server_error"],
])("ERR-14 %s after output of a provider with this API: the code of response.failed is %s", async (sent, code) => {
  scene.at("openai").next(openedResponse({ code: sent, message: "no" }));
  const { text } = await CHAT_SURFACES.responses_stream("openai/gpt-5");
  const error = failedIn(text);
  expect(error.code).toBe(code);
  if (["context_length_exceeded", "invalid_prompt"].includes(sent))
    expect(error.upstream).toEqual({ provider: "openai", status: 400, type: null, code, param: null, message: "no" });
  else expect(error.upstream).toBeUndefined();
});

test("ERR-14 RESP-05 a failed background response keeps the provider's code and error", async () => {
  scene.at("openai").next({ status: 400, json: { error: { ...tooLong, code: "string_above_max_length" } } });
  const { body } = await scene.gateway.call(
    tenant.key,
    "/v1/responses",
    json("openai/gpt-5", { input: "Hello", background: true }),
  );
  const read = () => scene.gateway.call(tenant.key, `/v1/responses/${body.id}`, { method: "GET" });
  await expect.poll(async () => (await read()).body.status).toBe("failed");
  const { error } = (await read()).body;
  expect(error.code).toBe("string_above_max_length");
  expect(error.upstream).toMatchObject({ provider: "openai", status: 400, param: "messages" });
});

test("ERR-14 overloaded_error keeps its type on messages, before output and in the stream, and only there", async () => {
  const overloaded = { type: "overloaded_error", message: "Overloaded" };
  scene.at("anthropic").next({ status: 529, json: { type: "error", error: overloaded } });
  const before = await CHAT_SURFACES.messages(CLAUDE_ALONE);
  expect([before.status, before.body.error.type, before.body.error.code]).toEqual([
    502,
    "overloaded_error",
    "upstream_error",
  ]);
  scene.at("anthropic").next(openedMessage(overloaded));
  const { text } = await CHAT_SURFACES.messages_stream(CLAUDE_ALONE);
  expect(errorIn(text)).toMatchObject({ type: "overloaded_error", code: "upstream_error" });
  scene.at("anthropic").next({ status: 529, json: { type: "error", error: overloaded } });
  expect((await CHAT_SURFACES.chat(CLAUDE_ALONE)).body.error.type).toBe("upstream_error");
});

test.each([401, 402, 403, 404])("ERR-14 status %i of the platform's credential stays hidden", async (status) => {
  const message = `Unknown key ${credentialOf("groq")} of account 4711`;
  scene.at("groq").next({ status, json: { error: { message, code: "invalid_api_key", type: "account_4711" } } });
  const { status: received, body, text } = await CHAT_SURFACES.chat(MODEL);
  expect([received, body.error.code, body.error.upstream]).toEqual([502, "upstream_error", undefined]);
  expect(text).not.toMatch(/4711|canary/);
});

test("ERR-14 ERR-09 a hostile error is bounded and cleaned, and nothing of it is in the request log", async () => {
  const canary = "caller-secret-in-an-error";
  const message = `\u001b[31m${canary} ${credentialOf("groq")} Bearer abc\u0000\u202e ${"x".repeat(15_000)}`;
  const failed = `${credentialOf("groq")} ${"y".repeat(15_000)}`;
  const sent = {
    message,
    type: `a\n${canary}${"t".repeat(900)}`,
    code: "c".repeat(900),
    param: [[["p"]]],
    failed_generation: failed,
  };
  scene.at("groq").next({ status: 400, json: { error: sent, extra: { nested: { deep: [message] } } } });
  const { body, text, headers } = await CHAT_SURFACES.chat(MODEL);
  const { upstream } = body.error;
  expect(Object.keys(upstream).toSorted()).toEqual([
    "code",
    "failed_generation",
    "message",
    "param",
    "provider",
    "status",
    "type",
  ]);
  expect([
    upstream.message.length,
    upstream.failed_generation.length,
    upstream.code.length,
    upstream.type.length,
  ]).toEqual([2000, 8000, 200, 200]);
  expect(upstream.message).toMatch(/^caller-secret-in-an-error \[redacted\] \[redacted\] x/);
  expect([upstream.param, upstream.failed_generation.slice(0, 12)]).toEqual([null, "[redacted] y"]);
  expect(text).not.toMatch(/canary|\\u0000|\\u001b/);
  const row = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect(row).toMatchObject({ status: 400, error_code: "provider_error" });
  expect(JSON.stringify(row)).not.toContain(canary);
});

describe("the official clients", () => {
  test("ERR-14 openai exposes it as error.upstream of the exception, and of an error inside a stream", async () => {
    const client = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
    const request = { model: MODEL, messages: [{ role: "user" as const, content: "Hello" }] };
    scene.at("groq").next({ status: 400, json: { error: groqFailure } });
    const expected = { upstream: { provider: "groq", status: 400, param: null, ...groqFailure } };
    const refused = await client.chat.completions.create(request).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({ error: expected });
    scene.at("groq").next(openedChat(groqFailure));
    const broken = client.chat.completions.create({ ...request, stream: true }).then(async (stream) => {
      for await (const chunk of stream) chunk.choices.at(0);
    });
    await expect(broken).rejects.toMatchObject({ error: expected });
  });

  test("ERR-14 anthropic exposes it as error.error.upstream, and raises its typed exceptions", async () => {
    const client = new Anthropic({ baseURL: scene.gateway.url, apiKey: tenant.key, maxRetries: 0 });
    const request = { model: CLAUDE, max_tokens: 9, messages: [{ role: "user" as const, content: "Hello" }] };
    const error = { type: "invalid_request_error", message: "prompt is too long" };
    const upstream = { provider: "anthropic", status: 400, code: null, param: null, ...error };
    scene.at("anthropic").next({ status: 400, json: { type: "error", error } });
    const refused = await client.messages.create(request).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(Anthropic.BadRequestError);
    expect(refused).toMatchObject({ error: { error: { upstream } } });
    scene.at("anthropic").next(openedMessage(error));
    const broken = client.messages.stream(request).finalMessage();
    await expect(broken).rejects.toMatchObject({ error: { error: { upstream } } });
  });
});
