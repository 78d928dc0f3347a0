import { expect, test } from "vitest";
import { finishedRecord } from "../../../tests/support/records.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import { parseRecord } from "../record/record-schema.ts";
import type { Requirements } from "./capability.ts";
import { fromRequirementsRecord, toRequirementsRecord } from "./requirements-record.ts";

const PLAIN: Requirements = { needs: [], parameters: [], inputTokens: 10, maxOutputTokens: undefined };
const FULL: Requirements = {
  needs: [
    { need: "tools", param: "tools" },
    { need: "image_input", param: "messages.0.content.1" },
    { need: "image_input", param: "messages.2.content.0" },
  ],
  parameters: ["temperature", "tools"],
  defaultedParameters: ["temperature"],
  nativeFields: ["thinking.display", "container"],
  inputTokens: 10,
  maxOutputTokens: 64,
};
const WISHES: RoutingHints = {
  provider: { only: ["a"], maxPrice: { prompt: 1 }, zeroDataRetention: true, sort: "price" },
  sessionId: "a private name",
  costTier: "low",
  remainingTurns: 3,
};

/** As it comes back from a file. */
function kept(demand: Requirements, wishes: RoutingHints | undefined) {
  const record = finishedRecord("r", {
    decision: { candidates: [], order: [], demand: toRequirementsRecord(demand, wishes) },
  });
  return parseRecord(JSON.stringify(record)).decision?.demand ?? {};
}

test("a plain call leaves next to nothing in its record", () => {
  expect(toRequirementsRecord(PLAIN, undefined)).toEqual({});
  expect(toRequirementsRecord(PLAIN, { sessionId: "x" })).toEqual({});
});

test("ROUTE-07 what was needed is needed again after the log, with the tokens that were counted", () => {
  const again = fromRequirementsRecord(kept(FULL, WISHES), 77);
  expect(again?.demand).toMatchObject({
    parameters: FULL.parameters,
    usual: FULL.defaultedParameters,
    native: ["thinking.display"],
    inputTokens: 77,
    maxOutputTokens: 64,
  });
  expect(again?.demand.needs.map(({ need }) => need)).toEqual(["tools", "image_input"]);
  const { sessionId: _, ...rest } = WISHES;
  expect(again?.wishes).toEqual(rest);
});

test("the name of a session and long lists are not kept; what cannot be planned again says so", () => {
  expect(JSON.stringify(toRequirementsRecord(FULL, WISHES))).not.toContain("private");
  const long: RoutingHints = { provider: { only: Array.from({ length: 100 }, (_, at) => `provider-${at}`) } };
  expect(JSON.stringify(toRequirementsRecord(PLAIN, long)).length).toBeLessThan(100);
  expect(fromRequirementsRecord(kept(PLAIN, long), 1)).toBeUndefined();
});
