import type { ProviderSort } from "../../language/canon/routing-hints.ts";
import type { NodeUse } from "../tenancy/router.ts";
import { isOwnResource } from "./attempt.ts";
import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult, PlanningContext, PlanRequest } from "./filter.ts";
import { indexInList } from "./preferences.ts";
import { type CandidateMetrics, type CandidateScores, endpointAt, fillMissing, MEDIAN } from "./score.ts";

/** Why the first candidate is first. */
export type RankingBasis =
  | "cost"
  | "own_key"
  | "nodes_first"
  | "score"
  | "session"
  | "order"
  | "fallback"
  | ProviderSort;

/** Candidates are referred to by their index in `FilterResult.eligible`. */
export type Ranking = {
  /**
   * In the order of attempts: the best of the pool, then fallbacks, then open circuits. The workspace's own keys and nodes
   * are always included.
   */
  readonly shortlist: readonly number[];
  readonly basis: RankingBasis;
  /** Only circuits that are not closed; undefined when all are closed. */
  readonly circuitStates: ReadonlyMap<number, CircuitState> | undefined;
  /** Full sort, needed only for the decision record. */
  readonly sortIndices: (indices: readonly number[]) => number[];
};

/** More than any request tries, because candidates may be skipped. */
const SHORTLIST_MAX = 16;

export function rank(
  filtered: FilterResult,
  metrics: CandidateMetrics,
  scores: CandidateScores | undefined,
  request: PlanRequest,
  context: PlanningContext,
): Ranking {
  const { eligible, poolCount } = filtered;
  const circuitStates = nonClosedCircuits(filtered, context);
  const hasOwnKeys = context.ownKeyCircuits !== undefined;
  const nodes = request.target.is === "router" ? (request.target.router?.spec.nodes ?? null) : null;
  const tiers = tiersOf(filtered, request, metrics.sessionIndex, circuitStates, { hasOwnKeys, nodes });
  const { primary, bestEnd, secondary } = sortMetricsFor(filtered, metrics, scores, request);
  const order = { rows: eligible, tiers, primary, bestEnd, secondary };
  const compare = (a: number, b: number) => compareIndices(a, b, order);
  const choices = bestWithOwnResources(0, poolCount, order);
  const isDeferredNode = (index: number) => nodes === "fallback" && eligible[index]?.node !== undefined;
  const isPoolOnly = eligible.length === poolCount;
  const firsts = isPoolOnly ? [] : bestOfEachFallback(poolCount, order, isDeferredNode).slice(0, context.attemptsMax);
  const fallbacks = isPoolOnly
    ? []
    : [...new Set([...bestWithOwnResources(poolCount, eligible.length, order), ...firsts])].sort(compare);
  const isOpen = (index: number) => circuitStates?.get(index) === "open";
  // Session affinity also applies to a fallback that served the conversation.
  const affinityIndex = fallbacks.findIndex((index) => tiers?.[index] === SESSION_TIER);
  const [ahead, behind] =
    affinityIndex < 0 ? [choices, fallbacks] : [[...fallbacks.splice(affinityIndex, 1), ...choices], fallbacks];
  const isLast = (index: number) => eligible[index]?.ownKey?.use === "fallback";
  const isGuaranteed = (index: number) => isLast(index) || isDeferredNode(index);
  const isInPool = (index: number) => index < poolCount;
  const shortlist = assembleShortlist(
    ahead,
    behind,
    firsts,
    { isOpen, isLast, isGuaranteed, isInPool },
    context.attemptsMax,
  );
  return {
    shortlist,
    basis: basisOf(shortlist[0], tiers, request, filtered),
    circuitStates,
    sortIndices: (indices) => [...indices].sort(compare),
  };
}

function nonClosedCircuits(
  { eligible }: FilterResult,
  { circuits, ownKeyCircuits }: PlanningContext,
): ReadonlyMap<number, CircuitState> | undefined {
  let states: Map<number, CircuitState> | undefined;
  for (let index = 0; index < eligible.length; index += 1) {
    const row = eligible[index];
    const source = row?.ownKey === undefined ? circuits : ownKeyCircuits?.(row.endpoint.provider);
    const state = source?.circuitStateOf(row?.endpoint.id ?? "") ?? "closed";
    if (state !== "closed") states = (states ?? new Map<number, CircuitState>()).set(index, state);
  }
  return states;
}

const SESSION_TIER = -1;
/** Before session affinity and before the caller's order. */
const NODES_FIRST_TIER = -1_000;
/** Behind the router's fallbacks. */
const NODES_LAST_TIER = 5_000;
/** Greater than any index in a caller's order. */
const FALLBACK_TIER = 1_000;
const OPEN_CIRCUIT_TIER = 1_000_000;
/** Preferred own resources rank before candidates of the same tier; own keys used as a fallback rank behind all tiers. */
const OWN_FIRST_STEP = 0.5;
const OWN_LAST_TIER = 10_000;

/** Tiers take precedence over the sort metric; undefined when only the metric counts. */
function tiersOf(
  { eligible, poolCount }: FilterResult,
  { hints, target }: PlanRequest,
  sessionIndex: number,
  circuitStates: ReadonlyMap<number, CircuitState> | undefined,
  { hasOwnKeys, nodes }: { readonly hasOwnKeys: boolean; readonly nodes: NodeUse | null },
): number[] | undefined {
  const order = hints?.provider?.order;
  // Without further turns the prompt cache only saves once, and the expected cost already includes that.
  const sessionEndpoint =
    order === undefined && hints?.remainingTurns !== 0 ? endpointAt(eligible, sessionIndex) : undefined;
  const isByMetricOnly =
    order === undefined &&
    sessionEndpoint === undefined &&
    circuitStates === undefined &&
    poolCount === eligible.length;
  const areNodesFirst = nodes === "first";
  if (isByMetricOnly && !hasOwnKeys && !areNodesFirst) return undefined;
  // A router or an explicit sort compares candidates by merit, not by who pays.
  const firstStep = target.is === "model" && hints?.provider?.sort === undefined ? OWN_FIRST_STEP : 0;
  const fallback = target.is === "router" ? (target.router?.spec.fallback ?? []) : [];
  const tiers = new Array<number>(eligible.length).fill(0);
  // Without an order the pool is one tier, and the session's endpoint is in it once.
  const isOneTier = order === undefined && !hasOwnKeys && !areNodesFirst;
  if (isOneTier && sessionEndpoint !== undefined) tiers[sessionIndex] = SESSION_TIER;
  for (let index = isOneTier ? poolCount : 0; index < eligible.length; index += 1) {
    const endpoint = eligible[index]?.endpoint;
    if (endpoint === undefined) continue;
    const isNode = eligible[index]?.node !== undefined;
    if (areNodesFirst && isNode && index < poolCount) tiers[index] = NODES_FIRST_TIER;
    else if (endpoint === sessionEndpoint) tiers[index] = SESSION_TIER;
    else if (index >= poolCount && nodes === "fallback" && isNode) tiers[index] = NODES_LAST_TIER;
    else if (index >= poolCount) tiers[index] = FALLBACK_TIER + fallback.indexOf(endpoint.model);
    else if (order !== undefined) {
      const named = indexInList(order, endpoint);
      tiers[index] = named < 0 ? order.length : named;
    }
    const use = eligible[index]?.ownKey?.use;
    if (use === "fallback") tiers[index] = OWN_LAST_TIER + (tiers[index] ?? 0);
    else if (use !== undefined || isNode) tiers[index] = (tiers[index] ?? 0) - firstStep;
  }
  for (const [index, state] of circuitStates ?? [])
    if (state === "open") tiers[index] = OPEN_CIRCUIT_TIER + (tiers[index] ?? 0);
  return tiers;
}

type SortMetrics = {
  readonly primary: Float64Array;
  readonly bestEnd: "least" | "most";
  /** Breaks ties, least first. */
  readonly secondary: Float64Array;
};

type SortOrder = SortMetrics & {
  readonly rows: FilterResult["eligible"];
  readonly tiers: readonly number[] | undefined;
};

function sortMetricsFor(
  { poolCount }: FilterResult,
  metrics: CandidateMetrics,
  scores: CandidateScores | undefined,
  { hints }: PlanRequest,
): SortMetrics {
  const sort = hints?.provider?.sort;
  switch (sort) {
    case "price":
      return { primary: metrics.costNanos, bestEnd: "least", secondary: metrics.latencyMs };
    case "throughput":
      return { primary: latencies((estimate) => estimate.perTokenMs), bestEnd: "least", secondary: metrics.costNanos };
    case "latency":
      return { primary: latencies((estimate) => estimate.firstByteMs), bestEnd: "least", secondary: metrics.costNanos };
    case undefined:
      return scores === undefined
        ? { primary: metrics.costNanos, bestEnd: "least", secondary: metrics.latencyMs }
        : { primary: scores.total, bestEnd: "most", secondary: metrics.costNanos };
  }

  function latencies(
    of: (estimate: NonNullable<CandidateMetrics["latencyEstimates"][number]>) => number,
  ): Float64Array {
    const values = Float64Array.from(metrics.latencyEstimates, (estimate) =>
      estimate === undefined ? Number.NaN : of(estimate),
    );
    fillMissing(values, MEDIAN, poolCount);
    return values;
  }
}

/** A total order: no two candidates compare as equal. */
function compareIndices(a: number, b: number, { rows, tiers, primary, bestEnd, secondary }: SortOrder): number {
  if (tiers !== undefined && tiers[a] !== tiers[b]) return (tiers[a] ?? 0) - (tiers[b] ?? 0);
  const first = (primary[a] ?? 0) - (primary[b] ?? 0);
  if (first !== 0) return bestEnd === "most" ? -first : first;
  const second = (secondary[a] ?? 0) - (secondary[b] ?? 0);
  if (second !== 0) return second;
  const [one, other] = [rows[a]?.endpoint.id ?? "", rows[b]?.endpoint.id ?? ""];
  if (one === other) return rows[a]?.ownKey === undefined ? 1 : -1;
  return one < other ? -1 : 1;
}

/** The best candidates of a range in order, followed by the workspace's own resources that are not among them. */
function bestWithOwnResources(from: number, to: number, order: SortOrder): number[] {
  const best = bestOf(from, to, order, "all");
  if (best.length === to - from) return best;
  const own = bestOf(from, to, order, "own").filter((index) => !best.includes(index));
  return [...best, ...own];
}

/** Bounded insertion sort: the candidates beyond the shortlist stay unsorted. */
function bestOf(from: number, to: number, order: SortOrder, subset: "all" | "own"): number[] {
  const found: number[] = [];
  for (let index = from; index < to; index += 1) {
    if (subset === "own" && !isOwnRow(order.rows[index])) continue;
    let slot = found.length;
    if (slot === SHORTLIST_MAX) {
      slot -= 1;
      if (compareIndices(index, found[slot] ?? 0, order) > 0) continue;
    }
    for (; slot > 0; slot -= 1) {
      const before = found[slot - 1] ?? 0;
      if (compareIndices(before, index, order) < 0) break;
      found[slot] = before;
    }
    found[slot] = index;
  }
  return found;
}

/** The best candidate of each fallback model, in order. */
function bestOfEachFallback(poolCount: number, order: SortOrder, isDeferredNode: (index: number) => boolean): number[] {
  const firsts = new Map<string, number>();
  for (let index = poolCount; index < order.rows.length; index += 1) {
    if (isDeferredNode(index)) continue;
    const model = order.rows[index]?.endpoint.model ?? "";
    const first = firsts.get(model);
    if (first === undefined || compareIndices(index, first, order) < 0) firsts.set(model, index);
  }
  return [...firsts.values()].sort((a, b) => compareIndices(a, b, order));
}

const isOwnRow = (row: FilterResult["eligible"][number] | undefined) => row !== undefined && isOwnResource(row);

type ShortlistPredicates = {
  readonly isOpen: (index: number) => boolean;
  /** Own keys used as a fallback rank behind the router's fallbacks too. */
  readonly isLast: (index: number) => boolean;
  /** Own resources used as a fallback: one of them always gets an attempt. */
  readonly isGuaranteed: (index: number) => boolean;
  readonly isInPool: (index: number) => boolean;
};

/**
 * Pool, fallbacks, own keys used as a fallback, open circuits. Within the attempt limit, the pool and each fallback model get
 * at least one attempt; candidates that would use those up move behind them.
 */
function assembleShortlist(
  best: readonly number[],
  fallbacks: readonly number[],
  firsts: readonly number[],
  { isOpen, isLast, isGuaranteed, isInPool }: ShortlistPredicates,
  attemptsMax: number,
): readonly number[] {
  if (fallbacks.length === 0 && !best.some(isLast)) return best;
  const all = [...best, ...fallbacks];
  const usable = all.filter((index) => !isOpen(index));
  const ready = [...usable.filter((index) => !isLast(index)), ...usable.filter(isLast)];
  const reserved = [ready.find(isGuaranteed), ready.find(isInPool), ...firsts];
  const planned = reserveAttempts(attemptsMax, reserved, ready);
  return [...planned, ...reserveAttempts(attemptsMax - planned.length, firsts, all.filter(isOpen))];
}

/** Keeps the order, but reserves the first `count` slots for the best candidate and as many of `reserved` as fit. */
function reserveAttempts(
  count: number,
  reserved: readonly (number | undefined)[],
  indices: readonly number[],
): readonly number[] {
  if (count <= 0 || indices.length <= count) return indices;
  const wanted = new Set([...indices.slice(0, 1), ...reserved, ...indices]);
  const first = new Set([...wanted].filter((index) => index !== undefined && indices.includes(index)).slice(0, count));
  return [...indices.filter((index) => first.has(index)), ...indices.filter((index) => !first.has(index))];
}

function basisOf(
  first: number | undefined,
  tiers: readonly number[] | undefined,
  { hints, target }: PlanRequest,
  { eligible, poolCount }: FilterResult,
): RankingBasis {
  const tier = first === undefined ? 0 : (tiers?.[first] ?? 0);
  if (tier === NODES_FIRST_TIER) return "nodes_first";
  if (tier <= SESSION_TIER) return "session";
  if (first !== undefined && first >= poolCount) return "fallback";
  const preferences = hints?.provider;
  if (preferences?.order !== undefined && Math.ceil(tier) < preferences.order.length) return "order";
  if (tier < OPEN_CIRCUIT_TIER && !Number.isInteger(tier) && eligible[first ?? -1]?.ownKey !== undefined)
    return "own_key";
  return preferences?.sort ?? (target.is === "router" ? "score" : "cost");
}
