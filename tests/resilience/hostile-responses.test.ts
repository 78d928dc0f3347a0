import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import { transcribe } from "../support/transcriptions.ts";
import type { Script } from "../support/upstream.ts";

/** What a provider sends is bounded like requests, before objects are built from it. */
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["mistral", "openai", "anthropic"], {
    GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES: String(48 * MEBIBYTE),
  });
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const MEBIBYTE = 1024 * 1024;
const user = [{ role: "user", content: "Hello" }];
const json = (model: string, more: object) => ({ body: { model, ...more } });
const chatWith = (member: string) =>
  `{"id":"c-1","object":"chat.completion","created":1,"model":"m",${member},"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`;
const body = (text: string | Buffer): Script => ({ body: text, headers: { "content-type": "application/json" } });

const MISTRAL = "mistral/mistral-small-2603";
const chat = () => scene.gateway.call(tenant.key, "/v1/chat/completions", json(MISTRAL, { messages: user }));

/** 15 MB of valid JSON with several million members. */
const MANY = `"x":[${'{"a":0},'.repeat((15 * MEBIBYTE) / 8)}0]`;
const DEEP = `"x":${"[".repeat(200)}${"]".repeat(200)}`;
const DEEP_AND_LONG = `"y":"${"y".repeat(100_000)}",${DEEP}`;
const LONG_STRING = `"x":"${"x".repeat(33 * MEBIBYTE)}"`;

describe("a response is rejected for its shape, not charged, and not retried at the same endpoint", () => {
  test.each([
    ["many small members", MANY, "more than 400000 members and items (GATEWAY_ANSWER_MAX_MEMBERS)"],
    ["deep nesting in a short response", DEEP, "nested deeper than 128 levels"],
    ["deep nesting in a long response", DEEP_AND_LONG, "nested deeper than 128 levels"],
    ["a giant string", LONG_STRING, "a string longer than 33554432 characters (GATEWAY_ANSWER_MAX_STRING)"],
    ["a giant key", `"${"k".repeat(70_000)}":1`, "a key longer than 65536 characters"],
    ["a prototype key in a long response", `"x":{"__proto__":"${"p".repeat(70_000)}"}`, "the key __proto__"],
  ])("SAFE-01 %s", async (_name, member, reason) => {
    const upstream = scene.at("mistral");
    upstream.always(body(chatWith(member)));
    const called = await chat();
    expect([called.status, called.body.error.code]).toEqual([502, "upstream_error"]);
    expect(called.body.error.message).toContain(reason);
    const row = await scene.row(called.body.error.request_id);
    expect(row).toMatchObject({ status: 502, cost: "0.00" });
    expect(row.attempts.map((attempt: Json) => attempt.reason)).toEqual(
      row.attempts.map(() => expect.stringContaining(reason)),
    );
    const endpoints = row.attempts.map((attempt: Json) => attempt.endpoint);
    expect(new Set(endpoints).size).toBe(endpoints.length);
  });

  test.each([
    [
      "text",
      [{ type: "text", text: "t".repeat(MEBIBYTE + 1) }],
      "a text of the reply has more than 1048576 characters (GATEWAY_ANSWER_MAX_TEXT)",
    ],
    [
      "tool call",
      [{ type: "tool_use", id: "t", name: "f", input: { s: "t".repeat(MEBIBYTE) } }],
      "a tool call has more than 1048576 characters (GATEWAY_ANSWER_MAX_EVENT_TEXT)",
    ],
    [
      "list in its tool calls",
      ["t", "u"].map((id) => ({
        type: "tool_use",
        id,
        name: "f",
        input: { l: Array.from({ length: 20_000 }, () => 0) },
      })),
      "a tool call has more than 32000 members and items",
    ],
  ])(
    "SAFE-01 a translated reply with too long a %s names the limit and is not charged",
    async (_name, content, reason) => {
      const usage = { input_tokens: 3, output_tokens: 1 };
      const reply = {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content,
        stop_reason: "end_turn",
        usage,
      };
      scene.at("anthropic").always(body(JSON.stringify(reply)));
      const called = await scene.gateway.call(
        tenant.key,
        "/v1/chat/completions",
        json("anthropic/claude-fable-5-1", { messages: user }),
      );
      expect([called.status, called.body.error.code]).toEqual([502, "upstream_error"]);
      expect(called.body.error.message).toContain(reason);
      expect(await scene.row(called.body.error.request_id)).toMatchObject({ status: 502, cost: "0.00" });
    },
  );

  const GPT = "openai/gpt-4o";
  const nested = `${"[".repeat(200)}${"]".repeat(200)}`;
  type Case = readonly [string, Provider, () => Promise<Called>];
  const others: readonly Case[] = [
    [
      "messages",
      "anthropic",
      () =>
        scene.gateway.call(
          tenant.key,
          "/v1/messages",
          json("anthropic/claude-fable-5-1", { messages: user, max_tokens: 9 }),
        ),
    ],
    ["responses", "openai", () => scene.gateway.call(tenant.key, "/v1/responses", json(GPT, { input: "Hello" }))],
    [
      "embeddings",
      "openai",
      () => scene.gateway.call(tenant.key, "/v1/embeddings", json("openai/text-embedding-3-small", { input: "Hello" })),
    ],
    ["transcriptions", "openai", () => transcribe(scene.gateway, tenant.key, [["model", "openai/whisper-1"]])],
  ];
  test.each(others)("SAFE-01 %s: nested responses and many members", async (_name, provider, call) => {
    for (const [text, reason] of [
      [`{"x":${nested}}`, "nested deeper than 128 levels"],
      [`{${MANY}}`, "more than 400000 members and items"],
    ] as const) {
      scene.at(provider).next(body(text));
      const called = await call();
      expect(called.status).toBe(502);
      expect(called.body.error.message).toContain(reason);
    }
  });
});

describe("a long response within the limits", () => {
  const LONG = `"x":[${'{"a":0},'.repeat(150_000)}0]`;

  test("SAFE-01 is relayed byte for byte but for its id and usage", async () => {
    scene.at("mistral").next(body(chatWith(LONG)));
    const { status, text } = await chat();
    expect(status).toBe(200);
    expect(text.includes(LONG)).toBe(true);
  });

  test("SAFE-01 log-probabilities are exempt from the member limit", async () => {
    const token = { token: "Hi", logprob: -0.5, bytes: [72, 105], top_logprobs: [] };
    const logprobs = JSON.stringify({ content: Array.from({ length: 60_000 }, () => token) });
    const message = {
      role: "assistant",
      content: "Hi",
      tool_calls: [{ type: "function", function: { name: "f", arguments: {} } }],
    };
    const choices = `"choices":[{"index":0,"message":${JSON.stringify(message)},"logprobs":${logprobs},"finish_reason":"stop"}]`;
    scene
      .at("mistral")
      .next(
        body(
          `{"id":"c-1","object":"chat.completion","created":1,"model":"m",${choices},"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`,
        ),
      );
    const { status, text } = await chat();
    expect(status).toBe(200);
    expect(text.includes(`"logprobs":${logprobs}`)).toBe(true);
  });

  test("SAFE-01 an image of 3 MB is relayed although a tool call beside it is rewritten", async () => {
    const images = [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(3 * MEBIBYTE)}` } }];
    const audio = { id: "a", data: "A".repeat(3 * MEBIBYTE), transcript: "Hi", expires_at: 1 };
    const toolCall = { type: "function", function: { name: "f", arguments: { images: [] } } };
    const message = { role: "assistant", content: "Hi", tool_calls: [toolCall], images, audio };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const reply = { id: "c-1", object: "chat.completion", created: 1, model: "m", choices, usage };
    scene.at("mistral").next(body(JSON.stringify(reply)));
    const called = await chat();
    expect([called.status, called.body.error]).toEqual([200, undefined]);
    expect(called.body.choices[0].message).toMatchObject({ content: "Hi", images, audio });
    expect(called.body.choices[0].message.tool_calls[0].function.arguments).toBe('{"images":[]}');
  });

  test("SAFE-01 vectors are exempt from the member limit and relayed as they are", async () => {
    const vector = Array.from({ length: 1536 }, (_, at) => at / 1e3);
    const rows = Array.from({ length: 200 }, (_, index) => ({ index, embedding: vector }));
    scene.at("openai").next(body(JSON.stringify({ data: rows, usage: { prompt_tokens: 200, total_tokens: 200 } })));
    const input = Array.from({ length: 200 }, (_, at) => `text ${at}`);
    const called = await scene.gateway.call(
      tenant.key,
      "/v1/embeddings",
      json("openai/text-embedding-3-small", { input }),
    );
    expect(called.status).toBe(200);
    expect(called.body.data).toHaveLength(200);
    expect(called.body.data[199].embedding).toEqual(vector);
  });
});

describe("a response beyond the memory of its workspace: 502 with the reason, uncharged, no other endpoint", () => {
  const PAIR_BYTES = 48 * MEBIBYTE;
  let pair: Scene;
  beforeAll(async () => {
    pair = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES: String(PAIR_BYTES) });
  });
  afterAll(() => pair.close());

  const failures = async () => {
    const { data } = await pair.gateway.manage("GET", "/endpoints?provider=deepinfra&model=openai/gpt-oss-120b");
    return data.map(({ failed }: Json) => failed);
  };
  const expectRefused = async ({ status, body: refused }: Called) => {
    expect([status, refused.error.code]).toEqual([502, "upstream_error"]);
    expect(refused.error.message).toContain("GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES");
    const row = await pair.row(refused.error.request_id);
    expect(row).toMatchObject({ cost: "0.00", attempts: [{ outcome: "stop", upstream_status: 200 }] });
    expect(pair.at("ovhcloud").requests).toHaveLength(0);
  };

  test("SAFE-01 no failure of the shared endpoint is counted when other responses use the memory", async () => {
    const { key } = await pair.gateway.tenant();
    const gate = Promise.withResolvers<void>();
    const text = chatWith(`"x":"${"x".repeat(12 * MEBIBYTE)}"`);
    const frames = [text.slice(0, -1), { data: text.slice(-1), afterMs: 0, gate: gate.promise }];
    pair.at("deepinfra").always({ frames, headers: { "content-type": "application/json" } });
    const calls = Array.from({ length: 4 }, () => pair.chat(key));
    const refused = await Promise.race(calls);
    gate.resolve();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 200, 200, 502]);
    await expectRefused(refused);
    expect(await failures()).toEqual([0]);
    expect((await pair.chat(key)).status).toBe(200);
  });

  test("SAFE-01 a response that alone exceeds the memory counts as a failure of its endpoint", async () => {
    const { key } = await pair.gateway.tenant();
    const half = "x".repeat(PAIR_BYTES / 2);
    pair.at("deepinfra").always(body(chatWith(`"x":"${half}","y":"${half}"`)));
    await expectRefused(await pair.chat(key));
    expect(await failures()).toEqual([1]);
  });
});

describe("stream events have the same limits", () => {
  const streamed = () =>
    scene.gateway.call(tenant.key, "/v1/chat/completions", json(MISTRAL, { messages: user, stream: true }));
  const event = (member: string, content: string) =>
    `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m",${member},"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;
  const END = `data: {"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\ndata: [DONE]\n\n`;
  const stream = (text: string): Script => ({ body: text, headers: { "content-type": "text/event-stream" } });

  test.each([
    ["many small members", MANY.slice(0, 8 * MEBIBYTE).replace(/,[^,]*$/, "]"), "more than 400000 members and items"],
    ["deep nesting", DEEP_AND_LONG, "nested deeper than 128 levels"],
  ])("SAFE-01 %s before the first content: 502 with the reason", async (_name, member, reason) => {
    scene.at("mistral").always(stream(event(member, "Hi") + END));
    const called = await streamed();
    expect(called.status).toBe(502);
    expect(called.body.error.message).toContain(reason);
  });

  test("SAFE-01 a short event that is nested deeply is malformed", async () => {
    scene.at("mistral").always(stream(event(DEEP, "Hi") + END));
    expect((await streamed()).status).toBe(502);
  });

  test("SAFE-01 a long event within the limits is relayed in its place", async () => {
    const long = `"x":[${'{"a":0},'.repeat(100_000)}0]`;
    scene.at("mistral").always(stream(event('"y":1', "one") + event(long, "two") + event('"y":1', "three") + END));
    const { status, text } = await streamed();
    expect(status).toBe(200);
    expect(text.includes(long)).toBe(true);
    const words = [...text.matchAll(/"content":"(\w+)"/g)].map(([, word]) => word);
    expect(words).toEqual(["one", "two", "three"]);
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  test("SAFE-01 unfinished events count against the memory of the workspace until they are read", async () => {
    const gate = Promise.withResolvers<void>();
    const text = event(`"x":"${"x".repeat(12 * MEBIBYTE)}"`, "Hi");
    const frames = [text.slice(0, -1), { data: `\n${END}`, afterMs: 0, gate: gate.promise }];
    scene.at("mistral").always({ frames });
    const calls = Array.from({ length: 4 }, streamed);
    const refused = await Promise.race(calls);
    gate.resolve();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(refused.body.error.message).toContain("GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES");
    expect(statuses.toSorted()).toEqual([200, 200, 200, 502]);
    expect(await scene.row(refused.body.error.request_id)).toMatchObject({ cost: "0.00" });
    expect((await streamed()).status).toBe(200);
  });

  test("SAFE-01 after the first content the stream ends with an error event and is not charged", async () => {
    scene.at("mistral").always(stream(event('"y":1', "one") + event(DEEP_AND_LONG, "two") + END));
    const { status, text, headers } = await streamed();
    expect(status).toBe(200);
    expect(text).toContain('"code":"upstream_error"');
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.cost).toBe("0.00");
    expect(row.attempts.at(-1).reason).toContain("nested deeper than 128 levels");
  });
});
