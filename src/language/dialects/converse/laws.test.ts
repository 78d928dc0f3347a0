import { describe, expect, test } from "vitest";
import {
  type CompleteReply,
  callOf,
  converseEvents,
  eventBytes,
  exceptionBytes,
  FACTS,
  NOVA,
  replyOf,
  streamOf,
} from "../../../../tests/support/converse.ts";
import { carried, cutInto, folded } from "../../../../tests/support/events.ts";
import { loadExchange } from "../../../../tests/support/replay.ts";
import { encodeEventMessage } from "../../../kit/aws-event-stream.ts";
import type { ReplyEvent } from "../../canon/reply-events.ts";
import { messagesUpstream } from "../messages/upstream/dialect.ts";
import type { ReplyContext } from "../upstream-dialect.ts";
import { decodeReply } from "./upstream/reply.ts";
import { ANSWER_TOOL } from "./upstream/reply-assembler.ts";
import { encodeRequest } from "./upstream/request.ts";

const USAGE = { inputTokens: 11, outputTokens: 7, totalTokens: 18 };
const tool = (toolUseId: string, name: string, input: object) => ({ toolUse: { toolUseId, name, input } });
const REDACTED = Buffer.from("EtkECkgIBxAB+/==").toString("base64");

const TEXT: CompleteReply = { content: [{ text: "Grüße, 世界" }], stopReason: "end_turn", usage: USAGE };
const CALLS: CompleteReply = {
  content: [
    { text: "I look." },
    tool("tooluse_a", "weather", { city: "Köln", deep: { n: [1, 2.5] } }),
    tool("tooluse_b", "now", {}),
  ],
  stopReason: "tool_use",
  usage: { ...USAGE, cacheReadInputTokens: 5, cacheWriteInputTokens: 3, totalTokens: 26 },
};
const THOUGHT: CompleteReply = {
  content: [
    { reasoningContent: { reasoningText: { text: "Let me think.", signature: "sig+/==" } } },
    tool("tooluse_a", "weather", { city: "Paris" }),
  ],
  stopReason: "tool_use",
  usage: USAGE,
};
const HIDDEN: CompleteReply = {
  content: [{ reasoningContent: { redactedContent: REDACTED } }, { text: "Hello." }],
  stopReason: "end_turn",
  usage: USAGE,
};
const UNSIGNED: CompleteReply = {
  content: [{ text: "" }, { reasoningContent: { reasoningText: { text: "A greeting." } } }, { text: "Hi!" }],
  stopReason: "max_tokens",
  usage: USAGE,
};
const ANSWERS: [string, CompleteReply][] = [
  ["text", TEXT],
  ["text and two calls, one without arguments", CALLS],
  ["signed reasoning before a call", THOUGHT],
  ["redacted reasoning", HIDDEN],
  ["an empty text, unsigned reasoning, then text", UNSIGNED],
  ["nothing at all", { content: [], stopReason: "content_filtered", usage: USAGE }],
];

const wholeOf = (answer: CompleteReply, asked?: ReplyContext) =>
  decodeReply(Buffer.from(JSON.stringify(replyOf(answer))), asked);
const said = (events: readonly (ReplyEvent | "malformed")[]) =>
  folded(events.flatMap((event) => (event === "malformed" ? [] : [event])));

describe("stream = reply", () => {
  test.each(ANSWERS)("%s", (_what, answer) => {
    const events = wholeOf(answer);
    expect(events).toBeDefined();
    expect(said(converseEvents(streamOf(answer)))).toEqual(folded(events ?? []));
  });

  test("contents of a reply", () => {
    expect(folded(wholeOf(CALLS) ?? [])).toEqual([
      { is: "begin", upstreamId: null },
      { is: "text", text: "I look." },
      { is: "tool_call", index: 0, id: "tooluse_a", name: "weather", signature: null },
      { is: "tool_arguments", index: 0, text: '{"city":"Köln","deep":{"n":[1,2.5]}}' },
      { is: "tool_call", index: 1, id: "tooluse_b", name: "now", signature: null },
      { is: "tool_arguments", index: 1, text: "{}" },
      {
        is: "usage",
        usage: {
          inputTokens: 19,
          cachedTokens: 5,
          cacheWriteTokens: 3,
          outputTokens: 7,
          reasoningTokens: 0,
          isReasoningUncounted: true,
          audioInputTokens: 0,
          audioOutputTokens: 0,
        },
      },
      { is: "finish", reason: "tool_calls" },
      { is: "end" },
    ]);
    expect(said(converseEvents(streamOf(THOUGHT))).slice(1, 3)).toEqual([
      { is: "reasoning", text: "Let me think." },
      {
        is: "reasoning_detail",
        detail: { is: "readable", text: "Let me think.", signature: { family: "anthropic", data: "sig+/==" } },
      },
    ]);
  });

  test("CHAT-05 a signature holds the original text, so the messages dialect can exchange it with this one", () => {
    const details = [...(wholeOf(HIDDEN) ?? [])];
    const found = details.find(({ is }) => is === "reasoning_detail");
    expect(found).toMatchObject({
      detail: { is: "encrypted", signature: { family: "anthropic", data: "EtkECkgIBxAB+/==" } },
    });
    const reasoning_details = [
      { type: "reasoning.encrypted", data: "EtkECkgIBxAB+/==", format: "anthropic-claude-v1" },
      { type: "reasoning.text", text: "hm", signature: "sig==", format: "anthropic-claude-v1" },
    ];
    const call = callOf({
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b", reasoning_details },
        { role: "user", content: "c" },
      ],
    });
    expect(JSON.parse(encodeRequest(call, FACTS)).messages[1].content.slice(0, 2)).toEqual([
      { reasoningContent: { redactedContent: REDACTED } },
      { reasoningContent: { reasoningText: { text: "hm", signature: "sig==" } } },
    ]);
    expect(JSON.parse(messagesUpstream.encodeRequest(call, FACTS)).messages[1].content.slice(0, 2)).toEqual([
      { type: "redacted_thinking", data: "EtkECkgIBxAB+/==" },
      { type: "thinking", thinking: "hm", signature: "sig==" },
    ]);
  });
});

describe("any split", () => {
  test.each(ANSWERS)("%s: at every byte", (_what, answer) => {
    const bytes = Buffer.concat(streamOf(answer));
    const whole = converseEvents([bytes]);
    for (let at = 1; at < bytes.length; at += 1)
      expect(converseEvents([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    expect(converseEvents(cutInto(bytes, 1))).toEqual(whole);
  });
});

describe("a reply requested as a tool", () => {
  const format = { type: "json_schema", json_schema: { name: "N", schema: { type: "object" } } };
  const asked: ReplyContext = { call: callOf({ response_format: format }), facts: NOVA };
  const answered: CompleteReply = {
    content: [{ text: "<thinking>" }, tool("tooluse_x", ANSWER_TOOL, { n: 1 })],
    stopReason: "tool_use",
    usage: USAGE,
  };

  test("CHAT-04 becomes the reply text, without surrounding text and without a tool call", () => {
    const events = folded(wholeOf(answered, asked) ?? []);
    expect(events.filter(({ is }) => is === "text")).toEqual([{ is: "text", text: '{"n":1}' }]);
    expect(events.some(({ is }) => is === "tool_call")).toBe(false);
    expect(events).toContainEqual({ is: "finish", reason: "stop" });
    expect(said(converseEvents(streamOf(answered), asked))).toEqual(events);
  });

  test("CHAT-04 a call of the caller's tool stays a call; text alone is the reply", () => {
    const called = { ...answered, content: [{ text: "hm" }, tool("tooluse_y", "weather", {})] };
    expect(wholeOf(called, asked)).toContainEqual({ is: "finish", reason: "tool_calls" });
    const spoken = { content: [{ text: "I cannot." }], stopReason: "end_turn", usage: USAGE };
    const events = folded(wholeOf(spoken, asked) ?? []);
    expect(events).toContainEqual({ is: "text", text: "I cannot." });
    expect(said(converseEvents(streamOf(spoken), asked))).toEqual(events);
  });

  test("an unrequested tool of that name is an ordinary tool", () => {
    expect(wholeOf(answered)).toContainEqual(expect.objectContaining({ is: "tool_call", name: ANSWER_TOOL }));
  });
});

describe("end of a reply", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["a_reason_of_tomorrow", "stop"],
  ])("CHAT-08 %s is %s", (stopReason, reason) => {
    const answer = { content: [{ text: "x" }], stopReason, usage: USAGE };
    expect(wholeOf(answer)).toContainEqual({ is: "finish", reason });
    expect(converseEvents(streamOf(answer))).toContainEqual({ is: "finish", reason });
  });

  test.each([
    ["the only one that was asked for", "stop_sequence", ["END", ""], { stopSequence: "END" }],
    ["one of several: nobody can know which", "stop_sequence", ["END", "FIN"], {}],
    ["none", "end_turn", ["END"], {}],
  ])("MSG-02 the matched stop sequence is reported: %s", (_, stopReason, stop, told) => {
    const asked: ReplyContext = { call: callOf({ stop }), facts: NOVA };
    const answer = { content: [{ text: "x" }], stopReason, usage: USAGE };
    expect(wholeOf(answer, asked)).toContainEqual({ is: "finish", reason: "stop", ...told });
    expect(converseEvents(streamOf(answer), asked)).toContainEqual({ is: "finish", reason: "stop", ...told });
  });

  test.each(["tool_use", "end_turn"])(
    "CHAT-08 tool calls give tool_calls, also if the provider reports %s",
    (stopReason) => {
      const answer = { content: [tool("a", "f", {})], stopReason, usage: USAGE };
      expect(wholeOf(answer)).toContainEqual({ is: "finish", reason: "tool_calls" });
    },
  );

  test.each(["malformed_model_output", "malformed_tool_use"])("CHAT-08 %s is malformed, not a reply", (stopReason) => {
    const answer = { content: [{ text: "x" }], stopReason, usage: USAGE };
    expect(wholeOf(answer)).toBeUndefined();
    expect(converseEvents(streamOf(answer))).toContainEqual({
      is: "problem",
      problem: expect.objectContaining({ code: stopReason, status: 502 }),
    });
  });

  test("usage ends the stream, not the stop reason", () => {
    const frames = streamOf(TEXT);
    const before = converseEvents(frames.slice(0, -1));
    expect(before.at(-1)).toEqual({ is: "finish", reason: "stop" });
    expect(
      converseEvents(frames)
        .slice(-2)
        .map((event) => (event === "malformed" ? event : event.is)),
    ).toEqual(["usage", "end"]);
    expect(converseEvents(frames.slice(0, -2))).not.toContainEqual(expect.objectContaining({ is: "finish" }));
  });

  test("unclosed blocks are closed by the stop", () => {
    const frames = streamOf(THOUGHT);
    const open = frames.filter((bytes) => !bytes.includes("contentBlockStop"));
    expect(converseEvents(open)).toContainEqual(expect.objectContaining({ is: "reasoning_detail" }));
  });
});

describe("errors in a stream", () => {
  const begun = [
    eventBytes("messageStart", { role: "assistant" }),
    eventBytes("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hel" } }),
  ];

  test.each([
    ["throttlingException", 429],
    ["validationException", 400],
    ["modelStreamErrorException", 424],
    ["modelTimeoutException", 408],
    ["internalServerException", 500],
    ["serviceUnavailableException", 503],
    ["anExceptionOfTomorrow", 500],
  ])("%s is a problem with status %i", (name, status) => {
    const events = converseEvents([...begun, exceptionBytes(name, { message: "Too many requests" })]);
    expect(events.at(-1)).toEqual({
      is: "problem",
      problem: { message: "Too many requests", code: name, type: null, status },
    });
  });

  test("an unmodeled error has its message in headers", () => {
    const headers = { ":message-type": "error", ":error-code": "InternalError", ":error-message": "internal" };
    expect(converseEvents([...begun, encodeEventMessage(headers, "")]).at(-1)).toEqual({
      is: "problem",
      problem: { message: "internal", code: "InternalError", type: null, status: 500 },
    });
  });

  test("corrupt messages, messages without a type and invalid payloads are malformed", () => {
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = begun;
    const broken = Buffer.from(second);
    broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
    const event = (name: string, payload: string) =>
      encodeEventMessage({ ":message-type": "event", ":event-type": name }, payload);
    for (const bytes of [
      broken,
      second.subarray(0, -3),
      encodeEventMessage({}, "{}"),
      encodeEventMessage({ ":message-type": "event" }, "{}"),
      event("contentBlockDelta", "{"),
      event("contentBlockDelta", '{"contentBlockIndex":-1,"delta":{"text":"x"}}'),
      event("contentBlockStart", '{"contentBlockIndex":0,"start":{"toolUse":{"name":"f"}}}'),
      event("messageStop", "{}"),
    ])
      expect(converseEvents([first, bytes])).toEqual([{ is: "begin", upstreamId: null }, "malformed"]);
  });

  test("PARAM-07 unknown events and blocks are named and otherwise ignored", () => {
    const events = converseEvents([
      ...begun,
      eventBytes("somethingNew", { a: 1 }),
      eventBytes("contentBlockStart", { contentBlockIndex: 1, start: { image: { format: "png" } } }),
      eventBytes("contentBlockDelta", { contentBlockIndex: 1, delta: { image: {} } }),
      eventBytes("contentBlockDelta", { contentBlockIndex: 2, delta: { toolUse: { input: "{}" } } }),
    ]);
    expect(carried(events.filter((event) => event !== "malformed"))).toHaveLength(2);
    expect(events.flatMap((event) => (event !== "malformed" && event.is === "omitted" ? [event.path] : []))).toEqual([
      "somethingNew",
      "output.message.content[].image",
    ]);
  });
});

describe("recorded streams", () => {
  const names = ["stream-cache", "stream-claude-thinking", "stream-gpt-oss-reasoning", "stream-nova-text"];
  const all = [...names, "stream-nova-tools-multiturn", "stream-redacted"];

  test.each(all)("%s is decoded to its end, the same at any split", (name) => {
    for (const { response } of loadExchange(`d4-bedrock-converse/${name}`).interactions) {
      const whole = converseEvents([response.body]);
      expect(whole).not.toContain("malformed");
      expect(whole.at(-1)).toEqual({ is: "end" });
      // Byte by byte, a long recording takes seconds and repeats the same frames.
      const smallest = response.body.length < 50_000 ? 1 : 5;
      for (const size of [smallest, 7, 61, 1000]) expect(converseEvents(cutInto(response.body, size))).toEqual(whole);
      const bytes = response.body.subarray(0, 1200);
      const beginning = converseEvents([bytes]);
      for (let at = 1; at < bytes.length; at += 1)
        expect(converseEvents([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(beginning);
    }
  });
});
