/** Examples of routers and their requests; a test validates each against its schema. */
const AT = "2026-11-15T09:30:00.000Z";

export const routerSpec = {
  weights: { quality: 1, cost: 3, latency: 0 },
  floor: "L2",
  quality_floor: 0.4,
  countries: ["DE", "FR"],
  models: [],
  fallback: ["sandbox/chat"],
  reasoning_effort: "low",
  nodes: null,
};

const version = { slug: "cheap", name: "@research/cheap", version: 2, created_at: AT };

export const router = { ...version, ...routerSpec };

export const routerVersion = { ...version, spec: routerSpec };

const CHOSEN = "sandbox-de:de:sandbox/chat";

export const explained = {
  model: "@research/cheap",
  surface: "chat",
  currency: "EUR",
  refusal: null,
  route_reason: "sandbox-de de (L2): best score of quality, cost and latency (1 eligible, 1 excluded by policy)",
  router: { slug: "cheap", version: 2 },
  nodes: null,
  expected: {
    endpoint: CHOSEN,
    model: "sandbox/chat",
    input_tokens: 12,
    output_tokens: 512,
    cost: "0.0005144",
    latency_ms: null,
  },
  reasoning: { effort: "low", chosen_by: "router" },
  order: [CHOSEN],
  candidates: [
    {
      endpoint: CHOSEN,
      model: "sandbox/chat",
      provider: "sandbox-de",
      level: "L2",
      outcome: "planned",
      reason: "rank 1",
      scores: { quality: 1, cost: 1, latency: 1, total: 1, expected_cost_nanos: 514_400, expected_output_tokens: 512 },
      expected_cost: "0.0005144",
    },
    {
      endpoint: "sandbox-us:us:sandbox/chat",
      model: "sandbox/chat",
      provider: "sandbox-us",
      level: "L0",
      outcome: "excluded",
      reason: "sovereignty_floor_not_met: level L0 is below the floor L2",
      scores: null,
      expected_cost: null,
    },
  ],
  weights: { quality: 1, cost: 3, latency: 0 },
  session: null,
  policy: {
    floor: "L2",
    countries: ["DE", "FR"],
    zero_data_retention: false,
    no_training: true,
    blocked_providers: [],
    allowed_models: null,
    own_nodes: "subject" as const,
    test_keys: "any" as const,
    parameters: null,
  },
  rules: [
    { rule: "floor", value: "L2", from: ["router"] },
    { rule: "countries", value: ["DE", "FR"], from: ["router"] },
    { rule: "no_training", value: true, from: ["workspace"] },
    { rule: "quality_floor", value: 0.4, from: ["router"] },
  ],
};

const happened = { requests: 1000, cost: "1.84", latency_ms: 812.5, quality: 0.61 };
const replayed = { requests: 1000, cost: "1.02", latency_ms: 903.1, quality: 0.58 };

export const replay = {
  router: "@research/cheap",
  version: 2,
  since: "2026-11-08T00:00:00.000Z",
  until: AT,
  currency: "EUR",
  found: 1040,
  more: false,
  compared: 1000,
  moved: 412,
  left_out: [{ reason: "not served, so there are no token counts", requests: 40 }],
  happened,
  replayed,
  latency_requests: 1000,
  quality_requests: 1000,
  models: [{ model: "sandbox/chat", happened, replayed }],
  levels: [
    { level: "L0", happened: 412, replayed: 0 },
    { level: "L2", happened: 588, replayed: 1000 },
  ],
  notes: ["Quality is the catalogue's score of the model, not a measurement of these responses."],
};
