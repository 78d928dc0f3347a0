import { describe, expect, test } from "vitest";
import { callOf, FACTS } from "../../../tests/support/messages.ts";
import type { Call } from "../../language/canon/call.ts";
import { chatDialect } from "../../language/dialects/chat/dialect.ts";
import { leavingOut } from "./leaving-out.ts";

const told = (more: Partial<Call>, maxOutputTokens: number | null) =>
  leavingOut({ ...callOf({}), ...more }, chatDialect, { ...FACTS, maxOutputTokens }).call;
const thinking = (budgetTokens: number | null) => ({ effort: "high" as const, budgetTokens });

describe("a limit on the answer", () => {
  test("MSG-02 beyond what the model writes is cut to that, and a budget for thinking stays below it", () => {
    expect(told({ maxOutputTokens: 32_000 }, 16_384).maxOutputTokens).toBe(16_384);
    const both = told({ maxOutputTokens: 32_000, reasoning: thinking(31_999) }, 16_384);
    expect([both.maxOutputTokens, both.reasoning?.budgetTokens]).toEqual([16_384, 16_383]);
    const small = told({ maxOutputTokens: 32_000, reasoning: thinking(1_024) }, 16_384);
    expect([small.maxOutputTokens, small.reasoning?.budgetTokens]).toEqual([16_384, 1_024]);
  });

  test.each([
    [100, 16_384],
    [32_000, null],
    [undefined, 16_384],
  ])("of %s stays as it is where the model writes %s", (asked, most) => {
    expect(told({ maxOutputTokens: asked }, most).maxOutputTokens).toBe(asked);
  });
});
