import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";

/** Refusals on this surface have the dialect's envelope and the caller's field names. */
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "google-ai-studio", "aws-bedrock"]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const { D1, D3, D4 } = DIALECT_SCRIPTS;
const HI = [{ role: "user", content: "Hi" }];
const requestWith = (more: Record<string, unknown> = {}) => ({
  model: D1.model,
  max_tokens: 10,
  messages: HI,
  ...more,
});

async function refused(body: unknown, key = tenant.key): Promise<Called> {
  const before = upstreamCalls();
  const answer = await scene.gateway.call(key, "/v1/messages", { body });
  expect(upstreamCalls(), "no provider is called").toBe(before);
  expectShape(answer);
  return answer;
}

function upstreamCalls(): number {
  return (["deepinfra", "google-ai-studio", "aws-bedrock"] as const).reduce(
    (sum, provider) => sum + scene.at(provider).requests.length,
    0,
  );
}

/** ERR-03: the gateway's envelope inside the dialect's own. */
function expectShape({ body, headers }: Called): void {
  const id = headers.get("x-svc-request-id");
  expect(Object.keys(body)).toEqual(["type", "error", "request_id"]);
  expect(body.type).toBe("error");
  expect(body.request_id).toBe(id);
  expect(body.error.request_id).toBe(id);
  expect(typeof body.error.message).toBe("string");
}

const block = (content: unknown) => ({ messages: [{ role: "user", content: [content] }] });
const assistantTurn = (content: unknown) => ({ messages: [{ role: "assistant", content: [content] }] });

describe("bad input", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["no limit", { max_tokens: undefined }, "max_tokens"],
    ["a limit of null", { max_tokens: null }, "max_tokens"],
    ["a limit that is text", { max_tokens: "10" }, "max_tokens"],
    ["a negative limit", { max_tokens: -1 }, "max_tokens"],
    ["a fraction of a token", { max_tokens: 1.5 }, "max_tokens"],
    ["no model", { model: undefined }, "model"],
    ["an empty model", { model: "" }, "model"],
    ["no messages", { messages: undefined }, "messages"],
    ["an empty conversation", { messages: [] }, "messages"],
    ["messages that are text", { messages: "Hi" }, "messages"],
    ["an unknown role", { messages: [{ role: "tool", content: "x" }] }, "messages.0.role"],
    ["no content", { messages: [{ role: "user" }] }, "messages.0.content"],
    ["content that is a number", { messages: [{ role: "user", content: 5 }] }, "messages.0.content"],
    ["a block without a type", block({ text: "x" }), "messages.0.content.0.type"],
    ["a block that is text", block("x"), "messages.0.content.0"],
    ["a text block without text", block({ type: "text" }), "messages.0.content.0.text"],
    ["an image without a source", block({ type: "image" }), "messages.0.content.0.source"],
    [
      "an image without data",
      block({ type: "image", source: { type: "base64", media_type: "image/png" } }),
      "messages.0.content.0.source.data",
    ],
    ["an image without a URL", block({ type: "image", source: { type: "url" } }), "messages.0.content.0.source.url"],
    ["a document without a source", block({ type: "document" }), "messages.0.content.0.source"],
    ["a result without an id", block({ type: "tool_result", content: "x" }), "messages.0.content.0.tool_use_id"],
    [
      "a result that is a number",
      block({ type: "tool_result", tool_use_id: "a", content: 5 }),
      "messages.0.content.0.content",
    ],
    ["a call without a name", assistantTurn({ type: "tool_use", id: "a", input: {} }), "messages.0.content.0.name"],
    [
      "a call whose input is null",
      assistantTurn({ type: "tool_use", id: "a", name: "b", input: null }),
      "messages.0.content.0.input",
    ],
    ["a thought without text", assistantTurn({ type: "thinking", signature: "x" }), "messages.0.content.0.thinking"],
    ["a redacted thought without data", assistantTurn({ type: "redacted_thinking" }), "messages.0.content.0.data"],
    ["a system prompt that is a number", { system: 5 }, "system"],
    ["a system block without text", { system: [{ type: "text" }] }, "system.0.text"],
    ["tools that are not a list", { tools: {} }, "tools"],
    ["a tool without a name", { tools: [{ input_schema: {} }] }, "tools.0.name"],
    ["a tool with a bad name", { tools: [{ name: "a b", input_schema: {} }] }, "tools.0.name"],
    ["a tool without a schema", { tools: [{ name: "a" }] }, "tools.0.input_schema"],
    [
      "a choice without a tool",
      { tools: [{ name: "a", input_schema: {} }], tool_choice: { type: "tool" } },
      "tool_choice.name",
    ],
    [
      "a choice of a missing tool",
      { tools: [{ name: "a", input_schema: {} }], tool_choice: { type: "tool", name: "b" } },
      "tool_choice.name",
    ],
    ["a choice without tools", { tool_choice: { type: "any" } }, "tool_choice"],
    ["a choice that is a word", { tool_choice: "auto" }, "tool_choice"],
    ["a stream that is a word", { stream: "yes" }, "stream"],
    ["too hot", { temperature: 1.5 }, "temperature"],
    ["top_p over one", { top_p: 2 }, "top_p"],
    ["a fraction of top_k", { top_k: 1.5 }, "top_k"],
    ["stop sequences that are text", { stop_sequences: "END" }, "stop_sequences"],
    ["an empty stop sequence", { stop_sequences: [""] }, "stop_sequences.0"],
    ["thinking that is true", { thinking: true }, "thinking"],
    ["a budget that is text", { thinking: { type: "enabled", budget_tokens: "many" } }, "thinking.budget_tokens"],
    [
      "a format without a schema",
      { output_config: { format: { type: "json_schema" } } },
      "output_config.format.schema",
    ],
    ["a session that is a number", { session_id: 5 }, "session_id"],
    ["a tier that does not exist", { cost_tier: "free" }, "cost_tier"],
    ["turns below zero", { remaining_turns: -1 }, "remaining_turns"],
  ])("ERR-03 ERR-01 %s: 400 invalid_value", async (_, more, param) => {
    const { status, body } = await refused(requestWith(more));
    expect([status, body.error.code, body.error.type, body.error.param]).toEqual([
      400,
      "invalid_value",
      "invalid_request_error",
      param,
    ]);
  });

  test("ERR-03 GEN-05 a body that is not JSON", async () => {
    const { status, body } = await refused("{nope");
    expect([status, body.error.code]).toEqual([400, "invalid_json"]);
  });
});

describe("requests that the model's dialect cannot express", () => {
  const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } };
  const withoutVision = "openai/gpt-oss-120b";
  const call = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] };

  test("ERR-03 MSG-02 zero tokens, with which Claude warms a cache: 400 invalid_value", async () => {
    for (const { model } of [D1, D3]) {
      const { status, body } = await refused(requestWith({ model, max_tokens: 0 }));
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", "max_tokens"]);
      expect(body.error.message).toContain(model);
      expect(body.error.message).toContain("Send 1 or more");
    }
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["an unknown field", { unheard_of: 1 }, "unheard_of"],
    ["betas in the body", { betas: ["x"] }, "betas"],
    ["a provider tool", { tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools.0.type"],
    ["a provider block", block({ type: "server_tool_use", id: "a", name: "b", input: {} }), "messages.0.content.0"],
    ["the same after a system prompt", { system: "S", ...block({ type: "search_result" }) }, "messages.0.content.0"],
    ["a container", { container: "c_1" }, "container"],
    ["a summary instead of a reply", { compaction: { type: "summarize" } }, "compaction"],
    ["top_k on chat completions", { top_k: 5 }, "top_k"],
    [
      "an uploaded file",
      { model: D3.model, ...block({ type: "document", source: { type: "file", file_id: "f" } }) },
      "messages.0.content.0",
    ],
    [
      "a URL where none can be fetched",
      { model: D3.model, ...block({ type: "image", source: { type: "url", url: "https://example.eu/a.png" } }) },
      "messages.0.content.0",
    ],
    ["an image for a model without vision", { model: withoutVision, ...block(picture) }, "messages.0.content.0"],
    [
      "the same after a system prompt and a text",
      {
        model: withoutVision,
        system: "S",
        messages: [
          ...HI,
          { role: "assistant", content: "x" },
          { role: "user", content: [{ type: "text", text: "x" }, picture] },
        ],
      },
      "messages.2.content.1",
    ],
    [
      "the same after a document in parts",
      {
        model: withoutVision,
        messages: [
          {
            role: "user",
            content: [
              {
                type: "document",
                title: "T",
                source: {
                  type: "content",
                  content: [
                    { type: "text", text: "a" },
                    { type: "text", text: "b" },
                  ],
                },
              },
              picture,
            ],
          },
        ],
      },
      "messages.0.content.1",
    ],
    [
      "the same inside a tool result",
      {
        model: withoutVision,
        system: "S",
        tools: [{ name: "look", input_schema: {} }],
        messages: [
          ...HI,
          call,
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "x" }, picture] }],
          },
        ],
      },
      "messages.2.content.0.content.1",
    ],
  ])("PARAM-04 ERR-03 %s: 400 unsupported_parameter", async (_, more, param) => {
    const { status, body } = await refused(requestWith(more));
    expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", param]);
    expect(body.error.message).toContain(param);
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "a result without its call",
      {
        model: D4.model,
        system: "S",
        messages: [
          ...HI,
          call,
          {
            role: "user",
            content: [
              { type: "text", text: "x" },
              { type: "tool_result", tool_use_id: "a", content: "y" },
              { type: "tool_result", tool_use_id: "b", content: "y" },
            ],
          },
        ],
      },
      "messages.2.content.2.tool_use_id",
    ],
    [
      "a call without its result",
      {
        model: D4.model,
        system: "S",
        messages: [
          ...HI,
          { role: "assistant", content: [{ type: "text", text: "x" }, ...call.content] },
          { role: "user", content: "well" },
        ],
      },
      "messages.1.content.1",
    ],
    [
      "an invalid image",
      {
        model: D4.model,
        system: "S",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "x" },
              { type: "image", source: { type: "base64", media_type: "image/tiff", data: "AAAA" } },
            ],
          },
        ],
      },
      "messages.0.content.1",
    ],
  ])("ERR-03 %s: the refusal names the caller's own field", async (_, more, param) => {
    const { status, body } = await refused(requestWith({ tools: [{ name: "look", input_schema: {} }], ...more }));
    expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", param]);
    expect(body.error.message).toContain(param);
  });
});

test("ERR-03 MSG-04 a thread is refused with a message on which clients send the whole conversation", async () => {
  for (const model of [D1.model, "anthropic/claude-sonnet-4-6", "auto"]) {
    const { status, body } = await refused(requestWith({ model, thread: { type: "create" } }));
    expect([status, body.error.code, body.error.param, body.error.details]).toEqual([
      400,
      "unsupported_parameter",
      "thread",
      { error_code: "thread_unsupported_request" },
    ]);
  }
});

describe("refusals unrelated to the body", () => {
  test("ERR-03 AUTH-03 AUTH-04 401 without a key and with a bad one, by either header", async () => {
    const missing = await refused(requestWith(), "");
    expect([missing.status, missing.body.error.code, missing.body.error.type]).toEqual([
      401,
      "missing_api_key",
      "authentication_error",
    ]);
    expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    const bad = await scene.gateway.call("", "/v1/messages", {
      body: requestWith(),
      headers: { "x-api-key": "sk_svc_live_no" },
    });
    expectShape(bad);
    expect([bad.status, bad.body.error.code]).toEqual([401, "invalid_api_key"]);
  });

  test("ERR-03 SCOPE-01 a key without the scope of this surface: 403; with it alone, messages work", async () => {
    const chatOnly = await scene.gateway.tenant({ key: { scopes: ["inference:chat"] } });
    const answer = await refused(requestWith(), chatOnly.key);
    expect([answer.status, answer.body.error.code, answer.body.error.type]).toEqual([
      403,
      "insufficient_scope",
      "permission_error",
    ]);
    const own = await scene.gateway.tenant({ key: { scopes: ["inference:messages"] } });
    scene.at("deepinfra").next(D1.whole({ text: "Hello" }));
    expect((await scene.gateway.call(own.key, "/v1/messages", { body: requestWith() })).status).toBe(200);
  });

  test("ERR-03 ERR-11 an unknown model: 404", async () => {
    const { status, body } = await refused(requestWith({ model: "no/such-model" }));
    expect([status, body.error.code, body.error.param]).toEqual([404, "model_not_found", "model"]);
  });

  test("ERR-03 POL-01 a floor that no endpoint meets: 403", async () => {
    const strict = await scene.gateway.tenant();
    await scene.gateway.manage("PATCH", `/workspaces/${strict.slug}/policy`, { floor: "L4" });
    const { status, body } = await refused(requestWith(), strict.key);
    expect([status, body.error.code, body.error.type]).toEqual([403, "sovereignty_floor_not_met", "permission_error"]);
  });

  test("ERR-03 ERR-05 an empty wallet: 402, which no client retries", async () => {
    const poor = await scene.gateway.tenant({ credit: "0" });
    const answer = await refused(requestWith(), poor.key);
    expect([answer.status, answer.body.error.code, answer.headers.get("x-should-retry")]).toEqual([
      402,
      "insufficient_credits",
      "false",
    ]);
  });

  test("BILL-03 a max_tokens above the model's limit reserves the limit", async () => {
    // Ten million tokens would be dollars; the maximum output of its endpoints is a fifth of a euro.
    const poor = await scene.gateway.tenant({ credit: "0.50" });
    scene.at("deepinfra").next(D1.whole({ text: "Hello" }));
    const { status, text } = await scene.gateway.call(poor.key, "/v1/messages", {
      body: requestWith({ max_tokens: 10_000_000 }),
    });
    expect(status, text).toBe(200);
  });

  test("ERR-03 RATE-02 over the limit: 429 with Retry-After", async () => {
    const slow = await scene.gateway.tenant({ key: { rpm: 1 } });
    scene.at("deepinfra").next(D1.whole({ text: "Hello" }));
    expect((await scene.gateway.call(slow.key, "/v1/messages", { body: requestWith() })).status).toBe(200);
    const answer = await refused(requestWith(), slow.key);
    expect([answer.status, answer.body.error.code, answer.body.error.type]).toEqual([
      429,
      "rate_limit_exceeded",
      "rate_limit_error",
    ]);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("ERR-03 GEN-04 a wrong method: 405", async () => {
    for (const path of ["/v1/messages", "/v1/messages/count_tokens", "/messages"]) {
      const answer = await scene.gateway.call(tenant.key, path);
      expectShape(answer);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("ERR-03 GEN-04 an unknown path below messages: 404", async () => {
    for (const path of ["/v1/messages/drafts", "/v1/messages/drafts/d_1/results", "/api/v1/messages"]) {
      const answer = await scene.gateway.call(tenant.key, path, { body: {} });
      expectShape(answer);
      expect([answer.status, answer.body.error.type]).toEqual([404, "not_found_error"]);
      expect(answer.body.error.message).toContain("POST /v1/messages");
    }
  });

  test("ERR-03 GEN-05 a body over the limit: 413; a content type other than JSON: 415", async () => {
    const post = (headers: Record<string, string>, body: string) =>
      fetch(`${scene.gateway.url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": tenant.key, ...headers },
        body,
      });
    const large = await post({ "content-type": "application/json" }, " ".repeat(33 * 1024 * 1024));
    const plain = await post({ "content-type": "text/plain" }, "{}");
    for (const [answer, status] of [
      [large, 413],
      [plain, 415],
    ] as const) {
      const text = await answer.text();
      expect(answer.status, text).toBe(status);
      expectShape({ status, headers: answer.headers, body: JSON.parse(text), text });
    }
  });

  test("ERR-03 ERR-06 ERR-07 a provider's refusal and a provider's failure keep the shape", async () => {
    scene.at("deepinfra").next({ status: 422, json: { error: { message: "too odd" } } });
    const odd = await scene.gateway.call(tenant.key, "/v1/messages", { body: requestWith() });
    expectShape(odd);
    expect([odd.status, odd.body.error.code, odd.body.error.message]).toEqual([422, "provider_error", "too odd"]);
    for (let time = 0; time < 3; time += 1) scene.at("deepinfra").next({ status: 500, json: {} });
    const down = await scene.gateway.call(tenant.key, "/v1/messages", { body: requestWith() });
    expectShape(down);
    expect([down.status, down.body.error.code]).toEqual([502, "upstream_error"]);
  });
});
