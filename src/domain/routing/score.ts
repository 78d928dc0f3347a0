import { nthSmallest } from "../../kit/nth-smallest.ts";
import type { CostTier } from "../../language/canon/routing-hints.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { EVEN_WEIGHTS, type Weights } from "../tenancy/router.ts";
import { expectedNanos, expectedUnitNanos } from "./cost.ts";
import type { FilterResult, PlanningContext, PlanRequest } from "./filter.ts";
import { expectedLatencyMs, type LatencyEstimate } from "./latency-tracker.ts";
import type { ReachableEndpoint } from "./reachability.ts";

/** Raw figures of every row, one list for each figure. */
export type CandidateMetrics = {
  /** What an answer is expected to have. */
  readonly outputTokens: Float64Array;
  readonly costNanos: Float64Array;
  /** Undefined: never measured. */
  readonly latencyEstimates: readonly (LatencyEstimate | undefined)[];
  /** Expected for this request; what was never measured counts as the pool's median. */
  readonly latencyMs: Float64Array;
  /** What is not known counts as the pool's lower quartile. */
  readonly quality: Float64Array;
  /** The row that served the session before; -1 when there is none. */
  readonly sessionIndex: number;
};

/** Beyond this many turns the cost of a conversation says nothing new. */
const EXPECTED_TURNS_MAX = 100;

export function measureCandidates(
  sifted: FilterResult,
  { requirements, session, hints }: PlanRequest,
  world: PlanningContext,
): CandidateMetrics {
  const { eligible, poolCount } = sifted;
  const furtherTurns = Math.min(hints?.remainingTurns ?? 0, EXPECTED_TURNS_MAX);
  const { inputTokens, maxOutputTokens, billedUnits } = requirements;
  const { priceFactor = 1 } = world;
  const sessionIndex = session === undefined ? -1 : indexOfEndpoint(session.endpoint, eligible);
  const seenBy = endpointAt(eligible, sessionIndex);
  const [costNanos, latencyMs, quality, outputTokens] = allocateColumns(eligible.length);
  const latencyEstimates = new Array<LatencyEstimate | undefined>(eligible.length);
  let told: Model | undefined;
  let output = 0;
  for (let at = 0; at < eligible.length; at += 1) {
    const row = eligible[at];
    if (row === undefined) continue;
    const { endpoint, model, rates } = row;
    // Rows of one model follow each other.
    if (model !== told) {
      told = model;
      output = world.trafficStats.expectedOutputTokens(model.id, maxOutputTokens);
    }
    outputTokens[at] = output;
    const cachedTokens = endpoint === seenBy ? Math.min(session?.seenTokens ?? 0, inputTokens) : 0;
    const nanos =
      billedUnits === undefined
        ? expectedNanos(
            rates,
            requirements.inputTokensFor?.(endpoint) ?? inputTokens,
            cachedTokens,
            output,
            furtherTurns,
          )
        : expectedNanos(rates, inputTokens, 0, 0, 0) + expectedUnitNanos(rates, billedUnits);
    // With a key of its own the workspace pays the provider, who adds nothing for the gateway.
    costNanos[at] = priceFactor === 1 || row.ownKey !== undefined ? nanos : nanos * priceFactor;
    const speed = world.latency.estimate(endpoint.id, world.nowMs);
    latencyEstimates[at] = speed;
    latencyMs[at] = speed === undefined ? Number.NaN : expectedLatencyMs(speed, output);
    quality[at] = model.quality === null ? Number.NaN : model.quality.score;
  }
  fillMissing(latencyMs, MEDIAN, poolCount);
  fillMissing(quality, LOWER_QUARTILE, poolCount);
  return { outputTokens, costNanos, latencyEstimates, latencyMs, quality, sessionIndex };
}

/** A list that is asked for a place below its first looks for a property of that name, which takes a while. */
export function endpointAt(rows: readonly ReachableEndpoint[], place: number): Endpoint | undefined {
  return place < 0 ? undefined : rows[place]?.endpoint;
}

/** Most ids differ in their length already, which is seen without reading them. */
function indexOfEndpoint(id: string, rows: readonly ReachableEndpoint[]): number {
  for (let at = 0; at < rows.length; at += 1) {
    const here = rows[at]?.endpoint.id ?? "";
    if (here.length === id.length && here === id) return at;
  }
  return -1;
}

/** So many numbers fit into the object of a list itself; more of them are memory of their own, which costs more to get. */
const INLINE_LENGTH_MAX = 8;

/** Four lists: one piece of memory where they are long. */
function allocateColumns(count: number): readonly [Float64Array, Float64Array, Float64Array, Float64Array] {
  if (count <= INLINE_LENGTH_MAX) {
    const small = () => new Float64Array(count);
    return [small(), small(), small(), small()];
  }
  const memory = new Float64Array(4 * count);
  const nth = (place: number) => memory.subarray(place * count, (place + 1) * count);
  return [nth(0), nth(1), nth(2), nth(3)];
}

export const MEDIAN = 1 / 2;
const LOWER_QUARTILE = 1 / 4;

/** Places to work in; nobody reads what was left there. */
let known = new Float64Array(64);
let missing = new Int32Array(64);

/** Puts the value that stands at a share of the pool's known ones in the place of those that are not known. */
export function fillMissing(values: Float64Array, share: number, pooled: number): void {
  if (known.length < values.length) {
    known = new Float64Array(2 * values.length);
    missing = new Int32Array(2 * values.length);
  }
  let [knownCount, missingCount] = [0, 0];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? Number.NaN;
    if (Number.isNaN(value)) {
      missing[missingCount] = at;
      missingCount += 1;
    } else if (at < pooled) {
      known[knownCount] = value;
      knownCount += 1;
    }
  }
  if (missingCount === 0) return;
  const value = knownCount === 0 ? 0 : nthSmallest(known.subarray(0, knownCount), Math.floor(knownCount * share));
  for (let at = 0; at < missingCount; at += 1) values[missing[at] ?? 0] = value;
}

/** 0 (worst of the pool) … 1 (best): each part, and all of them weighed together. */
export type CandidateScores = {
  readonly weights: Weights;
  readonly total: Float64Array;
  componentsAt(place: number): { readonly quality: number; readonly cost: number; readonly latency: number };
};

/** Only what is compared is worked out for all; the parts are there for whoever asks. */
export function scoreCandidates(
  { quality, costNanos, latencyMs }: CandidateMetrics,
  pooled: number,
  weights: Weights,
): CandidateScores {
  const ofQuality = rangeOf(quality, pooled);
  const ofCost = rangeOf(costNanos, pooled);
  const ofLatency = rangeOf(latencyMs, pooled);
  const sum = weights.quality + weights.cost + weights.latency;
  const total = new Float64Array(quality.length);
  for (let at = 0; at < pooled; at += 1) {
    const weighed =
      weights.quality * (1 - distanceFromBest(quality[at] ?? 0, ofQuality.most, ofQuality.span)) +
      weights.cost * (1 - distanceFromBest(costNanos[at] ?? 0, ofCost.least, ofCost.span)) +
      weights.latency * (1 - distanceFromBest(latencyMs[at] ?? 0, ofLatency.least, ofLatency.span));
    total[at] = sum === 0 ? 0 : weighed / sum;
  }
  return {
    weights,
    total,
    componentsAt: (place) => ({
      quality: 1 - distanceFromBest(quality[place] ?? 0, ofQuality.most, ofQuality.span),
      cost: 1 - distanceFromBest(costNanos[place] ?? 0, ofCost.least, ofCost.span),
      latency: 1 - distanceFromBest(latencyMs[place] ?? 0, ofLatency.least, ofLatency.span),
    }),
  };
}

/** How far from the best of the pool, as a share of its span; where all are the same nobody is worse. */
function distanceFromBest(value: number, best: number, span: number): number {
  return span === 0 ? 0 : Math.abs(value - best) / span;
}

function rangeOf(values: Float64Array, count: number) {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at += 1) {
    const value = values[at] ?? 0;
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

/** The router's weights, bent towards what the caller says it is ready to pay. */
export function weightsFor(weights: Weights, costTier: CostTier | undefined): Weights {
  if (costTier === undefined || costTier === "medium") return weights;
  const tier = COST_TIER_WEIGHTS[costTier];
  return {
    quality: weights.quality * tier.quality,
    cost: weights.cost * tier.cost,
    latency: weights.latency * tier.latency,
  };
}
