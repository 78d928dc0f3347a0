import { describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { foldMessage, messageEvents } from "../support/message-stream.ts";
import { frameOf, responseJson } from "../support/responses-native.ts";
import { callOf, framesOf, itemEvents, wordsOf } from "../support/responses-script.ts";
import { chunksOf, contentOf, eventsOf } from "../support/scene.ts";
import {
  THINKING_WITH_TOOLS as REQUEST,
  responseWith,
  SPOKEN,
  streaming,
  THINKER,
  throughResponses,
} from "../support/through-responses.ts";
import type { Script } from "../support/upstream.ts";

/** The rules of every upstream adapter hold for the responses API too. */
const { scene, tenant, upstream, chat, messages } = throughResponses();

describe("rules of every upstream adapter", () => {
  test("HDR-01 HDR-02 LOG-01 headers, usage, cost and the log", async () => {
    for (const stream of [false, true]) {
      upstream().next(stream ? streaming(...SPOKEN) : responseWith(...SPOKEN));
      const { headers, body, text } = await chat({
        stream,
        stream_options: stream ? { include_usage: true } : undefined,
      });
      expect(headers.get("x-svc-upstream-surface")).toBe("responses");
      expect(headers.get("x-svc-provider")).toBe("openai");
      expect(headers.get("x-svc-model")).toBe(THINKER);
      const usage = stream ? chunksOf(text).at(-1).usage : body.usage;
      expect(usage).toMatchObject({
        prompt_tokens: 40,
        completion_tokens: 12,
        prompt_tokens_details: { cached_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 5 },
        currency: "EUR",
      });
      const id = headers.get("x-svc-request-id") ?? "";
      const row = await scene().row(id);
      expect(row).toMatchObject({ surface: "chat", status: 200, provider: "openai" });
      expect(row.attempts[0]).toMatchObject({ outcome: "served", reason: "complete response" });
      const charge = (await scene().charges(tenant())).find((one) => one.id.includes(id));
      expect(Number(charge?.nanos) / 1e9).toBeCloseTo(usage.cost, 9);
      expect(usage.cost).toBeGreaterThan(0);
    }
    expect((await scene().wallet(tenant())).held).toBe("0.00");
  });

  test("PARAM-04 fields without effect are dropped, and the log names them", async () => {
    upstream().next(responseWith(wordsOf("Hello.")));
    const { headers } = await messages({ metadata: { user_id: "marked" } });
    expect(upstream().requests.at(-1)?.raw.toString()).not.toContain("marked");
    expect((await scene().row(headers.get("x-svc-request-id") ?? "")).omitted).toEqual(["metadata"]);
  });

  test("LOG-03 request and reply are captured inside a capture window and not outside", async () => {
    upstream().next(responseWith(...SPOKEN));
    const outside = await chat();
    expect((await scene().row(outside.body.id)).captured ?? null).toBeNull();
    await scene().gateway.manage("POST", `/workspaces/${tenant().slug}/capture-windows`, {
      minutes: 5,
      reason: "a test",
    });
    upstream().next(responseWith(...SPOKEN));
    const inside = await chat();
    const { captured } = await scene().row(inside.body.id);
    expect(captured).toMatchObject({ request: { model: THINKER, reasoning_effort: "high" }, answer: inside.body });
  });

  test("POL-01 POL-02 level and country exclude the endpoint before any provider is called", async () => {
    const before = upstream().requests.length;
    for (const [policy, code] of [
      [{ floor: "L3" }, "sovereignty_floor_not_met"],
      [{ floor: "none", countries: ["FR"] }, "compute_country_not_allowed"],
    ] as const) {
      await scene().gateway.manage("PATCH", `/workspaces/${tenant().slug}/policy`, policy);
      const { status, body } = await chat();
      expect([status, body.error.code]).toEqual([403, code]);
    }
    expect(upstream().requests).toHaveLength(before);
  });

  test("ROUTE-04 a failure before the first token is hidden: the next endpoint answers in the same format", async () => {
    const failures: readonly Script[] = [
      { status: 500, json: { error: { message: "down" } } },
      { frames: [frameOf({ type: "error", code: "server_error", message: "down" })] },
      { frames: framesOf(SPOKEN).slice(0, 2) },
      { frames: ["data: {not json\n\n"] },
    ];
    for (const failure of failures) {
      const before = upstream().requests.length;
      upstream().next(failure);
      upstream().next(streaming(...SPOKEN));
      const answer = await chat({ stream: true });
      expect(answer.status, answer.text).toBe(200);
      expect(contentOf(answer.text)).toBe("Let me see.");
      const { attempts } = await scene().row(answer.headers.get("x-svc-request-id") ?? "");
      expect(attempts.map(({ outcome }: Json) => outcome)).toEqual([expect.stringMatching(/next|retry/), "served"]);
      expect(
        upstream()
          .requests.slice(before)
          .map((one) => one.path),
      ).toEqual(["/v1/responses", "/v1/responses"]);
    }
  });
});

describe("an upstream that violates the protocol", () => {
  const partialStream = framesOf(SPOKEN).slice(0, 17);
  const cases: readonly (readonly [string, Script])[] = [
    ["has no final event", { frames: partialStream }],
    ["is cut", { frames: partialStream, end: { is: "cut", after: partialStream.join("").length - 30 } }],
    [
      "fails late",
      {
        frames: [
          ...partialStream,
          frameOf({
            type: "response.failed",
            response: responseJson({ status: "failed", output: [], error: { code: "server_error", message: "Late." } }),
          }),
        ],
      },
    ],
    [
      "reports an error late",
      { frames: [...partialStream, frameOf({ type: "error", code: "server_error", message: "Late." })] },
    ],
    ["says garbage", { frames: [...partialStream, "event: response.output_text.delta\ndata: {]\n\n"] }],
    [
      "ends in an invalid response",
      { frames: [...partialStream, frameOf({ type: "response.completed", response: { id: "x" } })] },
    ],
    ["sends the end marker of another dialect", { frames: [...partialStream, "data: [DONE]\n\n"] }],
  ];

  test.each(cases)("ERR-02 one that %s ends in an error for both callers and is not charged", async (_what, script) => {
    upstream().next(script);
    const { text } = await chat({ stream: true });
    expect(contentOf(text)).toContain("Let");
    const last = JSON.parse(eventsOf(text).at(-1) ?? "");
    expect(last.error).toBeDefined();
    expect(text).not.toContain("[DONE]");
    expect(chunksOf(text).every((chunk) => (chunk.choices?.[0]?.finish_reason ?? null) === null)).toBe(true);
    upstream().next(script);
    const events = messageEvents((await messages({ stream: true })).text);
    expect(events.at(-1).type).toBe("error");
    expect(events.some(({ type }) => type === "message_stop")).toBe(false);
    expect(await scene().charges(tenant())).toEqual([]);
    expect((await scene().wallet(tenant())).held).toBe("0.00");
  });

  test("CHAT-09 a caller that disconnects ends the call and is charged for the content so far", async () => {
    const partialFrames = framesOf(SPOKEN).slice(0, 17);
    upstream().next({ frames: partialFrames, end: { is: "stall", after: partialFrames.join("").length } });
    const before = upstream().requests.length;
    const open = await scene().open(tenant().key, { ...REQUEST, stream: true });
    await open.until("Let");
    open.hangUp();
    const received = await upstream().arrived(before + 1);
    expect(await received.over).toBe("aborted");
    const [row] = await scene().rowsOnce(tenant(), 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected", usage: { estimated: true } });
    expect(await scene().charges(tenant())).toHaveLength(1);
  });

  test("ERR-01 a failed, incomplete or invalid whole reply is not charged", async () => {
    const bad: readonly Json[] = [
      responseJson({ status: "failed", output: [], error: { code: "server_error", message: "x" } }),
      responseJson({ status: "in_progress", output: [] }),
      { id: "chatcmpl-1", choices: [] },
      responseJson({ output: [{ type: "function_call", call_id: "c" }] }),
    ];
    for (const json of bad) {
      upstream().always({ json });
      const { status, body } = await chat();
      expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    }
    expect(await scene().charges(tenant())).toEqual([]);
  });

  test("ERR-01 a fault of the request is reported to the caller, and no other provider is called", async () => {
    const before = upstream().requests.length;
    const failed = (code: string, message: string) =>
      frameOf({
        type: "response.failed",
        response: responseJson({ status: "failed", output: [], error: { code, message } }),
      });
    upstream().always({ frames: [failed("context_length_exceeded", "Your input exceeds the context window.")] });
    const long = await chat({ stream: true });
    expect([long.status, long.body.error.message]).toEqual([400, expect.stringContaining("context window")]);
    upstream().always({ frames: [failed("invalid_prompt", "Not this.")] });
    const prompt = await chat({ stream: true });
    expect([prompt.status, prompt.body.error.message]).toEqual([400, expect.stringContaining("Not this.")]);
    upstream().always({
      status: 400,
      json: { error: { message: "Bad schema.", type: "invalid_request_error", param: "tools[0]", code: "x" } },
    });
    expect((await chat()).status).toBe(400);
    expect(upstream().requests).toHaveLength(before + 3);
  });

  test("CHAT-03 a call whose arguments arrive only at its end, and one without arguments", async () => {
    const silent = (item: Json, at: number) =>
      itemEvents(item, at, 3).filter(({ type }) => !type.includes("arguments"));
    const items = [callOf("call_a", "weather", '{"city":"Paris"}'), callOf("call_b", "now", "", 1)];
    const end = { type: "response.completed", response: responseJson({ output: [] }) };
    upstream().next({ frames: [...items.flatMap(silent), end].map(frameOf) });
    const { content } = foldMessage((await messages({ stream: true })).text);
    expect(content.map(({ input }: Json) => input)).toEqual([{ city: "Paris" }, {}]);
  });

  test("CHAT-03 a call that the server sends only in the final response reaches both callers", async () => {
    const [, words, call] = SPOKEN;
    const events = [
      ...itemEvents(words, 0, 3),
      { type: "response.completed", response: responseJson({ output: [words, call] }) },
    ];
    upstream().next({ frames: events.map(frameOf) });
    const chunks = chunksOf((await chat({ stream: true })).text);
    const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(calls[0]).toMatchObject({ index: 0, id: "call_a", function: { name: "weather" } });
    expect(calls.map((piece) => piece.function.arguments ?? "").join("")).toBe('{"city":"Paris"}');
    expect(chunks.at(-1).choices[0].finish_reason).toBe("tool_calls");
    upstream().next({ frames: events.map(frameOf) });
    const { content, stop_reason } = foldMessage((await messages({ stream: true })).text);
    expect([content.at(-1).input, stop_reason]).toEqual([{ city: "Paris" }, "tool_use"]);
  });
});
