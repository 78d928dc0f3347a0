import { describe, expect, test } from "vitest";
import { callOf, FACTS } from "../../../tests/support/messages.ts";
import type { Call } from "../../language/canon/call.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { geminiUpstream } from "../../language/dialects/gemini/upstream/dialect.ts";
import { messagesUpstream } from "../../language/dialects/messages/upstream/dialect.ts";
import { responsesUpstream } from "../../language/dialects/responses/upstream/dialect.ts";
import { availableOutputTokens, dropUnsupported } from "./drop-unsupported.ts";

const toldOf = (more: Partial<Call>, maxOutputTokens: number | null) =>
  dropUnsupported({ ...callOf({}), ...more }, chatUpstream, { ...FACTS, maxOutputTokens });
const told = (more: Partial<Call>, maxOutputTokens: number | null) => toldOf(more, maxOutputTokens).call;
const thinking = (budgetTokens: number | null) => ({ effort: "high" as const, budgetTokens });

describe("a limit on the answer", () => {
  test("MSG-02 beyond what the model writes is cut to that, and a budget for thinking stays below it", () => {
    expect(told({ maxOutputTokens: 32_000 }, 16_384).maxOutputTokens).toBe(16_384);
    const both = told({ maxOutputTokens: 32_000, reasoning: thinking(31_999) }, 16_384);
    expect([both.maxOutputTokens, both.reasoning?.budgetTokens]).toEqual([16_384, 16_383]);
    const small = told({ maxOutputTokens: 32_000, reasoning: thinking(1_024) }, 16_384);
    expect([small.maxOutputTokens, small.reasoning?.budgetTokens]).toEqual([16_384, 1_024]);
  });

  test("MSG-02 the log says what was cut", () => {
    const parameterNames = { reasoning_effort: "thinking" };
    expect(toldOf({ maxOutputTokens: 32_000 }, 16_384).droppedFields).toEqual(["max_tokens above 16384"]);
    expect(
      toldOf({ maxOutputTokens: 32_000, reasoning: thinking(31_999), parameterNames }, 16_384).droppedFields,
    ).toEqual(["max_tokens above 16384", "thinking above 16383"]);
    expect(toldOf({ maxOutputTokens: 100 }, 16_384).droppedFields).toEqual([]);
  });

  test.each([
    ["the limit", { maxOutputTokens: 8_192, contextTokens: 40_000 }, 1_000, 8_192],
    ["what the prompt leaves", { maxOutputTokens: 32_768, contextTokens: 32_768 }, 10_000, 21_768],
    ["a little, whatever the prompt", { maxOutputTokens: 32_768, contextTokens: 32_768 }, 32_000, 1_024],
    ["the window, without a limit", { maxOutputTokens: null, contextTokens: 128_000 }, 100_000, 18_000],
    ["nobody knows", { maxOutputTokens: null, contextTokens: null }, 5, null],
  ])("MSG-02 room for an answer: %s", (_what, model, input, room) => {
    const limits = { contextTokens: null, maxInputTokens: null, maxOutputTokens: null };
    expect(availableOutputTokens({ limits }, model, input)).toBe(room);
  });

  test.each([
    [100, 16_384],
    [32_000, null],
    [undefined, 16_384],
  ])("of %s stays as it is where the model writes %s", (asked, most) => {
    expect(told({ maxOutputTokens: asked }, most).maxOutputTokens).toBe(asked);
  });
});

test("PARAM-04 marks of what is worth caching are named where the dialect has no word for them", () => {
  const turns: Call["turns"] = [{ role: "user", parts: [{ is: "text", text: "Hi", cache: { ttl: null } }] }];
  for (const dialect of [chatUpstream, geminiUpstream, responsesUpstream]) {
    expect(dropUnsupported({ ...callOf({}), turns }, dialect, FACTS).droppedFields).toEqual(["cache_control"]);
    const both = { ...callOf({}), turns, advisory: ["cache_control"] };
    expect(dropUnsupported(both, dialect, FACTS).droppedFields).toEqual(["cache_control"]);
    expect(dropUnsupported(callOf({}), dialect, FACTS).droppedFields).toEqual([]);
  }
  expect(dropUnsupported({ ...callOf({}), turns }, messagesUpstream, FACTS).droppedFields).toEqual([]);
});
