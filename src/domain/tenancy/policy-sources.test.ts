import fc from "fast-check";
import { expect, test } from "vitest";
import { LEVELS, OPEN_POLICY, type Policy, tightenPolicy } from "./policy.ts";
import { type PolicyLayer, policyRuleSources } from "./policy-sources.ts";

const names = fc.option(fc.subarray(["a", "b", "c"], { minLength: 1 }), { nil: null });
const policies: fc.Arbitrary<Policy> = fc.record({
  floor: fc.option(fc.constantFrom(...LEVELS), { nil: null }),
  countries: names,
  zeroDataRetention: fc.boolean(),
  noTraining: fc.boolean(),
  blockedProviders: fc.subarray(["a", "b", "c"]),
  allowedModels: names,
  ownNodesExempt: fc.boolean(),
  testKeysSimulated: fc.boolean(),
  parameters: fc.constantFrom(null, "strict", "lenient"),
});

test("POL-01 a rule is in force exactly if it has a source", () => {
  fc.assert(
    fc.property(policies, fc.option(policies), fc.option(policies), (workspace, key, router) => {
      const layers: PolicyLayer[] = [
        { from: "workspace", policy: workspace },
        { from: "key", policy: key },
        { from: "router", policy: router },
      ];
      const effective = layers.slice(1).reduce((policy, layer) => tightenPolicy(policy, layer.policy), workspace);
      const rules = policyRuleSources(effective, layers);
      for (const rule of ["floor", "countries", "zeroDataRetention", "noTraining", "allowedModels"] as const)
        expect(rules.some((one) => one.rule === rule)).toBe(effective[rule] !== OPEN_POLICY[rule]);
      expect(rules.some((one) => one.rule === "blockedProviders")).toBe(effective.blockedProviders.length > 0);
    }),
  );
});

test("of several floors the strictest is the source, of lists every layer with one", () => {
  const layers: PolicyLayer[] = [
    { from: "workspace", policy: { ...OPEN_POLICY, floor: "L1", countries: ["DE", "FR"] } },
    { from: "key", policy: { floor: "L3", countries: ["DE"] } },
    { from: "request", policy: null },
  ];
  expect(policyRuleSources({ ...OPEN_POLICY, floor: "L3", countries: ["DE"] }, layers)).toEqual([
    { rule: "floor", from: ["key"] },
    { rule: "countries", from: ["workspace", "key"] },
  ]);
});
