import { describe, expect, test } from "vitest";
import { byCall, CHAT_CALL, CHAT_FACTS, chatChunk, chatSse } from "../../../../../tests/support/chat.ts";
import { eventsIn, folded } from "../../../../../tests/support/events.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { chatUpstream } from "./dialect.ts";

const asked = (stop: readonly string[] = []): ReplyContext => ({ call: { ...CHAT_CALL, stop }, facts: CHAT_FACTS });
const STOP = { finish_reason: "stop" };

function read(chunks: readonly unknown[], end: "done_marker" | "no_marker" = "done_marker", stop?: string[]) {
  return folded(eventsIn([chatSse(chunks, end)], chatUpstream.openReader(asked(stop))));
}

const whole = (message: object, more: object = {}, top: object = {}) =>
  chatUpstream.decodeReply(
    Buffer.from(
      JSON.stringify({ id: "up-1", choices: [{ index: 0, message, finish_reason: "stop", ...more }], ...top }),
    ),
    asked(["END"]),
  );

const deltas = (...list: object[]) => list.map((delta) => chatChunk(delta));
const call = (
  index: number | undefined,
  id: string | null | undefined,
  name: string | null | undefined,
  args?: string,
) => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }],
});
const of = (events: readonly ReplyEvent[], ...kinds: ReplyEvent["is"][]) =>
  events.filter(({ is }) => kinds.includes(is));

const OPENED = { is: "tool_call", index: 0, id: "a", name: "f", signature: null };
const FINISHED = { is: "finish", reason: "tool_calls" };
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

test("a typical stream gives text, usage, one finish reason and the end", () => {
  const chunks = [
    chatChunk({ role: "assistant", content: "" }, {}, { usage: null, obfuscation: "x" }),
    ...deltas({ content: "Hel" }, { content: "lo" }),
    chatChunk({}, STOP),
    { id: "up-1", choices: [], usage: USAGE },
  ];
  expect(read(chunks)).toEqual([
    { is: "begin", upstreamId: "up-1" },
    { is: "text", text: "Hello" },
    { is: "usage", usage: expect.objectContaining({ inputTokens: 10, outputTokens: 5 }) },
    { is: "finish", reason: "stop" },
    { is: "end" },
  ]);
  expect(chatUpstream.openReader(asked()).read({ event: null, data: JSON.stringify(chunks[0]) })).toEqual([]);
});

describe("tool calls of almost compatible servers", () => {
  test.each<[string, object[]]>([
    [
      "missing index",
      [call(undefined, "a", "f", ""), call(undefined, undefined, undefined, '{"x"'), call(undefined, "a", null, ":1}")],
    ],
    ["empty id and name later", [call(0, "a", "f", '{"x"'), call(0, "", "", ":1}")]],
    ["null id and name later", [call(0, "a", "f", '{"x"'), call(0, null, null, ":1}")]],
    ["id and name repeated", [call(0, "a", "f", '{"x"'), call(0, "a", "f", ":1}")]],
    ["arguments before the name", [call(0, "a", undefined, '{"x"'), call(0, undefined, "f", ":1}")]],
    ["arguments before everything", [call(0, undefined, undefined, '{"x"'), call(0, "a", "f", ":1}")]],
    ["everything at once", [call(0, "a", "f", '{"x":1}')]],
    ["an index that does not begin at 0", [call(3, "a", "f", '{"x":1}')]],
  ])("CHAT-03 %s", (_, list) => {
    expect(of(read([...deltas(...list), chatChunk({}, STOP)]), "tool_call", "tool_arguments", "finish")).toEqual([
      OPENED,
      { is: "tool_arguments", index: 0, text: '{"x":1}' },
      FINISHED,
    ]);
  });

  test("CHAT-03 a call without an id gets the same one in a stream and whole, another one in another reply", () => {
    const [made] = of(read(deltas(call(0, undefined, "f", "{}"))), "tool_call");
    expect(made).toMatchObject({ is: "tool_call", id: expect.stringMatching(/^call_[a-zA-Z0-9_-]+$/) });
    const message = { content: null, tool_calls: [{ id: "", function: { name: "f", arguments: "{}" } }] };
    expect(of(whole(message) ?? [], "tool_call")).toEqual([made]);
    const other = { ...chatChunk(call(0, undefined, "f", "{}")), id: "up-2" };
    expect(of(read([other]), "tool_call")).not.toEqual([made]);
  });

  test("CHAT-03 generated ids of two replies of one conversation differ even without reply ids", () => {
    const { id: _, ...chunk } = chatChunk(call(0, undefined, "f", "{}"));
    const ids = [1, 3].map((length) => {
      const turns = Array.from({ length }, () => CHAT_CALL.turns).flat();
      const reader = chatUpstream.openReader({ call: { ...CHAT_CALL, turns }, facts: CHAT_FACTS });
      const [opened] = of(eventsIn([chatSse([chunk])], reader), "tool_call");
      return opened?.is === "tool_call" ? opened.id : undefined;
    });
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(undefined);
  });

  test("CHAT-03 interleaved fragments of several calls keep their order", () => {
    const events = read([
      ...deltas(
        call(0, "a", "f"),
        call(1, "b", "g"),
        call(1, undefined, undefined, '{"y"'),
        call(0, undefined, undefined, '{"x"'),
      ),
      ...deltas(call(1, undefined, undefined, ":2}"), call(0, undefined, undefined, ":1}")),
      chatChunk({}, { finish_reason: "tool_calls" }),
    ]);
    expect(of(events, "tool_arguments").map((event) => event.is === "tool_arguments" && event.index)).toEqual([
      1, 0, 1, 0,
    ]);
    expect(of(byCall(events), "tool_call", "tool_arguments")).toEqual([
      OPENED,
      { is: "tool_arguments", index: 0, text: '{"x":1}' },
      { ...OPENED, index: 1, id: "b", name: "g" },
      { is: "tool_arguments", index: 1, text: '{"y":2}' },
    ]);
  });

  test("CHAT-03 a call without arguments gets an empty object, at the end marker too", () => {
    const expected = [OPENED, { is: "tool_arguments", index: 0, text: "{}" }, FINISHED];
    expect(
      of(read([...deltas(call(0, "a", "f", "")), chatChunk({}, STOP)]), "tool_call", "tool_arguments", "finish"),
    ).toEqual(expected);
    expect(of(read(deltas(call(0, "a", "f"))), "tool_call", "tool_arguments", "finish")).toEqual(expected);
    const message = { content: "", tool_calls: [{ id: "a", function: { name: "f", arguments: "" } }] };
    expect(of(whole(message) ?? [], "tool_call", "tool_arguments", "finish")).toEqual(expected);
  });

  test("CHAT-03 calls of a whole reply are identified by position", () => {
    const one = (id: string) => ({ index: 0, id, type: "function", function: { name: "f", arguments: "{}" } });
    expect(of(whole({ tool_calls: [one("a"), one("b")] }) ?? [], "tool_call")).toHaveLength(2);
  });

  test("a call that never gets a name is malformed", () => {
    const nameless = call(0, "a", undefined, '{"x":1}');
    expect(read([...deltas(nameless), chatChunk({}, STOP)])).toContainEqual(expect.objectContaining({ is: "problem" }));
    const late = [
      ...deltas(call(0, "a", "f")),
      chatChunk({}, STOP),
      ...deltas(call(0, undefined, undefined, '{"x":1}')),
    ];
    expect(read(late)).toContainEqual(expect.objectContaining({ is: "problem" }));
  });

  test("CHAT-03 the signature of a call stays on it", () => {
    const signed = {
      id: "a",
      function: { name: "f", arguments: "{}" },
      extra_content: { google: { thought_signature: "s" } },
    };
    const expected = { ...OPENED, signature: { family: "google", data: "s" } };
    expect(of(whole({ tool_calls: [signed] }) ?? [], "tool_call")).toEqual([expected]);
    expect(of(read(deltas({ tool_calls: [{ index: 0, ...signed }] })), "tool_call")).toEqual([expected]);
  });
});

describe("reasoning", () => {
  const SIGNED = {
    is: "reasoning_detail",
    detail: { is: "readable", text: "hm so", signature: { family: "anthropic", data: "sig" } },
  };
  const detail = (text: string, more: object = {}) => ({
    type: "reasoning.text",
    text,
    format: "anthropic-claude-v1",
    index: 0,
    ...more,
  });

  test.each([
    ["reasoning_content", { reasoning_content: "hm" }, { reasoning_content: " so", content: null }],
    ["reasoning", { reasoning: "hm" }, { reasoning: " so" }],
    [
      "a list of parts",
      { content: [{ type: "thinking", thinking: [{ type: "text", text: "hm so" }], closed: true }] },
      { content: "" },
    ],
    [
      "blocks without a seal",
      { reasoning_details: [detail("hm")] },
      { reasoning: " so", reasoning_details: [detail(" so")] },
    ],
  ])("CHAT-05 as %s", (_, first, second) => {
    const events = read([...deltas(first, second, { content: [{ type: "text", text: "Yes" }] }), chatChunk({}, STOP)]);
    expect(of(events, "reasoning", "reasoning_detail", "text")).toEqual([
      { is: "reasoning", text: "hm so" },
      { is: "text", text: "Yes" },
    ]);
  });

  test.each([
    [
      "in pieces beside the text",
      [
        { reasoning: "hm", reasoning_details: [detail("hm")] },
        { reasoning: " so", reasoning_details: [detail(" so")] },
        { reasoning_details: [{ type: "reasoning.text", signature: "sig", index: 0 }] },
      ],
    ],
    [
      "whole behind the text",
      [
        { reasoning_content: "hm" },
        { reasoning_content: " so" },
        { reasoning_details: [detail("hm so", { signature: "sig" })] },
      ],
    ],
    ["alone", [{ reasoning_details: [detail("hm")] }, { reasoning_details: [detail(" so", { signature: "sig" })] }]],
  ])("CHAT-05 blocks %s are emitted once, with their signature before what follows", (_, list) => {
    expect(of(read(deltas(...list, { content: "Yes" })), "reasoning", "reasoning_detail", "text")).toEqual([
      { is: "reasoning", text: "hm so" },
      SIGNED,
      { is: "text", text: "Yes" },
    ]);
  });

  test("CHAT-05 several blocks of a stream are separated, and the last one completes at the end", () => {
    const second = detail("then", { signature: "sig2", index: 1 });
    const list = [detail("hm so", { signature: "sig" }), second].map((one) => ({ reasoning_details: [one] }));
    expect(of(read(deltas(...list)), "reasoning_detail")).toEqual([
      SIGNED,
      {
        is: "reasoning_detail",
        detail: { is: "readable", text: "then", signature: { family: "anthropic", data: "sig2" } },
      },
    ]);
  });

  test("CHAT-05 a summary becomes reasoning text", () => {
    const reasoning_details = [
      { type: "reasoning.summary", summary: "hm so", signature: "sig", format: detail("").format },
    ];
    for (const events of [read(deltas({ reasoning_details }, { content: "x" })), whole({ reasoning_details }) ?? []])
      expect(of(events, "reasoning", "reasoning_detail")).toEqual([{ is: "reasoning", text: "hm so" }, SIGNED]);
  });

  test("CHAT-05 readable and encrypted blocks of a whole reply keep their order", () => {
    const reasoning_details = [
      detail("hm so", { signature: "sig" }),
      { type: "reasoning.encrypted", data: "blob", format: "openai-responses-v1" },
      { type: "reasoning.encrypted", data: "other", format: "nobody-knows" },
      detail("then", { signature: "sig2" }),
      detail(" more", { signature: "sig3" }),
    ];
    const events = whole({ reasoning: "hm sothen more", reasoning_details, content: "Yes" }) ?? [];
    expect(of(events, "reasoning", "reasoning_detail")).toEqual([
      { is: "reasoning", text: "hm so" },
      SIGNED,
      { is: "reasoning_detail", detail: { is: "encrypted", signature: { family: "openai", data: "blob" } } },
      { is: "reasoning", text: "then" },
      {
        is: "reasoning_detail",
        detail: { is: "readable", text: "then", signature: { family: "anthropic", data: "sig2" } },
      },
      { is: "reasoning", text: " more" },
      {
        is: "reasoning_detail",
        detail: { is: "readable", text: " more", signature: { family: "anthropic", data: "sig3" } },
      },
    ]);
  });
});

test("CHAT-08 a refusal is emitted as one, whole and streamed", () => {
  const refused = [{ is: "refusal", text: "I will not." }];
  expect(of(read(deltas({ refusal: "I will " }, { refusal: "not." })), "refusal", "text")).toEqual(refused);
  expect(of(whole({ content: null, refusal: "I will not." }) ?? [], "refusal", "text")).toEqual(refused);
});

test("CHAT-01 one choice is decoded: the first by index, or the only one", () => {
  const said = (...choices: object[]) => of(read([{ id: "up-1", choices }]), "text");
  const choice = (content: string, index?: number) => ({ delta: { content }, index });
  expect(said(choice("b", 1), choice("a", 0))).toEqual([{ is: "text", text: "a" }]);
  expect(said(choice("a"))).toEqual([{ is: "text", text: "a" }]);
});

describe("start, usage and end of a stream", () => {
  test("a first chunk without choices and names gives no events", () => {
    const azure = { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: [] };
    expect(read([azure, chatChunk({ content: "x" }, STOP)])[0]).toEqual({ is: "begin", upstreamId: "up-1" });
  });

  test("reason, content and figures in one chunk", () => {
    expect(read([chatChunk({ content: "x" }, STOP, { usage: USAGE })]).map(({ is }) => is)).toEqual([
      "begin",
      "text",
      "usage",
      "finish",
      "end",
    ]);
  });

  test("cumulative usage is not added up; usage without choices counts too", () => {
    const figures = (tokens: number) => ({ usage: { ...USAGE, completion_tokens: tokens } });
    const events = read([
      chatChunk({ content: "x" }, {}, figures(1)),
      chatChunk({ content: "y" }, STOP, figures(2)),
      { id: "up-1", ...figures(7) },
    ]);
    expect(of(events, "usage")).toEqual([{ is: "usage", usage: expect.objectContaining({ outputTokens: 7 }) }]);
  });

  test("BILL-05 usage in the finishing choice counts if there is no other", () => {
    const within = { ...STOP, usage: { ...USAGE, completion_tokens: 9 } };
    const figured = (tokens: number) => [
      { is: "usage", usage: expect.objectContaining({ inputTokens: 10, outputTokens: tokens }) },
    ];
    expect(of(read([chatChunk({ content: "x" }, within)]), "usage")).toEqual(figured(9));
    expect(of(read([chatChunk({ content: "x" }, within, { usage: USAGE })]), "usage")).toEqual(figured(5));
  });

  test("without an end marker the finish reason is emitted and the end is not", () => {
    expect(of(read([chatChunk({ content: "x" }, STOP)], "no_marker"), "finish", "end")).toEqual([
      { is: "finish", reason: "stop" },
    ]);
  });

  test("without a finish reason the end marker implies one, unless there was no content", () => {
    expect(of(read(deltas({ content: "x" })), "finish", "end")).toEqual([
      { is: "finish", reason: "stop" },
      { is: "end" },
    ]);
    expect(of(read([chatChunk({ role: "assistant", content: "" })]), "finish", "end")).toEqual([{ is: "end" }]);
  });

  test("comment lines and multi-line events are decoded", () => {
    const text = `: OPENROUTER PROCESSING\n\n${chatSse([chatChunk({ content: "x" }, STOP)])
      .toString()
      .replace(',"choices"', ',\ndata: "choices"')}`;
    expect(folded(eventsIn([Buffer.from(text)], chatUpstream.openReader(asked()))).map(({ is }) => is)).toEqual([
      "begin",
      "text",
      "finish",
      "end",
    ]);
  });

  test.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content_filter"],
    ["eos", "stop"],
    ["model_length", "length"],
    ["tool_calls", "stop"],
    ["a_reason_of_tomorrow", "stop"],
  ])("CHAT-08 %s is %s without tool calls", (finish_reason, reason) => {
    expect(of(read([chatChunk({ content: "x" }, { finish_reason })]), "finish")).toEqual([{ is: "finish", reason }]);
    expect(of(whole({ content: "x" }, { finish_reason }) ?? [], "finish")).toEqual([{ is: "finish", reason }]);
  });

  test("CHAT-08 a repeated finish reason is emitted only when it changes", () => {
    const chunks = [
      chatChunk({ content: "x" }, STOP),
      chatChunk({ content: "y" }, STOP),
      chatChunk(call(0, "a", "f", "{}"), STOP),
    ];
    expect(of(read(chunks), "finish")).toEqual([{ is: "finish", reason: "stop" }, FINISHED]);
  });

  test("MSG-02 the stop sequence is emitted if the server reports it and the caller sent it", () => {
    const ends = (stop_reason: unknown, more: object = {}) =>
      of(read([chatChunk({ content: "x" }, { ...STOP, stop_reason, ...more })], "done_marker", ["END"]), "finish");
    expect(ends("END")).toEqual([{ is: "finish", reason: "stop", stopSequence: "END" }]);
    expect(ends("</s>")).toEqual([{ is: "finish", reason: "stop" }]);
    expect(ends(128_009)).toEqual([{ is: "finish", reason: "stop" }]);
    expect(ends(null, { matched_stop: "END" })).toEqual(ends("END"));
    expect(ends("END", { finish_reason: "length" })).toEqual([{ is: "finish", reason: "length" }]);
    expect(of(whole({ content: "x" }, { stop_reason: "END" }) ?? [], "finish")).toEqual(ends("END"));
  });
});

describe("what is not a reply", () => {
  test.each([
    ["an error object", { error: { message: "busy", code: 503 } }, { message: "busy", status: 503 }],
    [
      "an error beside choices",
      { ...chatChunk({}, { finish_reason: "error" }), error: { code: 502, message: "gone" } },
      { status: 502 },
    ],
    ["an answer that was given up", chatChunk({}, { finish_reason: "insufficient_system_resource" }), {}],
  ])("%s inside a 200 is a problem", (_, chunk, problem) => {
    const events = chatUpstream.openReader(asked()).read({ event: null, data: JSON.stringify(chunk) });
    expect(events).toEqual([{ is: "problem", problem: expect.objectContaining(problem) }]);
  });

  test("an event named error is a problem", () => {
    const data = JSON.stringify({ message: "tool_use_failed", status_code: 400 });
    expect(chatUpstream.openReader(asked()).read({ event: "error", data })).toMatchObject([
      { problem: { status: 400 } },
    ]);
  });

  test.each(["not json", "[]", "{}", '{"choices":"none"}'])("a frame of %s is unreadable", (data) => {
    expect(chatUpstream.openReader(asked()).read({ event: null, data })).toBeUndefined();
  });

  test.each(["", "[]", "{}", '{"choices":[]}', '{"choices":[{"text":"x"}]}', '{"choices":null,"usage":{}}'])(
    "a body of %s is not a reply",
    (body) => {
      expect(chatUpstream.decodeReply(Buffer.from(body))).toBeUndefined();
    },
  );

  test("a whole reply without content is a reply", () => {
    expect(of(whole({ content: null }, { finish_reason: null }) ?? [], "finish", "end").map(({ is }) => is)).toEqual([
      "finish",
      "end",
    ]);
    expect(whole({ content: null }, { finish_reason: "error" })).toMatchObject([{ is: "problem" }]);
  });
});

test("citations", () => {
  const annotations = [
    { type: "url_citation", url_citation: { url: "https://a", title: "A", start_index: 1, end_index: 2 } },
    { type: "other" },
  ];
  const citation = { url: "https://a", title: "A", start: 1, end: 2 };
  const expected = [{ is: "citation", citation, path: "choices[].message.annotations[]" }];
  expect(of(whole({ content: "x", annotations }) ?? [], "citation")).toEqual(expected);
  expect(of(read(deltas({ content: "x" }, { annotations })), "citation")).toEqual(expected);
});
