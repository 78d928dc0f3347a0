import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { carried, cutInto, eventsIn, folded } from "../../../../../tests/support/events.ts";
import { messageEvent, messageJson, messageStream } from "../../../../../tests/support/messages.ts";
import { loadBytes, loadChunks, loadExchange } from "../../../../../tests/support/replay.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import { IMPLAUSIBLE_TOKENS } from "../../../canon/usage.ts";
import { messagesUpstream } from "./dialect.ts";

const { decodeReply, decodeProblem, openReader } = messagesUpstream;

function whole(body: unknown): readonly ReplyEvent[] | undefined {
  return decodeReply(Buffer.from(JSON.stringify(body)));
}

const CITED = { type: "web_search_result_location", url: "https://a.example/", title: "A", cited_text: "…" };
const EVERY_KIND = messageJson(
  [
    { type: "thinking", thinking: "Let me think.\n", signature: "sig+/=" },
    { type: "redacted_thinking", data: "blob" },
    { type: "text", text: "Grüße 世界 \u{1F600} " },
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    { type: "text", text: "cited", citations: [CITED] },
    {
      type: "tool_use",
      id: "toolu_1",
      name: "weather",
      input: { city: "Paris", days: [1, 2] },
      caller: { type: "direct" },
    },
    { type: "tool_use", id: "toolu_2", name: "now", input: {} },
  ],
  {
    stop_reason: "tool_use",
    usage: {
      input_tokens: 3,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 100,
      cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 40 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
    },
  },
);

describe("a whole reply", () => {
  test("every block is decoded in order; blocks without a canonical form are named", () => {
    expect(carried(whole(EVERY_KIND) ?? [])).toEqual([
      { is: "begin", upstreamId: "msg_1" },
      { is: "reasoning", text: "Let me think.\n" },
      {
        is: "reasoning_detail",
        detail: { is: "readable", text: "Let me think.\n", signature: { family: "anthropic", data: "sig+/=" } },
      },
      { is: "reasoning_detail", detail: { is: "encrypted", signature: { family: "anthropic", data: "blob" } } },
      { is: "text", text: "Grüße 世界 \u{1F600} " },
      { is: "text", text: "cited" },
      {
        is: "citation",
        citation: { url: "https://a.example/", title: "A", start: 12, end: 17, excerpt: "…" },
        path: "content[].citations[]",
      },
      { is: "tool_call", index: 0, id: "toolu_1", name: "weather", signature: null },
      { is: "tool_arguments", index: 0, text: '{"city":"Paris","days":[1,2]}' },
      { is: "tool_call", index: 1, id: "toolu_2", name: "now", signature: null },
      { is: "tool_arguments", index: 1, text: "{}" },
      {
        is: "usage",
        usage: {
          inputTokens: 123,
          cachedTokens: 20,
          cacheWriteTokens: 100,
          cacheWrite1hTokens: 40,
          outputTokens: 50,
          reasoningTokens: 30,
          audioInputTokens: 0,
          audioOutputTokens: 0,
        },
      },
      { is: "finish", reason: "tool_calls" },
      { is: "end" },
    ]);
  });

  test("CHAT-08 every stop reason is mapped", () => {
    const reason = (stop_reason: unknown) => whole(messageJson([], { stop_reason }))?.find(({ is }) => is === "finish");
    const known = {
      end_turn: "stop",
      stop_sequence: "stop",
      max_tokens: "length",
      tool_use: "tool_calls",
      pause_turn: "stop",
      refusal: "content_filter",
      model_context_window_exceeded: "length",
      something_new: "stop",
    };
    for (const [wire, expected] of Object.entries(known))
      expect(reason(wire), wire).toEqual({ is: "finish", reason: expected });
    expect(reason(null)).toEqual({ is: "finish", reason: "stop" });
  });

  test("CHAT-08 the provider's explanation becomes the refusal", () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "Not that." };
    expect(whole(messageJson([], { stop_reason: "refusal", stop_details }))).toContainEqual({
      is: "refusal",
      text: "Not that.",
    });
    expect(whole(messageJson([], { stop_reason: "end_turn", stop_details }))?.some(({ is }) => is === "refusal")).toBe(
      false,
    );
  });

  test("CHAT-03 numbers in arguments reach the client as the model wrote them", () => {
    const text = JSON.stringify(messageJson([{ type: "tool_use", id: "t", name: "f", input: { n: "N" } }]));
    const events = decodeReply(Buffer.from(text.replace('"N"', "9007199254740993")));
    expect(events).toContainEqual({ is: "tool_arguments", index: 0, text: '{"n":9007199254740993}' });
  });

  test("other JSON is not a reply", () => {
    for (const body of [
      "<html>",
      "[]",
      "null",
      '{"type":"error","error":{"type":"api_error","message":"x"}}',
      '{"content":"text"}',
      '{"content":[{"type":"tool_use"}]}',
      '{"content":[{"type":"text","text":7}]}',
      '{"content":["text"]}',
    ])
      expect(decodeReply(Buffer.from(body)), body).toBeUndefined();
    expect(whole({ content: [] })).toEqual([
      { is: "begin", upstreamId: null },
      { is: "finish", reason: "stop" },
      { is: "end" },
    ]);
  });
});

describe("usage", () => {
  const figures = (...usages: unknown[]) => {
    const reader = openReader();
    const events = usages.flatMap(
      (usage) => reader.read({ event: null, data: JSON.stringify({ type: "message_delta", delta: {}, usage }) }) ?? [],
    );
    const last = events.findLast(({ is }) => is === "usage");
    return last?.is === "usage" ? last.usage : undefined;
  };

  test("CHAT-07 input excludes the cache; reads and writes are added, by lifetime if only that is reported", () => {
    expect(
      figures({ input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 7, cache_creation_input_tokens: 11 }),
    ).toMatchObject({ inputTokens: 23, cachedTokens: 7, cacheWriteTokens: 11, outputTokens: 1 });
    const ages = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 };
    expect(figures({ input_tokens: 5, output_tokens: 1, cache_creation: ages })).toMatchObject({
      inputTokens: 10,
      cacheWriteTokens: 5,
    });
  });

  test("CHAT-07 usage is cumulative: the last report of each field counts", () => {
    const first = { input_tokens: 100, cache_read_input_tokens: 50, cache_creation_input_tokens: 0, output_tokens: 2 };
    expect(figures(first, { output_tokens: 80 })).toMatchObject({
      inputTokens: 150,
      cachedTokens: 50,
      outputTokens: 80,
    });
    expect(figures(first, { input_tokens: 4000, output_tokens: 90, cache_read_input_tokens: null })).toMatchObject({
      inputTokens: 4050,
      outputTokens: 90,
    });
    expect(figures(first, null)).toMatchObject({ outputTokens: 2 });
  });

  test("CHAT-07 absent or non-numeric counts give no usage", () => {
    for (const usage of [{}, { cache_read_input_tokens: 5 }, { input_tokens: "1", output_tokens: 1 }, "none"])
      expect(figures(usage), JSON.stringify(usage)).toBeUndefined();
  });

  test("CHAT-07 implausible usage is marked and replaced by later reports", () => {
    for (const usage of [
      { input_tokens: -1, output_tokens: 1 },
      { input_tokens: 1.5, output_tokens: 1 },
      { input_tokens: 1, output_tokens: 1e12 },
      { input_tokens: 1, output_tokens: 1, output_tokens_details: { thinking_tokens: 2 } },
      { input_tokens: -5, output_tokens: 1, cache_read_input_tokens: 20 },
      { input_tokens: 5, output_tokens: 1, iterations: [{ type: "compaction", input_tokens: -5, output_tokens: 1 }] },
    ])
      expect(figures(usage), JSON.stringify(usage)).toBe(IMPLAUSIBLE_TOKENS);
    expect(figures({ input_tokens: -1, output_tokens: 1 }, { input_tokens: 7, output_tokens: 3 })).toMatchObject({
      inputTokens: 7,
      outputTokens: 3,
    });
  });
});

describe("a stream", () => {
  test("stream = reply: a stream gives the same events as the whole reply, however it is split", () => {
    const expected = folded(whole(EVERY_KIND) ?? []);
    for (const size of [1, 2, 3, 7, 1000]) {
      const bytes = messageStream(EVERY_KIND, size);
      expect(folded(eventsIn([bytes], openReader()))).toEqual(expected);
    }
  });

  test("stream = reply, for any content", () => {
    const text = fc.string({ unit: "grapheme" });
    const block = fc.oneof(
      fc.record({ type: fc.constant("text"), text }),
      fc.record({ type: fc.constant("thinking"), thinking: text, signature: text }),
      fc.record({ type: fc.constant("redacted_thinking"), data: text }),
      fc.record({
        type: fc.constant("tool_use"),
        id: fc.stringMatching(/^[a-z0-9]{1,9}$/),
        name: fc.constant("f"),
        input: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.oneof(text, fc.integer(), fc.constant(null))),
      }),
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 5 }), fc.integer({ min: 1, max: 9 }), (content, size) => {
        const body = messageJson(content);
        expect(folded(eventsIn([messageStream(body, size)], openReader()))).toEqual(folded(whole(body) ?? []));
      }),
    );
  });

  test("any split: the same events at every byte", () => {
    const bytes = messageStream(EVERY_KIND, 4);
    const expected = eventsIn([bytes], openReader());
    expect(eventsIn(cutInto(bytes, 1), openReader())).toEqual(expected);
    for (let at = 1; at < bytes.length; at += 7)
      expect(eventsIn([bytes.subarray(0, at), bytes.subarray(at)], openReader())).toEqual(expected);
  });

  test("text and arguments are emitted immediately", () => {
    const reader = openReader();
    const read = (data: JsonObject) => reader.read({ event: null, data: JSON.stringify(data) });
    expect(read({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } })).toEqual([]);
    expect(read({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } })).toEqual([
      { is: "text", text: "a" },
    ]);
    expect(read({ type: "content_block_stop", index: 0 })).toEqual([]);
    read({ type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t", name: "f", input: {} } });
    expect(
      read({ type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a"' } }),
    ).toEqual([{ is: "tool_arguments", index: 0, text: '{"a"' }]);
  });

  test("CHAT-03 arguments of server tools are ignored and are no tool calls", () => {
    const bytes = Buffer.from(
      [
        messageEvent({
          type: "content_block_start",
          index: 0,
          content_block: { type: "server_tool_use", id: "s", name: "w", input: {} },
        }),
        messageEvent({
          type: "content_block_delta",
          index: 0,
          delta: { type: "input_json_delta", partial_json: '{"q":1}' },
        }),
        messageEvent({ type: "content_block_stop", index: 0 }),
        messageEvent({
          type: "content_block_start",
          index: 1,
          content_block: { type: "tool_use", id: "t", name: "f", input: {} },
        }),
        messageEvent({ type: "content_block_stop", index: 1 }),
      ].join(""),
    );
    expect(carried(eventsIn([bytes], openReader()))).toEqual([
      { is: "tool_call", index: 0, id: "t", name: "f", signature: null },
      { is: "tool_arguments", index: 0, text: "{}" },
    ]);
  });

  test("pings, unknown events, blocks and deltas are ignored", () => {
    for (const data of [
      { type: "ping" },
      { type: "message_something" },
      { type: "content_block_start", index: 0, content_block: { type: "hologram" } },
      { type: "content_block_delta", index: 0, delta: { type: "hologram_delta" } },
      { type: "content_block_delta", index: 9, delta: { type: "signature_delta", signature: "x" } },
      { type: "content_block_stop", index: 9 },
      {},
    ])
      expect(carried(openReader().read({ event: null, data: JSON.stringify(data) }) ?? [])).toEqual([]);
  });

  test("an unreadable frame is reported", () => {
    for (const data of [
      "not json",
      "7",
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}',
      '{"type":"content_block_start","index":0}',
      '{"type":"content_block_delta","index":0}',
      '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta"}}',
      '{"type":"message_start"}',
    ])
      expect(openReader().read({ event: null, data }), data).toBeUndefined();
  });

  test("ERR-02 it is not finished before its end marker", () => {
    const events = eventsIn([messageStream(EVERY_KIND, 9)], openReader());
    expect(events.slice(-2)).toEqual([{ is: "finish", reason: "tool_calls" }, { is: "end" }]);
    const cut = messageStream(EVERY_KIND, 9).toString().split("event: message_stop")[0] ?? "";
    expect(eventsIn([Buffer.from(cut)], openReader()).some(({ is }) => is === "finish" || is === "end")).toBe(false);
  });

  test("CHAT-05 hidden thinking keeps its signature, and an unsigned block is only text", () => {
    const hidden = messageJson([{ type: "thinking", thinking: "", signature: "s" }]);
    expect(folded(eventsIn([messageStream(hidden, 3)], openReader()))).toContainEqual({
      is: "reasoning_detail",
      detail: { is: "readable", text: "", signature: { family: "anthropic", data: "s" } },
    });
    const bare = whole(messageJson([{ type: "thinking", thinking: "t" }]));
    expect(bare).toContainEqual({ is: "reasoning_detail", detail: { is: "readable", text: "t", signature: null } });
  });
});

describe("errors", () => {
  const TYPES = {
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    conflict_error: 409,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  };

  test.each(Object.entries(TYPES))("ERR-07 %s inside a stream has status %i", (type, status) => {
    const data = JSON.stringify({ type: "error", error: { type, message: "m" }, request_id: "req_1" });
    const problem = { message: "m", type, code: null, status };
    expect(openReader().read({ event: "error", data })).toEqual([{ is: "problem", problem }]);
    expect(decodeProblem(JSON.parse(data), 418, {})).toEqual({ ...problem, status: 418 });
  });

  test("ERR-07 a limit that waiting does not lift has its own code", () => {
    const spent = { type: "rate_limit_error", message: "m", details: { error_code: "enforced_spend_limit_reached" } };
    expect(decodeProblem({ type: "error", error: spent }, 429, {}).code).toBe("enforced_spend_limit_reached");
  });

  test("ERR-06 an exhausted or disabled account is recognized by whole sentences, not by a caller's field", () => {
    const codeOf = (message: string) =>
      decodeProblem({ type: "error", error: { type: "invalid_request_error", message } }, 400, {}).code;
    for (const message of [
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
      "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.",
      "You have reached your specified workspace API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.",
      "This organization has been disabled.",
    ])
      expect(codeOf(message), message).toBe("insufficient_quota");
    for (const message of [
      "your credit balance is too low: Extra inputs are not permitted",
      "tools.0.this organization has been disabled: Extra inputs are not permitted",
      "messages.0.content: your credit balance is too low",
    ])
      expect(codeOf(message), message).toBeNull();
  });

  test("ERR-07 any body is decoded as an error", () => {
    for (const body of [undefined, null, 7, "x", [], {}, { error: "x" }, { error: { message: 7 } }])
      expect(decodeProblem(body, null, {})).toMatchObject({ status: null, message: "the provider stated no reason" });
  });
});

describe("recorded answers", () => {
  const STREAMS = [
    "stream-cache-write",
    "stream-citations",
    "stream-redacted-thinking",
    "stream-text",
    "stream-thinking",
    "stream-tools",
  ];

  test.each(STREAMS)("any split: %s gives the same events at every byte", (name) => {
    const bytes = loadExchange(`d2-anthropic-messages/${name}`).interactions[0]?.response.body ?? Buffer.alloc(0);
    const expected = eventsIn([bytes], openReader());
    expect(expected.at(-1)).toEqual({ is: "end" });
    expect(eventsIn(cutInto(bytes, 1), openReader())).toEqual(expected);
    for (const size of [13, 64, 999]) expect(eventsIn(cutInto(bytes, size), openReader())).toEqual(expected);
  });

  test("CHAT-08 a streamed refusal has its explanation", () => {
    const events = eventsIn([loadChunks("d2-anthropic-messages/refusal", "no_marker")], openReader());
    expect(carried(events).map(({ is }) => is)).toEqual(["begin", "usage", "usage", "refusal", "finish", "end"]);
    expect(events).toContainEqual({ is: "finish", reason: "content_filter" });
  });

  test("ERR-02 an error in the middle of a stream", () => {
    const events = eventsIn([loadBytes("synthetic/anthropic-midstream-overloaded.sse.txt")], openReader());
    expect(events.at(-1)).toEqual({
      is: "problem",
      problem: { message: "Overloaded", code: null, type: "overloaded_error", status: 529 },
    });
  });
});
