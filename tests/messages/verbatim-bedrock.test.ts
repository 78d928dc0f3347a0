import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { encodeEventMessage } from "../../src/kit/aws-event-stream.ts";
import { SseReader } from "../../src/kit/sse.ts";
import { exceptionBytes } from "../support/converse.ts";
import { type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { messageEvent, messageJson, messageStream } from "../support/messages.ts";
import { loadBytes, loadExchange } from "../support/replay.ts";
import { costNanos, credentialOf, nanosOf, openScene, type Scene } from "../support/scene.ts";
import { startUpstream } from "../support/upstream.ts";
import { openMessage, packedEvent } from "../support/verbatim-json.ts";

/** Claude on Bedrock: the native body through InvokeModel, so that a floor of L1 costs no feature. */
const MODEL = "anthropic/claude-sonnet-4-5";
const SEGMENT = "eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
const HELLO = [{ role: "user", content: "Hello" }];
const BINARY = { "content-type": "application/vnd.amazon.eventstream" };

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["anthropic", "aws-bedrock"]);
});
afterAll(() => scene?.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
});

const ask = (body: unknown, headers: Record<string, string> = {}) =>
  scene.gateway.call(tenant.key, "/v1/messages", { body, headers });
const floor = (level: string) => scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: level });
const received = () => scene.at("aws-bedrock").requests.at(-1);
const framesIn = (stream: Buffer) => new SseReader(1 << 24).push(stream);
/** The same events as Bedrock sends them, the last one with Bedrock's own metrics. */
function packed(stream: Buffer): Buffer {
  const metrics = { inputTokenCount: 1, outputTokenCount: 2, invocationLatency: 3, firstByteLatency: 4 };
  return Buffer.concat(
    framesIn(stream).map(({ data }) =>
      packedEvent(
        data.includes('"message_stop"')
          ? JSON.stringify({ ...JSON.parse(data), "amazon-bedrock-invocationMetrics": metrics })
          : data,
      ),
    ),
  );
}
const shown = (stream: Buffer, id: string | null) =>
  framesIn(stream)
    .map(
      ({ event, data }) =>
        `event: ${event}\ndata: ${event === "message_stop" ? JSON.stringify(JSON.parse(data)) : data}\n\n`,
    )
    .join("")
    .replace(/"id": ?"msg_[^"]*"/, `"id":"${id}"`);

const CONTENT = [
  { type: "thinking", thinking: "Hm, 世界", signature: "c2ln" },
  { type: "redacted_thinking", data: "b3BhcXVl" },
  { type: "text", text: "Hello there" },
  { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
];
const USAGE = {
  input_tokens: 100,
  cache_read_input_tokens: 40,
  cache_creation_input_tokens: 60,
  output_tokens: 33,
};

describe("under a floor of L1", () => {
  beforeEach(() => floor("L1"));

  test("MSG-01 POL-02 a whole reply: native body, the model in the path, the reply unchanged except for the id", async () => {
    const before = scene.at("anthropic").requests.length;
    const answer = ` ${JSON.stringify(messageJson(CONTENT, { usage: USAGE, novel: null }), null, 1)}`;
    scene.at("aws-bedrock").next({ body: answer, headers: { "content-type": "application/json" } });
    const text = `{ "model":"${MODEL}","stream":false, "max_tokens": 64,"messages":[{"role":"user","content":"Caf\\u00e9"}],"novel" : {"n":12345678901234567890},\n"session_id":"s","thinking":{"type":"adaptive"} }`;
    const { status, headers, text: body } = await ask(text, { "anthropic-version": "2026-10-21" });
    expect(status).toBe(200);
    expect(received()?.path).toBe(`/v1/model/${SEGMENT}/invoke`);
    expect(received()?.raw.toString()).toBe(
      '{ "max_tokens": 64,"messages":[{"role":"user","content":"Caf\\u00e9"}],"novel" : {"n":12345678901234567890},\n"thinking":{"type":"adaptive"} ,"anthropic_version":"bedrock-2023-05-31"}',
    );
    const { "anthropic-version": version, authorization } = received()?.headers ?? {};
    expect({ version, authorization }).toEqual({
      version: undefined,
      authorization: `Bearer ${credentialOf("aws-bedrock")}`,
    });
    expect(body).toBe(answer.replace('"msg_1"', `"${headers.get("x-svc-request-id")}"`));
    expect(headers.get("x-svc-sovereignty-level")).toBe("L1");
    expect(headers.get("x-svc-upstream-surface")).toBe("messages");
    expect(scene.at("anthropic").requests).toHaveLength(before);
  });

  test.each([1, 7, 100, 100_000])("MSG-01 a stream in chunks of %i bytes: the events of the dialect", async (size) => {
    const source = messageStream(messageJson(CONTENT, { usage: USAGE }), 5);
    const bytes = packed(source);
    const frames = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    );
    scene.at("aws-bedrock").next({ headers: BINARY, frames });
    const { status, text, headers } = await ask({ model: MODEL, max_tokens: 64, stream: true, messages: HELLO });
    expect(status).toBe(200);
    expect(received()?.path).toBe(`/v1/model/${SEGMENT}/invoke-with-response-stream`);
    expect(received()?.headers.accept).toBe("application/vnd.amazon.eventstream");
    expect(headers.get("content-type")).toContain("text/event-stream");
    expect(text).toBe(shown(source, headers.get("x-svc-request-id")));
    expect(text).not.toContain("invocationMetrics");
  });

  test("MSG-01 betas are in the body, without those that Bedrock does not take; the log names dropped ones", async () => {
    scene.at("aws-bedrock").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const { headers } = await ask(
      { model: MODEL, max_tokens: 5, messages: HELLO, tags: { team: "x" } },
      {
        "anthropic-beta":
          "context-management-2025-06-27, prompt-caching-scope-2026-01-05,request-tags-2026-08-21,interleaved-thinking-2025-05-14",
      },
    );
    expect(received()?.json).toEqual({
      max_tokens: 5,
      messages: HELLO,
      anthropic_version: "bedrock-2023-05-31",
      anthropic_beta: ["context-management-2025-06-27", "interleaved-thinking-2025-05-14"],
    });
    expect(received()?.headers["anthropic-beta"]).toBeUndefined();
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(headers.get("x-svc-omitted")?.split(",")).toEqual(row.omitted);
    expect(row.omitted).toEqual([
      "tags",
      "anthropic_beta.prompt_caching_scope_2026_01_05",
      "anthropic_beta.request_tags_2026_08_21",
    ]);
  });

  test("MSG-01 hints that Bedrock does not know are dropped or sent as a beta; data stays unchanged", async () => {
    const mark = { type: "ephemeral", ttl: "1h" };
    const scoped = { ...mark, scope: "global" };
    const tool = { name: "f", input_schema: { type: "object", properties: { scope: { const: 1 } } } };
    const called = { type: "tool_use", id: "t", name: "f", input: { cache_control: scoped } };
    const result = (cache_control: Json) => ({
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "text", text: "ok", cache_control }],
    });
    const conversation = (cache_control: Json) => ({
      system: [{ type: "text", text: "Be brief.", cache_control }],
      messages: [
        ...HELLO,
        { role: "assistant", content: [called] },
        { role: "user", content: [result(cache_control)] },
      ],
    });
    const request = { max_tokens: 5, ...conversation(scoped), tools: [{ ...tool, eager_input_streaming: true }] };
    scene.at("aws-bedrock").next({ json: messageJson([{ type: "text", text: "Hi" }]) });
    const { headers } = await ask(
      { model: MODEL, ...request, cache_control: mark, diagnostics: { previous_message_id: null } },
      { "anthropic-beta": "prompt-caching-scope-2026-01-05" },
    );
    expect(received()?.json).toEqual({
      max_tokens: 5,
      ...conversation(mark),
      tools: [tool],
      anthropic_version: "bedrock-2023-05-31",
      anthropic_beta: ["fine-grained-tool-streaming-2025-05-14"],
    });
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.omitted).toEqual([
      "anthropic_beta.prompt_caching_scope_2026_01_05",
      "cache_control",
      "diagnostics",
      "system[].cache_control.scope",
      "messages[].content[].content[].cache_control.scope",
    ]);
  });

  test.each([false, true])("BILL-05 the reply's usage is billed at Bedrock's prices (stream: %s)", async (stream) => {
    const message = messageJson([{ type: "text", text: "Hello" }], { usage: USAGE });
    scene
      .at("aws-bedrock")
      .next(stream ? { headers: BINARY, body: packed(messageStream(message, 3)) } : { json: message });
    const { headers } = await ask({ model: MODEL, max_tokens: 64, stream, messages: HELLO });
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row).toMatchObject({ provider: "aws-bedrock", surface: "messages", level: "L1" });
    expect(row.usage).toMatchObject({
      input_tokens: 200,
      cached_tokens: 40,
      cache_write_tokens: 60,
      output_tokens: 33,
    });
    expect(nanosOf(row.cost)).toBe(
      costNanos("aws-bedrock", { input: 200, cached: 40, written: 60, output: 33 }, "EUR", MODEL),
    );
  });

  test.each([false, true])("BILL-02 BILL-05 a compaction is billed in addition (stream: %s)", async (stream) => {
    const compaction = { type: "compaction", input_tokens: 1000, output_tokens: 300, cache_read_input_tokens: 500 };
    const usage = { ...USAGE, iterations: [compaction, { type: "message", ...USAGE }] };
    const message = messageJson([{ type: "text", text: "Hello" }], { usage });
    scene
      .at("aws-bedrock")
      .next(stream ? { headers: BINARY, body: packed(messageStream(message, 3)) } : { json: message });
    const { headers } = await ask({ model: MODEL, max_tokens: 64, stream, messages: HELLO });
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.usage).toMatchObject({ input_tokens: 1700, cached_tokens: 540, output_tokens: 333, estimated: false });
    const all = { input: 1700, cached: 540, written: 60, output: 333 };
    expect(nanosOf(row.cost)).toBe(costNanos("aws-bedrock", all, "EUR", MODEL));
  });

  test.each([
    [400, "ValidationException", "prompt is too long: 210345 tokens > 200000 maximum", 400, "provider_error"],
    [429, "ThrottlingException", "Too many tokens", 429, "rate_limit_exceeded"],
    [403, "AccessDeniedException", "arn:aws:iam::123456789012:role/x is not authorized", 502, "upstream_error"],
    [503, "ServiceUnavailableException", "busy", 502, "upstream_error"],
  ])("ERR-03 ERR-06 %i %s", async (status, type, message, shownStatus, code) => {
    scene.at("aws-bedrock").next({ status, headers: { "x-amzn-errortype": `${type}:http://x` }, json: { message } });
    const answer = await ask({ model: MODEL, max_tokens: 5, messages: HELLO });
    expect(answer.status).toBe(shownStatus);
    expect(answer.body).toMatchObject({ type: "error", error: { code } });
    if (code === "provider_error") expect(answer.body.error.message).toBe(message);
    expect(answer.text).not.toContain("123456789012");
  });

  test("ERR-02 an exception before the first content has its status, a later one ends the stream", async () => {
    const throttled = exceptionBytes("throttlingException", { message: "slow down" });
    scene.at("aws-bedrock").next({ headers: BINARY, body: throttled });
    expect((await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO })).status).toBe(429);

    const words = [
      { type: "message_start", message: messageJson([]) },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    ].map((event) => packedEvent(JSON.stringify(event)));
    scene.at("aws-bedrock").next({ headers: BINARY, body: Buffer.concat([...words, throttled]) });
    const { status, text } = await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO });
    expect(status).toBe(200);
    expect(text).toContain('"Hel"');
    expect(text.trimEnd().split("\n\n").at(-1)).toMatch(/^event: error\ndata: \{"type":"error"/);
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("MSG-01 a damaged or truncated stream is an invalid response", async () => {
    const source = packed(messageStream(messageJson([{ type: "text", text: "Hello" }]), 2));
    scene.at("aws-bedrock").next({ headers: BINARY, body: source.subarray(0, 30) });
    expect((await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO })).status).toBe(502);
    const damaged = encodeEventMessage({ ":event-type": "chunk", ":message-type": "event" }, '{"bytes":7}');
    scene.at("aws-bedrock").next({ headers: BINARY, body: damaged });
    expect((await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO })).status).toBe(502);
    scene.at("aws-bedrock").next({ headers: BINARY, body: source.subarray(0, -20) });
    expect((await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO })).text).toContain("event: error");
  });

  test.each([
    ["bad-crc", 502],
    ["truncated", 502],
    ["unmodeled-error", 502],
    ["first-frame-validation", 400],
    ["midstream-throttling", 429],
  ])("ERR-02 failures of Bedrock streams: %s", async (name, shownStatus) => {
    const { response }: Json = JSON.parse(loadBytes(`synthetic/bedrock-${name}.json`).toString());
    scene.at("aws-bedrock").next({ headers: BINARY, body: Buffer.from(response.bodyBase64, "base64") });
    expect((await ask({ model: MODEL, max_tokens: 5, stream: true, messages: HELLO })).status).toBe(shownStatus);
  });

  test("MSG-01 CHAT-01 chat completions for the same model go through Converse", async () => {
    scene.at("aws-bedrock").next({ status: 400, json: { message: "x" } });
    await scene.chat(tenant.key, { model: MODEL });
    expect(received()?.path).toBe(`/v1/model/${SEGMENT}/converse`);
  });

  test.each(["stream-thinking", "stream-tools", "stream-redacted-thinking", "web-search", "stream-citations"])(
    "MSG-01 the recorded stream %s, packed as Bedrock does",
    async (name) => {
      for (const recorded of loadExchange(`d2-anthropic-messages/${name}`).interactions) {
        const sent: Json = recorded.request.json;
        if (sent.stream !== true) continue;
        scene.at("aws-bedrock").next({ headers: BINARY, body: packed(recorded.response.body) });
        const { text, headers } = await ask({ ...sent, model: MODEL });
        expect(text).toBe(shown(recorded.response.body, headers.get("x-svc-request-id")));
        const { model: _m, stream: _s, ...rest } = sent;
        expect(received()?.json).toEqual({ ...rest, anthropic_version: "bedrock-2023-05-31" });
      }
    },
  );
});

describe("from Anthropic to Bedrock", () => {
  test.each([
    ["a status", { status: 529, json: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } }],
    ["a cut before the headers", { end: { is: "cut", after: "before_headers" } as const }],
    [
      "a stream that breaks before any content",
      {
        headers: { "content-type": "text/event-stream" },
        body:
          messageEvent({ type: "message_start", message: messageJson([], { id: "msg_first" }) }) +
          messageEvent({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      },
    ],
  ])("ROUTE-04 MSG-01 %s: the caller gets one complete stream and pays Bedrock's price", async (_, script) => {
    scene.at("anthropic").next(script);
    const source = messageStream(messageJson(CONTENT, { usage: USAGE }), 9);
    scene.at("aws-bedrock").next({ headers: BINARY, body: packed(source) });
    const { text, status, headers } = await ask({ model: MODEL, max_tokens: 64, stream: true, messages: HELLO });
    expect(status).toBe(200);
    expect(text).toBe(shown(source, headers.get("x-svc-request-id")));
    expect(text).not.toContain("msg_first");
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    expect(row.attempts.map((one: Json) => [one.provider, one.outcome])).toEqual([
      ["anthropic", "next"],
      ["aws-bedrock", "served"],
    ]);
    const nanos = costNanos("aws-bedrock", { input: 200, cached: 40, written: 60, output: 33 }, "EUR", MODEL);
    expect((await scene.charges(tenant)).map((charge) => charge.nanos)).toEqual([nanos]);
  });
});

test("MSG-01 a key pair signs InvokeModel as it signs Converse", async () => {
  const upstream = await startUpstream({ json: messageJson([{ type: "text", text: "Hi" }]) });
  const gateway = await startGateway({
    env: {
      GATEWAY_SANDBOX: "off",
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLEEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "secret-example",
      PROVIDER_AWS_BEDROCK_BASE_URL: upstream.url,
    },
  });
  const { key } = await gateway.tenant();
  const { status } = await gateway.call(key, "/v1/messages", {
    body: { model: MODEL, max_tokens: 5, messages: HELLO },
  });
  expect(status).toBe(200);
  expect(upstream.requests[0]?.path).toBe(`/model/${SEGMENT}/invoke`);
  expect(upstream.requests[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLEEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request/,
  );
  await gateway.close();
  await upstream.close();
});

test("MSG-01 Bedrock sends no pings, so the gateway does", async () => {
  // A separate scene: pings would interleave with bytes that other tests compare.
  const silent = await openScene(["aws-bedrock"], { GATEWAY_KEEP_ALIVE_MS: "100" });
  const caller = await silent.gateway.tenant();
  const head = Buffer.concat([
    packedEvent(JSON.stringify({ type: "message_start", message: messageJson([]) })),
    packedEvent(
      JSON.stringify({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } }),
    ),
  ]);
  silent.at("aws-bedrock").next({ headers: BINARY, frames: [head], end: { is: "stall", after: head.length } });
  const open = await openMessage(silent.gateway.url, caller.key, {
    model: MODEL,
    max_tokens: 5,
    stream: true,
    messages: HELLO,
  });
  await open.until('event: ping\ndata: {"type": "ping"}\n\n');
  open.hangUp();
  expect(await silent.at("aws-bedrock").requests[0]?.over).toBe("aborted");
  await silent.close();
});
