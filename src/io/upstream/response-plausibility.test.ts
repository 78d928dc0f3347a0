import { describe, expect, test } from "vitest";
import { SseReader } from "../../kit/sse.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { withPlausibilityChecks } from "./response-plausibility.ts";
import { NO_DROPPED_FIELDS, type UpstreamAdapter } from "./upstream-adapter.ts";

const ANSWER: WholeReply = { usage: undefined, upstreamId: null, outputWeight: 0, render: () => "" };

/** A lane that takes everything for an answer. */
const EASY: UpstreamAdapter = {
  surface: "chat",
  path: "/chat/completions",
  auth: "bearer",
  headers: {},
  streamContentType: "text/event-stream",
  keepAliveFrame: "",
  effort: undefined,
  droppedFields: NO_DROPPED_FIELDS,
  encode: () => "",
  decodeResponse: () => ANSWER,
  openFrameReader: (max) => new SseReader(max),
  openReplyStream() {
    throw new Error("nobody opens it here");
  },
  decodeProblem: () => ({ message: "", code: null, type: null, status: null }),
};

const wordOf = (contextTokens: number | null) => ({
  upstreamModel: "llama3",
  limits: { contextTokens, maxInputTokens: null, maxOutputTokens: null },
});

function judged(body: object, contextTokens: number | null = 1_000, lane = EASY): string | undefined {
  const answer = withPlausibilityChecks(lane, wordOf(contextTokens)).decodeResponse(
    Buffer.from(JSON.stringify(body)),
    {},
  );
  return answer !== undefined && "unusable" in answer ? answer.unusable : undefined;
}

const said = (content: string, usage: object) => ({
  id: "c-1",
  model: "llama3",
  choices: [{ index: 0, message: { content } }],
  usage,
});

describe("what a node says of its answer", () => {
  test("NODE-03 figures within what it announced are believed, and beyond it are not", () => {
    expect(judged(said("Hi.", { prompt_tokens: 1_000, completion_tokens: 3 }))).toBeUndefined();
    expect(judged(said("Hi.", { prompt_tokens: 1_001, completion_tokens: 3 }))).toContain("beyond the 1000 tokens");
    expect(judged(said("Hi.", { prompt_tokens: 9, completion_tokens: 1_001 }))).toContain("beyond the 1000 tokens");
    expect(judged(said("Hi.", { prompt_tokens: 1_001, completion_tokens: 3 }), null)).toBeUndefined();
    for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"])
      for (const figure of [-1, 0.5, "3"]) expect(judged(said("Hi.", { [name]: figure }))).toContain("no count");
  });

  test("NODE-03 a node that announces nothing is held against what it was told", () => {
    const ended = { ...EASY, end: () => ({ inputTokens: 900, visibleOutputTokens: 50, outputTokens: 70 }) };
    const judge = (usage: object) => judged(said("Hi.", usage), null, ended);
    expect(judge({ prompt_tokens: 900, completion_tokens: 70 })).toBeUndefined();
    expect(judge({ prompt_tokens: 901 })).toContain("901 tokens of input");
    expect(judge({ prompt_tokens: 9, completion_tokens: 71 })).toContain("71 tokens of output");
    expect(judged(said("Hi.", { prompt_tokens: 9e15 }), null)).toContain("beyond the 8000000 tokens");
  });

  test("NODE-03 thoughts that are counted and not shown are no lie, made-up output is", () => {
    const thought = { completion_tokens_details: { reasoning_tokens: 50_000 } };
    expect(judged(said("Hi.", { completion_tokens: 50_010, ...thought }), null)).toBeUndefined();
    expect(judged(said("Hi.", { completion_tokens: 50_010 }), null)).toContain("50010 tokens of output");
    expect(judged(said("word ".repeat(10_000), { completion_tokens: 50_010 }), null)).toBeUndefined();
  });

  test("NODE-03 what is left out is not wrong, and figures of many inputs are of all of them", () => {
    expect(judged({ choices: [{ message: { content: "Hi." } }] })).toBeUndefined();
    expect(judged(said("Hi.", { prompt_tokens: null, completion_tokens: null }))).toBeUndefined();
    const vectors = { model: "llama3", data: [{}, {}, {}] };
    expect(judged({ ...vectors, usage: { prompt_tokens: 3_000 } })).toBeUndefined();
    expect(judged({ ...vectors, usage: { prompt_tokens: 3_001 } })).toContain("beyond");
  });

  test("NODE-03 every part of an answer that comes in parts is looked at", () => {
    const subRequests = { adapters: [EASY, EASY], join: () => ANSWER };
    const { subRequests: watched } = withPlausibilityChecks({ ...EASY, subRequests }, wordOf(null));
    const wrong = Buffer.from(JSON.stringify({ model: "another", data: [] }));
    for (const lane of watched?.adapters ?? []) expect(lane.decodeResponse(wrong, {})).toHaveProperty("unusable");
    expect(watched?.adapters).toHaveLength(2);
  });
});
