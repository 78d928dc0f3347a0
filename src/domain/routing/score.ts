import { nthSmallest } from "../../kit/select.ts";
import type { CostTier } from "../../language/canon/wishes.ts";
import { EVEN_WEIGHTS, type Weights } from "../tenancy/router.ts";
import { expectedNanos, expectedUnitNanos } from "./cost.ts";
import { expectedMs, type Measured } from "./health.ts";
import type { PlanRequest, Sifted, World } from "./sieve.ts";

/** Raw figures of every row, one list for each figure. */
export type Figures = {
  readonly costNanos: Float64Array;
  /** Undefined: never measured. */
  readonly measured: readonly (Measured | undefined)[];
  /** Expected for this request; what was never measured counts as the pool's median. */
  readonly latencyMs: Float64Array;
  /** What is not known counts as the pool's lower quartile. */
  readonly quality: Float64Array;
};

/** Beyond this many turns the cost of a conversation says nothing new. */
const FURTHER_TURNS_MAX = 100;

export function figuresOf(sifted: Sifted, { demand, session, wishes }: PlanRequest, world: World): Figures {
  const { rows, outputTokens, pooled } = sifted;
  const furtherTurns = Math.min(wishes?.remainingTurns ?? 0, FURTHER_TURNS_MAX);
  const { inputTokens, units } = demand;
  const { priceTimes = 1 } = world;
  const [costNanos, latencyMs, quality, scratch] = lists(rows.length);
  const measured: (Measured | undefined)[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    const output = outputTokens[at] ?? 0;
    if (row === undefined) continue;
    const { endpoint, model, rates } = row;
    const cachedTokens = session?.endpoint === endpoint.id ? Math.min(session.seenTokens, inputTokens) : 0;
    const nanos =
      units === undefined
        ? expectedNanos(rates, inputTokens, cachedTokens, output, furtherTurns)
        : expectedNanos(rates, inputTokens, 0, 0, 0) + expectedUnitNanos(rates, units);
    // With a key of its own the workspace pays the provider, who adds nothing for the gateway.
    costNanos[at] = priceTimes === 1 || row.own !== undefined ? nanos : nanos * priceTimes;
    const speed = world.health.of(endpoint.id, world.nowMs);
    measured.push(speed);
    latencyMs[at] = speed === undefined ? Number.NaN : expectedMs(speed, output);
    quality[at] = model.quality === null ? Number.NaN : model.quality.score;
  }
  fill(latencyMs, MEDIAN, pooled, scratch);
  fill(quality, LOWER_QUARTILE, pooled, scratch);
  return { costNanos, measured, latencyMs, quality };
}

/** So many numbers fit into the object of a list itself; more of them are memory of their own, which costs more to get. */
const SMALL = 8;

/** Three lists, and a place to look for the middle in: one piece of memory where they are long. */
function lists(count: number): readonly [Float64Array, Float64Array, Float64Array, Float64Array | undefined] {
  if (count <= SMALL) return [new Float64Array(count), new Float64Array(count), new Float64Array(count), undefined];
  const memory = new Float64Array(4 * count);
  const nth = (place: number) => memory.subarray(place * count, (place + 1) * count);
  return [nth(0), nth(1), nth(2), nth(3)];
}

export const MEDIAN = 1 / 2;
const LOWER_QUARTILE = 1 / 4;

/**
 * Puts the value that stands at a share of the pool's known ones in the place of those that are not known. `scratch` has
 * room for all of them; what is in it does not matter.
 */
export function fill(values: Float64Array, share: number, pooled: number, scratch?: Float64Array): void {
  let at = 0;
  while (at < values.length && !Number.isNaN(values[at])) at += 1;
  if (at === values.length) return;
  const known = scratch ?? new Float64Array(values.length);
  let count = 0;
  for (at = 0; at < pooled; at += 1) {
    const value = values[at] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    known[count] = value;
    count += 1;
  }
  const value = count === 0 ? 0 : nthSmallest(known.subarray(0, count), Math.floor(count * share));
  for (at = 0; at < values.length; at += 1) if (Number.isNaN(values[at])) values[at] = value;
}

/** 0 (worst of the pool) … 1 (best): each part, and all of them weighed together. */
export type Scores = {
  readonly weights: Weights;
  readonly total: Float64Array;
  at(place: number): { readonly quality: number; readonly cost: number; readonly latency: number };
};

/** Only what is compared is worked out for all; the parts are there for whoever asks. */
export function scoresOf({ quality, costNanos, latencyMs }: Figures, pooled: number, weights: Weights): Scores {
  const ofQuality = rangeOf(quality, pooled);
  const ofCost = rangeOf(costNanos, pooled);
  const ofLatency = rangeOf(latencyMs, pooled);
  const sum = weights.quality + weights.cost + weights.latency;
  const total = new Float64Array(quality.length);
  for (let at = 0; at < pooled; at += 1) {
    const weighed =
      weights.quality * (1 - fromBest(quality[at] ?? 0, ofQuality.most, ofQuality.span)) +
      weights.cost * (1 - fromBest(costNanos[at] ?? 0, ofCost.least, ofCost.span)) +
      weights.latency * (1 - fromBest(latencyMs[at] ?? 0, ofLatency.least, ofLatency.span));
    total[at] = sum === 0 ? 0 : weighed / sum;
  }
  return {
    weights,
    total,
    at: (place) => ({
      quality: 1 - fromBest(quality[place] ?? 0, ofQuality.most, ofQuality.span),
      cost: 1 - fromBest(costNanos[place] ?? 0, ofCost.least, ofCost.span),
      latency: 1 - fromBest(latencyMs[place] ?? 0, ofLatency.least, ofLatency.span),
    }),
  };
}

/** How far from the best of the pool, as a share of its span; where all are the same nobody is worse. */
function fromBest(value: number, best: number, span: number): number {
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

const TIERS: Readonly<Record<CostTier, Weights>> = {
  low: { quality: 0.5, cost: 3, latency: 1 },
  medium: EVEN_WEIGHTS,
  high: { quality: 3, cost: 0.5, latency: 1 },
};

/** The router's weights, bent towards what the caller says it is ready to pay. */
export function weightsFor(weights: Weights, costTier: CostTier | undefined): Weights {
  if (costTier === undefined || costTier === "medium") return weights;
  const tier = TIERS[costTier];
  return {
    quality: weights.quality * tier.quality,
    cost: weights.cost * tier.cost,
    latency: weights.latency * tier.latency,
  };
}
