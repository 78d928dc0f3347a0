import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DIALECT_SCRIPTS } from "../support/dialect-scripts.ts";
import type { Called, Json, Tenant } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { expectByDocument } from "../support/openai-document.ts";
import { foldResponse, responseEvents } from "../support/responses-fold.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatFrames, sse } from "../support/upstream.ts";

/** Streams of almost-compatible servers, as callers of messages and responses get them. */
const { provider, model } = DIALECT_SCRIPTS.D1;
let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene([provider]);
  tenant = await scene.gateway.tenant();
});
afterAll(() => scene.close());

const call = (index: number, id: string | undefined, name: string | undefined, text: string) => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: text } }],
});
const thought = (text: string) => ({ reasoning_content: text });

type ExpectedParts = readonly (readonly [kind: string, what: unknown])[];
type Case = readonly [what: string, pieces: readonly (string | object)[], finish: string, seen: ExpectedParts];

const CASES: readonly Case[] = [
  ["a character split across chunks", ["a\ud83d", "\ude00b"], "stop", [["text", "a😀b"]]],
  [
    "an empty list of calls beside text",
    [
      { content: "Hi", tool_calls: [] },
      { content: " there", tool_calls: [] },
      { content: null, tool_calls: null },
    ],
    "stop",
    [["text", "Hi there"]],
  ],
  ["nothing at all", [], "stop", []],
  ["empty pieces only", ["", { content: null }, thought(""), { tool_calls: [] }], "stop", []],
  [
    "reasoning between text",
    [thought("r1"), "t1", thought("r2"), "t2", call(0, "c", "f", "{}"), thought("r3"), "t3"],
    "tool_calls",
    [
      ["thought", "r1"],
      ["text", "t1"],
      ["thought", "r2"],
      ["text", "t2"],
      ["call", {}],
      ["thought", "r3"],
      ["text", "t3"],
    ],
  ],
  [
    "text between two calls",
    [call(0, "a", "f", '{"x":1}'), "Now the other.", call(1, "b", "f", '{"y":'), call(1, undefined, undefined, "2}")],
    "tool_calls",
    [
      ["call", { x: 1 }],
      ["text", "Now the other."],
      ["call", { y: 2 }],
    ],
  ],
  [
    "interleaved arguments of two calls, the later one first",
    [
      { tool_calls: [...call(0, "a", "f", "").tool_calls, ...call(1, "b", "f", "").tool_calls] },
      call(1, undefined, undefined, '{"y"'),
      call(0, undefined, undefined, '{"x"'),
      call(1, undefined, undefined, ":2}"),
      call(0, undefined, undefined, ":1}"),
    ],
    "tool_calls",
    [
      ["call", { x: 1 }],
      ["call", { y: 2 }],
    ],
  ],
  [
    "two calls that share an index",
    [call(0, "a", "f", '{"x":1}'), call(0, "b", "f", '{"y":2}')],
    "tool_calls",
    [
      ["call", { x: 1 }],
      ["call", { y: 2 }],
    ],
  ],
  ["a call with finish reason stop", [call(0, "a", "f", "")], "stop", [["call", {}]]],
];

async function streamed(
  path: string,
  body: Json,
  pieces: readonly (string | object)[],
  finish: string,
): Promise<Called> {
  scene.at(provider).next({ frames: chatFrames(pieces, { finish, usage: "asked" }) });
  const answer = await scene.gateway.call(tenant.key, path, { body: { model, stream: true, ...body } });
  expect(answer.status, answer.text).toBe(200);
  return answer;
}

describe.each(CASES)("%s", (_what, pieces, finish, seen) => {
  const calls = seen.filter(([kind]) => kind === "call").length;

  test("MSG-02 a messages caller gets consecutive blocks, nothing lost and none empty", async () => {
    const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
    const body = { max_tokens: 50, messages: [{ role: "user", content: "Go." }], tools };
    const { content, stop_reason } = foldMessage((await streamed("/v1/messages", body, pieces, finish)).text);
    const kinds: Readonly<Record<string, (block: Json) => [string, unknown]>> = {
      text: (block) => ["text", block.text],
      thinking: (block) => ["thought", block.thinking],
      tool_use: (block) => ["call", block.input],
    };
    expect(content.map((block: Json) => kinds[block.type]?.(block))).toEqual(seen);
    expect(stop_reason).toBe(calls > 0 ? "tool_use" : "end_turn");
  });

  test("RESP-02 a responses caller gets consecutive items, numbered without gaps", async () => {
    const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }];
    const body = { store: false, input: "Go.", tools };
    const events = responseEvents((await streamed("/v1/responses", body, pieces, finish)).text);
    for (const event of events) expectByDocument(event);
    const kinds: Readonly<Record<string, (item: Json) => [string, unknown]>> = {
      message: (item) => ["text", item.content[0].text],
      reasoning: (item) => ["thought", item.summary[0].text],
      function_call: (item) => ["call", JSON.parse(item.arguments)],
    };
    const { output, status } = foldResponse(events);
    expect(output.map((item: Json) => kinds[item.type]?.(item))).toEqual(seen);
    expect(status).toBe("completed");
  });
});

describe("a stream that begins with an error instead of a status", () => {
  const ask = (error: Json) => {
    scene.at(provider).next({ frames: [sse(error.object === "error" ? error : { error })] });
    const body = { model, stream: true, max_tokens: 50, messages: [{ role: "user", content: "Go." }] };
    return scene.gateway.call(tenant.key, "/v1/messages", { body });
  };

  test.each([
    [{ type: "invalid_request_error", code: "context_length_exceeded", message: "Too long." }],
    [{ type: "invalid_request_error", code: null, message: "Too long." }],
    [{ object: "error", type: "invalid_request_error", code: "3051", message: "Too long." }],
  ])("ERR-06 the caller gets the error of its request: %j", async (error) => {
    const { status, body } = await ask(error);
    expect([status, body.error.code, body.error.message]).toEqual([400, "provider_error", "Too long."]);
  });

  test.each([
    [{ type: "invalid_request_error", code: "invalid_api_key", message: "Incorrect key." }, 502, "upstream_error"],
    [{ type: "invalid_request_error", code: "model_not_found", message: "No such model." }, 502, "upstream_error"],
    [{ type: "rate_limit_error", code: null, message: "Slow down." }, 429, "rate_limit_exceeded"],
  ])("ERR-06 RATE-07 a failure that the request did not cause is not blamed on it: %j", async (error, status, code) => {
    const answer = await ask(error);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(answer.text).not.toContain(error.message);
  });
});
