import { afterAll, beforeAll, expect, test } from "vitest";
import { encodeEventMessage } from "../../src/kit/aws-event-stream.ts";
import type { Tenant } from "../support/gateway.ts";
import { openScene, type Provider, type Scene } from "../support/scene.ts";
import type { Script } from "../support/upstream.ts";

/** Lowered limits of responses refuse what the defaults accept, and the message names the setting. */
const LIMITS = {
  GATEWAY_ANSWER_MAX_TEXT: 100_000,
  GATEWAY_ANSWER_MAX_EVENT_TEXT: 70_000,
  GATEWAY_ANSWER_MAX_PARTS: 1_000,
  GATEWAY_ANSWER_MAX_EVENT: 1_800_000,
  GATEWAY_ANSWER_MAX_BINARY_EVENT: 1_700_000,
  GATEWAY_ANSWER_MAX_PREAMBLE: 80_000,
};

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  const settings = Object.entries(LIMITS).map(([name, limit]) => [name, String(limit)]);
  scene = await openScene(["mistral", "anthropic", "openai", "aws-bedrock"], Object.fromEntries(settings));
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const JSON_TYPE = "application/json";
const EVENTS = "text/event-stream";
const script = (type: string, body: string | Buffer): Script => ({ body, headers: { "content-type": type } });
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const chat = (choices: readonly unknown[]) =>
  JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage });
const choice = (content: unknown) => ({ index: 0, message: { role: "assistant", content }, finish_reason: "stop" });
const message = (content: unknown) =>
  JSON.stringify({
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [content],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, output_tokens: 1 },
  });
const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content } }] })}\n\n`;
const binary = encodeEventMessage(
  { ":message-type": "event", ":event-type": "contentBlockDelta" },
  JSON.stringify({ contentBlockIndex: 0, delta: { text: "x".repeat(1_900_000) } }),
);
const created = {
  id: "r",
  object: "response",
  status: "in_progress",
  model: "m",
  output: [],
  x: "x".repeat(90_000),
};

const MODELS: Readonly<Record<string, string>> = {
  mistral: "mistral/mistral-small-2603",
  anthropic: "anthropic/claude-fable-5-1",
  openai: "openai/gpt-4o",
  "aws-bedrock": "amazon/nova-pro",
};

type Case = readonly [reason: string, provider: Provider, stream: boolean, script: Script];
const CASES: readonly Case[] = [
  [
    "a reply that does not conform to its dialect has more than 100000 characters (GATEWAY_ANSWER_MAX_TEXT)",
    "mistral",
    false,
    script(JSON_TYPE, chat([choice([{ type: "text", text: "x".repeat(100_001) }])])),
  ],
  [
    "a text of the reply has more than 100000 characters (GATEWAY_ANSWER_MAX_TEXT)",
    "anthropic",
    false,
    script(JSON_TYPE, message({ type: "text", text: "x".repeat(100_001) })),
  ],
  [
    "a tool call has more than 70000 characters (GATEWAY_ANSWER_MAX_EVENT_TEXT)",
    "anthropic",
    false,
    script(JSON_TYPE, message({ type: "tool_use", id: "t", name: "f", input: { a: "x".repeat(70_000) } })),
  ],
  [
    "a text of the reply has more than 70000 characters (GATEWAY_ANSWER_MAX_EVENT_TEXT)",
    "anthropic",
    true,
    script(
      EVENTS,
      `data: ${JSON.stringify({ type: "content_block_start", index: 0, content_block: { type: "text", text: "x".repeat(70_001) } })}\n\n`,
    ),
  ],
  [
    "more than 1000 parts in its choices (GATEWAY_ANSWER_MAX_PARTS)",
    "mistral",
    false,
    script(JSON_TYPE, chat(Array.from({ length: 1_001 }, () => choice("Hi")))),
  ],
  [
    "an event longer than 1800000 characters (GATEWAY_ANSWER_MAX_EVENT)",
    "mistral",
    true,
    script(EVENTS, chunk("x".repeat(2_000_000))),
  ],
  [
    "an event longer than 1700000 bytes (GATEWAY_ANSWER_MAX_BINARY_EVENT)",
    "aws-bedrock",
    true,
    script("application/vnd.amazon.eventstream", binary),
  ],
];

const call = (provider: Provider, stream: boolean) =>
  scene.gateway.call(tenant.key, "/v1/chat/completions", {
    body: { model: MODELS[provider], messages: [{ role: "user", content: "Hello" }], stream },
  });

test.each(CASES)("SAFE-01 502: %s", async (reason, provider, stream, script) => {
  scene.at(provider).always(script);
  const { status, body } = await call(provider, stream);
  expect([status, body.error.message]).toEqual([502, expect.stringContaining(`was rejected: ${reason};`)]);
  expect(await scene.row(body.error.request_id)).toMatchObject({ status: 502, cost: "0.00" });
});

test("SAFE-01 a stream with a very long event before its first content ends in 502 with the reason", async () => {
  const body = `event: response.created\ndata: ${JSON.stringify({ type: "response.created", response: created })}\n\n`;
  scene.at("openai").always(script(EVENTS, body));
  const called = await scene.gateway.call(tenant.key, "/v1/responses", {
    body: { model: MODELS["openai"], input: "Hello", stream: true },
  });
  expect(called.status).toBe(502);
  // The limit, and what the provider may echo of the request.
  expect(called.body.error.message).toMatch(
    /was rejected: more than 8\d{4} characters before its first content \(GATEWAY_ANSWER_MAX_PREAMBLE\);/,
  );
});

test("SAFE-01 a reply just below the lowered limits is translated", async () => {
  scene.at("anthropic").always(script(JSON_TYPE, message({ type: "text", text: "x".repeat(99_000) })));
  const { status, body } = await call("anthropic", false);
  expect([status, body.choices[0].message.content.length]).toEqual([200, 99_000]);
});
