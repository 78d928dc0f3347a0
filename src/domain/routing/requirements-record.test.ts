import { expect, test } from "vitest";
import { finishedRecord } from "../../../tests/support/records.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import { parseRecord } from "../record/record-schema.ts";
import { toRequirementsRecord } from "./decision-record.ts";
import type { Requirements } from "./requirements.ts";
import { fromRequirementsRecord } from "./requirements-record.ts";

const PLAIN: Requirements = { needs: [], parameters: [], inputTokens: 10, maxOutputTokens: undefined };
const FULL: Requirements = {
  needs: [
    { need: "tools", param: "tools" },
    { need: "image_input", param: "messages.0.content.1" },
    { need: "image_input", param: "messages.2.content.0" },
  ],
  parameters: ["temperature", "tools"],
  neutralParameters: ["temperature"],
  nativeFields: ["thinking.display", "container"],
  inputTokens: 10,
  maxOutputTokens: 64,
};
const ROUTING_HINTS: RoutingHints = {
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

test("a plain call stores an almost empty record", () => {
  expect(toRequirementsRecord(PLAIN, undefined)).toEqual({});
  expect(toRequirementsRecord(PLAIN, { sessionId: "x" })).toEqual({});
});

test("ROUTE-07 requirements survive the round trip through the log, with the counted tokens", () => {
  const again = fromRequirementsRecord(kept(FULL, ROUTING_HINTS), 77);
  expect(again?.requirements).toMatchObject({
    parameters: FULL.parameters,
    neutralParameters: FULL.neutralParameters,
    nativeFields: ["thinking.display"],
    inputTokens: 77,
    maxOutputTokens: 64,
  });
  expect(again?.requirements.needs.map(({ need }) => need)).toEqual(["tools", "image_input"]);
  const { sessionId: _, ...rest } = ROUTING_HINTS;
  expect(again?.hints).toEqual(rest);
});

test("session ids and long lists are not stored, and an incomplete record cannot be replayed", () => {
  expect(JSON.stringify(toRequirementsRecord(FULL, ROUTING_HINTS))).not.toContain("private");
  const long: RoutingHints = { provider: { only: Array.from({ length: 100 }, (_, at) => `provider-${at}`) } };
  expect(JSON.stringify(toRequirementsRecord(PLAIN, long)).length).toBeLessThan(100);
  expect(fromRequirementsRecord(kept(PLAIN, long), 1)).toBeUndefined();
});
