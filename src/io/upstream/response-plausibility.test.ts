import { describe, expect, test, vi } from "vitest";
import { frameValue, JsonDocument } from "../../kit/json-document.ts";
import { SseReader } from "../../kit/sse.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { withPlausibilityChecks } from "./response-plausibility.ts";
import type { UpstreamAdapter } from "./upstream-adapter.ts";

const REPLY: WholeReply = { usage: undefined, upstreamId: null, outputWeight: 0, render: () => "" };

/** An adapter that accepts any response. */
const LENIENT: UpstreamAdapter = {
  surface: "chat",
  path: "/chat/completions",
  auth: "bearer",
  headers: {},
  streamContentType: "text/event-stream",
  keepAliveFrame: "",
  effort: undefined,
  encode: () => "",
  decodeResponse: () => REPLY,
  openFrameReader: ({ frameMaxChars }) => new SseReader(frameMaxChars),
  openReplyStream() {
    throw new Error("not used in this test");
  },
  decodeProblem: () => ({ message: "", code: null, type: null, status: null }),
};

const expectationWith = (contextTokens: number | null) => ({
  upstreamModel: "llama3",
  limits: { contextTokens, maxInputTokens: null, maxOutputTokens: null },
});

function problemIn(body: object, contextTokens: number | null = 1_000, adapter = LENIENT): string | undefined {
  const reply = withPlausibilityChecks(adapter, expectationWith(contextTokens)).decodeResponse(
    Buffer.from(JSON.stringify(body)),
    {},
  );
  return reply !== undefined && "unusable" in reply ? reply.unusable : undefined;
}

const replyWith = (content: string, usage: object) => ({
  id: "c-1",
  model: "llama3",
  choices: [{ index: 0, message: { content } }],
  usage,
});

describe("plausibility of a node's response", () => {
  test("NODE-03 usage within the announced limits is accepted, beyond them rejected", () => {
    expect(problemIn(replyWith("Hi.", { prompt_tokens: 1_000, completion_tokens: 3 }))).toBeUndefined();
    expect(problemIn(replyWith("Hi.", { prompt_tokens: 1_001, completion_tokens: 3 }))).toContain(
      "context of 1000 tokens",
    );
    expect(problemIn(replyWith("Hi.", { prompt_tokens: 9, completion_tokens: 1_001 }))).toContain(
      "context of 1000 tokens",
    );
    expect(problemIn(replyWith("Hi.", { prompt_tokens: 1_001, completion_tokens: 3 }), null)).toBeUndefined();
    for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"])
      for (const figure of [-1, 0.5, "3"])
        expect(problemIn(replyWith("Hi.", { [name]: figure }))).toContain("invalid token count");
  });

  test("NODE-03 without announced limits, usage is checked against the request", () => {
    const bounded = { ...LENIENT, maxUsage: () => ({ inputTokens: 900, visibleOutputTokens: 50, outputTokens: 70 }) };
    const problem = (usage: object) => problemIn(replyWith("Hi.", usage), null, bounded);
    expect(problem({ prompt_tokens: 900, completion_tokens: 70 })).toBeUndefined();
    expect(problem({ prompt_tokens: 901 })).toContain("901 input tokens");
    expect(problem({ prompt_tokens: 9, completion_tokens: 71 })).toContain("71 output tokens");
    expect(problemIn(replyWith("Hi.", { prompt_tokens: 9e15 }), null)).toContain("context of 8000000 tokens");
  });

  test("NODE-03 reported reasoning tokens are accepted, unexplained output tokens are not", () => {
    const details = { completion_tokens_details: { reasoning_tokens: 50_000 } };
    expect(problemIn(replyWith("Hi.", { completion_tokens: 50_010, ...details }), null)).toBeUndefined();
    expect(problemIn(replyWith("Hi.", { completion_tokens: 50_010 }), null)).toContain("50010 output tokens");
    expect(problemIn(replyWith("word ".repeat(10_000), { completion_tokens: 50_010 }), null)).toBeUndefined();
  });

  test("NODE-03 missing fields are accepted, and usage covers all inputs of a batch", () => {
    expect(problemIn({ choices: [{ message: { content: "Hi." } }] })).toBeUndefined();
    expect(problemIn(replyWith("Hi.", { prompt_tokens: null, completion_tokens: null }))).toBeUndefined();
    const vectors = { model: "llama3", data: [{}, {}, {}] };
    expect(problemIn({ ...vectors, usage: { prompt_tokens: 3_000 } })).toBeUndefined();
    expect(problemIn({ ...vectors, usage: { prompt_tokens: 3_001 } })).toContain("exceeds");
  });

  test("SAFE-01 a response and a stream event are parsed once, for the check and the decoder together", () => {
    const decoded: unknown[] = [];
    const decoder: UpstreamAdapter = {
      ...LENIENT,
      decodeResponse(source) {
        decoded.push(JsonDocument.of(source).value);
        return REPLY;
      },
    };
    const checked = withPlausibilityChecks(decoder, expectationWith(null));
    const parse = vi.spyOn(JSON, "parse");
    checked.decodeResponse(Buffer.from(JSON.stringify(replyWith("Hi.", {}))), {});
    const frame = { event: null, data: JSON.stringify({ id: "c-1", model: "llama3", choices: [] }) };
    const read = checked.openFrameCheck?.()(frame);
    decoded.push(read && frameValue(read));
    const parses = parse.mock.calls.length;
    parse.mockRestore();
    expect([parses, decoded]).toEqual([
      2,
      [expect.objectContaining({ model: "llama3" }), expect.objectContaining({ id: "c-1", model: "llama3" })],
    ]);
  });

  test("NODE-03 every sub-request is checked", () => {
    const subRequests = { adapters: [LENIENT, LENIENT], join: () => REPLY };
    const { subRequests: checked } = withPlausibilityChecks({ ...LENIENT, subRequests }, expectationWith(null));
    const wrong = Buffer.from(JSON.stringify({ model: "another", data: [] }));
    for (const adapter of checked?.adapters ?? []) expect(adapter.decodeResponse(wrong, {})).toHaveProperty("unusable");
    expect(checked?.adapters).toHaveLength(2);
  });
});
