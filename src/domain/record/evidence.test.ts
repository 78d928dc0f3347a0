import { expect, test } from "vitest";
import { EvidenceAggregator, type EvidenceSum } from "./evidence.ts";

const SUM: EvidenceSum = {
  keyId: "key_1",
  environment: "live",
  provider: "p",
  endpoint: "p:eu:acme/one",
  model: "acme/one",
  level: "L3",
  countries: ["FR"],
  errorCode: null,
  router: null,
  requests: 1,
  inputTokens: 10,
  outputTokens: 5,
  costNanos: 3n,
};

test("LOG-05 usage of one endpoint is grouped by environment, level and every country that received the input", () => {
  const fold = new EvidenceAggregator([], () => false);
  const others: readonly Partial<EvidenceSum>[] = [
    {},
    // After a failure elsewhere.
    { countries: ["FR", "US"] },
    { level: "L2" },
    { environment: "test" },
  ];
  for (const atMs of [1, 2])
    fold.add(
      atMs,
      others.map((other) => ({ ...SUM, ...other })),
    );
  const { served } = fold.totals();
  expect(served).toMatchObject(others.map((other) => ({ ...other, requests: 2, inputTokens: 20, costNanos: 6n })));
  expect(served).toHaveLength(others.length);
});
