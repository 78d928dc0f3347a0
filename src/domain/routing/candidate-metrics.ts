import { nthSmallest } from "../../kit/nth-smallest.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { expectedUnitNanos, ratesFor, type UnitRates } from "./cost.ts";
import type { FilterResult } from "./exclusion.ts";
import type { LatencyEstimate } from "./latency-estimate.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import type { CandidateMetrics } from "./ranking-types.ts";
import type { ReachableEndpoint } from "./reachable-endpoint.ts";

/** More turns do not change the comparison of expected costs. */
const EXPECTED_TURNS_MAX = 100;

export function measureCandidates(
  filtered: FilterResult,
  { requirements, session, hints }: PlanRequest,
  context: PlanningContext,
): CandidateMetrics {
  const { eligible, poolCount } = filtered;
  const furtherTurns = Math.min(hints?.remainingTurns ?? 0, EXPECTED_TURNS_MAX);
  const { inputTokens, maxOutputTokens, billedUnits } = requirements;
  const { priceFactor = 1 } = context;
  const sessionIndex = session === undefined ? -1 : indexOfEndpoint(session.endpoint, eligible);
  const sessionEndpoint = endpointAt(eligible, sessionIndex);
  const [costNanos, latencyMs, quality, outputTokens] = allocateColumns(eligible.length);
  const latencyEstimates = new Array<LatencyEstimate | undefined>(eligible.length);
  let currentModel: Model | undefined;
  let output = 0;
  for (let index = 0; index < eligible.length; index += 1) {
    const row = eligible[index];
    if (row === undefined) continue;
    const { endpoint, model, rates } = row;
    // Candidates of one model are adjacent.
    if (model !== currentModel) {
      currentModel = model;
      output = context.trafficStats.expectedOutputTokens(model.id, maxOutputTokens);
    }
    outputTokens[index] = output;
    const cachedTokens = endpoint === sessionEndpoint ? Math.min(session?.seenTokens ?? 0, inputTokens) : 0;
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
    // With an own key the workspace pays the provider directly, without the gateway's margin.
    costNanos[index] = priceFactor === 1 || row.ownKey !== undefined ? nanos : nanos * priceFactor;
    const estimate = context.latency.estimate(endpoint.id, context.nowMs);
    latencyEstimates[index] = estimate;
    latencyMs[index] = estimate === undefined ? Number.NaN : expectedLatencyMs(estimate, output);
    quality[index] = model.quality === null ? Number.NaN : model.quality.score;
  }
  fillMissing(latencyMs, MEDIAN, poolCount);
  fillMissing(quality, LOWER_QUARTILE, poolCount);
  return { outputTokens, costNanos, latencyEstimates, latencyMs, quality, sessionIndex };
}

/** A negative array index is a slow property lookup. */
export function endpointAt(rows: readonly ReachableEndpoint[], index: number): Endpoint | undefined {
  return index < 0 ? undefined : rows[index]?.endpoint;
}

/** Comparing lengths first avoids most string comparisons. */
function indexOfEndpoint(id: string, rows: readonly ReachableEndpoint[]): number {
  for (let index = 0; index < rows.length; index += 1) {
    const here = rows[index]?.endpoint.id ?? "";
    if (here.length === id.length && here === id) return index;
  }
  return -1;
}

/** V8 stores up to this many elements inside the typed array object; longer ones need a separate allocation. */
const INLINE_LENGTH_MAX = 8;

/** Long columns share one buffer. */
function allocateColumns(count: number): readonly [Float64Array, Float64Array, Float64Array, Float64Array] {
  if (count <= INLINE_LENGTH_MAX) {
    const column = () => new Float64Array(count);
    return [column(), column(), column(), column()];
  }
  const memory = new Float64Array(4 * count);
  const column = (index: number) => memory.subarray(index * count, (index + 1) * count);
  return [column(0), column(1), column(2), column(3)];
}

export const MEDIAN = 1 / 2;
const LOWER_QUARTILE = 1 / 4;

/** Reused scratch buffers. */
let known = new Float64Array(64);
let missing = new Int32Array(64);

/** Replaces NaN by the quantile (`share`) of the pool's known values. */
export function fillMissing(values: Float64Array, share: number, poolCount: number): void {
  if (known.length < values.length) {
    known = new Float64Array(2 * values.length);
    missing = new Int32Array(2 * values.length);
  }
  let [knownCount, missingCount] = [0, 0];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (Number.isNaN(value)) {
      missing[missingCount] = index;
      missingCount += 1;
    } else if (index < poolCount) {
      known[knownCount] = value;
      knownCount += 1;
    }
  }
  if (missingCount === 0) return;
  const value = knownCount === 0 ? 0 : nthSmallest(known.subarray(0, knownCount), Math.floor(knownCount * share));
  for (let index = 0; index < missingCount; index += 1) values[missing[index] ?? 0] = value;
}

/**
 * The expected cost of this request and of the further turns on the same endpoint: each turn reads the conversation from the
 * prompt cache and produces another reply. `cachedTokens` is the part of the input that the endpoint has cached.
 */
export function expectedNanos(
  rates: UnitRates,
  inputTokens: number,
  cachedTokens: number,
  outputTokens: number,
  furtherTurns: number,
): number {
  const { input, cachedRead, output } = rates.tiers.length === 0 ? rates : ratesFor(rates, inputTokens);
  const currentCost = (inputTokens - cachedTokens) * input + cachedTokens * cachedRead + outputTokens * output;
  if (furtherTurns === 0) return currentCost + rates.perRequest;
  const accumulatedOutput = outputTokens * ((furtherTurns * (furtherTurns + 1)) / 2);
  const furtherCost =
    (furtherTurns * inputTokens + accumulatedOutput) * cachedRead + furtherTurns * outputTokens * output;
  return currentCost + furtherCost + (1 + furtherTurns) * rates.perRequest;
}

export function expectedLatencyMs({ firstByteMs, perTokenMs }: LatencyEstimate, outputTokens: number): number {
  return firstByteMs + perTokenMs * outputTokens;
}
