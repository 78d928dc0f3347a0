import { describe, expect, test } from "vitest";
import {
  autoRoute,
  endpointOf,
  modelOf,
  modelsOf,
  planned,
  providersOf,
  qualityOf,
  refusal,
  requestOf,
  type WorldDraft,
  worldOf,
} from "../../../tests/support/routing.ts";
import type { RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { OwnKey } from "../tenancy/own-key.ts";
import type { RouterSpec } from "../tenancy/router.ts";
import { type PlanningContext, planAttempts } from "./plan.ts";
import type { Attempt } from "./reachable-endpoint.ts";

/** Three models: one good and dear, one poor and cheap, one in between and fast. */
function threeModels() {
  const models = [
    modelOf("acme/good", { quality: qualityOf(0.9) }),
    modelOf("acme/cheap", { quality: qualityOf(0.3) }),
    modelOf("acme/fast", { quality: qualityOf(0.5) }),
  ];
  const world = worldOf(
    [
      endpointOf({ provider: "good", model: "acme/good", price: "10" }),
      endpointOf({ provider: "cheap", model: "acme/cheap", price: "0.1" }),
      endpointOf({ provider: "fast", model: "acme/fast", price: "6" }),
    ],
    { models },
  );
  world.measured("good", { firstByteMs: 900, totalMs: 9000, outputTokens: 100 });
  world.measured("cheap", { firstByteMs: 900, totalMs: 9000, outputTokens: 100 });
  world.measured("fast", { firstByteMs: 10, totalMs: 110, outputTokens: 100 });
  return world;
}

const choose = (spec: Partial<RouterSpec>, hints?: RoutingHints) =>
  providersOf(planned(requestOf({ target: autoRoute(spec), hints }), threeModels()));

describe("scores", () => {
  test("ROUTE-02 the workspace's weights decide which of quality, cost and latency wins", () => {
    expect(choose({ weights: { quality: 1, cost: 0, latency: 0 } })).toEqual(["good", "fast", "cheap"]);
    expect(choose({ weights: { quality: 0, cost: 1, latency: 0 } })).toEqual(["cheap", "fast", "good"]);
    expect(choose({ weights: { quality: 0, cost: 0, latency: 1 } })).toEqual(["fast", "cheap", "good"]);
    expect(choose({ weights: { quality: 10, cost: 1, latency: 1 } })[0]).toBe("good");
  });

  test("ROUTE-02 components range from 0 for the worst to 1 for the best, and their metrics are recorded", () => {
    const request = requestOf({ target: autoRoute({ weights: { quality: 2, cost: 1, latency: 1 } }) });
    const { candidates, weights, router } = planned(request, threeModels()).decision();
    const good = candidates.find(({ provider }) => provider === "good")?.scores;
    expect(good).toEqual({
      quality: 1,
      cost: 0,
      latency: 0,
      total: 0.5,
      quality_score: 0.9,
      // A thousand tokens of input and 512 of output at ten euros a million.
      expected_cost_nanos: 15_120_000,
      expected_latency_ms: 900 + 81 * 512,
      expected_output_tokens: 512,
    });
    const cheap = candidates.find(({ provider }) => provider === "cheap")?.scores;
    expect(cheap).toMatchObject({ quality: 0, cost: 1, latency: 0, total: 0.25 });
    expect([weights, router]).toEqual([
      { quality: 2, cost: 1, latency: 1 },
      { slug: "auto", version: 3 },
    ]);
  });

  test("ROUTE-06 cost_tier shifts the weights: low towards cost, high towards quality", () => {
    const weights = { quality: 1, cost: 1, latency: 0 };
    expect(choose({ weights }, { costTier: "low" })[0]).toBe("cheap");
    expect(choose({ weights }, { costTier: "high" })[0]).toBe("good");
    const request = (costTier: "low" | "medium" | "high") =>
      planned(requestOf({ target: autoRoute({ weights }), hints: { costTier } }), threeModels()).decision().weights;
    expect(request("low")).toEqual({ quality: 0.5, cost: 3, latency: 0 });
    expect(request("medium")).toEqual(weights);
    expect(request("high")).toEqual({ quality: 3, cost: 0.5, latency: 0 });
  });

  test("ROUTE-09 an unknown quality scores as the pool's lower quartile and fails any floor, however low", () => {
    const scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
    const models = [
      ...scores.map((score) => modelOf(`acme/q${score}`, { quality: qualityOf(score) })),
      modelOf("acme/unknown"),
    ];
    const world = worldOf(
      models.map(({ id }) => endpointOf({ provider: "a", model: id })),
      { models },
    );
    const quality = (spec: Partial<RouterSpec>) =>
      planned(requestOf({ target: autoRoute(spec) }), world)
        .decision()
        .candidates.find(({ model }) => model === "acme/unknown");
    // The third of eight, between 0.1 and 0.8.
    expect(quality({})?.scores?.["quality"]).toBeCloseTo(0.2 / 0.7, 4);
    expect(quality({})?.scores).not.toHaveProperty("quality_score");
    expect(quality({ qualityFloor: 0 })).toMatchObject({
      outcome: "excluded",
      reason: "quality_floor: its quality is unknown, the floor is 0",
    });
    const kept = planned(requestOf({ target: autoRoute({ qualityFloor: 0.6 }) }), world);
    expect(modelsOf(kept).sort()).toEqual(["acme/q0.6", "acme/q0.7", "acme/q0.8"]);
    const nothing = refusal(requestOf({ target: autoRoute({ qualityFloor: 0.9 }) }), world);
    expect([nothing.code, nothing.message]).toEqual([
      "no_eligible_endpoint",
      expect.stringContaining("quality floor of the router"),
    ]);
  });

  test("ROUTE-02 an endpoint without measurements gets the pool's median latency", () => {
    const world = worldOf(["a", "b", "c", "new"].map((provider) => endpointOf({ provider })));
    for (const [provider, totalMs] of [
      ["a", 100],
      ["b", 300],
      ["c", 900],
    ] as const)
      world.measured(provider, { firstByteMs: 0, totalMs, outputTokens: 512 });
    const weights = { quality: 0, cost: 0, latency: 1 };
    const plan = planned(requestOf({ target: autoRoute({ weights }) }), world);
    expect(providersOf(plan)).toEqual(["a", "b", "new", "c"]);
    const unmeasured = plan.decision().candidates.find(({ provider }) => provider === "new")?.scores;
    expect(unmeasured?.["latency"]).toBe(0.75);
    expect(unmeasured).not.toHaveProperty("expected_latency_ms");
  });

  test("ROUTE-02 expected output is learned per model, bounded by max_tokens, and moves the order", () => {
    // Cheap to read, dear to write against the other way round.
    const world = worldOf([
      endpointOf({ provider: "reader", model: "acme/reader", price: { input: "0.1", output: "10" } }),
      endpointOf({ provider: "writer", model: "acme/writer", price: { input: "1", output: "1" } }),
    ]);
    const cost = { weights: { quality: 0, cost: 1, latency: 0 } };
    const first = (maxOutputTokens?: number) => {
      const requirements = { needs: [], parameters: [], inputTokens: 1000, maxOutputTokens };
      return providersOf(planned(requestOf({ target: autoRoute(cost), requirements }), world))[0];
    };
    expect(first()).toBe("writer");
    expect(first(10)).toBe("reader");
    for (let turn = 0; turn < 60; turn += 1) world.trafficStats.recordReply("acme/reader", 5, undefined);
    expect(first()).toBe("reader");
  });

  test("the same request and context give the same plan", () => {
    const request = requestOf({ target: autoRoute() });
    const world = threeModels();
    expect(planned(request, world).decision()).toEqual(planned(request, world).decision());
  });

  test("a pool larger than the shortlist is planned best first, and the decision lists all of it in that order", () => {
    const models = Array.from({ length: 100 }, (_, index) =>
      modelOf(`acme/m${index}`, { quality: qualityOf(((index * 37) % 100) / 100) }),
    );
    const world = worldOf(
      models.map(({ id }) => endpointOf({ provider: "a", model: id })),
      { models },
    );
    const plan = planned(requestOf({ target: autoRoute({ weights: { quality: 1, cost: 0, latency: 0 } }) }), world);
    const byQuality = models.toSorted((a, b) => (b.quality?.score ?? 0) - (a.quality?.score ?? 0)).map(({ id }) => id);
    expect(modelsOf(plan)).toEqual(byQuality.slice(0, 16));
    expect(plan.decision().candidates.map(({ model }) => model)).toEqual(byQuality);
  });
});

describe("router fallbacks", () => {
  const world = () =>
    worldOf(
      ["a", "b", "c", "d", "e", "f"]
        .map((provider) => endpointOf({ provider }))
        .concat([
          endpointOf({ provider: "x", model: "acme/second", price: "9" }),
          endpointOf({ provider: "y", model: "acme/last", price: "0.01" }),
          endpointOf({ provider: "us", model: "acme/last", price: "0.001", sovereignty: { level: "L0" } }),
        ]),
      { attemptsMax: 5 },
    );

  test("ROUTE-01 rank behind the pool in their own order, pass the same filters and fit the attempt limit", () => {
    const target = autoRoute({ models: ["acme/one"], fallback: ["acme/second", "acme/last"], floor: "L2" });
    const request = { ...requestOf({ target }), policy: { ...requestOf().policy, floor: "L2" as const } };
    const plan = planned(request, world());
    // Each of the two has one of five attempts, although the pool could use them all.
    expect(providersOf(plan)).toEqual(["a", "b", "c", "x", "y", "d", "e", "f"]);
    const reasons = plan.decision().candidates.map(({ provider, reason }) => `${provider}: ${reason}`);
    expect(reasons).toContain("x: rank 4, fallback");
    expect(reasons).toContain("us: sovereignty_floor_not_met: level L0 is below the floor L2");
  });

  const endpointsOf = (model: string, count: number) =>
    Array.from({ length: count }, (_, at) => endpointOf({ provider: `${model}${at}`, model: `acme/${model}` }));

  /** Who is tried within five attempts, of so many endpoints each of a choice and of fallbacks. */
  const triedOf = (choice: number, ...fallbacks: number[]) => {
    const models = fallbacks.map((count, at) => endpointsOf("xyzuvw".charAt(at), count));
    const all = worldOf([...endpointsOf("a", choice), ...models.flat()], { attemptsMax: 5 });
    const fallback = models.flatMap(([first]) => (first === undefined ? [] : [first.model]));
    return providersOf(planned(requestOf({ target: autoRoute({ models: ["acme/a"], fallback }) }), all)).slice(0, 5);
  };

  test.each([
    ["one for each fallback, the rest for the choice", [5, 2, 1], ["a0", "a1", "a2", "x0", "y0"]],
    ["what the choice leaves goes on in order", [1, 4, 4], ["a0", "x0", "x1", "x2", "y0"]],
    ["one fallback has one", [9, 3], ["a0", "a1", "a2", "a3", "x0"]],
    ["the choice has one, whoever comes after it", [9, 2, 2, 2, 2, 2, 2], ["a0", "x0", "y0", "z0", "u0"]],
    ["without a choice they have all", [0, 2, 2, 2, 2, 2, 2], ["x0", "y0", "z0", "u0", "v0"]],
    ["however many endpoints the first of them has", [9, 40, 1], ["a0", "a1", "a2", "x0", "y0"]],
  ])("ROUTE-01 every fallback has one of the attempts: %s", (_, [choice = 0, ...fallbacks], tried) => {
    expect(triedOf(choice, ...fallbacks)).toEqual(tried);
  });

  test("ROUTE-01 ROUTE-06 session affinity to a fallback leaves the pool and the other fallbacks their attempts", () => {
    const all = worldOf([...endpointsOf("a", 9), ...endpointsOf("x", 2), ...endpointsOf("y", 2)], { attemptsMax: 5 });
    const target = autoRoute({ models: ["acme/a"], fallback: ["acme/x", "acme/y"] });
    const session = { endpoint: "x1:eu:acme/x", seenTokens: 10 };
    const plan = planned(requestOf({ target, session, hints: { sessionId: "s" } }), all);
    expect(providersOf(plan).slice(0, 5)).toEqual(["x1", "a0", "a1", "a2", "y0"]);
  });

  test("ROUTE-01 a fallback is not in the pool unless the router lists it there too", () => {
    const cost = { weights: { quality: 0, cost: 1, latency: 0 } };
    const free = planned(requestOf({ target: autoRoute({ ...cost, fallback: ["acme/last"] }) }), world());
    expect(providersOf(free).indexOf("us")).toBeGreaterThan(1);
    const both = autoRoute({ ...cost, models: ["acme/one", "acme/last"], fallback: ["acme/last"] });
    expect(providersOf(planned(requestOf({ target: both }), world()))[0]).toBe("us");
  });

  test("ROUTE-01 are tried when the pool has no eligible endpoint", () => {
    const target = autoRoute({ models: ["acme/one"], fallback: ["acme/second"] });
    const request = requestOf({
      target,
      policy: { ...requestOf().policy, blockedProviders: ["a", "b", "c", "d", "e", "f"] },
    });
    const plan = planned(request, world());
    expect([providersOf(plan), plan.reason]).toEqual([["x"], expect.stringContaining("fallback of the router")]);
  });
});

describe("own resources used as a fallback", () => {
  const PROVIDERS = ["a", "b", "c", "d", "e", "f"];
  const fallen = ["x", "y"].map((provider) => endpointOf({ provider, model: `acme/${provider}` }));
  const spec = { models: ["acme/one"], fallback: ["acme/x", "acme/y"] };

  /** The own key or the node of providers that have one. */
  function owned(
    endpoints: readonly Endpoint[],
    of: Record<string, Partial<Attempt>>,
    draft: WorldDraft = {},
  ): PlanningContext {
    const world = worldOf(endpoints, draft);
    const reachability = (modelId: string) => {
      const reached = world.reachability(modelId);
      return { ...reached, endpoints: reached.endpoints.map((row) => ({ ...row, ...of[row.endpoint.provider] })) };
    };
    return { ...world, ownKeyCircuits: () => world.circuits, reachability };
  }

  const keyFor = (use: OwnKey["use"]): Partial<Attempt> => {
    const of = { workspaceId: "ws_1", provider: "own", kind: "key", hint: null, fingerprint: "" } as const;
    const kept = {
      createdAtMs: 0,
      changedAtMs: 0,
      changedBy: "operator",
      result: "accepted",
      testedAtMs: null,
    } as const;
    return { ownKey: { ...of, ...kept, use } };
  };
  const KEY = keyFor("fallback");
  const NODE: Partial<Attempt> = {
    node: { id: "n", workspaceId: "ws_1", name: "rack", isRemote: false },
  };
  const endpoints = [...PROVIDERS, "own"].map((provider) => endpointOf({ provider }));

  test("BILL-08 an own key used as a fallback gets one attempt and ranks last", () => {
    const plan = planned(requestOf(), owned(endpoints, { own: KEY }));
    expect(providersOf(plan)).toEqual(["a", "b", "c", "d", "own", "e", "f"]);
    const few = planned(requestOf(), owned(endpoints.slice(-3), { own: KEY }));
    expect(providersOf(few)).toEqual(["e", "f", "own"]);
    const aside = planned(requestOf(), owned(endpoints, { own: KEY }, { circuitStates: { own: "open", a: "open" } }));
    expect(providersOf(aside)).toEqual(["b", "c", "d", "e", "f", "a", "own"]);
  });

  test("BILL-08 router fallbacks rank before it, and both fit the attempt limit", () => {
    const plan = (more: Partial<RouterSpec>, of: Partial<Attempt>) => {
      const request = requestOf({ target: autoRoute({ ...spec, ...more }) });
      return providersOf(planned(request, owned([...endpoints, ...fallen], { own: of })));
    };
    expect(plan({ fallback: ["acme/x"] }, KEY).slice(0, 5)).toEqual(["a", "b", "c", "x", "own"]);
    expect(plan({}, KEY)).toEqual(["a", "b", "x", "y", "own", "c", "d", "e", "f"]);
    expect(plan({ nodes: "fallback" }, NODE)).toEqual(["a", "b", "x", "y", "own", "c", "d", "e", "f"]);
    const few = owned([...endpoints.slice(-2), ...fallen], { own: KEY });
    expect(providersOf(planned(requestOf({ target: autoRoute(spec) }), few))).toEqual(["f", "x", "y", "own"]);
  });

  test("BILL-08 nodes used as a fallback get one attempt regardless of how many models they serve", () => {
    const models = ["acme/one", "acme/two", "acme/three"];
    const nodes = models.map((model) => endpointOf({ provider: "own", model }));
    const request = requestOf({ target: autoRoute({ models, fallback: ["acme/x"], nodes: "fallback" }) });
    const plan = planned(request, owned([...endpoints.slice(0, -1), ...fallen, ...nodes], { own: NODE }));
    expect(providersOf(plan).slice(0, 5)).toEqual(["a", "b", "c", "x", "own"]);
  });

  test("BILL-08 the shortlist limit never cuts off own resources", () => {
    const many = Array.from({ length: 40 }, (_, at) => endpointOf({ provider: `p${at}` }));
    const dear = endpointOf({ provider: "own", price: "9" });
    const request = requestOf({ hints: { provider: { sort: "price" } } });
    const plan = planned(request, owned([...many, dear], { own: keyFor("first") }));
    expect([providersOf(plan).length, providersOf(plan).at(-1)]).toEqual([17, "own"]);
    expect(plan.decision().candidates[16]?.reason).toContain("rank 17, with the workspace's own key");
  });
});

describe("session affinity", () => {
  const twoPrices = () =>
    worldOf([
      endpointOf({ provider: "cheap", price: { input: "1", output: "1", cached: "0.9" } }),
      endpointOf({ provider: "dear", price: { input: "2", output: "1", cached: "0.1" } }),
    ]);
  const session = { endpoint: "dear:eu:acme/one", seenTokens: 10_000 };

  test("ROUTE-06 a conversation returns to the endpoint that served it, and the decision records it", () => {
    const plan = planned(requestOf({ session, hints: { sessionId: "s" } }), twoPrices());
    expect(providersOf(plan)).toEqual(["dear", "cheap"]);
    expect(plan.reason).toContain("served this session before");
    expect(plan.decision().session).toEqual({ endpoint: "dear:eu:acme/one", tokens: 10_000, use: "first" });
    expect(plan.decision().candidates[0]?.scores).toMatchObject({ cached_tokens: 1000 });
  });

  test("ROUTE-06 does not apply when the endpoint is no longer eligible or its circuit is open", () => {
    const blocked = { ...requestOf().policy, blockedProviders: ["dear"] };
    const plan = planned(requestOf({ session, policy: blocked }), twoPrices());
    expect([providersOf(plan), plan.decision().session?.use]).toEqual([["cheap"], "not_eligible"]);
    const open = { ...twoPrices(), circuits: { circuitStateOf: openIfExpensive } };
    expect(providersOf(planned(requestOf({ session }), open))).toEqual(["cheap", "dear"]);
  });

  test("ROUTE-06 with no further turns only the cheaper cached input counts", () => {
    // 1000 tokens of input, 10 of output: cached they cost 0.1 a token at the dear one, fresh 1 at the cheap one.
    const requirements = { needs: [], parameters: [], inputTokens: 1000, maxOutputTokens: 10 };
    const last = { sessionId: "s", remainingTurns: 0 };
    expect(providersOf(planned(requestOf({ session, requirements, hints: last }), twoPrices()))[0]).toBe("dear");
    const forgotten = { ...session, seenTokens: 0 };
    const plan = planned(requestOf({ session: forgotten, requirements, hints: last }), twoPrices());
    expect([providersOf(plan)[0], plan.decision().session?.use]).toEqual(["cheap", "weighed"]);
  });

  test("ROUTE-06 remaining_turns adds their cost, so an endpoint with a cheap cache wins a long conversation", () => {
    const first = (remainingTurns?: number) =>
      providersOf(
        planned(requestOf({ hints: remainingTurns === undefined ? {} : { remainingTurns } }), twoPrices()),
      )[0];
    expect(first()).toBe("cheap");
    expect(first(0)).toBe("cheap");
    expect(first(20)).toBe("dear");
    expect(first(Number.MAX_SAFE_INTEGER)).toBe("dear");
  });
});

const openIfExpensive = (id: string) => (id.startsWith("dear") ? ("open" as const) : ("closed" as const));

describe("open circuits", () => {
  test("ROUTE-05 rank last and are never removed; a half-open circuit keeps its rank", () => {
    const endpoints = ["a", "b", "c"].map((provider) => endpointOf({ provider }));
    const plan = planned(requestOf(), worldOf(endpoints, { circuitStates: { a: "open", b: "half_open" } }));
    expect(providersOf(plan)).toEqual(["b", "c", "a"]);
    expect(plan.decision().candidates.map(({ reason }) => reason)).toEqual([
      "rank 1, half-open, may be probed",
      "rank 2",
      "rank 3, circuit open after failures",
    ]);
    const all = planned(requestOf(), worldOf(endpoints, { circuitStates: { a: "open", b: "open", c: "open" } }));
    expect(providersOf(all)).toEqual(["a", "b", "c"]);
    expect(all.reason).toContain("all with open circuits");
  });

  test("ROUTE-05 a fallback with a closed circuit ranks before a pool endpoint with an open one", () => {
    const world = worldOf([endpointOf({ provider: "a" }), endpointOf({ provider: "x", model: "acme/second" })], {
      circuitStates: { a: "open" },
    });
    const target = autoRoute({ models: ["acme/one"], fallback: ["acme/second"] });
    expect(providersOf(planned(requestOf({ target }), world))).toEqual(["x", "a"]);
  });

  test("ROUTE-05 ROUTE-01 an open fallback gets no reserved attempt unless the pool is open as well", () => {
    const choice = ["a", "b", "c", "d", "e", "f"];
    const endpoints = choice.map((provider) => endpointOf({ provider }));
    const fallback = endpointOf({ provider: "x", model: "acme/second" });
    const tried = (aside: readonly string[]) => {
      const circuitStates = Object.fromEntries(aside.map((provider) => [provider, "open" as const]));
      const target = autoRoute({ models: ["acme/one"], fallback: ["acme/second"] });
      const world = worldOf([...endpoints, fallback], { circuitStates, attemptsMax: 5 });
      return providersOf(planned(requestOf({ target }), world)).slice(0, 5);
    };
    expect(tried(["x"])).toEqual(["a", "b", "c", "d", "e"]);
    expect(tried(["a", "b", "c", "x"])).toEqual(["d", "e", "f", "a", "x"]);
    expect(tried([...choice, "x"])).toEqual(["a", "b", "c", "d", "x"]);
  });
});

test("the plan reason is one line that fits an HTTP header", () => {
  for (const target of [autoRoute(), requestOf().target]) {
    const plan = planAttempts(requestOf({ target }), worldOf([endpointOf({ provider: "a" })]));
    if (plan.is === "planned") expect(plan.reason).toMatch(/^[\x20-\x7e]{1,200}$/);
  }
});
