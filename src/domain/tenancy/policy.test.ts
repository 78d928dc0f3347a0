import fc from "fast-check";
import { expect, test } from "vitest";
import { LEVELS, levelRank, OPEN_POLICY, ownNodeFloor, type Policy, tightenPolicy } from "./policy.ts";

test("POL-01 floors combine to the strictest in any order", () => {
  const floors = [null, ...LEVELS];
  for (const one of floors)
    for (const other of floors) {
      const { floor } = tightenPolicy({ ...OPEN_POLICY, floor: one }, { floor: other });
      const rung = Math.max(one === null ? -1 : levelRank(one), other === null ? -1 : levelRank(other));
      expect(floor).toBe(rung < 0 ? null : LEVELS[rung]);
    }
});

test("POL-02 allowlists intersect, and disjoint lists allow nothing", () => {
  const policy: Policy = { ...OPEN_POLICY, countries: ["DE", "FR"], allowedModels: ["a/b"] };
  expect(tightenPolicy(policy, { countries: ["FR", "IT"] }).countries).toEqual(["FR"]);
  expect(tightenPolicy(policy, { countries: ["IT"], allowedModels: [] })).toMatchObject({
    countries: [],
    allowedModels: [],
  });
  expect(tightenPolicy(OPEN_POLICY, { countries: ["IT"] }).countries).toEqual(["IT"]);
});

test("POL-02 requirements and blocked providers are united", () => {
  const policy: Policy = { ...OPEN_POLICY, zeroDataRetention: true, blockedProviders: ["p"] };
  expect(tightenPolicy(policy, { zeroDataRetention: false, noTraining: true, blockedProviders: ["q", "p"] })).toEqual({
    ...policy,
    noTraining: true,
    blockedProviders: ["p", "q"],
  });
});

const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"));
const level = fc.option(fc.constantFrom(...LEVELS));
const policies: fc.Arbitrary<Policy> = fc.record({
  floor: level,
  countries: fc.option(names),
  zeroDataRetention: fc.boolean(),
  noTraining: fc.boolean(),
  blockedProviders: names,
  allowedModels: fc.option(names),
  ownNodesExempt: fc.boolean(),
  testKeysSimulated: fc.boolean(),
  parameters: fc.constantFrom(null, "strict", "lenient"),
});
const some = fc.record(
  {
    floor: level,
    countries: fc.option(names),
    zeroDataRetention: fc.boolean(),
    noTraining: fc.boolean(),
    blockedProviders: names,
    allowedModels: fc.option(names),
  },
  { requiredKeys: [] },
);

/** As sets, because the order of a list means nothing. */
const meaning = (policy: Policy) => ({
  ...policy,
  countries: policy.countries === null ? null : new Set(policy.countries),
  blockedProviders: new Set(policy.blockedProviders),
  allowedModels: policy.allowedModels === null ? null : new Set(policy.allowedModels),
});

test("POL-01 tightening never loosens, is idempotent and commutative", () => {
  fc.assert(
    fc.property(policies, some, some, (policy, one, other) => {
      const once = tightenPolicy(policy, one);
      if (policy.floor !== null)
        expect(levelRank(once.floor ?? "UNCLASSIFIED")).toBeGreaterThanOrEqual(levelRank(policy.floor));
      for (const list of ["countries", "allowedModels"] as const) {
        const before = policy[list];
        if (before !== null) for (const name of once[list] ?? ["*"]) expect(before).toContain(name);
      }
      const nodeFloor = (one: Policy) => levelRank(ownNodeFloor(one) ?? "UNCLASSIFIED");
      expect(nodeFloor(once)).toBeGreaterThanOrEqual(nodeFloor(policy));
      if (one.floor) expect(nodeFloor(once)).toBeGreaterThanOrEqual(levelRank(one.floor));
      for (const name of policy.blockedProviders) expect(once.blockedProviders).toContain(name);
      if (policy.zeroDataRetention) expect(once.zeroDataRetention).toBe(true);
      if (policy.noTraining) expect(once.noTraining).toBe(true);
      expect(tightenPolicy(once, one)).toBe(once);
      expect(tightenPolicy(policy, policy)).toBe(policy);
      expect(meaning(tightenPolicy(once, other))).toEqual(meaning(tightenPolicy(tightenPolicy(policy, other), one)));
    }),
    { numRuns: 500 },
  );
});

test("adding nothing returns the same object", () => {
  for (const nothing of [null, undefined, {}, OPEN_POLICY])
    expect(tightenPolicy(OPEN_POLICY, nothing)).toBe(OPEN_POLICY);
});
