import "../support/seed.ts";
import Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { messageEvent, messageJson, messageStream } from "../support/messages.ts";
import { catalogueWithExtras, perUse } from "../support/priced-extras.ts";
import { loadBytes, loadChunks, loadExchange, scriptOf } from "../support/replay.ts";
import { costNanos, credentialOf, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { openMessage, unknownMembers } from "../support/verbatim-json.ts";

/** Claude models over the messages API: requests and replies are forwarded unchanged. */
const MODEL = "anthropic/claude-sonnet-4-5";
const UPSTREAM_MODEL = "claude-sonnet-4-5";
const HELLO = [{ role: "user", content: "Hello" }];
const EVENTS = { "content-type": "text/event-stream; charset=utf-8" };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  const prices = { web_search: perUse("0.01"), hosted_tool: perUse("0.02") };
  scene = await openScene(["anthropic", "aws-bedrock"], {
    GATEWAY_CATALOGUE_DIR: catalogueWithExtras({ anthropic: prices, "aws-bedrock": prices }),
  });
});
afterAll(() => scene?.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const ask = (body: unknown, headers: Record<string, string> = {}) =>
  scene.gateway.call(tenant.key, "/v1/messages", { body, headers });
const received = () => scene.at("anthropic").requests.at(-1);
const ownId = (text: string, id: string | null) => text.replace(/"id": ?"msg_[^"]*"/, `"id":"${id}"`);

describe("the request", () => {
  test("MSG-01 every byte of a body reaches the provider except the model and routing hints", async () => {
    await fc.assert(
      fc.asyncProperty(unknownMembers, fc.nat(3), async (unknown, at) => {
        const known = [
          `"model" :"${MODEL}"`,
          '"max_tokens": 64',
          '"messages":[ {"content" :[{"type":"text","text":"Caf\\u00e9","cache_control":{"ttl":"1h","type":"ephemeral"}}],"role":"user"} ]',
        ];
        const text = `{ ${[...known.slice(0, at), ...unknown, ...known.slice(at)].join(" ,")}\n}`;
        scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
        const { status } = await ask(text);
        expect(status).toBe(200);
        expect(received()?.raw.toString()).toBe(text.replace(MODEL, UPSTREAM_MODEL));
      }),
      { numRuns: 40 },
    );
  });

  test("MSG-01 foreign reasoning is dropped; the provider's own is sent back unchanged", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const own = { type: "thinking", thinking: "mine", signature: "c2lnbmVk" };
    const kept = [
      { role: "user", content: "a" },
      { role: "assistant", content: [own, { type: "text", text: "b" }] },
    ];
    const foreign = [
      { type: "thinking", thinking: "unsigned", signature: "" },
      { type: "thinking", thinking: "", signature: "svc:call:google:abc" },
      { type: "redacted_thinking", data: "svc:block:openai:def" },
    ];
    const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
    const result = [{ type: "tool_result", tool_use_id: "toolu_1", content: "r" }];
    const messages = [
      ...kept,
      { role: "user", content: "c" },
      { role: "assistant", content: [...foreign, call] },
      { role: "user", content: result },
      { role: "assistant", content: [foreign[0]] },
      { role: "user", content: "d" },
    ];
    expect((await ask({ model: MODEL, max_tokens: 5, messages })).status).toBe(200);
    expect(JSON.parse(String(received()?.raw))).toEqual({
      model: UPSTREAM_MODEL,
      max_tokens: 5,
      messages: [
        ...kept,
        { role: "user", content: "c" },
        { role: "assistant", content: [call] },
        { role: "user", content: result },
        { role: "user", content: "d" },
      ],
    });
  });

  test("MSG-01 the rest of such a conversation keeps its numbers, and the log names what was dropped", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const input = '{"id":12345678901234567890,"x":1.0}';
    const text = `{"model":"${MODEL}","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"tool_use","id":"a","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`;
    const { status, headers } = await ask(text);
    expect(status).toBe(200);
    expect(received()?.raw.toString()).toContain(
      `"content":[{"type":"tool_use","id":"a","name":"f","input":${input}}]`,
    );
    const { omitted } = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect([omitted, headers.get("x-svc-omitted")]).toEqual([
      ["messages[].content[].thinking", "messages[].content[].signature"],
      "messages[].content[].thinking,messages[].content[].signature",
    ]);
  });

  test("MSG-01 a null stays as sent; routing hints are removed", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const text = `{"session_id":"s","model":"${MODEL}","max_tokens":5,"temperature":null,"cost_tier":"low","messages":[{"role":"user","content":"x"}],"remaining_turns":3}`;
    expect((await ask(text)).status).toBe(200);
    expect(received()?.raw.toString()).toBe(
      `{"model":"${UPSTREAM_MODEL}","max_tokens":5,"temperature":null,"messages":[{"role":"user","content":"x"}]}`,
    );
  });

  test.each([
    ["2023-06-01", undefined],
    ["2026-10-21", "context-management-2025-06-27"],
    ["2026-10-21", "b-2026-01-01,  a-2026-01-01,b-2026-01-01"],
    [undefined, "unheard-of-2030-01-01"],
  ])("MSG-01 version %s and betas %s reach the provider unchanged, and no other header does", async (version, beta) => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    await ask(
      { model: MODEL, max_tokens: 5, messages: HELLO },
      {
        ...(version === undefined ? {} : { "anthropic-version": version }),
        ...(beta === undefined ? {} : { "anthropic-beta": beta }),
        "x-app": "cli",
        "x-claude-code-session-id": "s",
        "x-stainless-lang": "js",
        cookie: "a=b",
      },
    );
    const { host: _h, connection: _c, "content-length": _l, ...headers } = received()?.headers ?? {};
    expect(headers).toEqual({
      accept: "application/json",
      "accept-encoding": "identity",
      "content-type": "application/json",
      "user-agent": "inference-gateway",
      "x-api-key": credentialOf("anthropic"),
      "anthropic-version": version ?? "2023-06-01",
      ...(beta === undefined ? {} : { "anthropic-beta": beta }),
      // Only because the address is one that a setting names.
      "x-svc-hop": expect.any(String),
    });
  });

  test("MSG-01 thinking, provider tools, mid-conversation system and cache marks are left to the provider", async () => {
    scene.at("anthropic").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const body = {
      model: MODEL,
      max_tokens: 4096,
      system: [{ type: "text", text: "x-anthropic-billing-header: cc", cache_control: { type: "ephemeral" } }],
      thinking: { type: "enabled", budget_tokens: 2048, display: "omitted" },
      output_config: { effort: "xhigh" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      mcp_servers: [{ type: "url", url: "https://mcp.example", name: "m" }],
      tools: [{ type: "web_search_20260318", name: "web_search", max_uses: 2 }, { type: "new_tool_2027" }],
      messages: [
        { role: "user", content: "q" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "", signature: "EuYBCkQYAiJAZm9v" },
            { type: "redacted_thinking", data: "b64==" },
            { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
            { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
            { type: "tool_use", id: "toolu_1", name: "f", input: {} },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "novel" }] }] },
        { role: "system", content: "Be brief." },
      ],
    };
    const { status, headers } = await ask(body);
    expect(status).toBe(200);
    expect(received()?.json).toEqual({ ...body, model: UPSTREAM_MODEL });
    expect(headers.get("x-svc-upstream-surface")).toBe("messages");
    expect(headers.get("x-svc-reasoning-chosen-by")).toBe("caller");
  });
});

describe("the reply", () => {
  test("MSG-01 a whole reply is the provider's, byte for byte, except for the id", async () => {
    await fc.assert(
      fc.asyncProperty(unknownMembers, async (unknown) => {
        const text = `{"model":"claude-x", "id" : "msg_up" ,"type":"message","role":"assistant","content":[{"type":"text","text":"\\u00e9"}],${[...unknown, '"usage":{"input_tokens":3,"output_tokens":2}'].join(", ")} }\n`;
        scene.at("anthropic").next({ body: text, headers: { "content-type": "application/json" } });
        const answer = await ask({ model: MODEL, max_tokens: 5, messages: HELLO });
        const id = answer.headers.get("x-svc-request-id");
        expect(id).toMatch(/^msg_/);
        expect(answer.text).toBe(text.replace('"msg_up"', `"${id}"`));
      }),
      { numRuns: 30 },
    );
  });

  test.each([1, 3, 64, 4096])(
    "MSG-01 a stream in chunks of %i bytes is the provider's except for the id",
    async (size) => {
      const source = messageStream(
        messageJson([
          { type: "thinking", thinking: "Hm, ünïcödé 世界", signature: "c2ln" },
          { type: "text", text: "Hello, 世界" },
          { type: "tool_use", id: "toolu_1", name: "f", input: { a: [1, 2] } },
        ]),
        4,
      );
      const frames = Array.from({ length: Math.ceil(source.length / size) }, (_, at) =>
        source.subarray(at * size, (at + 1) * size),
      );
      scene.at("anthropic").next({ headers: EVENTS, frames });
      const { text, status, headers } = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
      expect(status).toBe(200);
      expect(headers.get("content-type")).toContain("text/event-stream");
      expect(text).toBe(ownId(source.toString(), headers.get("x-svc-request-id")));
    },
  );

  test("MSG-01 the provider's own limits and ids are not shown", async () => {
    scene.at("anthropic").next({
      headers: {
        "anthropic-ratelimit-tokens-remaining": "1",
        "request-id": "req_up",
        "x-ratelimit-limit-requests": "9",
      },
      json: messageJson([{ type: "text", text: "Hi" }]),
    });
    const { headers } = await ask({ model: MODEL, max_tokens: 5, messages: HELLO });
    const names = [...headers.keys()].filter((name) => name.startsWith("anthropic-"));
    expect(names).toEqual([]);
    expect(headers.get("request-id")).not.toBe("req_up");
    expect(headers.get("x-ratelimit-limit-requests")).not.toBe("9");
  });
});

describe("billing", () => {
  const USAGE = {
    input_tokens: 100,
    cache_read_input_tokens: 1000,
    cache_creation_input_tokens: 500,
    cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 300 },
    output_tokens: 77,
    output_tokens_details: { thinking_tokens: 50 },
  };
  test.each([false, true])(
    "BILL-05 reported usage is billed, with cache reads and five-minute and one-hour writes (stream: %s)",
    async (stream) => {
      const message = messageJson([{ type: "text", text: "Hello there" }], { usage: USAGE });
      scene.at("anthropic").next(stream ? { headers: EVENTS, body: messageStream(message, 5) } : { json: message });
      const { headers, status } = await ask({ model: MODEL, max_tokens: 50, stream, messages: HELLO });
      expect(status).toBe(200);
      const row = await scene.row(headers.get("x-svc-request-id") ?? "");
      expect(row).toMatchObject({ surface: "messages", provider: "anthropic", status: 200, streaming: stream });
      expect(row.usage).toMatchObject({
        input_tokens: 1600,
        cached_tokens: 1000,
        cache_write_tokens: 500,
        output_tokens: 77,
        reasoning_tokens: 50,
        estimated: false,
      });
      const nanos = costNanos(
        "anthropic",
        { input: 1600, cached: 1000, written: 500, hourLong: 300, output: 77 },
        "EUR",
        MODEL,
      );
      expect(nanosOf(row.cost)).toBe(nanos);
      expect((await scene.charges(tenant)).map((charge) => charge.nanos)).toEqual([nanos]);
      expect((await scene.wallet(tenant)).held).toMatch(/^0/);
    },
  );

  test("CHAT-09 BILL-02 a disconnect cancels the provider's call, and the caller pays for what arrived", async () => {
    const spoken = [
      messageEvent({
        type: "message_start",
        message: messageJson([], { usage: { input_tokens: 20, output_tokens: 1 } }),
      }),
      messageEvent({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      messageEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "w".repeat(400) } }),
    ].join("");
    const next = scene.at("anthropic").arrived(scene.at("anthropic").requests.length + 1);
    scene
      .at("anthropic")
      .next({ headers: EVENTS, frames: [spoken], end: { is: "stall", after: Buffer.byteLength(spoken) } });
    const open = await openMessage(scene.gateway.url, tenant.key, {
      model: MODEL,
      max_tokens: 500,
      stream: true,
      messages: HELLO,
    });
    await open.until("wwww");
    open.hangUp();
    expect(await (await next).over).toBe("aborted");
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", provider: "anthropic" });
    expect(row.usage).toMatchObject({ input_tokens: 20, output_tokens: 100, estimated: true });
    expect(await scene.charges(tenant)).toHaveLength(1);
  });
});

describe("failures", () => {
  test.each([
    [400, "invalid_request_error", "prompt is too long: 210345 tokens > 200000 maximum"],
    [413, "request_too_large", "Request exceeds the maximum size"],
    [400, "invalid_request_error", "messages.3: `tool_use` ids were found without `tool_result` blocks"],
  ])("MSG-01 ERR-03 ERR-06 %i %s: the provider's own message", async (status, type, message) => {
    const before = scene.at("aws-bedrock").requests.length;
    scene.at("anthropic").next({ status, json: { type: "error", error: { type, message }, request_id: "req_up" } });
    const answer = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    expect(answer.status).toBe(status);
    const id = answer.headers.get("x-svc-request-id");
    expect(answer.body).toMatchObject({
      type: "error",
      error: { message, code: "provider_error", request_id: id },
      request_id: id,
    });
    expect(scene.at("aws-bedrock").requests).toHaveLength(before);
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("MSG-01 a body of any length is judged by the provider, not by the gateway's count", async () => {
    const message = "prompt is too long: 1300000 tokens > 200000 maximum";
    scene
      .at("anthropic")
      .next({ status: 400, json: { type: "error", error: { type: "invalid_request_error", message } } });
    tenant = await scene.gateway.tenant({ credit: "1000" });
    const long = [{ role: "user", content: "word ".repeat(1_000_000) }];
    expect((await ask({ model: MODEL, max_tokens: 900_000, messages: long })).body.error.message).toBe(message);
  });

  test.each([
    [
      "before the stream",
      { status: 529, json: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } },
    ],
    [
      "in its first event",
      {
        headers: EVENTS,
        body: messageEvent({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      },
    ],
    [
      "after the start of the stream",
      {
        headers: EVENTS,
        body:
          messageEvent({ type: "message_start", message: messageJson([]) }) +
          messageEvent({ type: "ping" }) +
          messageEvent({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      },
    ],
  ])("ROUTE-04 overloaded %s: the next endpoint is called, and nothing of the first is shown", async (_, script) => {
    scene.at("anthropic").next(script);
    scene.at("aws-bedrock").next({ status: 503, json: { message: "busy" } });
    const answer = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ type: "error", error: { code: "upstream_error" } });
    expect(scene.at("aws-bedrock").requests.at(-1)?.path).toMatch(/\/invoke-with-response-stream$/);
  });

  test("ERR-02 an error after the first content ends the stream with an error event and is not billed", async () => {
    const bytes = loadBytes("synthetic/anthropic-midstream-overloaded.sse.txt");
    scene.at("anthropic").next({ headers: EVENTS, body: bytes });
    const { text, status, headers } = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    expect(status).toBe(200);
    const events = text.trimEnd().split("\n\n");
    expect(events.at(-2)).toContain('"Hel"');
    const [name, data] = events.at(-1)?.split("\n") ?? [];
    expect(name).toBe("event: error");
    expect(JSON.parse(data?.slice(6) ?? "")).toMatchObject({
      type: "error",
      error: { code: "upstream_error", request_id: headers.get("x-svc-request-id") },
    });
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("MSG-01 a stream without its last event is incomplete", async () => {
    const cut = messageStream(messageJson([{ type: "text", text: "Hello" }]), 2)
      .toString()
      .split("event: message_delta")[0];
    scene.at("anthropic").next({ headers: EVENTS, body: cut ?? "" });
    const { text } = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    expect(text).toContain("event: error");
    expect(text).not.toContain("message_stop");
  });
});

describe("recorded traffic", () => {
  const RECORDINGS = [
    "cache-write-1h",
    "output-config-json-schema",
    "parallel-tools-2",
    "stop-sequence",
    "stream-cache-write",
    "stream-citations",
    "stream-redacted-thinking",
    "stream-text",
    "stream-thinking",
    "stream-tools",
    "thinking-plus-tools",
    "tool-choice-named",
    "web-search",
  ];
  test.each(RECORDINGS)("MSG-01 BILL-05 %s: request and reply equal the recording", async (name) => {
    for (const recorded of loadExchange(`d2-anthropic-messages/${name}`).interactions) {
      scene.at("anthropic").next(scriptOf(recorded));
      const sent: Json = recorded.request.json;
      const text = JSON.stringify({ ...sent, model: MODEL });
      const answer = await ask(text, beta(recorded.request.headers));
      expect(answer.status).toBe(recorded.response.status);
      expect(received()?.raw.toString()).toBe(text.replace(MODEL, UPSTREAM_MODEL));
      const id = answer.headers.get("x-svc-request-id");
      expect(answer.text).toBe(ownId(recorded.response.body.toString(), id));
      const row = await scene.row(id ?? "");
      expect(row.usage.estimated).toBe(false);
      expect(row.usage.output_tokens).toBeGreaterThan(0);
    }
  });

  const beta = (headers: Readonly<Record<string, string>>): Record<string, string> =>
    headers["anthropic-beta"] === undefined ? {} : { "anthropic-beta": headers["anthropic-beta"] };

  test("MSG-01 a refusal recorded without event names is sent with them", async () => {
    const body = loadChunks("d2-anthropic-messages/refusal", "no_marker");
    scene.at("anthropic").next({ headers: EVENTS, body });
    const { text, headers } = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    const named = body.toString().replace(/^data: (.*"type": ?"(\w+)".*)$/gm, (line, data: string) => {
      const { type }: Json = JSON.parse(data);
      return `event: ${type}\n${line}`;
    });
    expect(text).toBe(ownId(named, headers.get("x-svc-request-id")));
    expect(text).toContain('"stop_reason":"refusal"');
  });

  test("ERR-06 a recorded failure of the operator's key is not shown to the caller", async () => {
    const [recorded] = loadExchange("d2-anthropic-messages/err-401").interactions;
    if (recorded === undefined) throw new Error("the recording is empty");
    scene.at("anthropic").next(scriptOf(recorded));
    scene.at("aws-bedrock").next({ status: 403, json: { message: "no" } });
    const answer = await ask({ model: MODEL, max_tokens: 5, messages: HELLO });
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain("x-api-key");
  });
});

test("MSG-04 the official SDK streams through the gateway: text, tool input and usage as the provider sent them", async () => {
  const message = messageJson(
    [
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "toolu_9", name: "weather", input: { city: "Paris" } },
    ],
    { stop_reason: "tool_use" },
  );
  scene.at("anthropic").next({ headers: EVENTS, body: messageStream(message, 3) });
  const client = new Anthropic({ baseURL: scene.gateway.url, apiKey: tenant.key, maxRetries: 0 });
  const final = await client.messages
    .stream({ model: MODEL, max_tokens: 100, messages: [{ role: "user", content: "Weather?" }] })
    .finalMessage();
  expect(final).toMatchObject({ content: message["content"], stop_reason: "tool_use", usage: { output_tokens: 7 } });
  expect(final.id).toMatch(/^msg_/);
});

test("MSG-01 pings continue while a model reasons silently", async () => {
  // A separate scene: pings would interleave with bytes that other tests compare.
  const silent = await openScene(["anthropic"], { GATEWAY_KEEP_ALIVE_MS: "100" });
  const caller = await silent.gateway.tenant();
  const head = [
    messageEvent({ type: "message_start", message: messageJson([]) }),
    messageEvent({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } }),
  ].join("");
  silent
    .at("anthropic")
    .next({ headers: EVENTS, frames: [head], end: { is: "stall", after: Buffer.byteLength(head) } });
  const open = await openMessage(silent.gateway.url, caller.key, {
    model: MODEL,
    max_tokens: 5,
    stream: true,
    messages: HELLO,
  });
  const text = await open.until('event: ping\ndata: {"type": "ping"}\n\n');
  expect(text).toContain("event: content_block_start");
  open.hangUp();
  await silent.close();
});
