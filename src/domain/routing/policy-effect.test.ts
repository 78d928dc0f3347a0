import { expect, test } from "vitest";
import { endpointOf, modelOf } from "../../../tests/support/routing.ts";
import { OPEN_POLICY, type Policy } from "../tenancy/policy.ts";
import { excludedByPolicy, permitsModel } from "./policy.ts";
import { type ModelOffer, policyEffect } from "./policy-effect.ts";

const FR = endpointOf({ provider: "fr", model: "acme/one" });
const US = endpointOf({
  provider: "us",
  model: "acme/one",
  sovereignty: { level: "L0", countries: ["US"], zeroDataRetention: "no" },
});
const ONLY_US = endpointOf({ provider: "us", model: "acme/two", sovereignty: { level: "L0", countries: ["US"] } });
const OFFERS: readonly ModelOffer[] = [
  { model: modelOf("acme/one"), endpoints: [FR, US] },
  { model: modelOf("acme/two"), endpoints: [ONLY_US] },
];
const policy = (more: Partial<Policy>): Policy => ({ ...OPEN_POLICY, ...more });

test("PORTAL-06 the effect matches the planner's policy decision for every endpoint", () => {
  const drafts = [
    policy({ floor: "L2" }),
    policy({ countries: ["FR"] }),
    policy({ zeroDataRetention: true }),
    policy({ blockedProviders: ["fr"] }),
    policy({ allowedModels: ["acme/two"], floor: "L0" }),
  ];
  for (const draft of drafts) {
    const { models, after } = policyEffect(OFFERS, OPEN_POLICY, draft);
    const passed = OFFERS.flatMap(({ model, endpoints }) =>
      endpoints.filter((one) => permitsModel(model.id, draft) && excludedByPolicy(one, draft) === undefined),
    );
    const told = models.flatMap(({ endpoints }) => endpoints.filter((one) => one.after === undefined));
    expect(told.map(({ endpoint }) => endpoint.id)).toEqual(passed.map(({ id }) => id));
    expect(after.endpoints).toBe(passed.length);
  }
});

test("PORTAL-06 a model is gained, lost, stays or is out compared with the policy in force", () => {
  const fates = (before: Policy, after: Policy) => policyEffect(OFFERS, before, after).models.map(({ fate }) => fate);
  const strict = policy({ floor: "L2" });
  expect(fates(OPEN_POLICY, strict)).toEqual(["stays", "lost"]);
  expect(fates(strict, OPEN_POLICY)).toEqual(["stays", "gained"]);
  expect(fates(strict, strict)).toEqual(["stays", "out"]);
});

test("PORTAL-06 each rule counts what it excludes and what removing it alone regains", () => {
  const draft = policy({ floor: "L2", countries: ["FR"] });
  const { rules, all, before, after } = policyEffect(OFFERS, OPEN_POLICY, draft);
  // The countries would keep the same endpoints out: lifting the floor alone brings nothing back.
  expect(rules).toEqual([
    {
      rule: "floor",
      code: "sovereignty_floor_not_met",
      excluded: { models: 1, endpoints: 2 },
      regained: { models: 0, endpoints: 0 },
    },
  ]);
  expect([all, before, after]).toEqual([
    { models: 2, endpoints: 3 },
    { models: 2, endpoints: 3 },
    { models: 1, endpoints: 1 },
  ]);
  expect(policyEffect(OFFERS, OPEN_POLICY, policy({ floor: "L2" })).rules[0]?.regained).toEqual({
    models: 1,
    endpoints: 2,
  });
});
