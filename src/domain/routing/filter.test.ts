import { expect, test } from "vitest";
import { endpointOf } from "../../../tests/support/routing.ts";
import type { Endpoint, Sovereignty } from "../catalogue/catalogue.ts";
import { OPEN_POLICY, type Policy } from "../tenancy/policy.ts";
import { PolicyClasses } from "./compute-reachability.ts";
import { PolicyVerdictCache } from "./filter.ts";
import { excludedByPolicy } from "./policy.ts";

const SOVEREIGNTIES: readonly Partial<Sovereignty>[] = [
  {},
  { level: "L1" },
  { level: "UNCLASSIFIED" },
  { countries: ["US"] },
  { countries: ["FR", "US"] },
  { countries: [] },
  { countriesKind: "unknown" },
  { zeroDataRetention: "on_request" },
  { trainsOnData: "unknown" },
];

const ENDPOINTS: readonly Endpoint[] = ["a", "b"].flatMap((provider) =>
  SOVEREIGNTIES.flatMap((sovereignty) => ["eu", "us"].map((region) => endpointOf({ provider, region, sovereignty }))),
);

const POLICIES: readonly Partial<Policy>[] = [
  {},
  { floor: "L2" },
  { countries: ["FR"] },
  { zeroDataRetention: true },
  { noTraining: true },
  { blockedProviders: ["b"] },
];

test.each(POLICIES)("POL-02 endpoints of one policy class get the verdict each would get alone: %o", (rules) => {
  const policy = { ...OPEN_POLICY, ...rules };
  const kinds = new PolicyClasses();
  const verdicts = new PolicyVerdictCache(policy);
  for (const endpoint of [...ENDPOINTS, ...ENDPOINTS]) {
    const cause = verdicts.exclusionCauseFor(kinds.of(endpoint));
    const alone = excludedByPolicy(endpoint, policy);
    expect(cause).toEqual(alone === undefined ? undefined : { stage: "policy", ...alone });
  }
});

test("endpoints share a policy class only when policy sees no difference between them", () => {
  const kinds = new PolicyClasses();
  const found = new Set(ENDPOINTS.map((endpoint) => kinds.of(endpoint)));
  expect(found.size).toBe(2 * SOVEREIGNTIES.length);
});

test("classes of different catalogues with the same index are not confused", () => {
  const verdicts = new PolicyVerdictCache({ ...OPEN_POLICY, blockedProviders: ["b"] });
  const [a, b] = [endpointOf({ provider: "a" }), endpointOf({ provider: "b" })];
  expect(verdicts.exclusionCauseFor(new PolicyClasses().of(a))).toBeUndefined();
  expect(verdicts.exclusionCauseFor(new PolicyClasses().of(b))?.rule).toBe("provider_blocked");
});
