/**
 * Measures planning: `node bench/plan.ts`. Five hundred callable endpoints of a hundred models, more than the catalogue has,
 * with the policies and routing hints of typical requests.
 */
import { CircuitBreakers } from "../src/domain/routing/endpoint-health.ts";
import { type PlanningContext, type PlanRequest, planAttempts } from "../src/domain/routing/plan.ts";
import { systemClock } from "../src/kit/clock.ts";
import { autoRoute, endpointOf, modelOf, qualityOf, requestOf, worldOf } from "../tests/support/routing.ts";

const ENDPOINTS = 500;
const TARGET_MICROS = 100;
const MODELS = 100;
const WARM_ROUNDS = 2_000;
const ROUNDS = 4_000;

type PlanFigure = { readonly name: string; readonly averageMicros: number };

const LEVELS = ["L0", "L1", "L2", "L3", "UNCLASSIFIED"] as const;

function fullWorld(): PlanningContext {
  const models = Array.from({ length: MODELS }, (_, at) =>
    modelOf(`acme/m${at}`, { quality: at % 7 === 0 ? null : qualityOf(((at * 37) % 100) / 100) }),
  );
  const endpoints = Array.from({ length: ENDPOINTS }, (_, at) =>
    endpointOf({
      provider: `p${at % 20}`,
      model: `acme/m${at % MODELS}`,
      region: `r${Math.floor(at / MODELS)}`,
      price: { input: String(1 + ((at * 13) % 97) / 10), output: String(3 + ((at * 29) % 89) / 10), cached: "0.1" },
      sovereignty: { level: LEVELS[at % 5] ?? "L0", countries: [at % 2 === 0 ? "FR" : "US"] },
    }),
  );
  const world = worldOf(endpoints, { models });
  for (const [at, { id }] of endpoints.entries())
    if (at % 3 !== 0)
      world.latency.record(id, { firstByteMs: 100 + at, totalMs: 2_000 + at, outputTokens: 100 }, world.nowMs);
  const circuits = new CircuitBreakers(systemClock);
  for (let times = 0; times < 5; times += 1) circuits.recordFailure("p7:r0:acme/m7", undefined);
  return { ...world, circuits };
}

const AUTO = autoRoute();
const CASES: readonly (readonly [string, PlanRequest])[] = [
  ["auto, no policy", requestOf({ target: AUTO })],
  [
    "auto under a floor, countries and demands",
    requestOf({
      target: AUTO,
      policy: {
        floor: "L1",
        countries: ["FR", "DE"],
        zeroDataRetention: true,
        noTraining: true,
        blockedProviders: ["p3", "p4"],
        allowedModels: null,
        ownNodesExempt: false,
        testKeysSimulated: false,
        parameters: null,
      },
    }),
  ],
  [
    "auto with a session, a cost tier and preferences",
    requestOf({
      target: AUTO,
      session: { endpoint: "p3:r1:acme/m3", seenTokens: 500 },
      hints: {
        sessionId: "s",
        costTier: "low",
        remainingTurns: 3,
        provider: { ignore: ["p1"], maxPrice: { prompt: 8 } },
      },
    }),
  ],
];

/** One measurement per case, after a warm-up. */
export function measurePlans(rounds = ROUNDS): PlanFigure[] {
  const world = fullWorld();
  return CASES.map(([name, request]) => {
    if (planAttempts(request, world).is === "refused") throw new Error(`${name}: nothing was planned`);
    for (let round = 0; round < Math.min(rounds, WARM_ROUNDS); round += 1) planAttempts(request, world);
    // CPU time: wall time would include the load of other processes.
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round += 1) planAttempts(request, world);
    const { user, system } = process.cpuUsage(before);
    return { name, averageMicros: (user + system) / rounds };
  });
}

if (import.meta.main) {
  for (const { name, averageMicros } of measurePlans())
    process.stdout.write(`${name}: ${averageMicros.toFixed(1)} µs (target: under ${TARGET_MICROS})\n`);
}
