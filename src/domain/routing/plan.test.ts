import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  autoRoute,
  endpointOf,
  modelOf,
  modelRoute,
  modelsOf,
  OPEN_ROUTER,
  planned,
  providersOf,
  qualityOf,
  refusal,
  requestOf,
  withPolicy,
  worldOf,
} from "../../../tests/support/routing.ts";
import type { Endpoint, Sovereignty } from "../catalogue/catalogue.ts";
import { LEVELS, type LevelState, OPEN_POLICY } from "../tenancy/policy.ts";
import { type PlanRequest, planAttempts } from "./plan.ts";
import { excludedByPolicy } from "./policy.ts";

test("ROUTE-08 a plain model tries its endpoints by expected cost, then measured latency, then id", () => {
  const world = worldOf([
    endpointOf({ provider: "d" }),
    endpointOf({ provider: "c" }),
    endpointOf({ provider: "b" }),
    endpointOf({ provider: "cheap", price: "0" }),
  ]);
  world.measured("c", { firstByteMs: 1, totalMs: 500, outputTokens: 100 });
  world.measured("b", { firstByteMs: 1, totalMs: 100, outputTokens: 100 });
  world.measured("d", { firstByteMs: 1, totalMs: 100, outputTokens: 100 });
  expect(providersOf(planned(requestOf(), world))).toEqual(["cheap", "b", "d", "c"]);
});

test("ERR-11 an unknown model and a model without a connected provider get different messages", () => {
  const world = worldOf([endpointOf({ provider: "a" })]);
  const unknown = refusal(requestOf({ target: modelRoute("acme/none") }), world);
  expect([unknown.code, unknown.message]).toEqual(["model_not_found", expect.stringContaining("There is no model")]);
  const problem = refusal(requestOf(), worldOf([endpointOf({ provider: "a" })], { connected: false }));
  expect(problem.code).toBe("model_not_found");
  expect(problem.message).toContain("provider a is not connected");
});

test.each([
  ["one", "acme/one"],
  ["other/one", "acme/one"],
  [" ACME/One", "acme/one"],
  ["Auto", "auto"],
  ["two", undefined],
  ["acme/", undefined],
])("ERR-11 an unknown model %j: the suggestion is %s", (asked, meant) => {
  const { message } = refusal(requestOf({ target: modelRoute(asked) }), worldOf([endpointOf({ provider: "a" })]));
  expect(/Did you mean "(.*?)"/.exec(message)?.[1]).toBe(meant);
});

test("a parameter that some endpoints support narrows the candidates; one that none supports is refused by name", () => {
  const world = worldOf([endpointOf({ provider: "a", features: { tools: false } }), endpointOf({ provider: "b" })]);
  const tools = requestOf({
    requirements: {
      needs: [{ need: "tools", param: "tools" }],
      parameters: ["tools"],
      inputTokens: 1,
      maxOutputTokens: undefined,
    },
  });
  expect(providersOf(planned(tools, world))).toEqual(["b"]);
  const problem = refusal(
    requestOf({ requirements: { needs: [], parameters: ["top_k"], inputTokens: 1, maxOutputTokens: undefined } }),
    world,
  );
  expect(problem).toMatchObject({ code: "unsupported_parameter", param: "top_k" });
  expect(problem.message).toContain("acme/one");
});

test("PARAM-03 fields that no single endpoint supports together are refused with all their names", () => {
  const world = worldOf([endpointOf({ provider: "a", features: { tools: false } }), endpointOf({ provider: "b" })]);
  const needs = [
    { need: "tools", param: "tools" },
    { need: "audio_input", param: "messages.0.content.0" },
  ] as const;
  const problem = refusal(
    requestOf({ requirements: { needs, parameters: ["tools"], inputTokens: 1, maxOutputTokens: undefined } }),
    world,
  );
  expect(problem).toMatchObject({ code: "unsupported_parameter", param: "tools" });
  expect(problem.message).toContain("tools and messages.0.content.0 are not supported together");
});

test("ERR-08 a policy set by the request is distinguished from the workspace's policy", () => {
  const world = worldOf([endpointOf({ provider: "a", sovereignty: { zeroDataRetention: "no" } })]);
  const asked = withPolicy({ zeroDataRetention: true });
  expect(refusal(asked, world).message).not.toContain("The request itself");
  const own = refusal({ ...asked, hints: { provider: { zeroDataRetention: true } } }, world);
  expect(own).toMatchObject({ code: "zero_data_retention_required" });
  expect(own.message).toContain("The request itself requires it with provider.zdr.");
});

test("ERR-08 one rule is reported by its own code, several by no_eligible_endpoint, with every endpoint named", () => {
  const us = endpointOf({ provider: "us", sovereignty: { level: "L0", countries: ["US"] } });
  const fr = endpointOf({ provider: "fr" });
  const floor = refusal(withPolicy({ floor: "L2" }), worldOf([us]));
  expect(floor.code).toBe("sovereignty_floor_not_met");
  expect(floor.message).toContain("us:eu:acme/one (level L0 is below the floor L2)");
  const both = refusal(withPolicy({ floor: "L2", blockedProviders: ["fr"] }), worldOf([us, fr]));
  expect(both.code).toBe("no_eligible_endpoint");
  expect(both.message).toContain("provider_blocked");
  expect(refusal(withPolicy({ countries: ["DE"] }), worldOf([fr])).code).toBe("compute_country_not_allowed");
  const unsure = endpointOf({
    provider: "x",
    sovereignty: { zeroDataRetention: "on_request", trainsOnData: "unknown" },
  });
  expect(refusal(withPolicy({ zeroDataRetention: true }), worldOf([unsure])).code).toBe("zero_data_retention_required");
  expect(refusal(withPolicy({ noTraining: true }), worldOf([unsure])).code).toBe("no_training_required");
  expect(refusal(withPolicy({ blockedProviders: ["x"] }), worldOf([unsure])).code).toBe("provider_blocked");
});

test("POL-01 no floor is the default, and UNCLASSIFIED satisfies no floor, L0 included", () => {
  const endpoint = endpointOf({ provider: "x", sovereignty: { level: "UNCLASSIFIED" } });
  expect(excludedByPolicy(endpoint, OPEN_POLICY)).toBeUndefined();
  for (const floor of LEVELS)
    expect(excludedByPolicy(endpoint, { ...OPEN_POLICY, floor })?.rule).toBe("sovereignty_floor_not_met");
});

test("POL-02 unknown compute countries, and upper bounds that include a forbidden country, are excluded", () => {
  const policy = { ...OPEN_POLICY, countries: ["DE", "FR"] };
  const at = (sovereignty: Partial<Sovereignty>) =>
    excludedByPolicy(endpointOf({ provider: "x", sovereignty }), policy)?.rule;
  expect(at({ countries: ["FR"] })).toBeUndefined();
  expect(at({ countries: ["DE", "FR"], countriesKind: "upper_bound" })).toBeUndefined();
  expect(at({ countries: ["FR"], countriesKind: "unknown" })).toBe("compute_country_not_allowed");
  expect(at({ countries: [] })).toBe("compute_country_not_allowed");
  expect(at({ countries: ["FR", "CH"], countriesKind: "upper_bound" })).toBe("compute_country_not_allowed");
});

test("AUTH-09 a model outside the allowed ones is refused, and auto never picks one", () => {
  const world = worldOf([endpointOf({ provider: "a" }), endpointOf({ provider: "a", model: "acme/two" })]);
  const request = withPolicy({ allowedModels: ["acme/two"] });
  const problem = refusal(request, world);
  expect([problem.code, problem.message]).toEqual([
    "model_not_permitted",
    expect.stringContaining("Allowed for this request: acme/two."),
  ]);
  expect(modelsOf(planned({ ...request, target: autoRoute() }, world))).toEqual(["acme/two"]);
  // More names than are looked through one by one.
  const long = Array.from({ length: 20 }, (_, index) => `acme/x${index}`);
  expect(refusal(withPolicy({ allowedModels: long }), world).code).toBe("model_not_permitted");
  expect(modelsOf(planned(withPolicy({ allowedModels: [...long, "acme/one"] }), world))).toEqual(["acme/one"]);
});

test("ROUTE-09 auto never picks a sandbox model once a real provider is connected, and never a hidden one", () => {
  const models = [
    modelOf("acme/one"),
    modelOf("sandbox/chat", { sandbox: true }),
    modelOf("sandbox/cut", { hidden: true, sandbox: true }),
  ];
  const endpoints = models.map(({ id }) => endpointOf({ provider: "a", model: id }));
  const picked = (simulated: boolean, spec = {}) =>
    modelsOf(planned(requestOf({ target: autoRoute(spec) }), worldOf(endpoints, { models, simulated }))).sort();
  expect(picked(false)).toEqual(["acme/one"]);
  expect(picked(true)).toEqual(["acme/one", "sandbox/chat"]);
  // A router that names one means it.
  expect(picked(false, { models: ["sandbox/chat"] })).toEqual(["sandbox/chat"]);
});

test("ROUTE-02 ROUTE-03 auto weighs quality, cost and latency, and keeps the scores", () => {
  const models = [modelOf("acme/good", { quality: qualityOf(0.9) }), modelOf("acme/bad", { quality: qualityOf(0.1) })];
  const world = worldOf(
    [endpointOf({ provider: "a", model: "acme/good" }), endpointOf({ provider: "a", model: "acme/bad" })],
    { models },
  );
  const plan = planned(requestOf({ target: autoRoute() }), world);
  expect(plan.router).toBe("auto");
  expect(plan.attempts[0]?.model.id).toBe("acme/good");
  expect(plan.decision().candidates[0]?.scores).toMatchObject({ quality: 1 });
});

test("ROUTE-02 context and output limits are inclusive", () => {
  const limits = { contextTokens: 1000, maxInputTokens: null, maxOutputTokens: 100 };
  const world = worldOf([endpointOf({ provider: "a", more: { limits } })]);
  const asking = (inputTokens: number, maxOutputTokens: number | undefined) =>
    requestOf({ requirements: { needs: [], parameters: [], inputTokens, maxOutputTokens } });
  expect(providersOf(planned(asking(1000, 100), world))).toEqual(["a"]);
  const problem = refusal(asking(1001, undefined), world);
  expect(problem).toMatchObject({ code: "context_length_exceeded", status: 400, param: "messages" });
  expect(refusal({ ...asking(1001, undefined), surface: "responses" }, world).param).toBe("input");
  // Coding agents shorten their conversation when they read these words.
  expect(problem.message).toMatch(/^Prompt is too long: 1001 tokens > 1000 maximum/);
  expect(refusal(asking(1, 101), world)).toMatchObject({ code: "invalid_value", status: 400, param: "max_tokens" });
});

test("POL-02 for any catalogue and policy, no planned endpoint is excluded by the policy", () => {
  const level = fc.constantFrom<LevelState>(...LEVELS, "UNCLASSIFIED");
  const country = fc.constantFrom("DE", "FR", "US", "CH");
  const sovereignty = fc.record({
    level,
    countries: fc.uniqueArray(country),
    countriesKind: fc.constantFrom("exact", "upper_bound", "unknown"),
    zeroDataRetention: fc.constantFrom("yes", "no", "on_request", "unknown"),
    trainsOnData: fc.constantFrom("yes", "no", "unknown"),
  });
  const policy = fc.record({
    floor: fc.option(fc.constantFrom(...LEVELS)),
    countries: fc.option(fc.uniqueArray(country)),
    zeroDataRetention: fc.boolean(),
    noTraining: fc.boolean(),
    blockedProviders: fc.uniqueArray(fc.constantFrom("p0", "p1", "p2")),
    allowedModels: fc.constant(null),
    ownNodesExempt: fc.boolean(),
    testKeysSimulated: fc.boolean(),
    parameters: fc.constantFrom(null, "strict", "lenient"),
  });
  fc.assert(
    fc.property(
      fc.array(sovereignty, { minLength: 1, maxLength: 6 }),
      policy,
      fc.constantFrom(autoRoute(), modelRoute("acme/one"), autoRoute({ models: [], fallback: ["acme/one"] })),
      fc.constantFrom<Partial<PlanRequest>>(
        {},
        { hints: { provider: { order: ["p1", "p0"] } } },
        { session: { endpoint: "p0:eu:acme/one", seenTokens: 10 } },
        { hints: { provider: { only: ["p0"] } } },
      ),
      (rows, rules, target, prefer) => {
        const world = worldOf(rows.map((row, index) => endpointOf({ provider: `p${index}`, sovereignty: row })));
        const plan = planAttempts(requestOf({ target, policy: rules, ...prefer }), world);
        const tried: readonly Endpoint[] = plan.is === "planned" ? plan.attempts.map(({ endpoint }) => endpoint) : [];
        for (const endpoint of tried)
          if (plan.is === "planned") expect(plan.recheckPolicy(endpoint, rules)).toBeUndefined();
        for (const { provider, sovereignty: facts } of tried) {
          if (rules.floor !== null)
            expect(LEVELS.indexOf(facts.level === "UNCLASSIFIED" ? "L0" : facts.level)).toBeGreaterThanOrEqual(
              LEVELS.indexOf(rules.floor),
            );
          if (rules.floor !== null) expect(facts.level).not.toBe("UNCLASSIFIED");
          if (rules.countries !== null) for (const one of facts.countries) expect(rules.countries).toContain(one);
          if (rules.zeroDataRetention) expect(facts.zeroDataRetention).toBe("yes");
          if (rules.noTraining) expect(facts.trainsOnData).toBe("no");
          expect(rules.blockedProviders).not.toContain(provider);
        }
      },
    ),
    { numRuns: 1000 },
  );
});

test("ERR-13 ERR-10 policy is reported when it excludes all endpoints, otherwise parameter support", () => {
  const plain = endpointOf({ provider: "plain", features: { tools: false } });
  const able = endpointOf({ provider: "able" });
  const requirements = {
    needs: [{ need: "tools", param: "tools" } as const],
    parameters: ["tools"] as const,
    inputTokens: 1,
    maxOutputTokens: undefined,
  };
  const request = { ...withPolicy({ floor: "L4" }), requirements };
  // Without tools the request would still be below the floor.
  expect(refusal(request, worldOf([plain])).code).toBe("sovereignty_floor_not_met");
  const neither = refusal(request, worldOf([plain, able]));
  expect(neither.code).toBe("sovereignty_floor_not_met");
  expect(neither.message).toContain("able:eu:acme/one");
  expect(neither.message).toContain("plain:eu:acme/one");
  const blocked = refusal({ ...withPolicy({ blockedProviders: ["able"] }), requirements }, worldOf([able, plain]));
  expect(blocked).toMatchObject({ code: "unsupported_parameter", param: "tools" });
  expect(blocked.message).toMatch(
    /Policy excludes endpoints that support the request: able:eu:acme\/one \(provider_blocked: /,
  );
  const other = endpointOf({ provider: "other", features: { tools: false } });
  const unable = refusal({ ...withPolicy({ blockedProviders: ["other"] }), requirements }, worldOf([other, plain]));
  expect(unable).toMatchObject({ code: "unsupported_parameter", param: "tools" });
  expect(unable.message).toMatch(/which do not support the request either: other:eu:acme\/one \(provider_blocked: /);
});

describe("plan refusals", () => {
  const us = (model: string) =>
    endpointOf({ provider: "us", model, sovereignty: { level: "L0", countries: ["US"], trainsOnData: "yes" } });
  const fr = (model: string) => endpointOf({ provider: "fr", model });

  test("ERR-08 name only models that can serve this request as alternatives", () => {
    const models = [
      modelOf("acme/one"),
      modelOf("acme/two"),
      modelOf("acme/three"),
      modelOf("acme/hidden", { hidden: true }),
      modelOf("sandbox/x", { sandbox: true }),
      modelOf("acme/short", { contextTokens: 10 }),
    ];
    const short = endpointOf({ provider: "fr", model: "acme/short", more: { limits: NO_LIMITS } });
    const endpoints = [us("acme/one"), fr("acme/two"), us("acme/three"), fr("acme/hidden"), fr("sandbox/x"), short];
    const { message } = refusal(withPolicy({ floor: "L2" }), worldOf(endpoints, { models }));
    expect(message).toContain("Allowed for this request: acme/two.");
    const nothing = refusal(withPolicy({ floor: "L4" }), worldOf(endpoints, { models })).message;
    expect(nothing).toContain("No connected endpoint is allowed");
  });

  test("ERR-08 name endpoints that preferences permit and the request excludes, with the field that does", () => {
    const plain = endpointOf({ provider: "plain", features: { tools: false } });
    const requirements = {
      needs: [{ need: "tools", param: "tools" } as const],
      parameters: ["tools"] as const,
      inputTokens: 1,
      maxOutputTokens: undefined,
    };
    const world = worldOf([us("acme/one"), plain]);
    const hints = { provider: { only: ["plain"] } };
    const unwanted = refusal({ ...requestOf({ requirements }), hints }, world);
    expect(unwanted).toMatchObject({ code: "no_eligible_endpoint", param: "provider.only" });
    expect(unwanted.message).toContain("Allowed but not capable: plain:eu:acme/one (tools: ");
  });

  test("ROUTE-03 carry every excluded candidate for the log", () => {
    const plan = planAttempts(withPolicy({ floor: "L2" }), worldOf([us("acme/one")]));
    expect(plan.is).toBe("refused");
    expect(plan.decision()).toMatchObject({
      candidates: [{ endpoint: "us:eu:acme/one", outcome: "excluded", reason: expect.stringContaining("floor L2") }],
      order: [],
    });
  });

  test("ERR-11 say that none of a router's models is permitted", () => {
    const request = withPolicy({ allowedModels: ["acme/two"] }, { target: autoRoute({ models: ["acme/one"] }) });
    const problem = refusal(request, worldOf([fr("acme/one"), fr("acme/two")]));
    expect([problem.code, problem.message]).toEqual(["model_not_permitted", expect.stringContaining("acme/one")]);
  });

  test("POL-02 a planned endpoint is rechecked against the current policy", () => {
    const plan = planned(requestOf(), worldOf([us("acme/one"), fr("acme/two")]));
    const [first] = plan.attempts;
    if (first === undefined) throw new Error("nothing was planned");
    expect(plan.recheckPolicy(first.endpoint, OPEN_POLICY)).toBeUndefined();
    const raised = plan.recheckPolicy(first.endpoint, { ...OPEN_POLICY, floor: "L1" });
    expect(raised?.fault).toMatchObject({ code: "sovereignty_floor_not_met" });
    expect(raised?.fault.message).toContain("Allowed for this request: acme/two.");
    expect(plan.recheckPolicy(first.endpoint, { ...OPEN_POLICY, allowedModels: [] })?.fault.code).toBe(
      "model_not_permitted",
    );
  });

  test("POL-02 ROUTE-02 a planned endpoint is rechecked against the current router", () => {
    const plan = planned(requestOf({ target: autoRoute() }), worldOf([fr("acme/one")]));
    const [first] = plan.attempts;
    if (first === undefined) throw new Error("nothing was planned");
    expect(plan.recheckRouter(first, OPEN_ROUTER)).toBeUndefined();
    expect(plan.recheckRouter(first, { ...OPEN_ROUTER, nodes: "only" })?.fault).toMatchObject({
      code: "no_eligible_endpoint",
      message: expect.stringMatching(/^The router auto changed .*: the router uses the workspace's own nodes only\. /),
    });
    expect(plan.recheckRouter(first, { ...OPEN_ROUTER, qualityFloor: 0.5 })?.reason).toContain("the floor is 0.5");
  });
});

const NO_LIMITS = { contextTokens: null, maxInputTokens: null, maxOutputTokens: null };
