import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CHAT_CALL, CHAT_FACTS } from "../../../../tests/support/chat.ts";
import { cutInto, eventsIn, folded } from "../../../../tests/support/events.ts";
import type { Json } from "../../../../tests/support/gateway.ts";
import { loadChunks, loadExchange } from "../../../../tests/support/replay.ts";
import { responseJson } from "../../../../tests/support/responses-native.ts";
import { callOf, framesOf } from "../../../../tests/support/responses-script.ts";
import { Fault } from "../../../contract/faults.ts";
import { ResponsesRequest } from "../../../contract/schemas/responses.ts";
import type { JsonObject } from "../../../kit/json.ts";
import type { Call } from "../../canon/call.ts";
import type { ConversationTurn, Part } from "../../canon/parts.ts";
import type { ReplyEvent } from "../../canon/reply-events.ts";
import type { ModelFacts } from "../upstream-dialect.ts";
import { decodeRequest } from "./client/request.ts";
import { inputItems } from "./client/turns.ts";
import { decodePassthroughReply as directReply } from "./passthrough/reply.ts";
import { providerSignature } from "./reasoning-signatures.ts";
import { responsesUpstream } from "./upstream/dialect.ts";

const FACTS: ModelFacts = { ...CHAT_FACTS, reasoningEncryptedBy: "acme" };
const ASKED = { call: CHAT_CALL, facts: FACTS };

const words = fc.string({ unit: "grapheme", maxLength: 12 });
const source = fc.record({
  type: fc.constantFrom("url_citation", "file_citation"),
  url: fc.webUrl(),
  title: words,
  start_index: fc.nat(),
  end_index: fc.nat(),
});
const thoughts = fc.record({
  id: fc.constant("rs_1"),
  type: fc.constant("reasoning"),
  summary: fc.array(fc.record({ type: fc.constant("summary_text"), text: words }), { maxLength: 3 }),
  encrypted_content: fc.oneof(fc.constant(null), fc.base64String({ minLength: 4 })),
});
const message = fc.record({
  id: fc.constant("msg_1"),
  type: fc.constant("message"),
  role: fc.constant("assistant"),
  content: fc.array(
    fc.oneof(
      fc.record({
        type: fc.constant("output_text"),
        text: words,
        annotations: fc.array(source, { maxLength: 2 }),
      }),
      fc.record({ type: fc.constant("refusal"), refusal: words }),
    ),
    { maxLength: 2 },
  ),
});
const json = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }).map((value) => JSON.stringify(value));
const call = fc
  .record({
    id: fc.constantFrom("call_a", "call_b"),
    name: fc.constantFrom("f", "g"),
    text: fc.oneof(json, fc.constant("")),
  })
  .map(({ id, name, text }) => callOf(id, name, text));
const foreign = fc.constant<JsonObject>({ id: "ws_1", type: "web_search_call", status: "completed" });
const outputs: fc.Arbitrary<JsonObject[]> = fc.array(fc.oneof(thoughts, message, call, foreign), { maxLength: 5 });
const ends: fc.Arbitrary<JsonObject> = fc.constantFrom(
  {},
  { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  { status: "incomplete", incomplete_details: { reason: "content_filter" } },
  { status: "incomplete", incomplete_details: null },
  { usage: null },
);

const whole = (output: readonly JsonObject[], end: JsonObject): readonly ReplyEvent[] =>
  responsesUpstream.decodeReply(Buffer.from(JSON.stringify(responseJson({ output, ...end }))), ASKED) ?? [];
const read = (chunks: Iterable<Buffer>) => eventsIn(chunks, responsesUpstream.openReader(ASKED));
const streamed = (output: readonly JsonObject[], end: JsonObject, pieceChars: number) =>
  Buffer.from(framesOf(output, (items) => responseJson({ output: items, ...end }), pieceChars).join(""));

test("stream = reply: a streamed reply decodes like the whole one", () => {
  fc.assert(
    fc.property(outputs, ends, fc.integer({ min: 1, max: 5 }), (output, end, pieceChars) => {
      const events = whole(output, end);
      expect(events.at(-1)).toEqual({ is: "end" });
      expect(folded(read([streamed(output, end, pieceChars)]))).toEqual(folded(events));
    }),
    { numRuns: 300 },
  );
});

test("any split of the bytes gives the same events", () => {
  fc.assert(
    fc.property(outputs, ends, fc.integer({ min: 1, max: 40 }), (output, end, size) => {
      const bytes = streamed(output, end, 2);
      expect(read(cutInto(bytes, size))).toEqual(read([bytes]));
    }),
    { numRuns: 50 },
  );
});

test("no prefix of a stream is a complete reply", () => {
  fc.assert(
    fc.property(outputs, fc.nat(), (output, at) => {
      const frames = framesOf(output);
      const events = read([Buffer.from(frames.slice(0, at % frames.length).join(""))]);
      expect(events.some(({ is }) => is === "end" || is === "finish")).toBe(false);
    }),
    { numRuns: 100 },
  );
});

test("servers that open no item, or send everything at the end, give the same events", () => {
  fc.assert(
    fc.property(outputs, (output) => {
      const said = folded(whole(output, {}));
      const frames = framesOf(output);
      const unopened = frames.filter((frame) => !frame.startsWith("event: response.output_item.added"));
      expect(folded(read([Buffer.from(unopened.join(""))]))).toEqual(said);
      expect(folded(read([Buffer.from(frames.slice(-1).join(""))]))).toEqual(said);
    }),
    { numRuns: 100 },
  );
});

test("any JSON is an event or is rejected, and nothing throws", () => {
  const names = fc.constantFrom(
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.reasoning_summary_text.delta",
    "response.function_call_arguments.delta",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
  );
  const body = fc.dictionary(
    fc.constantFrom("item", "response", "delta", "output_index", "annotation", "error", "content_index"),
    fc.oneof(fc.jsonValue(), outputs, fc.record({ output: fc.jsonValue() }), thoughts, message, call),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(names, body), { maxLength: 4 }), (list) => {
      const reader = responsesUpstream.openReader(ASKED);
      for (const [type, more] of list) {
        const events = reader.read({ event: null, data: JSON.stringify({ type, ...more }) });
        expect(events === undefined || Array.isArray(events)).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

describe("any call", () => {
  const text = fc.record({ is: fc.constant("text" as const), text: words });
  const media = fc.oneof(
    fc.record({ is: fc.constant("url" as const), url: fc.webUrl() }),
    fc.record({ is: fc.constant("uploaded" as const), id: fc.string({ minLength: 1 }) }),
    fc.record({
      is: fc.constant("inline" as const),
      mediaType: fc.constantFrom("image/png", "text/plain", "application/pdf"),
      base64: fc.base64String(),
    }),
  );
  const signature = fc.oneof(
    fc.record({ family: fc.constantFrom("anthropic" as const, "google" as const), data: fc.string() }),
    fc.constantFrom(providerSignature("acme", "own"), providerSignature("other", "theirs")),
  );
  const image = fc.record({ is: fc.constant("image" as const), source: media });
  const id = fc.oneof(fc.constantFrom("a", "b"), fc.string({ maxLength: 60 }));
  const part: fc.Arbitrary<Part> = fc.oneof(
    { arbitrary: text, weight: 20 },
    image,
    fc.record({ is: fc.constant("refusal" as const), text: words }),
    fc.record({ is: fc.constant("audio" as const), source: media }),
    fc.record({ is: fc.constant("file" as const), source: media, filename: fc.option(fc.string()) }),
    fc.record({
      is: fc.constant("reasoning" as const),
      detail: fc.oneof(
        fc.record({ is: fc.constant("readable" as const), text: words, signature: fc.option(signature) }),
        fc.record({ is: fc.constant("encrypted" as const), signature }),
      ),
    }),
    fc.record({ is: fc.constant("tool_call" as const), id, name: fc.string(), argumentsText: fc.string() }),
    fc.record({
      is: fc.constant("tool_result" as const),
      callId: id,
      content: fc.array(fc.oneof(text, image), { maxLength: 2 }),
      failed: fc.boolean(),
    }),
  );
  const turns: fc.Arbitrary<ConversationTurn[]> = fc.array(
    fc.record({
      role: fc.constantFrom("system", "developer", "user", "assistant", "tool"),
      parts: fc.array(part, { maxLength: 4 }),
    }),
    { maxLength: 5 },
  );

  test("is encoded or rejected by name, with all content and calls in it", () => {
    fc.assert(
      fc.property(turns, (list) => {
        let body: Json;
        try {
          body = JSON.parse(responsesUpstream.encodeRequest({ ...CHAT_CALL, turns: list }, FACTS));
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          return;
        }
        const shown = JSON.stringify(body);
        const parts = list.flatMap(({ role, parts: own }) => own.map((one) => ({ role, one })));
        for (const { one } of parts)
          if (one.is === "text") expect(shown).toContain(JSON.stringify(one.text).slice(1, -1));
        const count = (type: string) => body.input.filter((item: Json) => item.type === type).length;
        const results = parts.filter(({ one }) => one.is === "tool_result");
        const calls = parts.filter(({ role, one }) => role === "assistant" && one.is === "tool_call");
        expect(count("function_call_output")).toBe(results.length);
        expect(count("function_call")).toBe(calls.length);
        expect(shown).not.toContain("theirs");
        expect(body.input.at(-1).type).not.toBe("reasoning");
        expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
      }),
      { numRuns: 500 },
    );
  });

  test("round trip: the encoded request decodes to the same call", () => {
    const said: fc.Arbitrary<Part> = fc.oneof(
      fc.record({ is: fc.constant("text" as const), text: fc.string({ minLength: 1 }) }),
      fc.record({ is: fc.constant("refusal" as const), text: fc.string({ minLength: 1 }) }),
      fc.record({
        is: fc.constant("tool_call" as const),
        id: fc.constantFrom("a", "b"),
        name: fc.constantFrom("f", "g"),
        argumentsText: json,
      }),
    );
    const heard: fc.Arbitrary<Part> = fc.oneof(
      fc.record({ is: fc.constant("text" as const), text: fc.string({ minLength: 1 }) }),
      fc.record({
        is: fc.constant("image" as const),
        source: fc.oneof(
          fc.record({ is: fc.constant("url" as const), url: fc.webUrl() }),
          fc.record({ is: fc.constant("uploaded" as const), id: fc.constant("file-1") }),
        ),
      }),
    );
    const results: fc.Arbitrary<Part> = fc.record({
      is: fc.constant("tool_result" as const),
      callId: fc.constantFrom("a", "b"),
      content: fc.array(fc.record({ is: fc.constant("text" as const), text: fc.string({ minLength: 1 }) }), {
        minLength: 1,
        maxLength: 1,
      }),
      failed: fc.constant(false),
    });
    const one = (role: ConversationTurn["role"], parts: fc.Arbitrary<Part>, maxLength: number) =>
      fc.array(parts, { minLength: 1, maxLength }).map((list): ConversationTurn => ({ role, parts: list }));
    const told = fc.record({ is: fc.constant("text" as const), text: fc.string({ minLength: 1 }) });
    const conversation = fc.tuple(
      one("system", told, 1),
      one("user", heard, 3),
      one("assistant", said, 3),
      one("tool", results, 1),
      one("user", heard, 2),
    );
    const effort = fc.constantFrom("none" as const, "low" as const, "xhigh" as const);
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const settings = fc.record({
      turns: conversation,
      reasoning: fc.option(fc.record({ effort, budgetTokens: fc.constant(null) }), { nil: undefined }),
      maxOutputTokens: fc.option(fc.integer({ min: 16, max: 9000 }), { nil: undefined }),
      toolChoice: fc.constantFrom<Call["toolChoice"][]>(
        undefined,
        { is: "auto" },
        { is: "none" },
        { is: "required" },
        { is: "named", name: "f" },
      ),
      tools: fc.array(
        fc.record({
          name: fc.constant("f"),
          description: fc.option(fc.string()),
          schema: fc.constant(schema),
          strict: fc.boolean(),
        }),
        { minLength: 1, maxLength: 2 },
      ),
      responseFormat: fc.constantFrom<Call["responseFormat"][]>(
        { is: "text" },
        { is: "json_schema", name: "n", description: null, schema, strict: true },
      ),
      stream: fc.boolean(),
    });
    const calls: fc.Arbitrary<Call> = settings.map((given) => ({ ...CHAT_CALL, ...given }));
    fc.assert(
      fc.property(calls, (asked) => {
        const request = ResponsesRequest.parse(JSON.parse(responsesUpstream.encodeRequest(asked, FACTS)));
        const again = decodeRequest(request, inputItems(request));
        const { reasoning, maxOutputTokens, toolChoice, tools, responseFormat, stream } = asked;
        expect(again).toMatchObject({ reasoning, maxOutputTokens, toolChoice, tools, responseFormat, stream });
        expect(again.turns.map(({ role, parts }) => ({ role, parts }))).toEqual(asked.turns);
        expect(again.native).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe("recordings decode to what passthrough shows", () => {
  const STREAMS = ["stream-text", "stream-function-call", "background-stream"];
  const REPLIES = ["json-schema", "cache-write-5.6", "previous-response-id"];

  /** Reduced to the fields that both sides have. */
  const shownOf = (events: readonly ReplyEvent[]) => ({
    text: events.map((event) => (event.is === "text" ? event.text : "")).join(""),
    calls: events.flatMap((event) => (event.is === "tool_call" ? [[event.id, event.name]] : [])),
    arguments: events.map((event) => (event.is === "tool_arguments" ? event.text : "")).join(""),
    reasoning: events.map((event) => (event.is === "reasoning" ? event.text : "")).join(""),
    usage: events.flatMap((event) => (event.is === "usage" ? [event.usage] : [])).at(-1),
  });
  const shownIn = (response: Json) => {
    const of = (type: string) => response.output.filter((item: Json) => item.type === type);
    const texts = (list: Json[]) => list.map(({ text }) => text);
    return {
      text: texts(of("message").flatMap(({ content }: Json) => content)).join(""),
      calls: of("function_call").map(({ call_id, name }: Json) => [call_id, name]),
      arguments: of("function_call")
        .map((item: Json) => item.arguments)
        .join(""),
      reasoning: texts(of("reasoning").flatMap(({ summary }: Json) => summary)).join("\n\n"),
      usage: directReply(Buffer.from(JSON.stringify(response)), {
        head: { id: "x", createdSeconds: 0, model: "m", inputTokens: 0 },
        provider: "acme",
        echo: {},
      })?.usage,
    };
  };

  /** The dialect's own servers send no end marker. */
  const framesIn = (bytes: Buffer) =>
    bytes
      .toString()
      .split("\n\n")
      .filter((frame) => frame !== "" && !frame.includes("[DONE]"));

  function expectSame(bytes: Buffer): void {
    const events = read([bytes]);
    const last: Json = JSON.parse(bytes.toString().split("data: ").at(-1) ?? "");
    expect(shownOf(events)).toEqual(shownIn(last.response));
    expect(events.at(-1)).toEqual({ is: "end" });
    expect(read(cutInto(bytes, 7))).toEqual(events);
    expect(events.filter(({ is }) => is === "begin")).toEqual([{ is: "begin", upstreamId: last.response.id }]);
  }

  test.each(STREAMS)("%s", (name) => {
    for (const { response } of loadExchange(`responses/${name}`).interactions) expectSame(response.body);
  });

  test("stream-reasoning-summary", () => {
    // Several answers, one after the other.
    const frames = framesIn(loadChunks("responses/stream-reasoning-summary"));
    const begins = frames.flatMap((frame, at) => (frame.includes('"response.created"') ? [at] : []));
    expect(begins.length).toBeGreaterThan(1);
    for (const [at, begin] of begins.entries())
      expectSame(Buffer.from(frames.slice(begin, begins[at + 1]).join("\n\n")));
  });

  test("stream-error is a problem", () => {
    const events = read([Buffer.from(framesIn(loadChunks("responses/stream-error")).join("\n\n"))]);
    expect(events.filter(({ is }) => is === "problem").length).toBeGreaterThan(0);
    expect(events.some(({ is }) => is === "finish" || is === "end")).toBe(false);
  });

  test.each(REPLIES)("%s", (name) => {
    for (const { response } of loadExchange(`responses/${name}`).interactions) {
      const events = responsesUpstream.decodeReply(response.body, ASKED) ?? [];
      expect(shownOf(events)).toEqual(shownIn(JSON.parse(response.body.toString())));
    }
  });

  test("background-poll: only the end is an answer", () => {
    for (const { response } of loadExchange("responses/background-poll").interactions) {
      const { status } = JSON.parse(response.body.toString());
      expect(responsesUpstream.decodeReply(response.body, ASKED) !== undefined).toBe(status === "completed");
    }
  });
});
