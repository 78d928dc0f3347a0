import { expect, test } from "vitest";
import { headOf } from "../../../../../tests/support/chat.ts";
import { decodePassthroughReply } from "../passthrough/reply.ts";
import { PassthroughChatStream } from "../passthrough/stream.ts";

const USAGE = {
  inputTokens: 10,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

const frame = (value: unknown) => ({ event: null, data: JSON.stringify(value) });
const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "up",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason }],
});

/** What the client gets of these deltas. */
function told(...deltas: object[]): unknown[] {
  const stream = new PassthroughChatStream(headOf("ours"), false);
  return deltas.map((delta) => {
    const piece = stream.read(frame(chunk(delta)));
    if (piece.is !== "content" && piece.is !== "preamble") throw new Error(piece.is);
    return JSON.parse(piece.text.slice(6)).choices[0].delta;
  });
}

function answered(message: object, finish_reason = "stop") {
  const body = { id: "up", choices: [{ index: 0, message, finish_reason }], usage: null };
  const answer = decodePassthroughReply(Buffer.from(JSON.stringify(body)), "ours");
  return answer === undefined || "unusable" in answer
    ? undefined
    : JSON.parse(answer.render(USAGE, undefined)).choices[0];
}

test("CHAT-05 reasoning under another name becomes reasoning_content, streamed and whole", () => {
  expect(told({ reasoning: "hm" }, { reasoning: " so" }, { reasoning: null, content: "hi" })).toEqual([
    { reasoning_content: "hm" },
    { reasoning_content: " so" },
    { reasoning: null, content: "hi" },
  ]);
  expect(told({ reasoning: "a", reasoning_content: "a" })).toEqual([{ reasoning: "a", reasoning_content: "a" }]);
  const message = { role: "assistant", content: "hi" };
  expect(answered({ ...message, reasoning: "hm" }).message).toEqual({ ...message, reasoning_content: "hm" });
});

test("CHAT-05 content as a list of parts becomes text, and its thinking becomes reasoning", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "Well" }], closed: true };
  const text = { type: "text", text: "Yes" };
  expect(told({ content: [thinking] }, { content: [thinking, text] }, { content: " it is" })).toEqual([
    { content: "", reasoning_content: "Well" },
    { content: "Yes", reasoning_content: "Well" },
    { content: " it is" },
  ]);
  expect(answered({ role: "assistant", content: [thinking, text] }).message).toEqual({
    role: "assistant",
    content: "Yes",
    reasoning_content: "Well",
  });
});

test("CHAT-03 streamed tool calls without an index get one by id, by name, or as the latest call", () => {
  const call = (id: string | null | undefined, name: string | undefined, text: string) => ({
    tool_calls: [
      {
        ...(id === undefined ? {} : { id }),
        type: "function",
        function: { ...(name ? { name } : {}), arguments: text },
      },
    ],
  });
  const indices = told(
    call("a", "one", ""),
    call(undefined, undefined, "{}"),
    call("b", "two", "{"),
    call("", undefined, "}"),
    call("a", undefined, " "),
  ).map((delta) => Object(delta).tool_calls[0].index);
  expect(indices).toEqual([0, 0, 1, 1, 0]);
});

test("CHAT-03 calls that share an index are separated by their ids or by a new object", () => {
  const piece = (id: string | undefined, name: string | undefined, text: string | object) => ({
    tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: text } }],
  });
  const indices = (...deltas: object[]) => told(...deltas).map((delta) => Object(delta).tool_calls[0].index);
  expect(
    indices(
      piece("a", "one", '{"x":'),
      piece(undefined, undefined, "1}"),
      piece("b", "two", "{"),
      piece("b", undefined, "}"),
      piece("c", "three", {}),
      piece("d", "four", "{}"),
    ),
  ).toEqual([0, 0, 1, 1, 2, 3]);
  expect(indices(piece(undefined, "one", '{"x":1}'), piece(undefined, "two", "{}"))).toEqual([0, 1]);
  // Names and ids that are repeated with every piece open nothing, nor do ids that change in the middle of a call.
  expect(indices(piece("a", "one", '{"x":{}'), piece("a", "one", "}"))).toEqual([0, 0]);
  expect(indices(piece("a", "one", '{"x":'), piece("b", "one", "1}"))).toEqual([0, 0]);
  expect(indices(piece(undefined, "one", '{"x":{}'), piece(undefined, "one", "}"))).toEqual([0, 0]);
});

test("CHAT-03 a tool call without an id gets one, sent once; without a type it is a function", () => {
  const [first, second, third] = told(
    { tool_calls: [{ index: 0, id: "", function: { name: "now", arguments: "{" } }] },
    { tool_calls: [{ index: 0, id: "late", function: { arguments: "}" } }] },
    { tool_calls: [{ index: 1, function: { name: "then" } }] },
  );
  expect(first).toEqual({
    tool_calls: [{ index: 0, id: "call_ours_0", type: "function", function: { name: "now", arguments: "{" } }],
  });
  expect(second).toEqual({ tool_calls: [{ index: 0, function: { arguments: "}" } }] });
  expect(third).toEqual({
    tool_calls: [{ index: 1, id: "call_ours_1", type: "function", function: { name: "then", arguments: "" } }],
  });
  const calls = [
    { function: { name: "now", arguments: { at: 1 } } },
    { id: "x", type: "function", function: { name: "b" } },
  ];
  expect(answered({ role: "assistant", content: null, tool_calls: calls }).message.tool_calls).toEqual([
    { id: "call_ours_0", type: "function", function: { name: "now", arguments: '{"at":1}' } },
    { id: "x", type: "function", function: { name: "b", arguments: "{}" } },
  ]);
});

test.each([
  ["model_length", "length"],
  ["end_turn", "stop"],
  ["tool_use", "tool_calls"],
  ["sensitive", "content_filter"],
  ["stop", "stop"],
])("CHAT-08 the finish reason %s becomes %s", (stated, reason) => {
  expect(answered({ role: "assistant", content: "hi" }, stated).finish_reason).toBe(reason);
  const piece = new PassthroughChatStream(headOf("ours"), false).read(frame(chunk({}, stated)));
  expect(piece.is === "content" && JSON.parse(piece.text.slice(6)).choices[0].finish_reason).toBe(reason);
});

test("an empty finish reason is none: the stream is not complete", () => {
  const stream = new PassthroughChatStream(headOf("ours"), false);
  const piece = stream.read(frame(chunk({ content: "half" }, "")));
  expect(piece.is === "content" && piece.text).toContain('"finish_reason":null');
  expect(stream.isFinished).toBe(false);
});

test.each(["error", "network_error", "insufficient_system_resource"])(
  "a reply that ends with %s is rejected",
  (reason) => {
    expect(new PassthroughChatStream(headOf("ours"), false).read(frame(chunk({}, reason))).is).toBe("problem");
    expect(answered({ role: "assistant", content: "half" }, reason)).toBeUndefined();
  },
);

test("usage without choices is decoded; a plain-text error is an error", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  for (const bare of [
    { id: "up", usage },
    { id: "up", choices: null, usage },
  ]) {
    const stream = new PassthroughChatStream(headOf("ours"), true);
    expect(stream.read(frame(bare)).is).toBe("usage");
    expect(stream.usage?.outputTokens).toBe(2);
    const [last] = stream.close(USAGE, undefined).split("\n\n");
    expect(JSON.parse(last?.slice(6) ?? "").choices).toEqual([]);
  }
  expect(new PassthroughChatStream(headOf("ours"), true).read(frame({ error: "overloaded" }))).toMatchObject({
    is: "problem",
    problem: { message: "overloaded" },
  });
});
