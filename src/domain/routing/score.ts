import { nthSmallest } from "../../kit/select.ts";
import type { CostTier } from "../../language/canon/wishes.ts";
import { EVEN_WEIGHTS, type Weights } from "../tenancy/router.ts";
import { expectedNanos } from "./cost.ts";
import { expectedMs, type Measured } from "./health.ts";
import type { PlanRequest, Sifted, World } from "./sieve.ts";

/** Raw figures of every row, one list for each figure. */
export type Figures = {
  readonly costNanos: readonly number[];
  /** Undefined: never measured. */
  readonly measured: readonly (Measured | undefined)[];
  /** Expected for this request; what was never measured counts as the pool's median. */
  readonly latencyMs: readonly number[];
  /** What is not known counts as the pool's lower quartile. */
  readonly quality: readonly number[];
};

/** Beyond this many turns the cost of a conversation says nothing new. */
const FURTHER_TURNS_MAX = 100;

export function figuresOf(sifted: Sifted, { demand, session, wishes }: PlanRequest, world: World): Figures {
  const { rows, outputTokens, pooled } = sifted;
  const furtherTurns = Math.min(wishes?.remainingTurns ?? 0, FURTHER_TURNS_MAX);
  const { inputTokens } = demand;
  const costNanos: number[] = [];
  const measured: (Measured | undefined)[] = [];
  const latencyMs: number[] = [];
  const quality: number[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    const output = outputTokens[at] ?? 0;
    if (row === undefined) continue;
    const { endpoint, model, rates } = row;
    const cachedTokens = session?.endpoint === endpoint.id ? Math.min(session.seenTokens, inputTokens) : 0;
    costNanos.push(expectedNanos(rates, inputTokens, cachedTokens, output, furtherTurns));
    const speed = world.health.of(endpoint.id, world.nowMs);
    measured.push(speed);
    latencyMs.push(speed === undefined ? Number.NaN : expectedMs(speed, output));
    quality.push(model.quality === null ? Number.NaN : model.quality.score);
  }
  fill(latencyMs, MEDIAN, pooled);
  fill(quality, LOWER_QUARTILE, pooled);
  return { costNanos, measured, latencyMs, quality };
}

export const MEDIAN = 1 / 2;
const LOWER_QUARTILE = 1 / 4;

/** Puts the value that stands at a share of the pool's known ones in the place of those that are not known. */
export function fill(values: number[], share: number, pooled: number): void {
  let unknown = false;
  for (const value of values) if (Number.isNaN(value)) unknown = true;
  if (!unknown) return;
  const known = values.slice(0, pooled).filter((value) => !Number.isNaN(value));
  const value = known.length === 0 ? 0 : nthSmallest(known, Math.floor(known.length * share));
  for (let at = 0; at < values.length; at += 1) if (Number.isNaN(values[at])) values[at] = value;
}

/** 0 (worst of the pool) … 1 (best), by part and weighed together. */
export type Scores = {
  readonly quality: readonly number[];
  readonly cost: readonly number[];
  readonly latency: readonly number[];
  readonly total: readonly number[];
  readonly weights: Weights;
};

export function scoresOf(figures: Figures, pooled: number, weights: Weights): Scores {
  const quality = scaled(figures.quality, pooled, "most");
  const cost = scaled(figures.costNanos, pooled, "least");
  const latency = scaled(figures.latencyMs, pooled, "least");
  const sum = weights.quality + weights.cost + weights.latency;
  const total: number[] = [];
  for (let at = 0; at < pooled; at += 1) {
    const weighed =
      weights.quality * (quality[at] ?? 0) + weights.cost * (cost[at] ?? 0) + weights.latency * (latency[at] ?? 0);
    total.push(sum === 0 ? 0 : weighed / sum);
  }
  return { quality, cost, latency, total, weights };
}

/** Between the ends of the pool; where all are the same nobody is better. */
function scaled(values: readonly number[], count: number, best: "most" | "least"): number[] {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at += 1) {
    const value = values[at] ?? 0;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const span = most - least;
  const shares: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const value = values[at] ?? 0;
    shares.push(span === 0 ? 1 : (best === "most" ? value - least : most - value) / span);
  }
  return shares;
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
