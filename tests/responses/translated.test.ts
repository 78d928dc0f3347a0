import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/kit/json.ts";
import { DIALECT_SCRIPTS, type ModelOutput } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { expectByDocument } from "../support/openai-document.ts";
import { foldResponse, responseEvents, withId } from "../support/responses-fold.ts";
import { openScene, type Scene } from "../support/scene.ts";

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
const TOOLS = [
  { type: "function", name: "weather", description: "Tells it.", parameters: { type: "object", properties: {} } },
];
const NOW = { type: "function", name: "now" };

const expectedOutput = ({ thoughts, text, calls = [] }: ModelOutput): JsonObject[] => [
  ...(thoughts === undefined ? [] : [{ type: "reasoning", summary: [{ type: "summary_text", text: thoughts }] }]),
  ...(text === undefined ? [] : [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }]),
  ...calls.map(({ id, name, input }) => ({
    type: "function_call",
    call_id: id,
    name,
    arguments: JSON.stringify(input),
  })),
];

/** Items without a provider's signatures: one family puts them on separate items. */
const readable = (output: readonly Json[]): Json[] =>
  output.filter((item) => item.type !== "reasoning" || item.summary.length > 0);

describe.each(Object.entries(DIALECT_SCRIPTS))("%s", (dialect, { provider, model, whole, streamed }) => {
  let scene: Scene;
  let tenant: Tenant;
  beforeAll(async () => {
    scene = await openScene([provider]);
    tenant = await scene.gateway.tenant();
  });
  afterAll(() => scene.close());
  const ask = (more: JsonObject): Promise<Called> =>
    scene.gateway.call(tenant.key, "/v1/responses", { body: { model, input: "Hello", store: false, ...more } });

  test("RESP-02 the response repeats the request, whole and in a stream", async () => {
    const sent = {
      instructions: "Be brief.",
      max_output_tokens: 500,
      parallel_tool_calls: false,
      temperature: 0.5,
      tools: [{ ...TOOLS[0], strict: false }, NOW],
      tool_choice: "required",
      metadata: { team: "a" },
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
    };
    const tools = [sent.tools[0], { ...NOW, description: null, parameters: null }];
    const repeated = { ...sent, tools, background: false, store: false };
    scene.at(provider).next(whole({ calls: CALLS.slice(0, 1) }));
    expect((await ask(sent)).body).toMatchObject(repeated);
    scene.at(provider).next(streamed({ calls: CALLS.slice(0, 1) }));
    const events = responseEvents((await ask({ ...sent, stream: true })).text);
    for (const { response } of [events[0], events.at(-1)]) expect(response).toMatchObject(repeated);
  });

  test.each(Object.entries(OUTPUTS))("RESP-02 %s, whole and in a stream", async (_what, output) => {
    const options = { tools: TOOLS, include: ["reasoning.encrypted_content"] };
    scene.at(provider).next(whole(output));
    const plain = await ask(options);
    expect(plain.status, plain.text).toBe(200);
    expect(plain.headers.get("x-svc-upstream-surface")).toBe(provider === "anthropic" ? "messages" : "chat");
    expect(plain.body).toMatchObject({ object: "response", status: "completed", model, error: null });
    expect(plain.body.id).toBe(plain.headers.get("x-svc-request-id"));
    expect(plain.body.id).toMatch(/^resp_/);
    expect(readable(plain.body.output)).toMatchObject(expectedOutput(output));
    expect(plain.body.usage).toMatchObject({ output_tokens: 7, currency: "EUR", cost: expect.any(Number) });
    expectByDocument(plain.body);

    scene.at(provider).next(streamed(output));
    const stream = await ask({ ...options, stream: true });
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    const events = responseEvents(stream.text);
    for (const event of events) expectByDocument(event);
    const folded = foldResponse(events);
    expect(withId(folded, plain.body.id)).toEqual(withId(plain.body, plain.body.id));
  });

  test("RESP-02 a truncated reply is incomplete, whole and in a stream", async () => {
    const stop = { D1: "length", D2: "max_tokens", D3: "MAX_TOKENS", D4: "max_tokens" }[dialect] ?? "";
    scene.at(provider).next(whole({ text: "Hel", stop }));
    const { body } = await ask({ max_output_tokens: 16 });
    expect(body).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    expect(body.output.at(-1).status ?? body.output[0].status).toBe("incomplete");
    scene.at(provider).next(streamed({ text: "Hel", stop }));
    const events = responseEvents((await ask({ max_output_tokens: 16, stream: true })).text);
    expect(events.at(-1).type).toBe("response.incomplete");
    expect(foldResponse(events).incomplete_details).toEqual({ reason: "max_output_tokens" });
  });

  test("RESP-02 reasoning and tool results are sent back, and the provider gets its own again", async () => {
    scene.at(provider).next(whole({ thoughts: "I should look.", calls: CALLS }));
    const first = await ask({ tools: TOOLS, include: ["reasoning.encrypted_content"] });
    scene.at(provider).next(whole({ text: "Sunny." }));
    const input = [
      { role: "user", content: "Hello" },
      ...first.body.output,
      ...CALLS.map(({ id }) => ({ type: "function_call_output", call_id: id, output: `sun for ${id}` })),
    ];
    const second = await ask({ tools: TOOLS, include: ["reasoning.encrypted_content"], input });
    expect(second.status, second.text).toBe(200);
    const sent = JSON.stringify(scene.at(provider).requests.at(-1)?.json);
    expect(sent).not.toContain("gw1:");
    for (const { id } of CALLS) expect(sent).toContain(`sun for ${id}`);
    if (provider === "anthropic") expect(sent).toContain('"signature":"sig+/="');
  });

  test("RESP-02 a provider that fails before its first token is free and not visible", async () => {
    scene.at(provider).next({ status: 500, json: {} });
    const { status, body } = await ask({ stream: true });
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
  });

  test("PARAM-04 a field that only this dialect can express is refused by name, and no provider is called", async () => {
    const before = scene.at(provider).requests.length;
    for (const [more, param] of [
      [{ truncation: "auto" }, "truncation"],
      [{ of_tomorrow: true }, "of_tomorrow"],
      [{ max_tool_calls: 1 }, "max_tool_calls"],
      [{ tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }, "tools.0.type"],
      [{ tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } }, "tool_choice"],
      [{ tools: TOOLS, tool_choice: { type: "function", name: "missing" } }, "tool_choice"],
      [{ tool_choice: { type: "function", name: "missing" } }, "tool_choice"],
      [{ input: [{ type: "computer_call", call_id: "c" }] }, "input.0"],
    ] as const) {
      const { status, body } = await ask(more);
      expect([status, body.error.code, body.error.param]).toEqual([400, "unsupported_parameter", param]);
      expect(body.error.message).toContain(param);
    }
    expect(scene.at(provider).requests.length).toBe(before);
  });

  test("PARAM-04 RESP-02 a conversation with another model's web search continues without the search", async () => {
    scene.at(provider).next(whole({ text: "Hello." }));
    const searched = {
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: { type: "search", query: "q" },
    };
    const input = [{ role: "user", content: "Who won?" }, searched, { role: "assistant", content: "They did." }];
    const { status, headers, text } = await ask({ input: [...input, { role: "user", content: "When?" }] });
    expect(status, text).toBe(200);
    const sent = JSON.stringify(scene.at(provider).requests.at(-1)?.json);
    for (const words of ["Who won?", "They did.", "When?"]) expect(sent).toContain(words);
    expect((await scene.row(headers.get("x-svc-request-id") ?? "")).omitted).toContain("input[]");
  });

  test("PARAM-04 dropped fields are in the log, and the request is served", async () => {
    scene.at(provider).next(whole({ text: "Hello." }));
    const tools = [...TOOLS, { type: "web_search" }];
    const { status, headers, text } = await ask({ metadata: { a: "b" }, prompt_cache_key: "k", tools });
    expect(status, text).toBe(200);
    const row = await scene.row(headers.get("x-svc-request-id") ?? "");
    const note = JSON.stringify(row);
    for (const field of ["metadata", "tools[]"]) expect(note).toContain(field);
    // The chat dialect has a field for the hint.
    const sent: Json = scene.at(provider).requests.at(-1)?.json;
    expect(sent.prompt_cache_key).toBe(dialect === "D1" ? "k" : undefined);
    expect(note.includes("prompt_cache_key")).toBe(dialect !== "D1");
    expect(sent.metadata).toBeUndefined();
    expect(JSON.stringify(sent)).not.toContain("web_search");
  });
});
