import type { Fault } from "../../src/contract/faults.ts";
import type { CatalogueSnapshot, Endpoint, Model, Price, Sovereignty } from "../../src/domain/catalogue/catalogue.ts";
import type { CircuitState } from "../../src/domain/routing/circuit-state.ts";
import { LatencyTracker, TrafficStats } from "../../src/domain/routing/endpoint-health.ts";
import type { LatencySample } from "../../src/domain/routing/latency-estimate.ts";
import { type Plan, type PlanningContext, type PlanRequest, planAttempts } from "../../src/domain/routing/plan.ts";
import { Reachability } from "../../src/domain/routing/reachability.ts";
import type { RoutingTarget } from "../../src/domain/routing/routing-target.ts";
import { OPEN_POLICY, type Policy } from "../../src/domain/tenancy/policy.ts";
import { EVEN_WEIGHTS, type RouterSpec } from "../../src/domain/tenancy/router.ts";
import { parseDecimal } from "../../src/kit/money.ts";
import { ALL_PROVEN } from "./proofs.ts";

/** Demands nothing. */
export const OPEN_ROUTER: RouterSpec = {
  weights: EVEN_WEIGHTS,
  floor: null,
  qualityFloor: null,
  countries: null,
  models: null,
  fallback: [],
  reasoningEffort: null,
  nodes: null,
};

const NOW_MS = 1_900_000_000_000;

const money = (text: string) => {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(text);
  return value;
};

export type PriceDraft = { input: string; output?: string; cached?: string; perRequest?: string; currency?: string };

export function priceOf({ input, output = input, cached, perRequest, currency = "EUR" }: PriceDraft): Price {
  return {
    currency,
    from: null,
    inputPer1mTokens: money(input),
    outputPer1mTokens: money(output),
    cachedReadPer1mTokens: cached === undefined ? null : money(cached),
    cacheWritePer1mTokens: null,
    audioInputPer1mTokens: null,
    audioOutputPer1mTokens: null,
    per1mCharacters: null,
    perMinuteAudio: null,
    perRequest: perRequest === undefined ? null : money(perRequest),
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
  evidence: [],
};

export type EndpointDraft = {
  provider: string;
  model?: string;
  region?: string;
  price?: string | PriceDraft;
  sovereignty?: Partial<Sovereignty>;
  features?: Partial<Endpoint["features"]>;
  more?: Partial<Endpoint>;
};

/** `provider:eu:model`, at one euro per million tokens either way by default. */
export function endpointOf(draft: EndpointDraft): Endpoint {
  const {
    provider,
    model = "acme/one",
    region = "eu",
    price = "1",
    sovereignty = {},
    features = {},
    more = {},
  } = draft;
  return {
    id: `${provider}:${region}:${model}`,
    model,
    provider,
    region,
    upstreamModel: "one",
    baseUrl: "http://127.0.0.1:1/v1",
    dialects: ["D1"],
    responsesApi: false,
    surfaces: ["chat"],
    status: "active",
    sovereignty: { ...SOVEREIGN, ...sovereignty },
    prices: [priceOf(typeof price === "string" ? { input: price } : price)],
    limits: { contextTokens: 100_000, maxInputTokens: null, maxOutputTokens: null },
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
    decisions: null,
    embeddings: null,
    rerank: null,
    moderations: null,
    images: null,
    speech: null,
    transcriptions: null,
    sandbox: false,
    ...more,
  };
}

export const qualityOf = (score: number) => ({ score, source: "x", licence: null, estimated: false });

export function modelOf(id: string, more: Partial<Model> = {}): Model {
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
    contextTokens: 100_000,
    maxOutputTokens: null,
    openWeights: null,
    capabilities: [],
    embeddingDimensions: null,
    quality: null,
    benchmarks: [],
    sandbox: false,
    hidden: false,
    ...more,
  };
}

export type WorldDraft = {
  models?: readonly Model[];
  simulated?: boolean;
  connected?: boolean;
  attemptsMax?: number;
  circuitStates?: Readonly<Record<string, CircuitState>>;
  /** US dollars for a euro. */
  usd?: string;
};

export type TestWorld = PlanningContext & {
  latency: LatencyTracker;
  trafficStats: TrafficStats;
  measured(provider: string, sample: LatencySample): void;
};

/** Everything a plan is made from, with the models that the endpoints name. */
export function worldOf(endpoints: readonly Endpoint[], draft: WorldDraft = {}): TestWorld {
  const { models = [...new Set(endpoints.map(({ model }) => model))].map((id) => modelOf(id)) } = draft;
  const { connected = true, simulated = false, attemptsMax = 5, circuitStates = {}, usd = "1.25" } = draft;
  const currency = (code: string, perEur: string) => ({
    code,
    name: code,
    symbol: code,
    decimals: 2,
    perEur: money(perEur),
    rateDate: "",
    rateSource: "",
  });
  const snapshot: CatalogueSnapshot = {
    version: "1",
    builtAtMs: 0,
    creators: new Map(),
    families: new Map(),
    models: new Map(models.map((model) => [model.id, model])),
    providers: new Map(),
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
    modelNames: new Map(),
    endpointsByModel: Map.groupBy(endpoints, ({ model }) => model),
    currencies: new Map([
      ["EUR", currency("EUR", "1")],
      ["USD", currency("USD", usd)],
    ]),
    capabilities: new Map(),
  };
  const credential = () => (connected ? ({ kind: "none" } as const) : undefined);
  const connections = {
    credential,
    baseUrl: ({ baseUrl }: Endpoint) => baseUrl ?? undefined,
    hasRealProvider: !simulated,
  };
  const reach = new Reachability({ snapshot }, connections, () => true, ALL_PROVEN);
  const latency = new LatencyTracker();
  return {
    snapshot,
    hasRealProvider: !simulated,
    reachability: (model) => reach.forModel(model, "chat", "EUR", NOW_MS),
    pool: () => reach.pool("chat", "EUR", NOW_MS),
    latency,
    trafficStats: new TrafficStats(),
    circuits: { circuitStateOf: (id) => circuitStates[id.split(":")[0] ?? ""] ?? "closed" },
    support: {
      takesParameter: (_endpoint, parameter) => parameter !== "top_k",
      takesNeed: () => true,
    },
    walletPerUsd: 1 / Number(usd),
    nowMs: NOW_MS,
    attemptsMax,
    measured(provider, sample) {
      for (const { id } of endpoints) if (id.startsWith(`${provider}:`)) latency.record(id, sample, NOW_MS);
    },
  };
}

export const autoRoute = (spec?: Partial<RouterSpec>): RoutingTarget => ({
  is: "router",
  name: "auto",
  router:
    spec === undefined
      ? undefined
      : { workspaceId: "ws_1", slug: "auto", version: 3, createdAtMs: 0, spec: { ...OPEN_ROUTER, ...spec } },
});

export const modelRoute = (modelId: string): RoutingTarget => ({ is: "model", modelId });

export function requestOf(more: Partial<PlanRequest> = {}): PlanRequest {
  return {
    target: modelRoute("acme/one"),
    surface: "chat",
    policy: OPEN_POLICY,
    requirements: { needs: [], parameters: [], inputTokens: 1000, maxOutputTokens: undefined },
    ...more,
  };
}

export const withPolicy = (policy: Partial<Policy>, more: Partial<PlanRequest> = {}) =>
  requestOf({ policy: { ...OPEN_POLICY, ...policy }, ...more });

export function planned(request: PlanRequest, world: PlanningContext): Plan {
  const plan = planAttempts(request, world);
  if (plan.is === "refused") throw plan.fault;
  return plan;
}

export function refusal(request: PlanRequest, world: PlanningContext): Fault {
  const plan = planAttempts(request, world);
  if (plan.is === "planned") throw new Error("it was not refused");
  return plan.fault;
}

/** Providers in the order of attempts. */
export const providersOf = (plan: Plan) => plan.attempts.map(({ endpoint }) => endpoint.provider);
export const modelsOf = (plan: Plan) => plan.attempts.map(({ model }) => model.id);
