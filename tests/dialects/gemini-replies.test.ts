import { describe, expect, test, vi } from "vitest";
import type { ReplyEvent } from "../../src/language/canon/reply-events.ts";
import { IMPLAUSIBLE_TOKENS } from "../../src/language/canon/usage.ts";
import { geminiUpstream } from "../../src/language/dialects/gemini/upstream/dialect.ts";
import { ArgumentsBuilder } from "../../src/language/dialects/gemini/upstream/partial-arguments.ts";
import { GeminiReader } from "../../src/language/dialects/gemini/upstream/stream.ts";
import { decodeUsage } from "../../src/language/dialects/gemini/upstream/usage.ts";
import { carried, cutInto, eventsIn, folded } from "../support/events.ts";
import { chunk, frame, frames, RESPONSE_ID, USAGE, whole } from "../support/gemini.ts";
import { loadExchange } from "../support/replay.ts";

function reply(body: unknown): readonly ReplyEvent[] {
  const events = geminiUpstream.decodeReply(Buffer.from(JSON.stringify(body)));
  if (events === undefined) throw new Error("not an answer");
  return events;
}

function stream(...chunks: unknown[]): ReplyEvent[] {
  return eventsIn([Buffer.from(chunks.map(frame).join(""))], geminiUpstream.openReader());
}

const signature = (data: string) => ({ family: "google", data });
const FIGURES = {
  inputTokens: 11,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 7,
  reasoningTokens: 0,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

/** Replies of every kind; the laws hold for each. */
const ANSWERS: readonly (readonly [string, readonly Record<string, unknown>[]])[] = [
  ["text", [{ text: "Grüße, " }, { text: "Welt 🌍" }]],
  [
    "reasoning, then a signed text",
    [{ text: "Hm.", thought: true }, { text: "Hi" }, { text: "", thoughtSignature: "s1" }],
  ],
  [
    "parallel calls, the first one signed",
    [
      { functionCall: { name: "weather", args: { city: "Paris" } }, thoughtSignature: "s2" },
      { functionCall: { name: "now", args: {} } },
    ],
  ],
  ["calls with ids", [{ text: "I look." }, { functionCall: { id: "96c1su3s", name: "now" }, thoughtSignature: "s3" }]],
];

describe("laws", () => {
  test.each(ANSWERS)("CHAT-01 the stream equals the reply: %s", (_what, parts) => {
    const streamed = eventsIn([Buffer.from(frames(parts).join(""))], geminiUpstream.openReader());
    expect(folded(streamed)).toEqual(folded(reply(whole(parts))));
  });

  test.each(ANSWERS)("CHAT-01 any chunk boundaries: %s", (_what, parts) => {
    const bytes = Buffer.from(frames(parts).join(""));
    const uncut = eventsIn([bytes], geminiUpstream.openReader());
    for (let size = 1; size < 64; size += 1)
      expect(eventsIn(cutInto(bytes, size), geminiUpstream.openReader())).toEqual(uncut);
  });
});

describe("content", () => {
  test("CHAT-01 text, usage and the end", () => {
    expect(reply(whole([{ text: "Hello" }]))).toEqual([
      { is: "begin", upstreamId: RESPONSE_ID },
      { is: "text", text: "Hello" },
      { is: "usage", usage: FIGURES },
      { is: "finish", reason: "stop" },
    ]);
  });

  test("CHAT-05 thoughts become reasoning, and the signature of a text is a block to send back", () => {
    expect(
      reply(
        whole([
          { text: "Hm.", thought: true },
          { text: "Hi", thoughtSignature: "s" },
        ]),
      ).slice(1, 4),
    ).toEqual([
      { is: "reasoning", text: "Hm." },
      { is: "text", text: "Hi" },
      { is: "reasoning_detail", detail: { is: "encrypted", signature: signature("s") } },
    ]);
  });

  test("CHAT-03 calls count from 0, keep their ids or get generated ones, and keep their signature", () => {
    const events = reply(
      whole([
        { text: "So:" },
        { functionCall: { id: "g1", name: "a", args: { x: 1 } }, thoughtSignature: "s" },
        { functionCall: { name: "b" } },
      ]),
    );
    expect(events.filter(({ is }) => is.startsWith("tool_"))).toEqual([
      { is: "tool_call", index: 0, id: "g1", name: "a", signature: signature("s") },
      { is: "tool_arguments", index: 0, text: '{"x":1}' },
      { is: "tool_call", index: 1, id: `call_${RESPONSE_ID}_1`, name: "b", signature: null },
      { is: "tool_arguments", index: 1, text: "{}" },
    ]);
  });

  test("CHAT-03 generated ids are unique within and across replies, and deterministic", () => {
    const parts = [{ functionCall: { name: "a", args: {} } }, { functionCall: { name: "a", args: {} } }];
    const ids = (body: unknown) => reply(body).flatMap((event) => (event.is === "tool_call" ? [event.id] : []));
    expect(new Set([...ids(whole(parts)), ...ids({ ...whole(parts), responseId: "other" })]).size).toBe(4);
    expect(ids(whole(parts))).toEqual(ids(whole(parts)));
    expect(new Set(ids({ ...whole(parts), responseId: undefined })).size).toBe(2);
  });

  test("missing roles, parts and texts and unknown kinds of parts are accepted", () => {
    const bare = (candidate: unknown) => ({ candidates: [candidate], usageMetadata: USAGE, responseId: RESPONSE_ID });
    for (const candidate of [
      { content: { parts: [{ text: "a" }] }, finishReason: "STOP" },
      { content: { parts: [{ executableCode: { code: "1" } }, { text: "a" }, { text: "" }] }, finishReason: "STOP" },
    ])
      expect(reply(bare(candidate)).slice(1, 2)).toEqual([{ is: "text", text: "a" }]);
    for (const candidate of [{ finishReason: "MAX_TOKENS" }, { content: {}, finishReason: "MAX_TOKENS" }])
      expect(reply(bare(candidate))).toEqual([
        { is: "begin", upstreamId: RESPONSE_ID },
        { is: "usage", usage: FIGURES },
        { is: "text", text: "" },
        { is: "finish", reason: "length" },
      ]);
  });

  test("an invalid reply and a reply without an end are rejected", () => {
    for (const body of [{}, { candidates: [] }, [], "x", { candidates: "x" }, { usageMetadata: USAGE }])
      expect(geminiUpstream.decodeReply(Buffer.from(JSON.stringify(body)))).toBeUndefined();
    expect(geminiUpstream.decodeReply(Buffer.from("<html>"))).toBeUndefined();
    expect(geminiUpstream.decodeReply(Buffer.from(JSON.stringify(chunk([{ text: "a" }]))))).toBeUndefined();
    expect(geminiUpstream.openReader().read({ event: null, data: "{oops" })).toBeUndefined();
  });
});

describe("the end", () => {
  const finishOf = (stated: string, parts: Record<string, unknown>[] = [{ text: "a" }]) =>
    carried(reply(whole(parts, { finish: stated }))).at(-1);

  test.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["LANGUAGE", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["IMAGE_SAFETY", "content_filter"],
    ["OTHER", "stop"],
    ["SOMETHING_NEW", "stop"],
  ])("CHAT-08 %s is %s", (stated, reason) => {
    expect(finishOf(stated)).toEqual({ is: "finish", reason });
  });

  test("CHAT-08 STOP after a call is tool_calls, also if the last chunk of a stream has only an empty text", () => {
    const call = { functionCall: { name: "a", args: {} } };
    expect(finishOf("STOP", [call])).toEqual({ is: "finish", reason: "tool_calls" });
    expect(finishOf("MAX_TOKENS", [call])).toEqual({ is: "finish", reason: "length" });
    expect(stream(chunk([call]), whole([{ text: "" }])).at(-1)).toEqual({ is: "finish", reason: "tool_calls" });
  });

  test("CHAT-08 a finish reason on every chunk is reported once, and again only when it changes", () => {
    const finishes = (...chunks: unknown[]) => stream(...chunks).filter(({ is }) => is === "finish");
    expect(finishes(whole([{ text: "a" }]), whole([{ text: "b" }]))).toEqual([{ is: "finish", reason: "stop" }]);
    expect(finishes(whole([{ text: "a" }]), chunk([{ functionCall: { name: "f" } }]))).toEqual([
      { is: "finish", reason: "stop" },
      { is: "finish", reason: "tool_calls" },
    ]);
    const unspecified = chunk([{ text: "a" }], { finish: "FINISH_REASON_UNSPECIFIED" });
    expect(finishes(unspecified, whole([], { finish: "MAX_TOKENS" }))).toEqual([{ is: "finish", reason: "length" }]);
  });

  test.each(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])(
    "ERR-07 %s is a retryable failure of the provider",
    (stated) => {
      const problem = { message: "Malformed call: x", code: "malformed_answer", type: null, status: 502 };
      const body = chunk([], { finish: stated, usage: USAGE, candidate: { finishMessage: "Malformed call: x" } });
      expect(reply(body).at(-1)).toEqual({ is: "problem", problem });
    },
  );

  test("CHAT-08 a blocked prompt has no candidate: an empty reply that reports it and is billed as reported", () => {
    const blocked = { promptFeedback: { blockReason: "MODEL_ARMOR" }, responseId: RESPONSE_ID };
    const end = [
      { is: "text", text: "" },
      { is: "finish", reason: "content_filter" },
    ];
    const nothing = { ...FIGURES, inputTokens: 0, outputTokens: 0 };
    for (const usageMetadata of [undefined, {}, { trafficType: "ON_DEMAND" }])
      expect(reply({ ...blocked, usageMetadata }).slice(1)).toEqual([{ is: "usage", usage: nothing }, ...end]);
    const counted = { ...blocked, usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 } };
    expect(reply(counted).slice(1)).toEqual([{ is: "usage", usage: { ...nothing, inputTokens: 5 } }, ...end]);
    expect(stream(blocked)).toEqual(reply(blocked));
  });

  test("an error inside a stream is a failure with its status", () => {
    const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" };
    for (const data of [{ error }, [{ error }]])
      expect(stream(chunk([{ text: "a" }]), data).at(-1)).toEqual({
        is: "problem",
        problem: { message: "The model is overloaded.", code: "UNAVAILABLE", type: "UNAVAILABLE", status: 503 },
      });
  });
});

describe("usage", () => {
  test("CHAT-07 cached tokens are part of the prompt; thoughts and tool use are counted in addition", () => {
    const usage = decodeUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      toolUsePromptTokenCount: 7,
      totalTokenCount: 157,
    });
    expect(usage).toEqual({
      ...FIGURES,
      inputTokens: 107,
      cachedTokens: 60,
      outputTokens: 50,
      reasoningTokens: 30,
    });
  });

  test("CHAT-07 a server that counts thoughts as output is recognized by its total", () => {
    const wire = { promptTokenCount: 10, candidatesTokenCount: 50, thoughtsTokenCount: 30 };
    expect(decodeUsage({ ...wire, totalTokenCount: 60 })).toMatchObject({ outputTokens: 50, reasoningTokens: 30 });
    expect(decodeUsage({ ...wire, totalTokenCount: 90 })).toMatchObject({ outputTokens: 80, reasoningTokens: 30 });
    expect(decodeUsage(wire)).toMatchObject({ outputTokens: 80 });
  });

  test("CHAT-07 audio is counted separately", () => {
    const usage = decodeUsage({
      promptTokenCount: 100,
      candidatesTokenCount: 9,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 10 },
        { modality: "AUDIO", tokenCount: 90 },
      ],
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 4 }],
    });
    expect(usage).toMatchObject({ inputTokens: 100, audioInputTokens: 90, outputTokens: 9, audioOutputTokens: 4 });
  });

  test("CHAT-07 every chunk of a stream repeats usage: the last one counts", () => {
    const events = stream(
      chunk([{ text: "a" }], { usage: { promptTokenCount: 11, totalTokenCount: 11 } }),
      chunk([{ text: "b" }], { usage: { ...USAGE, candidatesTokenCount: 3, totalTokenCount: 14 } }),
      whole([{ text: "c" }]),
    );
    expect(folded(events).find(({ is }) => is === "usage")).toEqual({ is: "usage", usage: FIGURES });
  });

  test("missing or non-numeric usage is ignored, and impossible usage is marked", () => {
    for (const wire of [undefined, {}, { promptTokenCount: "11" }]) expect(decodeUsage(wire)).toBeUndefined();
    for (const wire of [
      { promptTokenCount: -1 },
      { promptTokenCount: 1.5 },
      { promptTokenCount: 1e12 },
      { promptTokenCount: -1, toolUsePromptTokenCount: 5 },
      { promptTokenCount: 5, toolUsePromptTokenCount: -1 },
      { promptTokenCount: 5, candidatesTokenCount: -1, thoughtsTokenCount: 5 },
      { promptTokenCount: 5, cachedContentTokenCount: 6 },
      { promptTokenCount: 5, promptTokensDetails: [{ modality: "AUDIO", tokenCount: 6 }] },
    ])
      expect(decodeUsage(wire)).toBe(IMPLAUSIBLE_TOKENS);
  });
});

describe("arguments in chunks", () => {
  const call = (functionCall: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    chunk([{ functionCall, ...more }]);
  const piece = (jsonPath: string, value: Record<string, unknown>) => ({ jsonPath, ...value });

  test("CHAT-03 values at paths become one JSON object; a string may arrive in several chunks", () => {
    const events = stream(
      call({ name: "book", willContinue: true }, { thoughtSignature: "s" }),
      call({ partialArgs: [piece("$.city", { stringValue: "New ", willContinue: true })], willContinue: true }),
      call({ partialArgs: [piece("$.city", { stringValue: "York", willContinue: true })], willContinue: true }),
      call({
        partialArgs: [
          piece("$.city", {}),
          piece("$.guests[0].name", { stringValue: "Ada" }),
          piece("$.guests[0].age", { numberValue: 36 }),
          piece("$['two beds']", { boolValue: false }),
          piece('$["the \\"blue\\" room"]', {}),
          piece("$.note", { nullValue: "NULL_VALUE" }),
        ],
        willContinue: true,
      }),
      call({}),
      whole([{ text: "" }]),
    );
    expect(events.filter(({ is }) => is.startsWith("tool_"))).toEqual([
      { is: "tool_call", index: 0, id: `call_${RESPONSE_ID}_0`, name: "book", signature: signature("s") },
      {
        is: "tool_arguments",
        index: 0,
        text: '{"city":"New York","guests":[{"name":"Ada","age":36}],"two beds":false,"the \\"blue\\" room":"","note":null}',
      },
    ]);
    expect(events.at(-1)).toEqual({ is: "finish", reason: "tool_calls" });
  });

  test("CHAT-03 the next call and the end close an open call", () => {
    const events = stream(
      call({ name: "a", willContinue: true }),
      call({ name: "b", partialArgs: [piece("$.x", { numberValue: 1 })], willContinue: true }),
      whole([]),
    );
    expect(events.flatMap((event) => (event.is === "tool_arguments" ? [event.text] : []))).toEqual(["{}", '{"x":1}']);
  });

  test("a chunk without a valid path fails the reply; none can grow a list without bound or touch a prototype", () => {
    for (const path of ["city", "$", "$.a[999999]", "$..b", "$.a[-1]", "$[0]"]) {
      const events = stream(
        call({ name: "a", partialArgs: [piece("$.a[0]", { numberValue: 1 })], willContinue: true }),
        call({ partialArgs: [piece(path, { numberValue: 1 })], willContinue: true }),
      );
      expect(events.at(-1)?.is, path).toBe("problem");
    }
    const builder = new ArgumentsBuilder();
    builder.add({ jsonPath: "$.__proto__.x", numberValue: 1 });
    expect(builder.toJson()).toBe('{"__proto__":{"x":1}}');
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });
});

describe("sources", () => {
  const text = "Grüße 🌍: Paris hat 2 Mio. Einwohner.";
  const bytesBefore = (part: string) => Buffer.byteLength(text.slice(0, text.indexOf(part)));
  const grounding = {
    groundingChunks: [{ web: { uri: "https://a.example", title: "A" } }, { web: { uri: "https://b.example" } }, {}],
    groundingSupports: [
      {
        segment: { startIndex: bytesBefore("Paris"), endIndex: Buffer.byteLength(text) },
        groundingChunkIndices: [0, 1, 2, 9],
      },
      { segment: { endIndex: bytesBefore(":") }, groundingChunkIndices: [0] },
    ],
  };
  const start = text.indexOf("Paris");
  const CITED = [
    { url: "https://a.example", title: "A", start, end: text.length },
    { url: "https://b.example", title: null, start, end: text.length },
    { url: "https://a.example", title: "A", start: 0, end: text.indexOf(":") },
  ];
  const cited = (events: readonly ReplyEvent[]) =>
    events.flatMap((event) => (event.is === "citation" ? [event.citation] : []));

  test("offsets are counted in characters, not bytes", () => {
    expect(cited(reply(whole([{ text }], { candidate: { groundingMetadata: grounding } })))).toEqual(CITED);
  });

  test("in a stream they cover the whole text and are reported once", () => {
    const events = stream(
      chunk([{ text: text.slice(0, 12) }]),
      chunk([{ text: text.slice(12) }], { candidate: { groundingMetadata: grounding } }),
      whole([{ text: "" }], { candidate: { groundingMetadata: grounding } }),
    );
    expect(cited(events)).toEqual(CITED);
  });

  test("an offset in a later part counts from that part, without thoughts", () => {
    const parts = [{ text: "hm", thought: true }, { text: "é" }, { text: "Paris" }];
    const groundingMetadata = {
      groundingChunks: grounding.groundingChunks,
      groundingSupports: [{ segment: { partIndex: 2, startIndex: 0, endIndex: 5 }, groundingChunkIndices: [0] }],
    };
    expect(cited(reply(whole(parts, { candidate: { groundingMetadata } })))).toMatchObject([
      { start: 1, end: 6 },
      // A source that no passage refers to.
      { start: null, end: null },
    ]);
  });

  test("SAFE-01 citations do not read the text again each time, and their number is limited", () => {
    const long = "漢字".repeat(250_000);
    const passages = Array.from({ length: 3000 }, (_, at) => ({
      segment: { startIndex: 6 * at, endIndex: 6 * at + 6 },
      groundingChunkIndices: [0, 1, 0],
    }));
    const groundingMetadata = { groundingChunks: grounding.groundingChunks, groundingSupports: passages };
    const body = whole([{ text: long }], { candidate: { groundingMetadata } });
    const reader = new GeminiReader();
    const encode = vi.spyOn(Buffer, "from");
    const events = reader.readValue(body) ?? [];
    const read = encode.mock.calls.reduce((sum, [piece]) => sum + String(piece).length, 0);
    encode.mockRestore();
    expect(read).toBeLessThan(passages.length * 2 * 1024);
    const citations = cited(events);
    expect(citations.length).toBeLessThanOrEqual(4096);
    expect(citations.at(-1)).toMatchObject({ start: 2 * 1365, end: 2 * 1365 + 2 });
    expect(events).toContainEqual({ is: "omitted", path: "candidates[].groundingMetadata.groundingChunks[]" });
  });

  test("SAFE-01 where each part of a cited text begins is counted in one pass over the parts", () => {
    const parts = Array.from({ length: 3000 }, () => ({ text: "漢字 " }));
    const groundingMetadata = {
      groundingChunks: grounding.groundingChunks,
      groundingSupports: [{ segment: { partIndex: 2999, startIndex: 0, endIndex: 7 }, groundingChunkIndices: [0] }],
    };
    const body = whole(parts, { candidate: { groundingMetadata } });
    const count = vi.spyOn(Buffer, "byteLength");
    const [citation] = cited(new GeminiReader().readValue(body) ?? []);
    const counted = count.mock.calls.reduce((sum, [text]) => sum + String(text).length, 0);
    count.mockRestore();
    expect(citation).toMatchObject({ start: 3 * 2999, end: 3 * 3000 });
    // Once for the parts, once for the pieces of the whole text.
    expect(counted).toBeLessThanOrEqual(2 * 3 * parts.length);
  });

  test("recited passages are reported too", () => {
    const sources = [{ startIndex: 1, endIndex: 5, uri: "https://c.example" }, { title: "D" }];
    for (const citationMetadata of [{ citationSources: sources }, { citations: sources }])
      expect(cited(reply(whole([{ text: "Hello" }], { candidate: { citationMetadata } })))).toEqual([
        { url: "https://c.example", title: null, start: 1, end: 5 },
        { url: null, title: "D", start: null, end: null },
      ]);
  });
});

describe("errors", () => {
  const error = (more: object) => ({ error: { code: 400, message: "m", status: "INVALID_ARGUMENT", ...more } });

  test("the reason overrides the status, also inside an array", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }];
    const problem = { message: "m", code: "API_KEY_INVALID", type: "INVALID_ARGUMENT", status: 400 };
    expect(geminiUpstream.decodeProblem(error({ details }), 400, {})).toEqual(problem);
    expect(geminiUpstream.decodeProblem([error({ details })], 400, {})).toEqual(problem);
    expect(geminiUpstream.decodeProblem(error({}), 400, {})).toEqual({ ...problem, code: "INVALID_ARGUMENT" });
  });

  test("the retry delay is a duration in the details", () => {
    const seconds = (retryDelay: unknown) =>
      geminiUpstream.decodeProblem(error({ details: [{ retryDelay }] }), 429, {}).retryAfterSeconds;
    expect([seconds("48s"), seconds("48.2s"), seconds("0s")]).toEqual([48, 49, 0]);
    expect([seconds("soon"), seconds(48), seconds("-1s"), seconds("99999999999s")]).toEqual(Array(4).fill(undefined));
  });

  test("a body of any other shape still gives a failure", () => {
    for (const body of [undefined, null, "x", [], {}, { error: "x" }, [null]])
      expect(geminiUpstream.decodeProblem(body, 500, {})).toEqual({
        message: "the provider stated no reason",
        code: null,
        type: null,
        status: 500,
      });
  });
});

describe("recorded streams", () => {
  test.each(["stream-text", "stream-thinking"])("CHAT-01 any chunk boundaries: %s", (name) => {
    const [interaction] = loadExchange(`d3-gemini/${name}`).interactions;
    const bytes = interaction?.response.body ?? Buffer.alloc(0);
    const uncut = eventsIn([bytes], geminiUpstream.openReader());
    expect(uncut.at(-1)?.is).toBe("finish");
    for (const size of [1, 2, 3, 7, 64, 1000])
      expect(eventsIn(cutInto(bytes, size), geminiUpstream.openReader())).toEqual(uncut);
  });
});
