import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byCall, CHAT_CALL, CHAT_FACTS, chatChunk, chatSse, headOf, usable } from "../../../../tests/support/chat.ts";
import { cutInto, eventsIn, folded } from "../../../../tests/support/events.ts";
import type { Json } from "../../../../tests/support/gateway.ts";
import { loadChunks, loadExchange } from "../../../../tests/support/replay.ts";
import { Fault } from "../../../contract/faults.ts";
import { isJsonObject, type JsonObject } from "../../../kit/json.ts";
import { SseReader } from "../../../kit/sse.ts";
import type { Call } from "../../canon/call.ts";
import type { ConversationTurn, Part } from "../../canon/parts.ts";
import type { Quirk } from "../../canon/quirks.ts";
import type { ReplyEvent } from "../../canon/reply-events.ts";
import type { Usage } from "../../canon/usage.ts";
import { chatClient } from "./client/dialect.ts";
import { decodePassthroughReply as directReply } from "./passthrough/reply.ts";
import { PassthroughChatStream } from "./passthrough/stream.ts";
import { chatUpstream } from "./upstream/dialect.ts";

type Answer = {
  readonly reasoning: string;
  readonly content: string;
  readonly refusal: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
  readonly reason: string;
};
/** The ways of servers that say the same. */
type Manner = {
  readonly pieceChars: number;
  readonly reasoningIn: "reasoning" | "reasoning_content" | "parts" | "details";
  readonly order: "one_by_one" | "no_index" | "mixed";
  readonly names: "first" | "late" | "again";
  readonly finish: "own_chunk" | "with_content";
  readonly figures: "own_chunk" | "with_finish" | "in_every_chunk";
};

const words = fc.string({ unit: "grapheme", maxLength: 12 });
const answers: fc.Arbitrary<Answer> = fc.record({
  reasoning: words,
  content: words,
  refusal: words,
  calls: fc
    .array(
      fc.record({
        name: fc.constantFrom("f", "g"),
        args: fc.oneof(
          fc.constant(""),
          fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }).map((value) => JSON.stringify(value)),
        ),
      }),
      { maxLength: 3 },
    )
    .map((calls) => calls.map((call, at) => ({ id: `id${at}`, ...call }))),
  reason: fc.constantFrom("stop", "length", "content_filter", "tool_calls"),
});
const manners: fc.Arbitrary<Manner> = fc.record({
  pieceChars: fc.integer({ min: 1, max: 5 }),
  reasoningIn: fc.constantFrom("reasoning", "reasoning_content", "parts", "details"),
  order: fc.constantFrom("one_by_one", "no_index", "mixed"),
  names: fc.constantFrom("first", "late", "again"),
  finish: fc.constantFrom("own_chunk", "with_content"),
  figures: fc.constantFrom("own_chunk", "with_finish", "in_every_chunk"),
});

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

function thought(text: string, { reasoningIn }: Manner): object {
  if (reasoningIn === "parts") return { content: [{ type: "thinking", thinking: [{ type: "text", text }] }] };
  if (reasoningIn === "details")
    return { reasoning: text, reasoning_details: [{ type: "reasoning.text", text, index: 0 }] };
  return { [reasoningIn]: text };
}

function callDeltas({ id, name, args }: Answer["calls"][number], at: number, manner: Manner): object[] {
  const index = manner.order === "no_index" ? {} : { index: at };
  const parts = pieces(args, manner.pieceChars);
  // Without an index only what opens a call tells it from the one before.
  const lateName = manner.names === "late" && manner.order !== "no_index";
  const again = manner.names === "again" ? { id } : { id: "" };
  const opening = lateName
    ? [
        { ...index, id, function: { arguments: parts.shift() ?? "" } },
        { ...index, id: null, function: { name } },
      ]
    : [{ ...index, id, type: "function", function: { name, arguments: "" } }];
  return [...opening, ...parts.map((text) => ({ ...index, ...again, function: { name: null, arguments: text } }))].map(
    (call) => ({ tool_calls: [call] }),
  );
}

/** One from each in turn. */
function mixed(lists: readonly object[][]): object[] {
  const rounds = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

function streamed(answer: Answer, manner: Manner): Buffer {
  const { pieceChars } = manner;
  const calls = answer.calls.map((call, at) => callDeltas(call, at, manner));
  const deltas = [
    { role: "assistant", content: "" },
    ...pieces(answer.reasoning, pieceChars).map((text) => thought(text, manner)),
    ...pieces(answer.content, pieceChars).map((content) => ({ content })),
    ...pieces(answer.refusal, pieceChars).map((refusal) => ({ refusal })),
    ...(manner.order === "mixed" ? mixed(calls) : calls.flat()),
  ];
  const last = { finish_reason: answer.reason };
  const chunks = deltas.map((delta, at) =>
    chatChunk(
      delta,
      manner.finish === "with_content" && at === deltas.length - 1 ? last : {},
      manner.figures === "in_every_chunk" ? { usage: { ...USAGE, completion_tokens: at } } : {},
    ),
  );
  if (manner.finish === "own_chunk")
    chunks.push(chatChunk({}, last, manner.figures === "with_finish" ? { usage: USAGE } : {}));
  return chatSse([...chunks, { id: "up-1", choices: [], usage: USAGE }]);
}

function wholly({ reasoning, content, refusal, calls, reason }: Answer, manner: Manner): Buffer {
  const thinking: JsonObject = reasoning === "" ? {} : { ...thought(reasoning, manner) };
  const text = { type: "text", text: content };
  const message = {
    role: "assistant",
    ...thinking,
    content: Array.isArray(thinking["content"]) ? [...thinking["content"], text] : content,
    refusal: refusal === "" ? null : refusal,
    tool_calls: calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } })),
  };
  return Buffer.from(
    JSON.stringify({ id: "up-1", choices: [{ index: 0, message, finish_reason: reason }], usage: USAGE }),
  );
}

const read = (chunks: Iterable<Buffer>) =>
  eventsIn(chunks, chatUpstream.openReader({ call: CHAT_CALL, facts: CHAT_FACTS }));
const said = (events: readonly ReplyEvent[]) => byCall(folded(events));

test("stream = reply: a streamed reply decodes like the whole one, in every variant", () => {
  fc.assert(
    fc.property(answers, manners, (answer, manner) => {
      const whole = chatUpstream.decodeReply(wholly(answer, manner));
      expect(said(read([streamed(answer, manner)]))).toEqual(said(whole ?? []));
      const reason = answer.calls.length > 0 && answer.reason === "stop" ? "tool_calls" : undefined;
      if (reason !== undefined) expect(whole).toContainEqual({ is: "finish", reason });
    }),
    { numRuns: 300 },
  );
});

test("any split of the bytes gives the same events", () => {
  fc.assert(
    fc.property(answers, manners, fc.integer({ min: 1, max: 40 }), (answer, manner, size) => {
      const bytes = streamed(answer, manner);
      expect(read(cutInto(bytes, size))).toEqual(read([bytes]));
    }),
    { numRuns: 100 },
  );
});

describe("any call", () => {
  const text = fc.record({ is: fc.constant("text" as const), text: words });
  const source = fc.oneof(
    fc.record({ is: fc.constant("url" as const), url: fc.string() }),
    fc.record({ is: fc.constant("uploaded" as const), id: fc.string() }),
    fc.record({
      is: fc.constant("inline" as const),
      mediaType: fc.constantFrom("", "image/png", "audio/wav", "text/plain", "application/pdf"),
      base64: fc.string(),
    }),
  );
  const signature = fc.record({
    family: fc.constantFrom("anthropic" as const, "google" as const, "openai" as const),
    data: fc.string(),
  });
  const image = fc.record({ is: fc.constant("image" as const), source });
  const id = fc.oneof(fc.constantFrom("a", "b"), fc.string({ maxLength: 60 }));
  const part: fc.Arbitrary<Part> = fc.oneof(
    { arbitrary: text, weight: 20 },
    image,
    fc.record({ is: fc.constant("refusal" as const), text: words }),
    fc.record({ is: fc.constant("audio" as const), source }),
    fc.record({ is: fc.constant("file" as const), source, filename: fc.option(fc.string()) }),
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
  const calls: fc.Arbitrary<Call> = turns.map((list) => ({ ...CHAT_CALL, turns: list }));
  const quirks = fc.subarray<Quirk>([
    "tool-ids-9",
    "reasoning-in-history",
    "signed-tool-calls",
    "all-roles",
    "strict-turns",
  ]);

  test("is encoded or rejected by name, with all user and tool content in it", () => {
    fc.assert(
      fc.property(calls, quirks, (call, known) => {
        let body: Json;
        try {
          body = JSON.parse(chatUpstream.encodeRequest(call, { ...CHAT_FACTS, quirks: known }));
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          return;
        }
        const shown = JSON.stringify(body);
        for (const { parts } of call.turns)
          for (const one of parts)
            if (one.is === "text") expect(shown).toContain(JSON.stringify(one.text).slice(1, -1));
        const spoken = call.turns.filter(({ role }) => role !== "system" && role !== "developer");
        const results = spoken.flatMap(({ parts }) => parts.filter(({ is }) => is === "tool_result"));
        expect(body.messages.filter(({ role }: Json) => role === "tool")).toHaveLength(results.length);
        const instructed = body.messages.flatMap(({ role }: Json, at: number) => (role === "system" ? [at] : []));
        if (!known.includes("all-roles")) expect([[], [0]]).toContainEqual(instructed);
      }),
      { numRuns: 500 },
    );
  });
});

describe("recordings decode to what passthrough shows", () => {
  const STREAMS = [
    "deepseek-stream-reasoning",
    "mistral-stream-thinking",
    "mistral-stream-tools-multiturn",
    "openai-stream-tool-then-text",
  ];
  const REPLIES = [
    "compatible-tool-call-no-id",
    "openai-cache-write-5.6",
    "openai-json-schema",
    "openai-parallel-tools",
  ];
  const CHUNKS = ["azure-model-router", "xai-tool-call"];
  const NO_USAGE: Usage = {
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  };

  /** Both sides as one message, with the fields that both have. */
  type Shown = { content: string; reasoning: string; calls: string[]; reason: unknown };

  function shownMessage(message: JsonObject, reason: unknown): Shown {
    const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isJsonObject) : [];
    return {
      content: String(message["content"] ?? ""),
      reasoning: String(message["reasoning_content"] ?? ""),
      calls: calls.map(({ id, function: called }) =>
        JSON.stringify([id, isJsonObject(called) ? [called["name"], called["arguments"]] : called]),
      ),
      reason,
    };
  }

  function throughEvents(events: readonly ReplyEvent[]): Shown {
    const head = { id: "x", createdSeconds: 0, model: "m", inputTokens: 0 };
    const [choice] = JSON.parse(chatClient.render(events, head, CHAT_CALL, NO_USAGE, undefined)).choices;
    return shownMessage(choice.message, choice.finish_reason);
  }

  const upstreamId = (events: readonly ReplyEvent[]) => {
    const begin = events.find(({ is }) => is === "begin");
    return begin?.is === "begin" ? (begin.upstreamId ?? "") : "";
  };

  /** What a client assembles from a passthrough stream. */
  function directly(bytes: Buffer, ownId: string): { shown: Shown; usage: Usage | undefined; chars: number } {
    const stream = new PassthroughChatStream(headOf(ownId), false);
    const message: Json = { content: "", reasoning_content: "", tool_calls: [] };
    let reason: unknown;
    const frames = new SseReader(1 << 24);
    for (const frame of [...frames.push(bytes), ...frames.end()]) {
      const piece = stream.read(frame);
      if (piece.is !== "content" && piece.is !== "preamble") continue;
      const choice = JSON.parse(piece.text.slice(6)).choices[0];
      if (choice === undefined) continue;
      message.content += choice.delta.content ?? "";
      message.reasoning_content += choice.delta.reasoning_content ?? "";
      for (const { index, id, function: called } of choice.delta.tool_calls ?? []) {
        message.tool_calls[index] ??= { id, function: { name: called.name, arguments: "" } };
        message.tool_calls[index].function.arguments += called.arguments ?? "";
      }
      reason = choice.finish_reason ?? reason;
    }
    return { shown: shownMessage(message, reason), usage: stream.usage, chars: stream.outputWeight };
  }

  const figures = (events: readonly ReplyEvent[]) => {
    const last = events.findLast(({ is }) => is === "usage");
    return last?.is === "usage" ? last.usage : undefined;
  };

  test.each(STREAMS)("%s", (name) => {
    for (const { response } of loadExchange(`d1-openai-chat/${name}`).interactions) expectSame(response.body);
  });

  test.each(CHUNKS)("%s", (name) => {
    expectSame(loadChunks(`d1-openai-chat/${name}`));
  });

  function expectSame(bytes: Buffer): void {
    const events = read([bytes]);
    const direct = directly(bytes, upstreamId(events));
    expect(direct.chars).toBeGreaterThan(0);
    expect(throughEvents(events)).toEqual(direct.shown);
    expect(figures(events)).toEqual(direct.usage);
    expect(read(cutInto(bytes, 7))).toEqual(events);
    expect(events.at(-1)).toEqual({ is: "end" });
  }

  test.each(REPLIES)("%s", (name) => {
    for (const { response } of loadExchange(`d1-openai-chat/${name}`).interactions) {
      const events = chatUpstream.decodeReply(response.body) ?? [];
      const direct = usable(directReply(response.body, upstreamId(events)));
      const [choice] = JSON.parse(direct.render(NO_USAGE, undefined)).choices;
      expect(throughEvents(events)).toEqual(shownMessage(choice.message, choice.finish_reason));
      expect(figures(events)).toEqual(direct.usage);
    }
  });

  test.each(["groq-400-tool-use-failed", "openai-401"])("%s is a problem", (name) => {
    for (const { response } of loadExchange(`d1-openai-chat/${name}`).interactions) {
      if (response.status < 400) continue;
      expect(chatUpstream.decodeReply(response.body)).toMatchObject([{ is: "problem" }]);
    }
  });
});
