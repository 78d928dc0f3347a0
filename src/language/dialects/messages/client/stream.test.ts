import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldMessage, messageEvents } from "../../../../../tests/support/message-stream.ts";
import { envelopeOf } from "../../../../contract/error-envelope.ts";
import { fault } from "../../../../contract/faults.ts";
import { MessagesRequest } from "../../../../contract/schemas/messages.ts";
import type { Call } from "../../../canon/call.ts";
import type { Part, ReasoningSignature } from "../../../canon/parts.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../../../canon/usage.ts";
import type { FinishEvent, ReplyHead } from "../../client-dialect.ts";
import { messagesClient } from "./dialect.ts";
import { decodeRequest } from "./request.ts";

const HEAD: ReplyHead = { id: "msg_1", createdSeconds: 1, model: "some/model", inputTokens: 42 };
const USED: Usage = {
  inputTokens: 100,
  cachedTokens: 30,
  cacheWriteTokens: 20,
  outputTokens: 7,
  reasoningTokens: 3,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};
const CALL: Call = decodeRequest(
  MessagesRequest.parse({ model: "some/model", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] }),
);
const SHOWN = { cost: 0.5, currency: "EUR" };
const google = (data: string): ReasoningSignature => ({ family: "google", data });

function streamed(events: readonly ReplyEvent[], usage = USED): string {
  const writer = messagesClient.openWriter(HEAD, CALL);
  let finish: FinishEvent | undefined;
  let text = "";
  for (const event of events) {
    if (event.is === "finish") finish = event;
    else text += writer.write(event);
  }
  return text + writer.close({ finish, usage, cost: SHOWN });
}

const whole = (events: readonly ReplyEvent[]) => JSON.parse(messagesClient.render(events, HEAD, CALL, USED, SHOWN));

const text = (said: string): ReplyEvent => ({ is: "text", text: said });
const thought = (said: string): ReplyEvent => ({ is: "reasoning", text: said });
const call = (index: number, signature: ReasoningSignature | null = null): ReplyEvent => ({
  is: "tool_call",
  index,
  id: `call_${index}`,
  name: `tool_${index}`,
  signature,
});
const args = (index: number, said: string): ReplyEvent => ({ is: "tool_arguments", index, text: said });
const end = (reason: FinishEvent["reason"], stopSequence?: string): ReplyEvent => ({
  is: "finish",
  reason,
  ...(stopSequence === undefined ? {} : { stopSequence }),
});

describe("the order of events", () => {
  test("MSG-02 one message_start, then the blocks, then message_delta and message_stop", () => {
    const types = messageEvents(
      streamed([
        { is: "begin", upstreamId: "x" },
        { is: "begin", upstreamId: "x" },
        text("Hel"),
        text("lo"),
        end("stop"),
      ]),
    ).map(({ type }) => type);
    expect(types).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  test("MSG-02 the first delta is not lost when its block opens", () => {
    expect(foldMessage(streamed([text("First"), text(" second"), end("stop")])).content).toEqual([
      { type: "text", text: "First second" },
    ]);
  });

  test("MSG-02 no empty text block precedes tools", () => {
    const message = foldMessage(streamed([text(""), call(0), args(0, '{"a":1}'), text(""), end("tool_calls")]));
    expect(message.content).toEqual([{ type: "tool_use", id: "call_0", name: "tool_0", input: { a: 1 } }]);
    expect(message.stop_reason).toBe("tool_use");
  });

  test("MSG-02 blocks open with their first delta and close in order", () => {
    const message = foldMessage(
      streamed([
        thought("Hm"),
        text("Look:"),
        call(0),
        args(0, "{}"),
        call(1),
        args(1, '{"b":[2]}'),
        end("tool_calls"),
      ]),
    );
    expect(message.content).toEqual([
      { type: "thinking", thinking: "Hm", signature: "" },
      { type: "text", text: "Look:" },
      { type: "tool_use", id: "call_0", name: "tool_0", input: {} },
      { type: "tool_use", id: "call_1", name: "tool_1", input: { b: [2] } },
    ]);
  });

  test("MSG-02 interleaved arguments of several tools become one block each, later ones queued", () => {
    const writer = messagesClient.openWriter(HEAD, CALL);
    writer.write(call(0));
    writer.write(args(0, '{"a":"}'));
    expect(writer.write(call(1))).toBe("");
    expect(writer.write(args(1, '{"b":'))).toBe("");
    expect(writer.write(args(0, '\\""}'))).toContain("content_block_start");
    const message = foldMessage(
      streamed([
        call(0),
        args(0, '{"a":"}'),
        call(1),
        args(1, '{"b":'),
        args(0, '\\""}'),
        args(1, "2}"),
        call(2),
        end("tool_calls"),
      ]),
    );
    expect(message.content.map(({ input }: { input: unknown }) => input)).toEqual([{ a: '}"' }, { b: 2 }, {}]);
  });

  test.each([
    ["nope", "nope"],
    ["[1]", [1]],
    ["null", {}],
    ["  ", {}],
    ['"{\\"a\\":1}"', { a: 1 }],
    [' {"a":1}', { a: 1 }],
  ])("MSG-02 PARAM-07 arguments %s become an object, or stay text, whole and streamed", (written, input) => {
    const events = [call(0), ...[...written].map((piece) => args(0, piece)), text("Done."), end("tool_calls")];
    const deltas = messageEvents(streamed(events)).flatMap(({ delta }) => delta?.partial_json ?? []);
    expect(JSON.parse(deltas.join(""))).toEqual(input);
    expect(whole(events).content[0]).toMatchObject({ type: "tool_use", input });
    expect(foldMessage(streamed(events)).content).toEqual(whole(events).content);
  });

  test("MSG-02 text after an unfinished tool call is queued and not lost", () => {
    const message = foldMessage(streamed([call(0), args(0, '{"a":'), text("Done."), args(0, "1}"), end("tool_calls")]));
    expect(message.content).toEqual([
      { type: "tool_use", id: "call_0", name: "tool_0", input: { a: 1 } },
      { type: "text", text: "Done." },
    ]);
  });

  test("MSG-02 an empty reply is a message without content", () => {
    expect(foldMessage(streamed([end("length")]))).toMatchObject({ content: [], stop_reason: "max_tokens" });
  });
});

describe("usage", () => {
  test("MSG-02 message_start has every field and the gateway's estimate, never zero", () => {
    const [start] = messageEvents(streamed([text("x"), end("stop")]));
    expect(start.message).toMatchObject({ id: "msg_1", type: "message", role: "assistant", model: "some/model" });
    expect(start.message).toMatchObject({ stop_reason: null, stop_sequence: null, stop_details: null });
    expect(start.message.usage).toEqual({
      input_tokens: 42,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 1,
      server_tool_use: null,
      inference_geo: null,
      service_tier: "standard",
      speed: null,
    });
    const none = messagesClient.openWriter({ ...HEAD, inputTokens: 0 }, CALL);
    expect(messageEvents(none.write(text("x")))[0].message.usage.input_tokens).toBe(1);
  });

  test("MSG-02 usage reported before the first content is in message_start, unless it is zero", () => {
    const told = messageEvents(streamed([{ is: "usage", usage: USED }, text("x"), end("stop")]));
    expect(told[0].message.usage).toMatchObject({ input_tokens: 50, cache_read_input_tokens: 30, output_tokens: 1 });
    const cached = { ...USED, cachedTokens: 80 };
    const zero = messageEvents(streamed([{ is: "usage", usage: cached }, text("x"), end("stop")]));
    expect(zero[0].message.usage.input_tokens).toBe(42);
    const impossible = messageEvents(streamed([{ is: "usage", usage: IMPLAUSIBLE_TOKENS }, text("x"), end("stop")]));
    expect(impossible[0].message.usage.input_tokens).toBe(42);
  });

  test("MSG-02 message_delta has the final usage: input without cache, never negative, and the cost", () => {
    const delta = messageEvents(streamed([text("x"), end("stop")])).at(-2);
    expect(delta.usage).toEqual({
      input_tokens: 50,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 },
      server_tool_use: null,
      cost: 0.5,
      currency: "EUR",
    });
    expect(delta.delta).toEqual({ stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null });
    const hour = messageEvents(streamed([text("x"), end("stop")], { ...USED, cacheWrite1hTokens: 5 })).at(-2);
    expect(hour.usage.cache_creation).toEqual({ ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 5 });
    const odd = messageEvents(streamed([text("x"), end("stop")], { ...USED, inputTokens: 10 })).at(-2);
    expect(odd.usage.input_tokens).toBe(0);
    expect(whole([text("x"), end("stop")]).usage).toMatchObject({ input_tokens: 50, cost: 0.5, currency: "EUR" });
  });
});

describe("stop reason", () => {
  test.each([
    [end("stop"), "end_turn", null],
    [end("stop", "END"), "stop_sequence", "END"],
    [end("length"), "max_tokens", null],
    [end("length", "END"), "max_tokens", null],
    [end("tool_calls"), "tool_use", null],
    [end("content_filter"), "refusal", null],
  ])("MSG-02 %o", (finish, reason, sequence) => {
    expect(foldMessage(streamed([text("x"), finish]))).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
  });

  test("MSG-02 stop after a tool call is tool_use, and a truncated one is max_tokens", () => {
    expect(whole([call(0), args(0, "{}"), end("stop")]).stop_reason).toBe("tool_use");
    const cut = whole([call(0), args(0, '{"a":'), end("length")]);
    expect([cut.stop_reason, cut.content[0].input]).toEqual(["max_tokens", '{"a":']);
  });

  test("MSG-02 a refusal is readable text with stop reason refusal", () => {
    const message = foldMessage(
      streamed([{ is: "refusal", text: "I can" }, { is: "refusal", text: "not." }, end("stop")]),
    );
    expect(message).toMatchObject({
      content: [{ type: "text", text: "I cannot." }],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I cannot." },
    });
    const cut = whole([{ is: "refusal", text: "I can" }, end("length")]);
    expect(cut).toMatchObject({ stop_reason: "max_tokens", stop_details: null });
  });
});

test("MSG-02 citations are inside their text block", () => {
  const citation = { url: "https://example.eu", title: "Example", start: 0, end: 2 };
  const events: ReplyEvent[] = [text("Hi"), { is: "citation", citation, path: "annotations[]" }, end("stop")];
  const [block] = foldMessage(streamed(events)).content;
  expect(block).toMatchObject({ text: "Hi", citations: [{ url: "https://example.eu", title: "Example" }] });
  expect(whole(events).content).toEqual([block]);
});

test("MSG-02 idle streams get a ping", () => {
  expect(messageEvents(messagesClient.keepAlive)).toEqual([{ type: "ping" }]);
});

test("ERR-03 a broken stream ends with an error event of the dialect's shape", () => {
  const writer = messagesClient.openWriter(HEAD, CALL);
  writer.write(text("x"));
  const [event] = messageEvents(writer.fail(envelopeOf(fault("upstream_error", { message: "It broke." }), "msg_1")));
  expect(event).toEqual({
    type: "error",
    error: { message: "It broke.", type: "upstream_error", code: "upstream_error", request_id: "msg_1" },
    request_id: "msg_1",
  });
});

test("MSG-02 numbers in a tool's input stay as the model wrote them", () => {
  const events = [call(0), args(0, '{"id":12345678901234567890,"x":1.0}'), end("tool_calls")];
  expect(messagesClient.render(events, HEAD, CALL, USED, SHOWN)).toContain(
    '"input":{"id":12345678901234567890,"x":1.0}',
  );
});

/** Any answer that a reader of any dialect could tell, in any order. */
const anyText = fc.string({ unit: "grapheme", maxLength: 6 });
const anySeal: fc.Arbitrary<ReasoningSignature> = fc.record({
  family: fc.constantFrom("anthropic", "google", "openai"),
  data: fc.oneof(fc.base64String({ minLength: 1, maxLength: 12 }), fc.constant("svc:call:google:x")),
});
const anyBlock: fc.Arbitrary<ReplyEvent[]> = fc.oneof(
  anyText.map((said) => [text(said)]),
  fc.tuple(anyText, anyText).map(([a, b]) => [thought(a), thought(b)]),
  fc
    .tuple(fc.string({ minLength: 1, maxLength: 6 }), fc.option(anySeal, { nil: null }))
    .map(([said, signature]): ReplyEvent[] => [
      thought(said),
      { is: "reasoning_detail", detail: { is: "readable", text: said, signature } },
    ]),
  anySeal.map((signature): ReplyEvent[] => [{ is: "reasoning_detail", detail: { is: "encrypted", signature } }]),
);
const anyCalls = fc
  .array(fc.tuple(fc.dictionary(anyText, anyText, { maxKeys: 3 }), fc.option(anySeal, { nil: null })), { maxLength: 4 })
  .chain((made) => {
    const opened = made.map(([, signature], index) => [call(index, signature)]);
    const written = made.map(([input], index) => [...JSON.stringify(input)].map((piece) => args(index, piece)));
    // Calls open in order; their arguments may come mixed.
    return fc.infiniteStream(fc.nat()).map((dice) => [...opened.flat(), ...shuffledTogether(written, dice)]);
  });

function shuffledTogether(lists: ReplyEvent[][], dice: Iterable<number>): ReplyEvent[] {
  const left = lists.map((list) => [...list]);
  const mixed: ReplyEvent[] = [];
  for (const roll of dice) {
    const open = left.filter((list) => list.length > 0);
    const next = open[roll % Math.max(1, open.length)]?.shift();
    if (next === undefined) break;
    mixed.push(next);
  }
  return mixed;
}

const anyAnswer = fc
  .tuple(fc.array(anyBlock, { maxLength: 5 }), anyCalls, fc.constantFrom("stop", "length", "tool_calls"))
  .map(([blocks, calls, reason]): ReplyEvent[] => [...blocks.flat(), ...calls, { is: "finish", reason }]);

test("MSG-02 the whole reply is what a client assembles from the stream", () => {
  fc.assert(
    fc.property(anyAnswer, (events) => {
      expect(foldMessage(streamed(events))).toEqual(whole(events));
    }),
  );
});

test("MSG-02 a returned reply decodes to the model's parts, with every signature in place", () => {
  fc.assert(
    fc.property(anyAnswer, (events) => {
      const { content } = whole(events);
      if (content.length === 0) return;
      const request = { model: "m", max_tokens: 1, messages: [{ role: "assistant", content }] };
      const [turn] = decodeRequest(MessagesRequest.parse(request)).turns;
      expect(turn?.parts).toEqual(partsOf(events));
    }),
  );
});

/** The same reply as parts of a turn. */
function partsOf(events: readonly ReplyEvent[]): Part[] {
  const parts: Part[] = [];
  const written = new Map<number, string>();
  for (const event of events)
    if (event.is === "tool_arguments") written.set(event.index, (written.get(event.index) ?? "") + event.text);
  let open: "text" | "thinking" | undefined;
  for (const event of events) {
    const last = parts.at(-1);
    if (event.is === "text" && event.text !== "") {
      if (open === "text" && last?.is === "text")
        parts[parts.length - 1] = { is: "text", text: last.text + event.text };
      else parts.push({ is: "text", text: event.text });
      open = "text";
    } else if (event.is === "reasoning" && event.text !== "") {
      const before =
        open === "thinking" && last?.is === "reasoning" && last.detail.is === "readable" ? last.detail.text : undefined;
      if (before !== undefined) parts.pop();
      parts.push({ is: "reasoning", detail: { is: "readable", text: (before ?? "") + event.text, signature: null } });
      open = "thinking";
    } else if (event.is === "reasoning_detail") {
      const { detail } = event;
      const shown =
        open === "thinking" && last?.is === "reasoning" && last.detail.is === "readable" ? last.detail.text : "";
      if (detail.is === "readable") {
        parts.pop();
        parts.push({ is: "reasoning", detail: { ...detail, text: shown } });
      } else parts.push({ is: "reasoning", detail });
      open = undefined;
    } else if (event.is === "tool_call") {
      const { id, name, signature } = event;
      const argumentsText = JSON.stringify(JSON.parse(written.get(event.index) ?? "{}"));
      parts.push({ is: "tool_call", id, name, argumentsText, ...(signature === null ? {} : { signature }) });
      open = undefined;
    }
  }
  return parts;
}

test("MSG-02 a signature of a tool call precedes it in a block that callers return", () => {
  const { content } = whole([call(0, google("c2ln")), args(0, "{}"), end("tool_calls")]);
  expect(content[0]).toEqual({ type: "redacted_thinking", data: "svc:call:google:c2ln" });
  expect(content[1]).toMatchObject({ type: "tool_use", id: "call_0" });
});

test("MSG-02 tool ids are encoded for the caller and decoded when returned", () => {
  const odd = { is: "tool_call", index: 0, id: "functions.get:0", name: "get", signature: null } as const;
  const { content } = whole([odd, args(0, "{}"), end("tool_calls")]);
  expect(content[0].id).toMatch(/^[a-zA-Z0-9_-]+$/);
  const back = MessagesRequest.parse({
    model: "m",
    max_tokens: 1,
    messages: [
      { role: "assistant", content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: content[0].id }] },
    ],
  });
  const { turns } = decodeRequest(back);
  expect(turns[0]?.parts[0]).toMatchObject({ id: "functions.get:0" });
  expect(turns[1]?.parts[0]).toMatchObject({ callId: "functions.get:0" });
});
