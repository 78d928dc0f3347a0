import fc from "fast-check";
import { expect, test } from "vitest";
import { Fault } from "../../contract/faults.ts";
import { parseDecimal } from "../../kit/money.ts";
import type { Endpoint, Model, Price, Snapshot, Sovereignty } from "../catalogue/catalogue.ts";
import { LEVELS, type LevelState, OPEN_POLICY, type Policy } from "../tenancy/policy.ts";
import { Health } from "./health.ts";
import { type PlanRequest, planAttempts, type World } from "./plan.ts";
import { excludedByPolicy } from "./policy.ts";
import { Reach } from "./reach.ts";

const money = (text: string) => {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(text);
  return value;
};

function priceOf(input: string): Price {
  return {
    currency: "EUR",
    from: null,
    inputPer1mTokens: money(input),
    outputPer1mTokens: money(input),
    cachedReadPer1mTokens: null,
    cacheWritePer1mTokens: null,
    audioInputPer1mTokens: null,
    audioOutputPer1mTokens: null,
    per1mCharacters: null,
    perMinuteAudio: null,
    perRequest: null,
    tiers: [],
  };
}

const SOVEREIGN: Sovereignty = {
  level: "L3",
  reason: "",
  confidence: "high",
  countries: ["FR"],
  countriesKind: "exact",
  zeroDataRetention: "yes",
  trainsOnData: "no",
  evidence: null,
};

type Draft = {
  provider: string;
  model?: string;
  price?: string;
  sovereignty?: Partial<Sovereignty>;
  features?: Partial<Endpoint["features"]>;
};

function endpointOf({ provider, model = "acme/one", price = "1", sovereignty = {}, features = {} }: Draft): Endpoint {
  return {
    id: `${provider}:eu:${model}`,
    model,
    provider,
    region: "eu",
    upstreamModel: "one",
    baseUrl: "http://127.0.0.1:1/v1",
    dialects: ["D1"],
    responsesApi: false,
    surfaces: ["chat"],
    status: "active",
    sovereignty: { ...SOVEREIGN, ...sovereignty },
    prices: [priceOf(price)],
    limits: { contextTokens: 1000, maxInputTokens: null, maxOutputTokens: null },
    features: {
      tools: null,
      parallelTools: null,
      jsonSchema: null,
      reasoning: null,
      reasoningControl: null,
      sampling: null,
      imageInput: null,
      promptCaching: null,
      logprobs: null,
      ...features,
    },
    supportedParams: null,
    decisionsInterface: null,
    sandbox: false,
    note: null,
  };
}

function modelOf(id: string, more: Partial<Model> = {}): Model {
  return {
    id,
    name: id,
    creator: "acme",
    family: "f",
    releaseDate: null,
    knowledgeCutoff: null,
    surfaces: ["chat"],
    modalitiesIn: ["text"],
    modalitiesOut: ["text"],
    contextTokens: 1000,
    maxOutputTokens: null,
    openWeights: null,
    capabilities: [],
    embeddingDimensions: null,
    quality: null,
    benchmarks: [],
    sandbox: false,
    hidden: false,
    note: null,
    ...more,
  };
}

function reachOf(snapshot: Snapshot, connected: "connected" | "not connected"): Reach {
  const credential = () => (connected === "connected" ? ({ kind: "none" } as const) : undefined);
  return new Reach(snapshot, { credential, baseUrl: ({ baseUrl }) => baseUrl ?? undefined, anyReal: true }, () => true);
}

function worldOf(
  endpoints: readonly Endpoint[],
  models: readonly Model[] = [modelOf("acme/one")],
  anyReal = true,
  connected: "connected" | "not connected" = "connected",
): World & { health: Health } {
  const snapshot: Snapshot = {
    version: "1",
    builtAtMs: 0,
    creators: new Map(),
    families: new Map(),
    models: new Map(models.map((model) => [model.id, model])),
    providers: new Map(),
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
    endpointsByModel: Map.groupBy(endpoints, ({ model }) => model),
    currencies: new Map(),
    capabilities: new Map(),
  };
  return {
    snapshot,
    anyReal,
    reach: (model) => reachOf(snapshot, connected).of(model, "chat", "EUR", 0),
    health: new Health(),
    support: {
      isNative: () => false,
      takesParameter: (_endpoint, parameter) => parameter !== "top_k",
      takesNeed: () => true,
    },
    expectedNanos: ({ inputPer1mTokens }) => inputPer1mTokens?.digits ?? 0n,
  };
}

function requestOf(more: Partial<PlanRequest> = {}): PlanRequest {
  return {
    asked: "acme/one",
    surface: "chat",
    policy: OPEN_POLICY,
    walletCurrency: "EUR",
    demand: { needs: [], parameters: [], inputTokens: 10, maxOutputTokens: undefined },
    ...more,
  };
}

const withPolicy = (policy: Partial<Policy>) => requestOf({ policy: { ...OPEN_POLICY, ...policy } });

function refusal(act: () => unknown): Fault {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  throw new Error("it was not refused");
}

test("ROUTE-08 a plain model tries its endpoints by expected cost, then measured latency, then id", () => {
  const world = worldOf([
    endpointOf({ provider: "d" }),
    endpointOf({ provider: "c" }),
    endpointOf({ provider: "b" }),
    endpointOf({ provider: "cheap", price: "0" }),
  ]);
  world.health.served("c:eu:acme/one", { firstByteMs: 1, totalMs: 500 });
  world.health.served("b:eu:acme/one", { firstByteMs: 1, totalMs: 100 });
  world.health.served("d:eu:acme/one", { firstByteMs: 1, totalMs: 100 });
  const { attempts } = planAttempts(requestOf(), world);
  expect(attempts.map(({ endpoint }) => endpoint.provider)).toEqual(["cheap", "b", "d", "c"]);
});

test("an unknown model, an unknown router and a model without a connected provider are told apart", () => {
  const world = worldOf([endpointOf({ provider: "a" })]);
  expect(refusal(() => planAttempts(requestOf({ asked: "acme/none" }), world)).code).toBe("model_not_found");
  expect(refusal(() => planAttempts(requestOf({ asked: "@team/fast" }), world)).code).toBe("router_not_found");
  const unconnected = worldOf([endpointOf({ provider: "a" })], undefined, true, "not connected");
  const problem = refusal(() => planAttempts(requestOf(), unconnected));
  expect(problem.code).toBe("model_not_found");
  expect(problem.message).toContain("provider a is not connected");
});

test("a parameter that only some endpoints take narrows; one that none takes is refused by name and model", () => {
  const world = worldOf([endpointOf({ provider: "a", features: { tools: false } }), endpointOf({ provider: "b" })]);
  const tools = requestOf({
    demand: {
      needs: [{ need: "tools", param: "tools" }],
      parameters: ["tools"],
      inputTokens: 1,
      maxOutputTokens: undefined,
    },
  });
  expect(planAttempts(tools, world).attempts.map(({ endpoint }) => endpoint.provider)).toEqual(["b"]);
  const problem = refusal(() =>
    planAttempts(
      requestOf({ demand: { needs: [], parameters: ["top_k"], inputTokens: 1, maxOutputTokens: undefined } }),
      world,
    ),
  );
  expect(problem).toMatchObject({ code: "unsupported_parameter", param: "top_k" });
  expect(problem.message).toContain("acme/one");
});

test("ERR-08 one rule answers with its own code, several together with no_eligible_endpoint, and each endpoint is named", () => {
  const us = endpointOf({ provider: "us", sovereignty: { level: "L0", countries: ["US"] } });
  const fr = endpointOf({ provider: "fr" });
  const floor = refusal(() => planAttempts(withPolicy({ floor: "L2" }), worldOf([us])));
  expect(floor.code).toBe("sovereignty_floor_not_met");
  expect(floor.message).toContain("us:eu:acme/one (level L0 is below the floor L2)");
  const both = refusal(() => planAttempts(withPolicy({ floor: "L2", blockedProviders: ["fr"] }), worldOf([us, fr])));
  expect(both.code).toBe("no_eligible_endpoint");
  expect(both.message).toContain("provider_blocked");
  expect(refusal(() => planAttempts(withPolicy({ countries: ["DE"] }), worldOf([fr]))).code).toBe(
    "compute_country_not_allowed",
  );
  const unsure = endpointOf({
    provider: "x",
    sovereignty: { zeroDataRetention: "on_request", trainsOnData: "unknown" },
  });
  expect(refusal(() => planAttempts(withPolicy({ zeroDataRetention: true }), worldOf([unsure]))).code).toBe(
    "zero_data_retention_required",
  );
  expect(refusal(() => planAttempts(withPolicy({ noTraining: true }), worldOf([unsure]))).code).toBe(
    "no_training_required",
  );
  expect(refusal(() => planAttempts(withPolicy({ blockedProviders: ["x"] }), worldOf([unsure]))).code).toBe(
    "provider_blocked",
  );
});

test("POL-01 no floor is the default, and UNCLASSIFIED satisfies no floor, L0 included", () => {
  const endpoint = endpointOf({ provider: "x", sovereignty: { level: "UNCLASSIFIED" } });
  expect(excludedByPolicy(endpoint, OPEN_POLICY)).toBeUndefined();
  for (const floor of LEVELS)
    expect(excludedByPolicy(endpoint, { ...OPEN_POLICY, floor })?.rule).toBe("sovereignty_floor_not_met");
});

test("countries that are not known, or only an upper bound that reaches outside, are not allowed", () => {
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
  const models = [modelOf("acme/one"), modelOf("acme/two")];
  const world = worldOf([endpointOf({ provider: "a" }), endpointOf({ provider: "a", model: "acme/two" })], models);
  const request = withPolicy({ allowedModels: ["acme/two"] });
  expect(refusal(() => planAttempts(request, world)).code).toBe("model_not_permitted");
  expect(planAttempts({ ...request, asked: "auto" }, world).attempts.map(({ model }) => model.id)).toEqual([
    "acme/two",
  ]);
});

test("ROUTE-09 auto never picks a simulated model once a real provider is connected, nor a hidden one ever", () => {
  const models = [
    modelOf("acme/one"),
    modelOf("sandbox/chat", { sandbox: true }),
    modelOf("sandbox/cut", { hidden: true, sandbox: true }),
  ];
  const endpoints = models.map(({ id }) => endpointOf({ provider: "a", model: id }));
  const picked = (anyReal: boolean) =>
    planAttempts(requestOf({ asked: "auto" }), worldOf(endpoints, models, anyReal))
      .attempts.map(({ model }) => model.id)
      .sort();
  expect(picked(true)).toEqual(["acme/one"]);
  expect(picked(false)).toEqual(["acme/one", "sandbox/chat"]);
});

test("auto weighs quality, cost and latency, and keeps the scores", () => {
  const quality = (score: number) => ({ score, source: "x", licence: null, estimated: false });
  const models = [modelOf("acme/good", { quality: quality(0.9) }), modelOf("acme/bad", { quality: quality(0.1) })];
  const world = worldOf(
    [endpointOf({ provider: "a", model: "acme/good" }), endpointOf({ provider: "a", model: "acme/bad" })],
    models,
  );
  const plan = planAttempts(requestOf({ asked: "auto" }), world);
  expect(plan.router).toBe("auto");
  expect(plan.attempts[0]?.model.id).toBe("acme/good");
  expect(plan.candidates[0]?.scores).toMatchObject({ quality: 1 });
});

test("context and output limits are respected", () => {
  const world = worldOf([endpointOf({ provider: "a" })]);
  const problem = refusal(() =>
    planAttempts(
      requestOf({ demand: { needs: [], parameters: [], inputTokens: 5000, maxOutputTokens: undefined } }),
      world,
    ),
  );
  expect(problem).toMatchObject({ code: "context_length_exceeded", status: 400, param: "messages" });
  // Coding agents shorten their conversation when they read these words.
  expect(problem.message).toMatch(/^Prompt is too long: 5000 tokens > 1000 maximum/);
});

test("POL-02 whatever the catalogue and the policy, no planned endpoint is one the policy excludes", () => {
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
  });
  fc.assert(
    fc.property(
      fc.array(sovereignty, { minLength: 1, maxLength: 6 }),
      policy,
      fc.constantFrom("auto", "acme/one"),
      (rows, rules, asked) => {
        const world = worldOf(rows.map((row, index) => endpointOf({ provider: `p${index}`, sovereignty: row })));
        let planned: readonly Endpoint[] = [];
        try {
          planned = planAttempts(requestOf({ asked, policy: rules }), world).attempts.map(({ endpoint }) => endpoint);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
        }
        for (const { provider, sovereignty: facts } of planned) {
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

test("ERR-10 parameter support answers before policy when it leaves nothing, and policy as soon as it leaves one endpoint", () => {
  const plain = endpointOf({ provider: "plain", features: { tools: false } });
  const able = endpointOf({ provider: "able" });
  const demand = {
    needs: [{ need: "tools", param: "tools" } as const],
    parameters: ["tools"] as const,
    inputTokens: 1,
    maxOutputTokens: undefined,
  };
  const request = { ...withPolicy({ floor: "L4" }), demand };
  // Both are below the floor too, but nothing is left to hold against it.
  const unable = refusal(() => planAttempts(request, worldOf([plain])));
  expect(unable).toMatchObject({ code: "unsupported_parameter", param: "tools" });
  const kept = refusal(() => planAttempts(request, worldOf([plain, able])));
  expect(kept.code).toBe("sovereignty_floor_not_met");
  expect(kept.message).toContain("able:eu:acme/one");
  expect(kept.message).not.toContain("plain:eu:acme/one");
  const blocked = { ...withPolicy({ blockedProviders: ["able"] }), demand };
  expect(refusal(() => planAttempts(blocked, worldOf([able, plain]))).code).toBe("provider_blocked");
});
