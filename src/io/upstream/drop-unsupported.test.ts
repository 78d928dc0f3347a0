import { describe, expect, test } from "vitest";
import { callOf, FACTS } from "../../../tests/support/messages.ts";
import type { Call } from "../../language/canon/call.ts";
import { chatUpstream } from "../../language/dialects/chat/upstream/dialect.ts";
import { availableOutputTokens, dropUnsupported } from "./drop-unsupported.ts";

const reduce = (overrides: Partial<Call>, maxOutputTokens: number | null) =>
  dropUnsupported({ ...callOf({}), ...overrides }, chatUpstream, { ...FACTS, maxOutputTokens });
const reducedCall = (overrides: Partial<Call>, maxOutputTokens: number | null) =>
  reduce(overrides, maxOutputTokens).call;
const thinking = (budgetTokens: number | null) => ({ effort: "high" as const, budgetTokens });

describe("an output limit", () => {
  test("MSG-02 above the model's maximum is lowered to it, with the reasoning budget below", () => {
    expect(reducedCall({ maxOutputTokens: 32_000 }, 16_384).maxOutputTokens).toBe(16_384);
    const both = reducedCall({ maxOutputTokens: 32_000, reasoning: thinking(31_999) }, 16_384);
    expect([both.maxOutputTokens, both.reasoning?.budgetTokens]).toEqual([16_384, 16_383]);
    const small = reducedCall({ maxOutputTokens: 32_000, reasoning: thinking(1_024) }, 16_384);
    expect([small.maxOutputTokens, small.reasoning?.budgetTokens]).toEqual([16_384, 1_024]);
  });

  test("MSG-02 a lowered limit is named as adjusted", () => {
    const parameterNames = { reasoning_effort: "thinking" };
    expect(reduce({ maxOutputTokens: 32_000 }, 16_384).adjusted).toEqual(["max_tokens above 16384"]);
    expect(reduce({ maxOutputTokens: 32_000, reasoning: thinking(31_999), parameterNames }, 16_384).adjusted).toEqual([
      "max_tokens above 16384",
      "thinking above 16383",
    ]);
    expect(reduce({ maxOutputTokens: 100 }, 16_384).adjusted).toEqual([]);
  });

  test.each([
    ["the limit", { maxOutputTokens: 8_192, contextTokens: 40_000 }, 1_000, 8_192],
    ["the rest of the context window", { maxOutputTokens: 32_768, contextTokens: 32_768 }, 10_000, 21_768],
    ["the minimum for a long prompt", { maxOutputTokens: 32_768, contextTokens: 32_768 }, 32_000, 1_024],
    ["the context window without an output limit", { maxOutputTokens: null, contextTokens: 128_000 }, 100_000, 18_000],
    ["unknown", { maxOutputTokens: null, contextTokens: null }, 5, null],
  ])("MSG-02 available output tokens: %s", (_what, model, input, expected) => {
    const limits = { contextTokens: null, maxInputTokens: null, maxOutputTokens: null };
    expect(availableOutputTokens({ limits }, model, input)).toBe(expected);
  });

  test.each([
    [100, 16_384],
    [32_000, null],
    [undefined, 16_384],
  ])("of %s is unchanged for a model maximum of %s", (requested, modelMax) => {
    expect(reducedCall({ maxOutputTokens: requested }, modelMax).maxOutputTokens).toBe(requested);
  });
});
