import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import { type Called, type Json, startGateway, type Tenant } from "../support/gateway.ts";
import { frameOf, responseEvents } from "../support/responses-native.ts";
import { openScene, type Scene } from "../support/scene.ts";
import {
  APPLY_PATCH,
  CODEX_HEADERS,
  codexBody,
  FIRST_TURN,
  GROUPED_CALL,
  LATER_TURN,
  THOUGHT,
  WEB_SEARCH,
} from "./samples/codex.ts";

const { D1, D2, D3, D4 } = DIALECT_SCRIPTS;
const NATIVE = "openai/gpt-5";
const EXTRA = [APPLY_PATCH, WEB_SEARCH];
const TURNS = [
  ["first", FIRST_TURN],
  ["later", LATER_TURN],
  ["third, after reasoning and a call of a grouped tool,", [...LATER_TURN, THOUGHT, ...GROUPED_CALL]],
] as const;

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["openai", ...[D1, D2, D3, D4].map(({ provider }) => provider)]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const ask = (body: Json) => scene.gateway.call(tenant.key, "/v1/responses", { body, headers: { ...CODEX_HEADERS } });
const eventsOf = (text: string): Json[] =>
  text.split("\n\n").flatMap((block) => {
    const data = block.split("\n").find((line) => line.startsWith("data: "));
    return data === undefined ? [] : [JSON.parse(data.slice("data: ".length))];
  });

describe.each(TURNS)("Codex's %s turn", (_which, input) => {
  test("RESP-01 BILL-05 reaches an endpoint of the dialect with every field and tool, separately billed search included", async () => {
    const upstream = scene.at("openai");
    upstream.next({ frames: responseEvents(["Done", "."]).map(frameOf) });
    const body = codexBody(NATIVE, input, EXTRA);
    const { status, text } = await ask(body);
    expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
    const received: Json = upstream.requests.at(-1)?.json;
    const { input: sentInput, ...sent } = received;
    const { input: _input, ...expected } = JSON.parse(JSON.stringify(body));
    expect(sent).toEqual({ ...expected, model: "gpt-5" });
    expect(sentInput.filter(({ type }: Json) => type !== "reasoning")).toHaveLength(
      input.filter((item: Json) => item.type !== "reasoning").length,
    );
    expect(eventsOf(text).at(-1)).toMatchObject({ type: "response.completed" });
  });

  test.each([
    ["chat completions", D1],
    ["messages", D2],
    ["Gemini", D3],
    ["Converse", D4],
  ])("RESP-02 is answered by a model behind %s, with calls of client tools", async (_name, column) => {
    const upstream = scene.at(column.provider);
    const calls = [
      { id: "call_a", name: "exec_command", input: { cmd: "cat made.txt" } },
      { id: "call_b", name: "multi_agent_v1__close_agent", input: { target: "x" } },
      { id: "call_c", name: "apply_patch", input: { input: "*** Begin Patch" } },
    ];
    upstream.next(column.streamed({ text: "I look.", calls }));
    const { status, text } = await ask(codexBody(column.model, input, EXTRA));
    expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
    const events = eventsOf(text);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const last = events.at(-1);
    expect(last).toMatchObject({ type: "response.completed", response: { model: column.model, store: false } });
    expect(last.response.output.filter(({ type }: Json) => type.endsWith("_call"))).toMatchObject([
      { type: "function_call", name: "exec_command", arguments: '{"cmd":"cat made.txt"}' },
      { type: "function_call", name: "close_agent", namespace: "multi_agent_v1" },
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch" },
    ]);
    const sent = upstream.requests.at(-1)?.raw.toString() ?? "";
    expect(sent).toContain("You are a coding agent.");
    expect(sent).not.toContain("external_web_access");
  });
});

describe("a conversation above the model's context", () => {
  // Codex compacts and continues if the stream fails with this code; on an error status it gives up.
  const failing = { status: "failed", error: { code: "context_length_exceeded", message: expect.any(String) } };
  const expectFailed = (called: Called) => {
    expect([called.status, called.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    const events = eventsOf(called.text);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const id = called.headers.get("x-svc-request-id");
    expect(events[0]).toMatchObject({ type: "response.created", response: { id, status: "in_progress" } });
    expect(events.find(({ type }) => type === "error")).toMatchObject({ code: "context_length_exceeded" });
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { id, ...failing } });
  };
  const WORDS = "Your input exceeds the context window of this model.";

  test("RESP-01 ERR-02 is reported by the provider inside its stream, and to Codex in the same way", async () => {
    const [created] = responseEvents(["Done"]);
    const error = { code: "context_length_exceeded", message: WORDS };
    const failed = { type: "response.failed", sequence_number: 1, response: { id: "r", status: "failed", error } };
    scene.at("openai").next({ frames: [created, failed].map(frameOf) });
    const called = await ask(codexBody(NATIVE, FIRST_TURN, []));
    expectFailed(called);
    const row = await scene.row(called.headers.get("x-svc-request-id") ?? "");
    expect(row).toMatchObject({ status: 400, error_code: "provider_error", cost: "0.00" });
  });

  test("RESP-02 ERR-02 or by the gateway, before any provider is called", async () => {
    const before = scene.at(D1.provider).requests.length;
    const input = [{ type: "message", role: "user", content: [{ type: "input_text", text: "word ".repeat(900_000) }] }];
    expectFailed(await ask(codexBody(D1.model, input, [])));
    expect(scene.at(D1.provider).requests.length).toBe(before);
  });

  test("ERR-06 other clients get an error status, and so does Codex for any other error", async () => {
    const refusal = { status: 400, json: { error: { message: WORDS, code: "context_length_exceeded" } } };
    scene.at("openai").next(refusal);
    const body = codexBody(NATIVE, FIRST_TURN, []);
    const other = await scene.gateway.call(tenant.key, "/v1/responses", { body });
    expect([other.status, other.body.error.code]).toEqual([400, "provider_error"]);
    scene.at("openai").next({ status: 400, json: { error: { message: "Odd tool." } } });
    expect((await ask(body)).status).toBe(400);
  });
});

test("RATE-07 a retry delay inside a provider's stream: Codex waits for it, and gives up without one", async () => {
  const [created] = responseEvents(["Done"]);
  const message = "Rate limit reached for gpt-5 on tokens per min (TPM). Please try again in 7.2s.";
  const error = { code: "rate_limit_exceeded", message };
  const failed = { type: "response.failed", sequence_number: 1, response: { id: "r", status: "failed", error } };
  scene.at("openai").next({ frames: [created, failed].map(frameOf) });
  const { status, headers } = await ask(codexBody(NATIVE, FIRST_TURN, []));
  expect([status, headers.get("retry-after")]).toEqual([429, "8"]);
});

test("RESP-02 PARAM-07 an omitted tool is in the log", async () => {
  scene.at(D1.provider).next(D1.streamed({ text: "Hello." }));
  const { headers } = await ask(codexBody(D1.model, FIRST_TURN, [WEB_SEARCH]));
  const row = await scene.row(headers.get("x-svc-request-id") ?? "");
  expect(row.omitted).toContain("tools[]");
});

test("MOD-02 the model list has Codex's own format beside the others", async () => {
  const gateway = await startGateway();
  try {
    const { headers, body } = await gateway.call(gateway.key, "/v1/models?client_version=0.166.0");
    expect(headers.get("etag")).toMatch(/^"/);
    const chat = body.models.find(({ slug }: Json) => slug === "sandbox/chat");
    expect(chat).toMatchObject({
      shell_type: "shell_command",
      visibility: "list",
      supported_in_api: true,
      base_instructions: expect.stringMatching(/./),
      context_window: 128_000,
      supported_reasoning_levels: [{ effort: "low" }, { effort: "medium" }, { effort: "high" }],
    });
    const { status } = await gateway.call(gateway.key, "/v1/models?client_version=0.166.0", {
      headers: { "if-none-match": headers.get("etag") ?? "" },
    });
    expect(status).toBe(304);
    const listFor = async (headers: Record<string, string>) =>
      (await gateway.call(gateway.key, "/v1/models", { headers })).body;
    for (const headers of [{ originator: "codex_exec" }, { "user-agent": "codex_cli_rs/0.166.0 (Debian)" }])
      expect((await listFor(headers)).models).toEqual(body.models);
    const { models, ...others } = body;
    expect(await listFor({ "user-agent": "OpenAI/JS 7.0.0" })).toEqual(others);
  } finally {
    await gateway.close();
  }
});
