import { describe, expect, test } from "vitest";
import { cutInto } from "../../../../../tests/support/events.ts";
import { messageEvent, messageJson, messageStream } from "../../../../../tests/support/messages.ts";
import { encodeEventMessage } from "../../../../kit/aws-event-stream.ts";
import { SseReader } from "../../../../kit/sse.ts";
import type { StreamPiece } from "../../../canon/reply.ts";
import { weightOf } from "../../../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS } from "../../../canon/usage.ts";
import { ConverseFrames } from "../../converse/upstream/frames.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";
import { decodePassthroughReply } from "./reply.ts";
import { InvokeModelStream, PassthroughMessagesStream } from "./stream.ts";

const OWN = { id: "msg_own", model: "anthropic/claude-own" };
/** A text of the provider's with what is the gateway's in it. */
const asOwn = (text: string) => text.replace('"msg_1"', `"${OWN.id}"`).replace('"claude-test"', `"${OWN.model}"`);
const NO_USAGE = {
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

const CONTENT = [
  { type: "thinking", thinking: "Let me see. Ünïcödé", signature: "c2ln" },
  { type: "redacted_thinking", data: "opaque" },
  { type: "text", text: "Hello, 世界", citations: [{ url: "https://a.example", title: "A" }] },
  { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris", big: 12345678901 } },
  { type: "web_search_tool_result", tool_use_id: "srv_1", content: [{ type: "web_search_result", url: "u" }] },
];
const USAGE = {
  input_tokens: 11,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 50,
  cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
  output_tokens: 42,
  output_tokens_details: { thinking_tokens: 9 },
};

const framesOf = (bytes: Buffer, size = bytes.length): StreamFrame[] => {
  const reader = new SseReader(1 << 20);
  return [...[...cutInto(bytes, size)].flatMap((chunk) => reader.push(chunk)), ...reader.end()];
};
const textOf = (pieces: readonly StreamPiece[]) => pieces.map((piece) => ("text" in piece ? piece.text : "")).join("");
const readAll = (stream: PassthroughMessagesStream, frames: readonly StreamFrame[]) =>
  frames.map((frame) => stream.read(frame));
const event = (data: object): StreamFrame => ({ event: null, data: JSON.stringify(data) });

describe("a relayed stream", () => {
  const source = messageStream(messageJson(CONTENT, { usage: USAGE }), 5);
  const expected = asOwn(source.toString());

  test("MSG-01 every byte except id and model reaches the caller, however the stream is split", () => {
    for (const size of [1, 2, 3, 7, 64, 1000, source.length]) {
      const stream = new PassthroughMessagesStream(OWN);
      const pieces = readAll(stream, framesOf(source, size));
      expect(textOf(pieces) + stream.close()).toBe(expected);
    }
  });

  test("MSG-01 BILL-05 the relayed stream is metered: the last usage wins, all output is weighed", () => {
    const stream = new PassthroughMessagesStream(OWN);
    readAll(stream, framesOf(source));
    expect(stream.usage).toEqual({
      ...NO_USAGE,
      inputTokens: 161,
      cachedTokens: 100,
      cacheWriteTokens: 50,
      cacheWrite1hTokens: 30,
      outputTokens: 42,
      reasoningTokens: 9,
    });
    const written = ["Let me see. Ünïcödé", "Hello, 世界", "weather", JSON.stringify(CONTENT[3]?.input)];
    expect(stream.outputWeight).toBe(weightOf(written.join("")));
    expect(stream).toMatchObject({ upstreamId: "msg_1", isFinished: true });
  });

  test("the last event is held until the close", () => {
    const stream = new PassthroughMessagesStream(OWN);
    const pieces = readAll(stream, framesOf(source));
    expect(pieces.at(-1)).toEqual({ is: "end", text: "" });
    expect(stream.close()).toBe('event: message_stop\ndata: {"type":"message_stop"     }\n\n');
  });

  test("only id and model of the message change: spaces, order, escapes and numbers stay", () => {
    const data =
      '{ "message" : {"usage":{"input_tokens":1.0},"big":12345678901234567890, "id" : "x\\u0041" ,"model" :"c\\u0041","s":"\\u00e9\\/"}, "type":"message_start","extra":null }   ';
    expect(new PassthroughMessagesStream(OWN).read({ event: "message_start", data })).toEqual({
      is: "preamble",
      text: `event: message_start\ndata: ${data.replace('"x\\u0041"', `"${OWN.id}"`).replace('"c\\u0041"', `"${OWN.model}"`)}\n\n`,
    });
  });

  test("message_start, pings and an empty text are preamble; everything after is content", () => {
    const stream = new PassthroughMessagesStream(OWN);
    const kinds = readAll(stream, [
      event({ type: "message_start", message: { id: "m" } }),
      event({ type: "ping" }),
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      event({ type: "ping" }),
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } }),
      event({ type: "ping" }),
      event({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
    ]).map(({ is }) => is);
    expect(kinds).toEqual(["preamble", "preamble", "preamble", "preamble", "content", "content", "content"]);
  });

  test.each(["thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result", "new_kind"])(
    "a block of %s is content when it opens",
    (type) => {
      const stream = new PassthroughMessagesStream(OWN);
      expect(stream.read(event({ type: "content_block_start", index: 0, content_block: { type } })).is).toBe("content");
    },
  );

  test("unknown events pass through, JSON or not; known ones must be JSON", () => {
    const stream = new PassthroughMessagesStream(OWN);
    const text = 'event: novelty\ndata: {"type":"novelty", "a":1}\n\n';
    expect(textOf(readAll(stream, framesOf(Buffer.from(text))))).toBe(text);
    expect(stream.read({ event: "novelty", data: "words" })).toMatchObject({ is: "preamble" });
    expect(stream.read({ event: "ping", data: "words" })).toEqual({ is: "malformed" });
    expect(stream.read({ event: null, data: "words" })).toEqual({ is: "malformed" });
    expect(stream.read({ event: "message_start", data: '{"type":"message_start"}' })).toEqual({ is: "malformed" });
  });

  test("multi-line data stays multi-line; an event without a name gets its type", () => {
    const stream = new PassthroughMessagesStream(OWN);
    const lines = 'event: ping\ndata: {"type":\ndata: "ping"}\n\n';
    expect(textOf(readAll(stream, framesOf(Buffer.from(lines))))).toBe(lines);
    expect(textOf([stream.read(event({ type: "ping" }))])).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  });

  test("an error inside the stream is a problem with its status", () => {
    const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(new PassthroughMessagesStream(OWN).read({ event: "error", data: JSON.stringify(overloaded) })).toEqual({
      is: "problem",
      problem: { message: "Overloaded", code: null, type: "overloaded_error", status: 529 },
    });
  });

  test("CHAT-07 one implausible usage field makes the whole usage implausible", () => {
    for (const output_tokens of [-1, 2.5]) {
      const stream = new PassthroughMessagesStream(OWN);
      const usage = { input_tokens: 10, output_tokens: 1 };
      stream.read(event({ type: "message_start", message: { id: "m", content: [], usage } }));
      expect(stream.usage).toMatchObject({ inputTokens: 10, outputTokens: 1 });
      stream.read(event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens } }));
      expect(stream.usage).toBe(IMPLAUSIBLE_TOKENS);
      expect(stream.isUsagePartial).toBeUndefined();
    }
  });

  test("a missing last event is filled in; a failed stream ends with an error event", () => {
    const stream = new PassthroughMessagesStream(OWN);
    stream.read(event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }));
    expect(stream.isFinished).toBe(true);
    expect(stream.close()).toBe(messageEvent({ type: "message_stop" }));
    const error = { message: "m", type: "upstream_error", code: "upstream_error", request_id: OWN.id } as const;
    expect(stream.fail({ error })).toBe(
      `event: error\ndata: ${JSON.stringify({ type: "error", error, request_id: OWN.id })}\n\n`,
    );
  });
});

describe("a relayed whole reply", () => {
  test("MSG-01 the provider's bytes with the gateway's id and model name, and usage for the meter", () => {
    const text = `\n${JSON.stringify(messageJson(CONTENT, { usage: USAGE, unknown: { a: [1.0, 2e5] } }), null, 1)} \n`;
    const answer = decodePassthroughReply(Buffer.from(text), OWN);
    expect(answer?.render(NO_USAGE, undefined)).toBe(asOwn(text));
    expect(answer?.usage).toMatchObject({ inputTokens: 161, cacheWrite1hTokens: 30, outputTokens: 42 });
    expect(answer?.upstreamId).toBe("msg_1");
    expect(answer?.outputWeight).toBeGreaterThan(50);
  });

  test.each(['{"type":"error","error":{"type":"api_error"}}', "[]", "words", '{"content":"text"}'])(
    "%s is not a reply",
    (text) => {
      expect(decodePassthroughReply(Buffer.from(text), OWN)).toBeUndefined();
    },
  );
});

describe("the response stream of InvokeModel", () => {
  const chunk = (data: string) =>
    encodeEventMessage(
      { ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" },
      JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "abcdef" }),
    );
  const read = (bytes: Buffer, size: number) => {
    const frames = new ConverseFrames(1 << 20);
    const stream = new InvokeModelStream(OWN);
    const list = [...[...cutInto(bytes, size)].flatMap((part) => frames.push(part)), ...frames.end()];
    const pieces = readAll(stream, list);
    return { stream, pieces, text: textOf(pieces) + stream.close() };
  };
  const events = framesOf(messageStream(messageJson(CONTENT, { usage: USAGE }), 6));
  const metrics = { inputTokenCount: 11, outputTokenCount: 42, invocationLatency: 5, firstByteLatency: 2 };
  const packed = Buffer.concat(
    events.map(({ data }) =>
      chunk(
        data.includes("message_stop")
          ? JSON.stringify({ type: "message_stop", "amazon-bedrock-invocationMetrics": metrics })
          : data,
      ),
    ),
  );

  test("MSG-01 its events are those of the dialect, without Bedrock's metrics", () => {
    const expected = asOwn(events.map(({ event: name, data }) => `event: ${name}\ndata: ${data}\n\n`).join("")).replace(
      '{"type":"message_stop"     }',
      '{"type":"message_stop"}',
    );
    for (const size of [1, 5, 100, packed.length]) {
      const { text, stream } = read(packed, size);
      expect(text).toBe(expected);
      expect(stream.usage).toMatchObject({ inputTokens: 161, outputTokens: 42 });
    }
  });

  test("an exception is a problem with its status; a corrupt message is malformed", () => {
    const headers = { ":exception-type": "throttlingException", ":message-type": "exception" };
    const thrown = encodeEventMessage(headers, '{"message":"Too many requests"}');
    expect(read(thrown, 9).pieces).toEqual([
      {
        is: "problem",
        problem: { message: "Too many requests", code: "throttlingException", type: null, status: 429 },
      },
    ]);
    expect(read(packed.subarray(0, -3), 50).pieces.at(-1)).toEqual({ is: "malformed" });
    expect(read(chunk("words"), 50).pieces).toEqual([{ is: "malformed" }]);
  });
});
