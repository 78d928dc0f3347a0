import type { CostTier } from "../../language/canon/routing-hints.ts";
import { EVEN_WEIGHTS, type Weights } from "../tenancy/router.ts";
import type { CandidateMetrics, CandidateScores } from "./ranking-types.ts";

/** Only the total is computed for all; components are computed on demand. */
export function scoreCandidates(
  { quality, costNanos, latencyMs }: CandidateMetrics,
  poolCount: number,
  weights: Weights,
): CandidateScores {
  const ofQuality = rangeOf(quality, poolCount);
  const ofCost = rangeOf(costNanos, poolCount);
  const ofLatency = rangeOf(latencyMs, poolCount);
  const sum = weights.quality + weights.cost + weights.latency;
  const total = new Float64Array(quality.length);
  for (let index = 0; index < poolCount; index += 1) {
    const weighted =
      weights.quality * (1 - distanceFromBest(quality[index] ?? 0, ofQuality.most, ofQuality.span)) +
      weights.cost * (1 - distanceFromBest(costNanos[index] ?? 0, ofCost.least, ofCost.span)) +
      weights.latency * (1 - distanceFromBest(latencyMs[index] ?? 0, ofLatency.least, ofLatency.span));
    total[index] = sum === 0 ? 0 : weighted / sum;
  }
  return {
    weights,
    total,
    componentsAt: (index) => ({
      quality: 1 - distanceFromBest(quality[index] ?? 0, ofQuality.most, ofQuality.span),
      cost: 1 - distanceFromBest(costNanos[index] ?? 0, ofCost.least, ofCost.span),
      latency: 1 - distanceFromBest(latencyMs[index] ?? 0, ofLatency.least, ofLatency.span),
    }),
  };
}

/** Distance from the best of the pool as a share of its range; 0 when all are equal. */
function distanceFromBest(value: number, best: number, span: number): number {
  return span === 0 ? 0 : Math.abs(value - best) / span;
}

function rangeOf(values: Float64Array, count: number) {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < count; index += 1) {
    const value = values[index] ?? 0;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { least, most, span: most - least };
}

const COST_TIER_WEIGHTS: Readonly<Record<CostTier, Weights>> = {
  low: { quality: 0.5, cost: 3, latency: 1 },
  medium: EVEN_WEIGHTS,
  high: { quality: 3, cost: 0.5, latency: 1 },
};

/** The router's weights, adjusted by the caller's cost tier. */
export function weightsFor(weights: Weights, costTier: CostTier | undefined): Weights {
  if (costTier === undefined || costTier === "medium") return weights;
  const tier = COST_TIER_WEIGHTS[costTier];
  return {
    quality: weights.quality * tier.quality,
    cost: weights.cost * tier.cost,
    latency: weights.latency * tier.latency,
  };
}
